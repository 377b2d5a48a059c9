"""Documentation that all estimators share, written once and put into their docstrings."""

from collections.abc import Callable
from itertools import takewhile
from textwrap import indent

PARAMETERS = """\
sampler : object or None, default=None
    Evidence algorithm; None means ``SGAIS()``.  The estimator has no ``partial_fit`` if the algorithm needs
    all rows at once.
random_state : int, RandomState instance or None, default=None
    An int makes every ``fit`` return the same digits.
verbose : bool or int, default=False
    Print one line per chunk, with the time so far and an estimate of the time left, and during a long chunk a
    line every two seconds.  ``set_callbacks(sklearn.callback.ProgressBar())`` shows bars instead.
n_jobs : int or None, default=None
    Processes that share sums over many rows, −1 for all cores; None is one, unless ``joblib.parallel_config``
    says more.  No digit depends on it.  The processes start once a fit has counted work for about two
    seconds."""

UNITS = """\
standardize : bool, default=True
    State the priors in units of the data, so that no answer depends on the units in which columns were
    entered.  Over the rows of the first call a column (and a y with a location) then has mean 0 and standard
    deviation 1, a column of two values mean 0 and their distance 1; without an intercept the root mean square
    is 1.  The evidence is that of the data as given, conditional on these units, and results are in units
    of the data.  If the first ``partial_fit`` brings fewer than ten rows, they are kept until more come.
    False: the priors are for the numbers as given, as in the papers.
units : Units or None, default=None
    ``units_`` of another fitted estimator; None: units of the first call.  With given units the evidence of a
    stream does not depend on where it is cut, and is that of one ``fit``."""

ATTRIBUTES = """\
units_ : Units
    Units in which the priors are stated; there are none with ``standardize=False``.
log_evidence_, log_evidence_std_ : float
    Log evidence (log marginal likelihood) of all rows seen, log p(y | X) or for a density log p(X), and its
    standard error, in nats.
evidence_path_ : dict of str to ndarray
    One entry per chunk: n_samples, log_evidence, log_evidence_std, log_predictive (of the chunk
    given the rows before it), n_annealing_steps, ess, lambdas (array of arrays), n_refused,
    n_likelihoods, n_gradients, n_particles, n_moves, acceptance, n_proposals, n_replaced,
    disagreement, n_renewals, missed_mode, sample_noise, noise_to_injection,
    anchor_distance, total_weight (of the rows).  At most 4096 entries: then each two become one.
    A stream of single rows with more than twenty columns keeps fewer until the path is read.
diagnostics_ : dict of str to float
    How the sampling went: n_particles, ess (of the last weighting), acceptance, n_moves, n_refused
    (proposals that left the finite numbers), noise_to_injection (gradient noise of SGHMC, SGNHT),
    sample_noise (nats; what a sub-sample of the history does not know), anchor_distance (posterior
    widths per √d), n_renewals and missed_mode (modes taken from outside, or lost when they were last
    looked for, nats), n_proposals (answers of a density that covers the posterior), n_replaced (annealed
    answers that a density has replaced).
    Another sampler has other keys.
warnings_ : list of str
    Reasons not to trust the answer as it is: the texts of each ``EvidenceWarning`` about the rows seen.
particles_ : ndarray of shape (M, d)
    Draws from the posterior, in the model's unconstrained parameters and, with ``standardize=True``, in the
    units of ``units_`` (``posterior_samples()`` has named parameters in units of the data).
particle_weights_ : ndarray of shape (M,)
    Their weights, summing to one.
n_samples_seen_ : int
    Rows absorbed, without those of weight zero.
data_fingerprint_ : int
    Running checksum of sample_weight and y, or of X where there is no y; it does not depend on how the rows
    were cut into calls.
n_features_in_ : int
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Only if X has column names."""

#: Lines of a class docstring that stand for the text above.
PLACES = {
    "{units}": UNITS,
    "{parameters of every estimator}": PARAMETERS,
    "{attributes of every estimator}": ATTRIBUTES,
}


def described(function: Callable) -> Callable:
    """Give a property the text that the class has of it under Attributes, before what its docstring adds.

    A site shows the property's text there, in the place of the class's.
    """
    _, _, rest = ATTRIBUTES.partition(f"\n{function.__name__} :")
    entry = takewhile(lambda line: line.startswith(" "), rest.splitlines()[1:])
    function.__doc__ = "\n".join([*(line.strip() for line in entry), *filter(None, [function.__doc__])])
    return function


def documented(cls: type) -> type:
    """Put what all estimators have in common into the docstring of one; ``python -OO`` has none."""
    lines = (cls.__doc__ or "").splitlines()
    for i, line in enumerate(lines):
        if (place := line.strip()) in PLACES:
            lines[i] = indent(PLACES[place], line[: line.index(place)])
    cls.__doc__ = "\n".join(lines) or None
    return cls
