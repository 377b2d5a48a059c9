"""Console and separators that the commands share."""

from rich.console import Console

STDERR = Console(stderr=True, soft_wrap=True)


def unescaped(sep: str | None) -> str | None:
    """A tab that is typed as two characters."""
    return "\t" if sep == r"\t" else sep
