"""Words that come from and go to a terminal, for all commands."""

from rich.console import Console

STDERR = Console(stderr=True, soft_wrap=True)


def unescaped(sep: str | None) -> str | None:
    """A tab that is typed as two characters."""
    return "\t" if sep == r"\t" else sep
