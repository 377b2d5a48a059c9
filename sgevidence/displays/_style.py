"""How all displays look: axes made late, colours that the colour-blind tell apart, lines that print in grey.

The colours are those of M. Okabe and K. Ito (2008), Color Universal Design; line styles and markers repeat
the distinction without colour.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, dataclass_transform

import numpy as np
from sklearn.pipeline import Pipeline

from ..estimators import dimension_labels
from ..model_selection import last_step
from ..tables import in_lines

#: Okabe and Ito's, without their yellow, which is too light for a line on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)), (0, (9, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "0.45"
#: Bands must not hide each other.
BAND = dict(alpha=0.2, linewidth=0)
#: Nats beyond which a model is out of the race, and only its number is of interest: one in 5 · 10⁸.
OUT_OF_RACE_NATS = 20.0


def pyplot(display: object) -> Any:
    """``matplotlib.pyplot``, imported when something is drawn; ImportError tells what installs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{type(display).__name__} needs matplotlib: pip install matplotlib") from error
    return plt


#: Parameters that all displays share, as numpydoc has them; those of artists name the method that takes them.
SHARED_PARAMETERS = {
    "ax": "ax : matplotlib Axes, optional\n    By default of a new figure.",
    "axes": "axes : sequence of matplotlib Axes, optional\n    One per panel; by default of a new figure.",
    "**area_params": "**area_params : dict\n    For ``Axes.stackplot``.",
    "**bar_params": "**bar_params : dict\n    For ``Axes.barh``.",
    "**line_params": "**line_params : dict\n    For ``Axes.plot``.",
    "**scatter_params": "**scatter_params : dict\n    For ``Axes.scatter``.",
    "**stairs_params": "**stairs_params : dict\n    For ``Axes.stairs``.",
}
ONE_PICTURE = "Attributes\n----------\nax_ : matplotlib Axes\nfigure_ : matplotlib Figure\n\n"


@dataclass_transform(kw_only_default=True, eq_default=False)
class Picture:
    """Base of displays: a class that derives from it is a dataclass with the documentation that all share.

    Its docstring gets ``ax_`` and ``figure_`` unless it has Attributes of its own; its public methods, which
    all return the display, get the parameters of :data:`SHARED_PARAMETERS` that they have, and Returns.
    """

    ax_: Any
    figure_: Any

    def __init_subclass__(cls) -> None:
        for name, member in list(vars(cls).items()):
            function = getattr(member, "__func__", member)
            if callable(function) and not name.startswith("_"):
                function.__doc__ = _completed(function, cls.__name__)
            if name == "plot":
                cls.plot = with_room(function)  # type: ignore[attr-defined]
        text = cleandoc(cls.__doc__ or "")  # python -OO has none
        if "\nAttributes\n" not in text:
            cls.__doc__ = re.sub("(?=^(See Also|Notes|Examples)$)", ONE_PICTURE, text, count=1, flags=re.M)
        dataclass(kw_only=True, eq=False, repr=False)(cls)


def _completed(function: Callable, returned: str) -> str:
    """Docstring of a method of a display with the parameters that all share, and Returns."""
    text, _, raises = cleandoc(function.__doc__ or "Draw.").partition("\n\nRaises\n")
    summary, _, own = text.partition("\n\nParameters\n----------\n")
    entries = {entry.partition(" : ")[0]: entry for entry in re.split(r"\n(?=\S)", own)}
    given = [str(p).partition(":")[0] for p in list(signature(function).parameters.values())[1:]]
    parameters = "\n".join(entries.get(name) or SHARED_PARAMETERS.get(name, name) for name in given)
    text = f"{summary}\n\nParameters\n----------\n{parameters}\n\nReturns\n-------\n{returned}"
    return f"{text}\n\nRaises\n{raises}" if raises else text


#: Inches of a letter and of a line of words beside a picture; letters of a line of names.
LETTER_INCHES, TEXT_LINE_INCHES, MAX_NAME_LETTERS = 0.075, 0.17, 44
#: Letters of a name in a legend that take no room from the axes, and of its longest line.
NARROW_LEGEND, WIDE_LEGEND = 14, 32


