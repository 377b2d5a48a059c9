"""Words of pictures are within the figure, and do not cover each other, however long names are."""

from itertools import combinations

import numpy as np
import pytest

from sgevidence import (
    BayesianGLM,
    BayesianGMM,
    BayesianHMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
)
from sgevidence.displays import (
    ComparisonDisplay,
    EffectsDisplay,
    EvidenceDisplay,
    MixtureDisplay,
    SmoothDisplay,
    StatesDisplay,
    SurvivalDisplay,
)

pd = pytest.importorskip("pandas")
LONG = "temperature_of_the_operating_room"
SITES = [
    "St Mary's University Hospital",
    "Charité – Universitätsmedizin Berlin",
    "Royal Infirmary of Edinburgh",
]
FORMULAS = [
    f"length_of_stay ~ {LONG} + body_mass_index + hospital + treatment",
    f"length_of_stay ~ {LONG} * body_mass_index * treatment",
    f"log(length_of_stay) ~ body_mass_index + treatment + (1 + {LONG} | hospital)",
    f"length_of_stay ~ I({LONG}**2) + I(body_mass_index**2) + hospital:treatment",
    "length_of_stay ~ 1",
]


@pytest.fixture(scope="module")
def stays():
    rng = np.random.default_rng(20261129)
    frame = pd.DataFrame({LONG: rng.normal(20, 3, 60), "body_mass_index": rng.normal(25, 4, 60)})
    frame["hospital"], frame["treatment"] = np.tile(SITES, 20), rng.choice(["placebo", "low", "high"], 60)
    frame["length_of_stay"] = np.exp(1 + 0.05 * frame["body_mass_index"] + rng.normal(0, 0.4, 60))
    return frame.assign(died=rng.random(60) < 0.7)


def fitted(stays, formula, model=BayesianLinearRegression, *args):
    return model(*args, formula=formula, random_state=0).fit(stays)


def states():
    counts = np.random.default_rng(1).poisson(np.repeat([1.0, 6.0], 30))
    dates = pd.date_range("2021-03-01", periods=60, name="week in which a report was written")
    X = pd.DataFrame({"calls to the emergency service of the county": counts}, index=dates)
    return BayesianHMM(2, emission="poisson", random_state=0).fit(X), X


def mixture():
    X = np.random.default_rng(1).normal(size=(40, 2)) + 6 * np.repeat([0, 1], 20)[:, None]
    X = pd.DataFrame(X, columns=["waiting time between two eruptions (minutes)", "duration of the eruption"])
    return BayesianGMM(2, random_state=0).fit(X), X


DISPLAYS = {
    "comparison": lambda stays: ComparisonDisplay.from_estimators({f: fitted(stays, f) for f in FORMULAS}),
    "evidence": lambda stays: EvidenceDisplay.from_estimators(
        {f: fitted(stays, f) for f in FORMULAS}, relative=True
    ),
    "effects": lambda stays: EffectsDisplay.from_estimator(
        fitted(stays, "length_of_stay ~ treatment * hospital", BayesianGLM, "gamma")
    ),
    "classes": lambda stays: EffectsDisplay.from_estimator(
        fitted(stays, "treatment ~ hospital", BayesianSoftmaxRegression)
    ),
    "curve": lambda stays: SmoothDisplay.from_estimator(fitted(stays, f"length_of_stay ~ s({LONG}, k=5)")),
    "survival": lambda stays: SurvivalDisplay.from_estimator(
        fitted(stays, "Surv(length_of_stay, died) ~ treatment", BayesianGLM, "weibull"),
        stays,
        groups="hospital",
    ),
    "states": lambda stays: StatesDisplay.from_estimator(*states()),
    "mixture": lambda stays: MixtureDisplay.from_estimator(*mixture()),
}


def words(figure):
    """Boxes of all texts that are drawn, in pixels."""
    figure.draw_without_rendering()
    found = []
    for ax in figure.axes:
        for axis in [*(one.yaxis for one in ax.child_axes), ax.xaxis, ax.yaxis]:
            low, high = sorted(axis.get_view_interval())
            found += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [tick.label2 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found.append(axis.label)
        found += ax.get_legend().get_texts() if ax.get_legend() else []
    found = [text for text in found if text.get_text() and text.get_visible()]
    return [(text.get_text(), text.get_window_extent()) for text in found]


def covered(figure):
    """Texts beyond the figure, and pairs that cover each other; the ends of numbers may stand out a bit."""
    found, box = words(figure), figure.bbox
    slack = 4.0  # pixels
    beyond = [
        name
        for name, one in found
        if one.x0 < box.x0 - slack or one.x1 > box.x1 + slack or one.y0 < -slack or one.y1 > box.y1 + slack
    ]
    return beyond + [
        (a, b)
        for (a, one), (b, other) in combinations(found, 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > slack
        and min(one.y1, other.y1) - max(one.y0, other.y0) > slack
    ]


@pytest.mark.parametrize("name", DISPLAYS)
def test_words_are_within_the_figure_and_apart(name, stays):
    display = DISPLAYS[name](stays)
    assert not covered(display.figure_)
    share = display.figure_.axes[0].get_position().width
    assert share > 0.3  # names leave room for what is drawn


def test_a_picture_without_room_for_its_words_is_seen(stays):
    display = DISPLAYS["evidence"](stays)
    plain = type(display).plot.__wrapped__(type(display)(paths=display.paths), None, relative=True)
    assert covered(plain.figure_)


def test_effects_of_classes_say_their_class(stays):
    names = [text.get_text().replace("\n", " ") for text in DISPLAYS["classes"](stays).ax_.get_yticklabels()]
    assert len(set(names)) == 9 and {name.split(", ")[-1] for name in names} == {"placebo", "low", "high"}


def test_axes_of_survival_have_the_name_of_the_times(stays):
    assert DISPLAYS["survival"](stays).ax_.get_xlabel() == "length_of_stay"


def test_a_picture_stands_in_a_part_of_a_figure(stays):
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(12, 4), layout="constrained")
    left, right = figure.subfigures(1, 2)
    model = fitted(stays, FORMULAS[-1])
    assert EvidenceDisplay.from_estimator(model, ax=left.subplots()).figure_ is left
    assert figure.get_size_inches().tolist() == [12, 4]
    assert not right.axes
