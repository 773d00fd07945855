"""The page: runs, strategies, play and matches in the browser, served on this machine by ``equipoise serve``.

Each room of the page is a module here that answers questions (``runs.py``) and a module of the same name in
``static/rooms`` that shows the answers (``runs.js``). How they talk is in docs/page.md:

- A function that answers takes the :class:`~equipoise.web.site.Site` and an :class:`~equipoise.web.answers.Asked`, and
  returns a dictionary, which goes out as JSON: the same that the command line prints with ``--json``. Mistakes are
  :class:`~equipoise.errors.EquipoiseError`, and go out as ``{"error": ..., "exit_code": 2}``. It knows nothing of HTTP.
- A module lists its functions in ``ANSWERS`` (``{"GET /api/runs": runs, ...}``), and ``server.py`` lists the modules.
- Nothing is kept in memory only, but what can be made again: what a user starts is a process of its own, and what a
  user does is a file below ``site.kept(...)``.
"""
