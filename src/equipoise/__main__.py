"""The program ``equipoise``, and ``python -m equipoise``: Ctrl-C is answered in a line while modules still load."""

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from equipoise.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("equipoise: interrupted\n")
        if "--json" in sys.argv[1:]:
            sys.stdout.write('{"error": "interrupted", "exit_code": 130}\n')
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
