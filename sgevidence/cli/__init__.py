"""``sgevidence`` at the command line."""

import sys


def main() -> None:
    """Run the command line, which needs the extra ``cli``."""
    try:
        from ._app import app
    except ImportError as error:
        sys.exit(f"the command line needs more packages ({error}): pip install typer rich skops pyarrow")
    app()


__all__ = ["main"]
