"""Names of models at the command line, the estimators that they are, and their checkpoints."""

import os
import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from ..effects import Factor, resolved, response_name, surv_of
from ..estimators import BayesianGLM, BayesianLinearRegression, BayesianSoftmaxRegression
from ..io import load, save
from ..mixture.estimators import BayesianGMM
from ..rows import KNOWN, RowSource, TextFormat, files_of, kind_of_text

#: Endings of files of text.
TEXT_FILES = (".csv", ".txt", ".tsv")


class FrameRows(NamedTuple):
    """Rows of a file that formulas name the columns of."""

    X: Any  #: a frame, in which the response is
    y: None
    sample_weight: np.ndarray | None
    offset: np.ndarray | None
    trials: np.ndarray | None
    event: np.ndarray | None
    entry: np.ndarray | None
    n_dropped: int

    @classmethod
    def of(
        cls,
        data: str,
        formulas: list[str],
        asked: tuple[str | None, ...],
        dropna: bool,
        text: TextFormat,
    ) -> "FrameRows":
        """The file's rows; without those that lack a value of a column that is used, if ``dropna``.

        ``asked`` are the columns of weights, offset, trials, event and entry.
        ValueError if formulas have different responses, or a column does not exist.
        """
        frame = read_frame(data, text, formulas)
        if len(responses := {response_name(formula) for formula in formulas}) > 1:
            raise ValueError(
                f"formulas have the responses {sorted(responses)}: evidences of one y are compared"
            )
        known = [name for name in asked if name is not None]
        named = {n for n in frame.columns if re.search(rf"\b{re.escape(n)}\b", " ".join(formulas))}
        refuse_unread_numbers(frame, named, formulas)
        of_times = {name for formula in formulas for name in getattr(surv_of(formula), "columns", ())}
        used = {*responses, *known, *of_times}.union(
            *(resolved(formula, frame).columns for formula in formulas)
        )
        if lost := sorted(used - set(frame.columns)):
            raise ValueError(f"{data} has no column {lost[0]!r}: its columns are {list(frame.columns)[:20]}")
        kept = frame.dropna(subset=sorted(used)) if dropna else frame
        weight, *known_columns = (None if name is None else kept[name].to_numpy() for name in asked)
        rows = dict(zip(KNOWN, known_columns))
        return cls(kept.drop(columns=known), None, weight, **rows, n_dropped=len(frame) - len(kept))


#: A model and the names of what its ``fit`` is given beside X and y.
Models = dict[str, tuple[Any, tuple[str, ...]]]


