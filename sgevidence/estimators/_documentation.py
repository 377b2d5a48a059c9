"""Documentation that all estimators share, written once and put into their docstrings."""

from collections.abc import Callable
from itertools import takewhile
from textwrap import indent

PARAMETERS = """\
sampler : object or None, default=None
    Evidence algorithm; None means ``SGAIS()``.  With one that needs all rows at once there is no
    ``partial_fit``.
random_state : int, RandomState instance or None, default=None
    An int makes every ``fit`` the same.
verbose : bool or int, default=False
    Print one line per chunk, with the time so far and the time left at that chunk's pace, and in a long
    chunk a line every two seconds.  ``set_callbacks(sklearn.callback.ProgressBar())`` shows bars instead.
n_jobs : int or None, default=None
    Processes that share sums over many rows, −1 for all cores; None is one, unless ``joblib.parallel_config``
    says more.  It changes no digit.  They start when a fit has had work for two seconds, by its count."""

UNITS = """\
standardize : bool, default=True
    State the priors in units of the data, so that no answer depends on how columns were typed: columns (and
    a y with a location) have mean 0 and standard deviation 1 among the rows of the first call, two-valued
    columns mean 0 and the distance 1; without an intercept root mean squares are 1.  The evidence is that
    of the data as given, conditional on these units, and results are in the data's units.  Fewer than ten
    rows in the first ``partial_fit`` are held until more come.  False: priors are for the numbers as given,
    as in the papers.
units : Units or None, default=None
    ``units_`` of another fitted estimator; None: units of the first call.  With them a stream that is cut
    anywhere has the evidence of one ``fit``."""

ATTRIBUTES = """\
units_ : Units
    Units in which the priors are stated; there are none with ``standardize=False``.
log_evidence_, log_evidence_std_ : float
    log p(y | X), of a density log p(X), of all rows seen and its standard error, in nats.
evidence_path_ : dict of str to ndarray
    One entry per chunk: n_samples, log_evidence, log_evidence_std, log_predictive (of the chunk
    given the rows before it), n_annealing_steps, ess, lambdas (array of arrays), n_refused,
    n_likelihoods, n_gradients, n_particles, n_moves, acceptance, n_proposals, n_replaced, n_returned,
    hysteresis, disagreement, n_renewals, missed_mode, sample_noise, noise_to_injection,
    anchor_distance, total_weight (of the rows).  At most 4096 entries: then every second is dropped.
diagnostics_ : dict of str to float
    How the sampling went: n_particles, ess (of the last weighting), acceptance, n_moves, n_refused
    (proposals that left the finite numbers), noise_to_injection (gradient noise of SGHMC, SGNHT),
    sample_noise (nats; what a sub-sample of the history does not know), anchor_distance (posterior
    widths per √d), n_renewals and missed_mode (modes taken from outside, or lost when they were last
    looked for, nats), n_proposals (answers of a density that covers the posterior), n_replaced (annealed
    answers that a density has replaced), hysteresis (nats by which tempering beyond the posterior and back
    does not close), n_returned (answers that are the mean of annealing from the prior and back to it).
    Another sampler has other keys.
warnings_ : list of str
    Why the answer should not be trusted as it is: the texts of ``EvidenceWarning`` for all rows seen.
particles_ : ndarray of shape (M, d)
    Draws from the posterior in the model's unconstrained space, with ``standardize=True`` in its units.
particle_weights_ : ndarray of shape (M,)
    Their weights, summing to one.
n_samples_seen_ : int
    Rows absorbed, without those of weight zero.
data_fingerprint_ : int
    Running checksum of sample_weight and y, or X where there is no y, the same however the rows were
    cut.
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
