"""Tables with more columns than they print."""

from html import escape

from ._table import Table


class Summarised:
    """A table that prints as a summary while it has the columns for it; any part of it prints as usual."""

    def _summary(self, as_text: bool) -> tuple[Table, list[str]] | None:
        """A table and sentences below it; None if a column has been taken away."""
        raise NotImplementedError

    def __repr__(self) -> str:
        found = self._summary(as_text=True)
        return super().__repr__() if found is None else "\n".join([found[0].to_string(), *found[1]])

    def _repr_html_(self) -> str:
        found = self._summary(as_text=False)
        if found is None:
            return super()._repr_html_()  # type: ignore[misc, no-any-return]
        return found[0]._repr_html_() + "".join(f"<p>{escape(note)}</p>" for note in found[1])
