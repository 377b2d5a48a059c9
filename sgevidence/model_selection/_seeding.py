"""Seeds for clones of a model that are to be fitted independently."""

from collections.abc import Iterable
from typing import Any

from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement


def seed(clones: Iterable[Any], random_state: Any) -> int:
    """Distinct seeds for every ``random_state`` parameter of every clone, in pipelines too: their number.

    The clones are changed in place.
    """
    places = [
        (one, key)
        for one in clones
        for key in sorted(one.get_params(deep=True))
        if key == "random_state" or key.endswith("__random_state")
    ]
    rng = check_random_state(random_state)
    for (one, key), value in zip(
        places, sample_without_replacement(2**31 - 1, len(places), random_state=rng)
    ):
        one.set_params(**{key: int(value)})
    return len(places)