def with_room(plot: Callable) -> Callable:
    """``plot``, after which labels of axes are as long as their axes, in lines, and no legend is cut.

    A new figure is as much wider as its legend is wider than a narrow one.
    """

    @wraps(plot)
    def fitted(self: Any, *given: Any, **params: Any) -> Any:
        is_own = all(one is None for one in (*given[:1], params.get("ax"), params.get("axes")))
        plot(self, *given, **params)
        every = [getattr(self, name, None) for name in ("axes_", "ax_", "ax_series_")]
        panels = [ax for given in every if given is not None for ax in np.atleast_1d(given)]
        for ax in panels:
            short_dates(ax.xaxis)
        letters = [legend_in_lines(ax) for ax in panels]
        if is_own and max(letters) > NARROW_LEGEND:
            width, height = self.figure_.get_size_inches()
            self.figure_.set_size_inches(width + LETTER_INCHES * (max(letters) - NARROW_LEGEND), height)
        root = self.figure_.canvas.figure  # that of a sub-figure
        root.draw_without_rendering()  # places and sizes of axes are known when they are laid out
        for ax in panels:
            box = ax.get_window_extent()
            label_in_lines(ax.xaxis.label, box.width, "width")
            label_in_lines(ax.yaxis.label, box.height, "height")
        return self

    return fitted


def short_dates(axis: Any) -> None:
    """Dates of an axis without what they have in common, which stands at its end."""
    from matplotlib.dates import AutoDateFormatter, ConciseDateFormatter

    if isinstance(axis.get_major_formatter(), AutoDateFormatter):
        axis.set_major_formatter(ConciseDateFormatter(axis.get_major_locator()))


def legend_in_lines(ax: Any) -> int:
    """Break names of a legend beside the axes into lines; the letters of the longest line, 0 without one."""
    found = ax.get_legend()
    if found is None or found.get_bbox_to_anchor().x0 < ax.bbox.x1:  # none, or within the axes
        return 0
    for text in found.get_texts():
        text.set_text("\n".join(in_lines(text.get_text(), WIDE_LEGEND)))
    words = [text.get_text() for text in (*found.get_texts(), found.get_title())]
    return max(len(line) for text in words for line in text.split("\n"))


def label_in_lines(label: Any, room: float, side: str) -> None:
    """Break a label of an axis that is longer than its axis, both in pixels."""
    longest = max(map(len, label.get_text().split("\n")))
    if (size := getattr(label.get_window_extent(), side)) > room > 0:
        most = max(int(longest * room / size), 12)  # fewest letters of a line that is read
        label.set_text(
            "\n".join(one for line in label.get_text().split("\n") for one in in_lines(line, most))
        )


