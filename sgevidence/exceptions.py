"""What goes wrong, by name."""


class DivergenceError(RuntimeError):
    """The particles left the region where the model can be evaluated; the message says what to change."""


class EvidenceWarning(UserWarning):
    """The answer should not be trusted as it is; the message says what to change."""
