"""Bayesian latent class analysis with a running log evidence.

Do two classes differ only in who has not answered?  A missing answer that is a level may be all they are.

Rows are shared among classes by their probabilities.  Of two classes k, l and of a column, separate
probabilities are compared with common ones, given these shares, with DM the Dirichlet-multinomial
probability of counts:

    of the answers:  log DM(answers_k) + log DM(answers_l) − log DM(answers_k + answers_l),
    of the silence:  the same, of (answered, missing).

Sums over columns say what tells the classes apart.

Symbols: ``c`` = concentration of the levels; ``R`` = shares, (K, n); counts of levels, (K, L).
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..._compat import Interval, StrOptions
from ...estimators import EvidenceEstimator, documented
from ...exceptions import warn_caller
from ...history import Rows
from ...rows import (
    check_count,
    checksum,
    codes_of,
    declared_levels,
    decoded,
    first_of_levels,
    given_levels,
    levels_of,
    missing_in,
)
from ..components import Categorical
from ..models import CategoricalMixtureModel
from ._mixture import MixtureEstimator

#: Nats for other shares of missing answers, from which on two classes differ in them.  Classes that there are
#: had 160 and more in 160 × 6 answers, and of a class too many, which splits one by chance, up to 9.
MIN_SILENCE_NATS = 10.0
#: Particles whose classes share out the rows.
PARTICLES_OF_SHARES = 32


def differ_by_silence(
    model: Any, theta: np.ndarray, log_evidence: float, rows: Any, is_missing: list[bool]
) -> tuple | None:
    """Two classes, in the slots of ``weights_``, that missing answers alone tell apart; None if none are.

    None, too, where the rows, whose log evidence is given, speak for a single class.  ``is_missing`` says
    which columns have a missing answer as their last level.
    """
    family = model.family
    if log_evidence <= family.log_evidence(rows.weight @ family.features(rows.X)):
        return None
    answers, silence = _told(model, _shares(model, theta, rows), rows, is_missing)
    found = np.argwhere(np.triu((silence > MIN_SILENCE_NATS) & (answers <= 0.0), 1))
    return tuple(found[np.argmax(silence[tuple(found.T)])].tolist()) if len(found) else None


def _shares(model: Any, theta: np.ndarray, rows: Any) -> np.ndarray:
    """Rows of each class by weight, (K, n)."""
    chosen = np.unique(np.linspace(0, len(theta) - 1, PARTICLES_OF_SHARES).astype(int))
    log_p = model.component_log_densities(model.canonicalize(theta)[chosen], rows.X)
    p = np.exp(log_p - np.max(log_p, axis=0))
    return np.mean(p / p.sum(axis=0), axis=1) * rows.weight


def _told(model: Any, R: np.ndarray, rows: Any, is_missing: list[bool]) -> tuple[np.ndarray, np.ndarray]:
    """Nats by which answers, and missing ones, speak for two classes and not for one, (K, K) each."""
    K, c = len(R), model.category_concentration
    answers, silence = np.zeros((K, K)), np.zeros((K, K))
    by_column = model.family.by_column(R @ model.family.features(rows.X))
    for counts, has_missing in zip(by_column, is_missing):
        if has_missing:
            missing, counts = counts[:, -1], counts[:, :-1]
            silence += _apart(np.stack([counts.sum(axis=1), missing], axis=1), c)
        answers += _apart(counts, c)
    return answers, silence


def _apart(counts: np.ndarray, c: float) -> np.ndarray:
    """Log Bayes factor of probabilities of their own, for each pair of classes by counts (K, L), (K, K)."""
    column, T = Categorical((counts.shape[1],), c), np.column_stack([counts, counts.sum(axis=1)])
    alone, both = column.log_evidence(T), column.log_evidence(T[:, None] + T)
    return alone[:, None] + alone - both


#: Beginning of the doubt of classes that differ in who answers.
BY_SILENCE = "missing answers alone tell apart"


@documented
class BayesianCategoricalMixture(MixtureEstimator):
    """Latent classes: K groups of rows in each of which categorical columns are independent.

    π ~ Dirichlet(weight_concentration), and the probabilities of the levels of column j in class k are
    Dirichlet(category_concentration).  The evidence is over all K! labellings of the classes.

    Parameters
    ----------
    n_components : int, default=1
        Number of classes K.
    weight_concentration : float, default=1.0
        Concentration of the symmetric Dirichlet prior of the weights; 1 is uniform.
    category_concentration : float, default=0.5
        Concentration of the symmetric Dirichlet priors of the probabilities of levels.  0.5 is Jeffreys'
        prior; with 1, the uniform, independent columns of equally frequent levels look like several classes.
    categories : None, "auto" or list of array-likes, default=None
        Levels of each column.  None: those of the first call.  "auto": those that a categorical column of a
        data frame declares, whether they occur or not, and of other columns those of the first call.  The
        prior is over these levels, so that each list is part of the model.
    missing : {"level", "ignore"}, default="level"
        None, nan and pandas.NA are a level of their own, or are left out of the likelihood, as is right where
        values are missing at random.  An EvidenceWarning says if two classes differ in missing answers alone.
    {parameters of every estimator}

    Attributes
    ----------
    categories_ : list of ndarray
        Levels of each column, sorted; a missing value, if it is a level, is the last.
    weights_ : ndarray of shape (n_components,)
        Posterior mean, after relabelling particles to common slots.
    category_probabilities_ : list of ndarray of shape (n_components, n_levels)
        Posterior mean of the probabilities of the levels of each column.
    component_evidence_ : dict of str to ndarray
        Log evidences of 1 … ``n_components`` classes and their standard errors, nats, from one fit.
    n_components_in_use_proba_ : ndarray of shape (n_components,)
        Posterior probability that 1 … ``n_components`` of the classes have rows.
    {attributes of every estimator}

    See Also
    --------
    BayesianGMM : Columns that are numbers.
    EvidenceSearch : How many classes.

    Notes
    -----
    A column of identifiers, with more levels than half of the rows, is a ValueError if there are several
    classes: each level costs memory in each class, and says nothing.

    A level that is first seen in a later call, or in ``predict``, is a ValueError: its probability belongs to
    another prior.  Evidences compare only where ``categories_`` is equal, which ``data_fingerprint_`` knows.

    References
    ----------
    L. A. Goodman (1974), Exploratory latent structure analysis using both identifiable and unidentifiable
    models, Biometrika 61, 215.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianCategoricalMixture
    >>> X = np.repeat([["yes", "yes", "yes"], ["no", "no", "no"], ["yes", "no", "yes"]], [20, 20, 3], axis=0)
    >>> one, two = (BayesianCategoricalMixture(K, random_state=0).fit(X) for K in (1, 2))
    >>> two.log_evidence_ - one.log_evidence_ > 10
    True
    >>> two.categories_[0].tolist()
    ['no', 'yes']
    """

    _takes_missing = True
    _columns_have_levels = True
    _model: CategoricalMixtureModel
    categories_: list[np.ndarray]
    _declared: list[Any] | None  #: levels that a frame's categorical columns declare

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "weight_concentration": [Interval(Real, 0, None, closed="neither")],
        "category_concentration": [Interval(Real, 0, None, closed="neither")],
        "categories": [StrOptions({"auto"}), "array-like", None],
        "missing": [StrOptions({"level", "ignore"})],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        weight_concentration: float = 1.0,
        category_concentration: float = 0.5,
        categories: Sequence[Any] | str | None = None,
        missing: str = "level",
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.weight_concentration = weight_concentration
        self.category_concentration = category_concentration
        self.categories = categories
        self.missing = missing
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def _as_given(self, X: np.ndarray) -> np.ndarray:
        return decoded(X, self.categories_)

    @property
    def category_probabilities_(self) -> list[np.ndarray]:
        """Posterior mean of the probabilities of the levels of each column, each (n_components, n_levels)."""
        mean = self._slot_mean("category_probabilities")
        return np.split(mean, np.cumsum(self._model.n_levels)[:-1], axis=1)

    # -- levels ---------------------------------------------------------------------------------

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        """Entries as they came, in an array of objects."""
        if getattr(getattr(X, "dtype", None), "kind", "") == "c":
            raise ValueError("Complex data not supported: levels are strings or numbers")
        if reset:
            self._declared = declared_levels(X) if isinstance(self.categories, str) else None
        return validate_data(self, X, reset=reset, dtype=object, ensure_all_finite=False), None

    def _add(self, sampler: Any, rows: Any, weight: float, reset: bool, X: Any, y: Any) -> None:
        """Predict the cost before it is paid: a column of identifiers has a level for each row."""
        if reset and self._model.n_components > 1:
            self._foresee(len(rows))
        super()._add(sampler, rows, weight, reset, X, y)

    def _foresee(self, n_rows: int) -> None:
        """Refuse identifiers, and say of many probabilities what they cost."""
        n_levels = np.array(self._model.n_levels)
        j, cells = int(np.argmax(n_levels)), self._model.n_components * int(n_levels.sum())
        names = getattr(self, "feature_names_in_", None)
        name = str(j) if names is None else repr(names[j])
        largest = f"column {name} of X has {n_levels[j]} levels in {n_rows} rows"
        # levels of a column, fewer of which are no identifiers though each row has its own
        if self.categories is None and n_levels[j] > max(n_rows / 2, 100):
            raise ValueError(
                f"{largest}: identifiers say nothing about classes, and cost memory and time for each level "
                "in each class: leave the column out, or state its levels as categories="
            )
        # 0.15 to 0.35 MB and 0.05 s for each were measured, of 200 to 2000 rows
        if cells > 2000:
            warn_caller(
                f"{cells} probabilities of levels take some {cells * 0.35 / 1000:.1f} GB and "
                f"many minutes; {largest}: leave columns out, or join rare levels"
            )

    def _judge(self, rows: Rows, starts: bool) -> None:
        """Also whether classes are who answered and who did not, whenever rows have doubled."""
        super()._judge(rows, starts)
        n = self.n_samples_seen_
        is_missing = [bool(missing_in(levels[-1:])[0]) for levels in self.categories_]
        if self._model.n_components == 1 or not any(is_missing):
            return
        if not starts and n.bit_length() == (n - len(rows)).bit_length():
            return
        if not starts:
            memory = getattr(None if self._stream is None else self._stream.state, "memory", None)
            if memory is None or not memory.reservoir.complete:
                return
            rows = memory.at_hand
        pair = differ_by_silence(self._model, self.particles_, self.log_evidence_, rows, is_missing)
        if pair is not None and not any(words.startswith(BY_SILENCE) for words in self._doubts):
            self._doubt(
                f"{BY_SILENCE} classes {pair[0]} and {pair[1]}: a missing answer is a level, and their "
                'answers are alike; missing="ignore" leaves missing answers out, as is right where they are '
                "missing at random"
            )

    def _first_of_levels(self, X: Any) -> np.ndarray:
        """Numbers of rows that show all levels of X."""
        return first_of_levels(self._validate(X, None, True)[0])

    def _encode_X(self, X: np.ndarray, reset: bool) -> np.ndarray:
        if reset and (self.categories is None or isinstance(self.categories, str)):
            self.categories_ = levels_of(X, self.missing, self._declared)
        elif reset:
            self.categories_ = given_levels(self.categories, X.shape[1], self.missing)
        return codes_of(X, self.categories_, self.missing, getattr(self, "feature_names_in_", None))

    def _identity(self, rows: Rows) -> np.ndarray:
        """Codes, and which levels these are codes of."""
        return rows.X + float(checksum(self.categories_))

    def _replicated(self, theta: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Codes of as many rows as X has; values that are missing there are missing."""
        codes, _ = self._model.sample_rows(theta, len(X), rng)
        return np.where(X < 0, -1.0, codes)

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> CategoricalMixtureModel:
        return CategoricalMixtureModel(
            n_components=check_count(self.n_components, "n_components"),
            n_levels=tuple(len(levels) for levels in self.categories_),
            weight_concentration=self.weight_concentration,
            category_concentration=self.category_concentration,
        )