def axes(display: Any, ax: Any, **figure_params: Any) -> Any:
    """``ax``, or the axes of a new figure; stored as ``ax_`` and ``figure_``."""
    plt = pyplot(display)
    if ax is None:
        _, ax = plt.subplots(layout="constrained", **figure_params)
    display.ax_, display.figure_ = ax, ax.figure
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def line_style(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th line."""
    return dict(color=COLORS[k % len(COLORS)], linestyle=DASHES[k % len(DASHES)], linewidth=1.6)


def marker_style(k: int) -> dict[str, Any]:
    """Colour and marker of the k-th group of points."""
    return dict(color=COLORS[k % len(COLORS)], marker=MARKERS[k % len(MARKERS)])


def number(value: float) -> str:
    """With one decimal and the minus sign that axes have."""
    return f"{value:.1f}".replace("-", "\N{MINUS SIGN}")


def legend(ax: Any, n: int, title: str | None = None) -> None:
    """Names on the right, where nothing is drawn, if there are several; the title says what else is there."""
    if n > 1:
        ax.legend(frameon=False, title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def is_thin(ax: Any, half_widths: np.ndarray, points: float, axis: int) -> bool:
    """Whether no band or bar, of these half widths along an axis, is wider than a line or a mark."""
    low, high = (ax.get_xlim, ax.get_ylim)[axis]()
    inches = (ax.bbox.size / ax.figure.dpi)[axis]
    return bool(2 * np.max(half_widths, initial=0.0) / (high - low) * inches * 72.0 < points)


def intervals(ax: Any, draws: np.ndarray, heights: np.ndarray, label: str | None, **style: Any) -> None:
    """Posterior mean, 50 % interval (thick) and 90 % interval (thin) of each column of draws (M, n)."""
    marker, color = style.pop("marker"), style["color"]
    low, q1, q3, high = np.quantile(draws, [0.05, 0.25, 0.75, 0.95], axis=0)
    ax.hlines(heights, low, high, linewidth=1.2, **style)
    ax.hlines(heights, q1, q3, linewidth=3.5, **style)
    ax.plot(draws.mean(axis=0), heights, marker, color=color, mec="white", markersize=7, label=label)


def named_rows(
    display: Any,
    ax: Any,
    names: Sequence[str],
    each: float = 0.3,
    line: float | None = 0.0,
    wide: bool = False,
) -> Any:
    """Axes with a row ``each`` inches high for every name, the first on top; dotted where nothing differs.

    A ``wide`` one has room for words on the right and for two lines of a label.
    """
    room = 4.0  # inches of what is drawn
    lines = [in_lines(name, MAX_NAME_LETTERS) for name in names]
    longest = max((len(line) for name in lines for line in name), default=0)
    each = max(each, TEXT_LINE_INCHES * max(map(len, lines), default=1) + 0.1)
    names = ["\n".join(name) for name in lines]
    width, around = (6.4, 1.2) if wide else (6.0, 1.0)
    width = max(width, room + LETTER_INCHES * longest + 1.2 * wide)
    ax = axes(display, ax, figsize=(width, around + each * len(names)))
    if line is not None:
        ax.axvline(line, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def name_right(ax: Any, names: Sequence[str], head: str) -> None:
    """Words at the right end of each row, under a head."""
    right = ax.secondary_yaxis("right")
    right.set_yticks(np.arange(len(names)), names)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    ax.text(1.02, 1.01, head, transform=ax.transAxes, color=GREY)


def several_axes(display: Any, given: Sequence[Any] | None, n: int) -> np.ndarray:
    """Axes above each other, those that are given or of a new figure, with the style of all pictures."""
    if given is None:
        size = 6.4, 1.4 + 1.2 * n
        _, given = pyplot(display).subplots(n, 1, sharex=True, figsize=size, layout="constrained")
    elif np.size(given) != n:
        words = {2: "two", 3: "three"}[n]
        raise ValueError(f"{type(display).__name__} draws on {words} axes, got {np.size(given)}")
    for ax in given:
        axes(display, ax)
    del display.ax_  # there are several
    return np.asarray(given, dtype=object)


def drawn(display: type, estimator: Any, *attributes: str) -> Any:
    """The model behind pipelines, which has one of the attributes that the display reads.

    TypeError names the display and what it draws instead.
    """
    model = last_step(estimator)
    if any(hasattr(owner, name) for owner in (model, type(model)) for name in attributes):
        return model  # not fitted, it says so itself
    advice = ""
    if isinstance(estimator, Mapping | Sequence):
        several = hasattr(display, "from_estimators")
        advice = ": from_estimators draws several" if several else ": give one of them"
    raise TypeError(
        f"{display.__name__} draws a fitted estimator with {' or '.join(attributes)}, "
        f"got {type(model).__name__}{advice}"
    )


def feature_names(estimator: Any, model: Any, size: int) -> list[str]:
    """Columns that the model uses; those of a pipeline have the names that the steps before it give them."""
    is_named = any(hasattr(model, name) for name in ("feature_names_in_", "coef_names_"))
    if isinstance(estimator, Pipeline) and not is_named:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step that does not name its columns
            names = None
        if names is not None and len(names) == model.n_features_in_:
            return [str(names[j]) for j in getattr(model, "columns_", range(size))]
    return [str(name) for name in dimension_labels(model, "feature", size)]
