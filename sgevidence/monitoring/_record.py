"""How well each row was predicted, along the whole stream and in bounded memory."""

from typing import NamedTuple

import numpy as np

#: Most steps of a record: when it is full each two become one.
LENGTH = 4096


class Record(NamedTuple):
    """Steps of one or more rows in their order.

    Parameters
    ----------
    n_samples : ndarray of shape (n_steps,)
        Rows absorbed at the end of each step.
    log_predictive : ndarray of shape (n_steps,)
        Log predictive density of the step's rows, together, given the rows before them; nats.
    """

    n_samples: np.ndarray = np.zeros(0, dtype=np.int64)
    log_predictive: np.ndarray = np.zeros(0)

    def extended(self, n_samples: np.ndarray, log_predictive: np.ndarray) -> "Record":
        """With more steps; it does not matter how they are cut.

        Parameters
        ----------
        n_samples, log_predictive : ndarray of shape (n_new,)
            As above.

        Returns
        -------
        Record
            A new one.
        """
        record = self
        while len(n_samples):
            room = LENGTH - len(record.n_samples)
            record = Record(
                np.append(record.n_samples, n_samples[:room]),
                np.append(record.log_predictive, log_predictive[:room]),
            )
            n_samples, log_predictive = n_samples[room:], log_predictive[room:]
            if len(record.n_samples) == LENGTH:
                record = record.halved()
        return record

    def halved(self) -> "Record":
        """Each two steps as one; their number is even."""
        return Record(self.n_samples[1::2], self.log_predictive.reshape(-1, 2).sum(1))