def given(rows: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Arguments of ``fit`` and ``partial_fit`` beside X and y."""
    return {name: getattr(rows, name) for name in names}


def component_counts(text: str) -> list[int]:
    """Numbers of "1-7" or "1,2,4"; ValueError for other texts."""
    most_components = 100  # numbers of components, more of which nobody means
    counts: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2] or found[1]):
            raise ValueError(f"--mixture {text}: give numbers of components, as 1-7 or 1,2,4")
        if int(found[2] or found[1]) > most_components:
            raise ValueError(f"--mixture {text}: {most_components} components at most")
        counts += range(int(found[1]), int(found[2] or found[1]) + 1)
    return list(dict.fromkeys(counts))


def densities(
    counts: list[int], rows: Any, columns: list, factors: list, covariance: str, standardize: bool, seed: int
) -> Models:
    """Mixtures of X."""
    if len(columns) > 1:
        raise ValueError("mixtures of different columns are of different data: give --features once")
    if factors or any(getattr(rows, known) is not None for known in KNOWN):
        raise ValueError("mixtures have no offset, no trials, no event, no entry and no factors")
    params: dict[str, Any] = dict(covariance_type=covariance, standardize=standardize, random_state=seed)
    return {f"K={k}": (BayesianGMM(k, **params), ("sample_weight",)) for k in counts}


def regressions(
    rows: Any, columns: list, factors: list, family: str | None, standardize: bool, seed: int
) -> Models:
    """Each family with each set of columns, those among ``factors`` by their levels."""
    text = np.asarray(rows.y).dtype.kind not in "fiu"
    n_levels = len(np.unique(np.asarray(rows.y, dtype=str))) if text else 0
    if n_levels > max(2, 0.5 * len(rows.y)):  # classes for a row, more of which are no classes
        raise ValueError(
            f"--target has {n_levels} different texts in {len(rows.y)} rows, such as {str(rows.y[0])!r}, "
            "which are no classes: numbers that are written otherwise need --decimal or --thousands"
        )
    by_target = "linear" if not text else "bernoulli" if factors and n_levels == 2 else "softmax"
    families = [by_target] if family is None else family.split(",")
    models: Models = {}
    for name in families:
        for names in columns or [None]:
            words = name if len(columns) < 2 else f"{name}: {', '.join(names)}"
            params = dict(columns=names, standardize=standardize, random_state=seed)
            if factors:
                used = factors if names is None else [one for one in factors if one in names]
                linear = None if names is None else [one for one in names if one not in factors]
                params |= dict(columns=linear, terms=[Factor(one) for one in used])  # [] leaves text unread
            models[words] = regression(name, params, rows)
    return models


def regression(name: str, params: dict, rows: Any) -> tuple[Any, tuple[str, ...]]:
    """One of them; of a family's name that is not known the estimator says which there are."""
    makers = {"linear": BayesianLinearRegression, "softmax": BayesianSoftmaxRegression}
    if name not in makers:
        return BayesianGLM(name, **params), ("sample_weight", *KNOWN)
    for known in KNOWN:
        if getattr(rows, known) is not None:
            raise ValueError(
                f"{name} has no {known}: give --family of a generalised linear model, as poisson"
            )
    if name == "softmax" and "terms" in params:
        raise ValueError(
            "softmax has no factors: give --family bernoulli for two classes, or leave the factors out"
        )
    return makers[name](**params), ("sample_weight",)


def levels_alone(name: str, formulas: list[str]) -> bool:
    """Whether formulas name a column in C(), in T() or behind a bar only: then 1 and 1.0 are two levels."""
    written = rf"(?<![\w.`])(?:`{re.escape(name)}`|{re.escape(name)}(?![\w.`]))"
    places = [len(re.findall(written, one)) for one in formulas]
    as_levels = rf"\b[CT]\(\s*{written}|\|[^()|]*?{written}"
    return sum(places) > 0 and places == [len(re.findall(as_levels, one)) for one in formulas]


def read_frame(data: str, text: TextFormat, formulas: list[str]) -> Any:
    """A file as a pandas frame, whose text is levels; ImportError tells what installs pandas.

    As --target reads it: a file that is here, with names that differ, whose missing values Arrow knows.
    Columns of text files that are levels alone are read as written.
    """
    try:
        import pandas
        import pyarrow.csv
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("--formula needs pandas and formulae: pip install pandas formulae") from error
    (path, *others) = files_of(data)
    text.refuse_unknown_encoding()
    options = text._replace(thousands=None)._asdict()
    options |= dict(keep_default_na=False, na_values=pyarrow.csv.ConvertOptions().null_values)
    readers: dict[str, Any] = {
        ".csv": partial(pandas.read_csv, **options | {"sep": text.sep or ","}),
        ".txt": partial(pandas.read_csv, **options | {"sep": text.sep or ","}),
        ".tsv": partial(pandas.read_csv, **options | {"sep": text.sep or "\t"}),
        ".parquet": pandas.read_parquet,
    }
    readers |= dict.fromkeys([".arrow", ".feather"], pandas.read_feather)
    if others or path.suffix not in readers:
        raise ValueError(f"--formula reads one file that ends in {sorted(readers)}, got {data}")
    names = text.names(str(path)) if path.suffix in TEXT_FILES else []
    if path.suffix == ".parquet":
        names = pyarrow.parquet.read_schema(path).names
    if path.suffix in (".arrow", ".feather"):
        names = pyarrow.feather.read_table(path, memory_map=True).schema.names
    if twice := sorted({name for name in names if names.count(name) > 1}):  # which pandas would number
        raise ValueError(f"several columns are named {twice[0]!r}: give each a name of its own")
    as_written = {name: str for name in names if levels_alone(name, formulas)}
    if path.suffix in TEXT_FILES and as_written:
        readers[path.suffix] = partial(readers[path.suffix], dtype=as_written)
    frame = readers[path.suffix](path)
    if text.thousands is not None:  # pandas takes 1.12.2020 for a number
        is_text = [not pandas.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]
        for name in frame.columns[is_text].difference(list(as_written)):
            frame[name] = with_thousands(frame[name], text)
    return frame


def formula_models(
    formulas: list[str], rows: FrameRows, family: str | None, standardize: bool, seed: int
) -> Models:
    """Each formula with each family, by default the linear regression."""
    families = (family or "linear").split(",")
    if "softmax" in families:
        raise ValueError("softmax has no formulas: give --family bernoulli for two classes")
    models: Models = {}
    for name in families:
        for formula in dict.fromkeys(formulas):
            words = formula if len(families) < 2 else f"{name}: {formula}"
            parameters = dict(formula=formula, standardize=standardize, random_state=seed)
            models[words] = regression(name, parameters, rows)
    return models


def with_thousands(column: Any, text: TextFormat) -> Any:
    """A column of text as numbers, if all of it is."""
    import pyarrow

    try:
        found = text.numbers(pyarrow.array(column, pyarrow.string(), from_pandas=True))
    except pyarrow.ArrowInvalid:
        return column
    return found.to_numpy(zero_copy_only=False).astype(float)


def refuse_unread_numbers(frame: Any, used: set[str], formulas: list[str]) -> None:
    """Refuse text that reads like numbers or dates and differs from row to row: nobody means its levels."""
    for name in used:
        values = frame[name].dropna()
        are_levels = any(re.search(rf"(C\(|[|:/]\s*){re.escape(name)}\b", formula) for formula in formulas)
        if are_levels or not len(values) or 2 * values.nunique() <= len(values):
            continue
        kind, remedy = kind_of_text(values.iloc[0]) if isinstance(values.iloc[0], str) else ("", "")
        if remedy:
            raise ValueError(
                f"column {name!r} has {kind}, {values.iloc[0]!r}, and must be numbers: {remedy}or write "
                f"C({name}) for its levels"
            )


#: Rows of ``watch`` from one checkpoint to the next.
WATCHED_ROWS = 500


def resumed(fresh: Any, path: Path) -> Any:
    """The estimator of the file, or the fresh one where there is no file yet.

    ValueError if the file is damaged, or that of a run with other options.
    """
    if not path.exists():
        return fresh
    found = load(path)
    wanted, known = (
        {"class": type(one).__name__} | {name: repr(value) for name, value in one.get_params(False).items()}
        for one in (fresh, found)
    )
    if differing := [name for name in wanted if wanted[name] != known.get(name)]:
        words = ", ".join(f"{name}={known.get(name)} in the place of {wanted[name]}" for name in differing)
        raise ValueError(f"{path} is a checkpoint of {words}: give these options again, or another file")
    return found


def learnt_in_batches(models: Models, source: RowSource, folder: str, steps: Any) -> dict[str, Any]:
    """The models after all batches of a file, each saved in the folder after each of its batches."""
    os.makedirs(folder, exist_ok=True)
    classes = labels(source) if any(is_classifier(model) for model, _ in models.values()) else None
    return {
        name: learnt(model, names, source, Path(folder) / f"{number}.sge", classes)
        for number, (name, (model, names)) in enumerate(steps(models.items()))
    }


def learnt(model: Any, names: tuple[str, ...], source: RowSource, path: Path, classes: Any) -> Any:
    """A model after the batches that it has not seen."""
    model, n_rows = resumed(model, path), 0
    more = {"classes": classes} if is_classifier(model) else {}
    for part in source.batches(get_tags(model).input_tags.allow_nan):
        n_before, weight = n_rows, part.sample_weight
        n_rows += len(part.X) if weight is None else int(np.count_nonzero(weight))
        n_seen = getattr(model, "n_samples_seen_", 0)
        if n_before < n_seen < n_rows:
            raise ValueError(f"{path} ends within the rows of a batch: its rows are those of other data")
        if n_rows > n_seen:
            model.partial_fit(part.X, part.y, **given(part, names), **more)
            save(model, path)
    if n_rows < model.n_samples_seen_:
        raise ValueError(f"{path} has learnt {model.n_samples_seen_} rows, and {source.source} has {n_rows}")
    return model


def labels(source: RowSource) -> np.ndarray:
    """All labels of rows with a weight, as a first batch need not have each."""
    found = []
    for part in source.batches():
        y, weight = np.asarray(part.y), part.sample_weight
        found.append(np.unique(y if weight is None else y[weight > 0]))
    return np.unique(np.concatenate(found))


STDERR = Console(stderr=True, soft_wrap=True)


def unescaped(sep: str | None) -> str | None:
    """A tab that is typed as two characters."""
    return "\t" if sep == r"\t" else sep
