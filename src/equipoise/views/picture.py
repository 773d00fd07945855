"""A figure of Matplotlib's that shows itself in notebooks. Matplotlib is slow to load: import this to draw."""

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure without a window."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", bbox_inches="tight")
        return content.getvalue()
