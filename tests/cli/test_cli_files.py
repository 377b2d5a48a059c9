"""Files as they lie about: text, dates, missing values, separators and row numbers.

The tables are the first rows of files in public repositories: palmerpenguins (allisonhorst/palmerpenguins),
titanic (mwaskom/seaborn-data), AirPassengers (selva86/datasets), and swiss as R's write.csv writes it.
"""

import json
import re

import numpy as np
import pytest

from sgevidence import BayesianGLM, BayesianGMM, BayesianLinearRegression, RowSource, compare
from sgevidence.effects import Factor, Group
from sgevidence.exceptions import EvidenceWarning

pytest.importorskip("typer.testing")
pytest.importorskip("pyarrow")

PENGUINS = """\
species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex
Adelie,Torgersen,39.1,18.7,181,3750,male
Adelie,Torgersen,39.5,17.4,186,3800,female
Adelie,Torgersen,40.3,18,195,3250,female
Adelie,Torgersen,NA,NA,NA,NA,NA
Adelie,Torgersen,36.7,19.3,193,3450,female
Adelie,Torgersen,39.3,20.6,190,3650,male
Gentoo,Biscoe,46.1,13.2,211,4500,female
Gentoo,Biscoe,50,16.3,230,5700,male
Gentoo,Biscoe,48.7,14.1,210,4450,female
Gentoo,Biscoe,50,15.2,218,5700,male
Chinstrap,Dream,46.5,17.9,192,3500,female
Chinstrap,Dream,50,19.5,196,3900,male
Chinstrap,Dream,51.3,19.2,193,3650,NA
"""
TITANIC = """\
survived,pclass,sex,age,fare,embarked,deck
0,3,male,22.0,7.25,S,
1,1,female,38.0,71.2833,C,C
1,3,female,26.0,7.925,S,
1,1,female,35.0,53.1,S,C
0,3,male,35.0,8.05,S,
0,3,male,,8.4583,Q,
0,1,male,54.0,51.8625,S,E
0,3,male,2.0,21.075,S,
1,3,female,27.0,11.1333,S,
1,2,female,14.0,30.0708,C,
"""
PASSENGERS = '"date","value"\n"1949-01-01",112\n"1949-02-01",118\n"1949-03-01",132\n"1949-04-01",129\n'
SWISS = """\
"","Fertility","Agriculture","Examination"
"Courtelary",80.2,17,15
"Delemont",83.1,45.1,6
"Franches-Mnt",92.5,39.7,5
"Moutier",85.8,36.5,12
"Neuveville",76.9,43.5,17
"""
GERMAN = "Größe;Einkommen;Alter\n1,75;1.234,5;30\n1,80;2.345,1;45\n1,62;1.000,0;27\n1,91;4.100,9;51\n"


@pytest.fixture
def run(tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("penguins", PENGUINS),
        ("titanic", TITANIC),
        ("passengers", PASSENGERS),
        ("swiss", SWISS),
    ):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    (tmp_path / "german.csv").write_text(GERMAN, encoding="latin-1")
    (tmp_path / "swiss.tsv").write_text(SWISS.replace(",", "\t"), encoding="utf-8")
    return invoke


@pytest.mark.parametrize(
    "words, message",
    [
        ("penguins.csv --target body_mass_g", r"'species' has text, 'Adelie' in row 0 .*--factor species$"),
        (
            "penguins.csv --target body_mass_g --features bill_depth_mm",
            r"'bill_depth_mm' has no value in row 3.*--dropna$",
        ),
        (
            "titanic.csv --target survived --features age",
            r"column 'age' has no value in row 5, counted from 0: fill",
        ),
        ("titanic.csv --target survived --features deck --dropna", r"column 'deck' has text, 'C' in row 1 "),
        (
            "passengers.csv --target value",
            r"'date' has dates, '1949-01-01' in row 0 .*give numbers, .* --features,",
        ),
        ("german.csv --target Alter --sep ;", r"not utf-8: give --encoding latin-1$"),
        ("german.csv --target Alter --encoding latin-1", r"Expected 1 columns, got 3; give --sep ';'$"),
        (
            "german.csv --target Alter --encoding latin-1 --sep ;",
            r"'Größe' has text, '1,75' in row 0 .*--decimal ,",
        ),
        ("penguins.csv --mixture 1-999999999 --features body_mass_g", "100 components at most"),
        ("penguins.csv --mixture 2 --features body_mass_g,sex --factor sex --dropna", "no factors"),
        (
            "penguins.csv --target species --features body_mass_g,island --factor island --dropna",
            "softmax has no factors",
        ),
        ("penguins.csv --target body_mass_g --select --factor sex --dropna", "'species' has text"),
        (
            "penguins.csv --target species --select --features sex --factor sex --dropna",
            "softmax has no factors",
        ),
        ("penguins.csv --target body_mass_g --features island --factor sex --dropna", "'island' has text"),
        ("no_such.csv --target y", "there is no file"),
    ],
)
def test_what_is_in_the_way_is_named(run, words, message):
    out = run("compare", *words.split())
    assert out.exit_code == 1 and out.stdout == "" and re.search(message, out.stderr), out.stderr


@pytest.mark.parametrize(
    "target, options", [("body_mass_g", []), ("body_mass_g", ["--no-standardize"]), ("sex", [])]
)
def test_factors_are_selected_as_a_whole(run, target, options):
    """The best subset has the evidence of its factors as terms; two classes are bernoulli without a word."""
    words = [
        "compare",
        "penguins.csv",
        "--target",
        target,
        "--dropna",
        "--factor",
        "species",
        "--json",
        *options,
    ]
    features = "bill_length_mm,species"
    out, one = run(*words, "--features", features, "--select"), run(*words, "--features", features)
    assert out.exit_code == one.exit_code == 0, out.output + one.output
    found, expected = json.loads(out.stdout), json.loads(one.stdout)[0]
    assert found["inclusion_probabilities"].keys() == {"bill_length_mm", "species"}
    both = next(row for row in found["models"] if row["columns"] == ["bill_length_mm", "species"])
    assert both["size"] == 2 and len(found["models"]) == 4
    assert both["log_evidence"] == pytest.approx(
        expected["log_evidence"], abs=1e-8 if target != "sex" else 0.03
    )


def test_text_as_factors(run):
    words = [
        "compare",
        "penguins.csv",
        "--target",
        "body_mass_g",
        "--dropna",
        "--factor",
        "species",
        "--json",
    ]
    out = run(*words, "--features", "bill_depth_mm", "--features", "bill_depth_mm,species")
    assert out.exit_code == 0, out.output
    found = {row["model"]: row["log_evidence"] for row in json.loads(out.stdout)}
    source = RowSource(
        "penguins.csv", "body_mass_g", ["bill_depth_mm", "species"], factors=["species"], dropna=True
    )
    X, y = source.read().X.to_pandas(), source.read().y
    for name, terms in (("bill_depth_mm", None), ("bill_depth_mm, species", [Factor("species")])):
        model = BayesianLinearRegression(terms=terms, columns=["bill_depth_mm"])
        model.fit(X if terms else X[["bill_depth_mm"]], y)
        assert found[f"linear: {name}"] == pytest.approx(model.log_evidence_, abs=1e-9)
    assert "1 rows with missing values are left out" in out.stderr


def test_numbers_as_they_are_written_elsewhere(run):
    words = ("compare", "german.csv", "--target", "Alter", "--encoding", "latin-1", "--sep", ";", "--json")
    out = run(*words, "--decimal", ",", "--thousands", ".")
    assert out.exit_code == 0, out.output
    X = np.array([[1.75, 1234.5], [1.80, 2345.1], [1.62, 1000.0], [1.91, 4100.9]])
    exact = BayesianLinearRegression().fit(X, [30, 45, 27, 51]).log_evidence_
    assert json.loads(out.stdout)[0]["log_evidence"] == exact
    source = RowSource("german.csv", "Alter", sep=";", decimal=",", thousands=".", encoding="latin-1")
    np.testing.assert_array_equal(source.read().X.to_pandas().to_numpy(), X)


@pytest.mark.parametrize("name", ["swiss.csv", "swiss.tsv"])
def test_row_names_are_no_column(run, name):
    out = run("compare", name, "--target", "Fertility", "--json")
    assert out.exit_code == 0 and "column '' numbers or names the rows and is left out" in out.stderr
    with pytest.warns(EvidenceWarning, match="column '' numbers or names the rows and is left out"):
        found = RowSource(name, "Fertility").read().X
    assert found.column_names == ["Agriculture", "Examination"]


def test_counted_rows_are_no_column_unless_named(tmp_path):
    for first, rows in (("rownames", (1, 2, 3)), ("", (0, 1, 2)), ("rownames", (3, 1, 2)), ("id", (1, 2, 3))):
        (tmp_path / "rows.csv").write_text(f"{first},a\n" + "".join(f"{i},{i}.5\n" for i in rows))
        source = RowSource(tmp_path / "rows.csv")
        if first != "id" and rows != (3, 1, 2):
            with pytest.warns(EvidenceWarning, match="left out"):
                assert source.read().X.column_names == ["a"]
            assert RowSource(tmp_path / "rows.csv", columns=[first, "a"]).read().X.num_columns == 2
        else:
            assert source.read().X.num_columns == 2 and source.left_out == []


def test_trials(run, tmp_path):
    (tmp_path / "shots.csv").write_text("hits,shots,distance\n5,9,1\n3,8,2\n2,9,3\n1,7,4\n0,6,5\n")
    out = run(
        "compare", "shots.csv", "--target", "hits", "--trials", "shots", "--family", "binomial", "--json"
    )
    assert out.exit_code == 0, out.output
    assert (
        "linear has no trials" in run("compare", "shots.csv", "--target", "hits", "--trials", "shots").stderr
    )


def test_text_late_in_a_file_is_found(tmp_path):
    lines = [f"{i},{i * 0.5}" for i in range(70_000)]
    lines[65_000] = "7,n.v."
    (tmp_path / "long.csv").write_text("a,b\n" + "\n".join(lines))
    with pytest.raises(ValueError, match=r"long.csv: column 'b' has text, 'n.v.' in row 65000 counted"):
        RowSource(tmp_path / "long.csv").read()


def test_the_version(run):
    import sgevidence

    assert run("--version").stdout.strip() == sgevidence.__version__


# -- watch ------------------------------------------------------------------------------------------------


def test_one_column_is_watched(run, rng):
    x = np.r_[rng.normal(0, 1, 40), rng.normal(8, 1, 10)]
    table = "".join(f'"Jan 1, {i}",{i},{float(v)!r}\n' for i, v in enumerate(x))
    out = run("watch", "-", "--column", "level", text='"day",n,level\n' + table)
    assert out.exit_code == 0 and "a change at row 40," in out.stdout
    numbers = "".join(f"{i};{float(v)!r}\n".replace(".", ",") for i, v in enumerate(x))
    assert run("watch", "-", "--column", "2", "--decimal", ",", text=numbers).stdout == out.stdout
    counted = "rownames level\n" + "".join(f"{i} {float(v)!r}\n" for i, v in enumerate(x))
    without_a_header = counted.replace("rownames ", "")
    for text in (counted, without_a_header):
        again = run("watch", "-", text=text)
        assert again.stdout == out.stdout and "numbers or names the rows and is left out" in again.stderr


def test_columns_that_nobody_chose_are_said(run):
    table = "rain,flow\n1871,3\n1872,4\n"
    assert "all columns are read, 'rain', 'flow': --column" in run("watch", "-", text=table).stderr
    dated = table.replace("\n1", ",year\n1", 1).replace("3\n", "3,1\n").replace("4\n", "4,2\n")
    words = "'year' says when .*the others are read, 'rain', 'flow': --column"
    assert re.search(words, run("watch", "-", text=dated).stderr, re.S)
    assert not run("watch", "-", "--column", "flow", text=table).stderr


@pytest.mark.parametrize(
    "words, text, message",
    [
        ((), "1" * 2_000_000, "line 1: more than 1000000 characters"),
        (("--column", "b"), "a,c\n1,2\n", r"has no column 'b': its columns are \['a', 'c'\]"),
        (("--column", "3"), "1,2\n", r"has no column '3': its columns are \[1, 2\]"),
        ((), PENGUINS, "line 2, column 'species': 'Adelie' is no finite number: .*--column"),
        (("--column", "sex"), PENGUINS, "line 2, column 'sex': 'male' is no finite number$"),
        (("--column", "body_mass_g"), PENGUINS, "line 5, column 'body_mass_g': 'NA' is no finite number"),
        (("--column", "a"), "a,b\n1,x\n2\n", "line 3: 1 numbers, the lines before have 2"),
    ],
)
def test_lines_that_are_no_rows(run, words, text, message):
    out = run("watch", "-", *words, text=text)
    assert out.exit_code == 1 and re.search(message, out.stderr), out.stderr


def test_warnings_of_a_watch_are_lines(run):
    text = "".join(f"{x:.3f}\n" for x in np.random.default_rng(1).standard_t(1, 120))
    for line in run("watch", text=text).stderr.splitlines():
        assert line.startswith("warning: ")


def test_a_comparison_of_mixtures_is_that_of_the_library(run):
    out = run("compare", "penguins.csv", "--mixture", "1", "--features", "body_mass_g", "--dropna", "--json")
    rows = RowSource("penguins.csv", columns=["body_mass_g"], dropna=True)
    table = compare({"K=1": BayesianGMM(1, random_state=0).fit(rows.read().X)})
    assert json.loads(out.stdout)[0]["log_evidence"] == table["log_evidence"].iloc[0]


def test_mixtures_take_cells_that_are_missing(run, tmp_path):
    words = (
        "compare",
        "penguins.csv",
        "--mixture",
        "1,2",
        "--features",
        "bill_length_mm,body_mass_g",
        "--json",
    )
    out = run(*words)
    assert out.exit_code == 0, out.output
    X = RowSource("penguins.csv", columns=["bill_length_mm", "body_mass_g"])
    one = BayesianGMM(1, random_state=0).fit(X)
    found = {row["model"]: row["log_evidence"] for row in json.loads(out.stdout)}
    assert found["K=1"] == pytest.approx(one.log_evidence_, abs=1e-9)
    assert (
        np.isnan(X.read(keep_missing=True).X.to_pandas().to_numpy()).sum() == 2 and one.n_samples_seen_ == 13
    )
    with pytest.raises(ValueError, match="has no value in row 3"):
        BayesianGMM(covariance_type="full").fit(X)
    again = run(*words, "--checkpoint", tmp_path / "models")
    assert again.exit_code == 0, again.output
    assert "no value in row 3" in run(*words, "--covariance", "full").stderr
    assert run(*words, "--dropna").stdout != out.stdout


def test_dots_of_dates_separate_no_thousands(run, tmp_path):
    """01.01.2020 was the number 1 012 020, as a target and as a column."""
    (tmp_path / "days.csv").write_text(
        "day;pay\n" + "".join(f"0{k}.01.2020;1.{k}00,5\n" for k in range(1, 10))
    )
    words = ("compare", "days.csv", "--sep", ";", "--decimal", ",", "--thousands", ".")
    out = run(*words, "--target", "pay", "--features", "day")
    assert out.exit_code == 1 and "'day' has dates, '01.01.2020' in row 0" in out.stderr
    out = run(*words, "--target", "day", "--features", "pay")
    assert out.exit_code == 1 and "9 different texts in 9 rows" in out.stderr


def test_formulas_read_numbers_as_features_do(run, tmp_path):
    """Separated thousands as --target reads them; what reads like numbers or dates is no factor unasked."""
    pytest.importorskip("formulae")
    lines = [f"0{k}.01.2020;1.{k}{k * k % 7}0,5;{k % 4},5" for k in range(1, 10)]
    lines += [f"{k}.01.2020;1.{k}{k * k % 7},5;{k % 5},5" for k in range(10, 25)]
    (tmp_path / "pay.csv").write_text("\n".join(["day;pay;y", *lines, ""]))
    words = ("compare", "pay.csv", "--sep", ";", "--decimal", ",", "--json")
    out = [
        run(*words, "--thousands", ".", *rest)
        for rest in (["--formula", "y ~ pay"], ["--target", "y", "--features", "pay"])
    ]
    found = [json.loads(one.stdout)[0]["log_evidence"] for one in out]
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    out = run(*words, "--formula", "y ~ pay")
    assert out.exit_code == 1 and "give --decimal , and --thousands ., or write C(pay)" in out.stderr
    out = run(*words, "--thousands", ".", "--formula", "y ~ day")
    assert out.exit_code == 1 and "'day' has dates, '01.01.2020', and must be numbers" in out.stderr
    assert run(*words, "--thousands", ".", "--formula", "y ~ C(day)").exit_code == 0


def test_a_header_tells_the_separator_of_lines(run, tmp_path):
    """1,5 after a;b was two columns in silence."""
    (tmp_path / "two.csv").write_text("a;b\n" + "1,5;2,5\n" * 20)
    out = run("watch", "two.csv")
    assert out.exit_code == 1 and "line 2, column 'a': '1,5' is no finite number" in out.stderr
    assert run("watch", "two.csv", "--decimal", ",").exit_code == 0


@pytest.mark.parametrize(
    "text, words",
    [
        ("a,b\n$5.10,1\n", "'\\$5.10' in row 0 .*give numbers without their unit"),
        ("a,b\n7.5%,1\n", "'7.5%' in row 0 .*give numbers without their unit"),
        ('a,b\n"1.234,5",1\n', "give --decimal , and --thousands \\.,"),
        ("a,a,b\n1,2,3\n", "several columns are named 'a': give each a name of its own"),
        ("0.5,-1.5\n" + "1.0,2.0\n" * 9, r"the first line is taken for names, and they are numbers: \['0.5'"),
    ],
)
def test_tables_as_people_write_them(run, tmp_path, text, words):
    (tmp_path / "own.csv").write_text(text)
    out = run("compare", "own.csv", *(["--target", "b"] if "b" in text else ["--mixture", "1"]))
    assert re.search(words, out.stderr), out.stderr


def test_a_target_with_separated_thousands_is_numbers(run, tmp_path):
    rows = "".join(f"{i};{1000 + 200 * i // 7:,}\n".replace(",", ".") for i in range(12))
    (tmp_path / "income.csv").write_text("age;income\n" + rows)
    words = ["compare", "income.csv", "--sep", ";", "--target", "income", "--features", "age"]
    out = run(*words, "--thousands", ".", "--json")
    assert out.exit_code == 0 and "linear" in out.output and "softmax" not in out.output
    (tmp_path / "income.csv").write_text("age;income\n" + rows.replace("1.", "1,"))
    out = run(*words)
    assert out.exit_code == 1 and "12 different texts in 12 rows, such as '1,000'" in out.stderr


def test_the_event_of_times(run, tmp_path):
    (tmp_path / "times.csv").write_text("t,relapsed,drug\n5,1,0\n3,0,1\n9,1,1\n2,1,0\n7,0,1\n4,1,0\n")
    words = ["compare", "times.csv", "--family", "weibull", "--event", "relapsed", "--json"]
    by_columns = run(*words, "--target", "t", "--features", "drug")
    by_formula = run(*words, "--formula", "t ~ drug")
    found = [json.loads(out.output)[0]["log_evidence"] for out in (by_columns, by_formula)]
    t, relapsed, drug = np.loadtxt(tmp_path / "times.csv", delimiter=",", skiprows=1).T
    model = BayesianGLM("weibull", random_state=0).fit(drug[:, None], t, event=relapsed)
    assert found == pytest.approx([model.log_evidence_] * 2, abs=1e-9)
    out = run("compare", "times.csv", "--target", "t", "--event", "relapsed", "--features", "drug")
    assert out.exit_code == 1 and "linear has no event" in out.stderr


def test_the_entry_of_times(run, tmp_path):
    lines = "5,1,0,0\n3,0,1,1\n9,1,2,1\n2,1,1,0\n7,0,3,1\n4,1,1.5,0\n"
    (tmp_path / "times.csv").write_text("t,relapsed,came,drug\n" + 2 * lines)
    words = ["compare", "times.csv", "--family", "weibull", "--event", "relapsed", "--json"]
    ways = (["--target", "t", "--features", "drug"], ["--formula", "t ~ drug"])
    ways += (["--target", "t", "--features", "drug", "--checkpoint", "kept"],)
    found = [json.loads(run(*words, "--entry", "came", *way).output)[0]["log_evidence"] for way in ways]
    t, relapsed, came, drug = np.loadtxt(tmp_path / "times.csv", delimiter=",", skiprows=1).T
    fit = BayesianGLM("weibull", random_state=0).fit
    right, without = (fit(drug[:, None], t, event=relapsed, entry=one).log_evidence_ for one in (came, None))
    assert found == pytest.approx([right] * 3, abs=0.05) and abs(right - without) > 0.1
    out = run(*words, "--target", "t", "--features", "drug", "--entry", "cane")
    assert out.exit_code == 1 and "no column 'cane'" in out.stderr
    out = run("compare", "times.csv", "--mixture", "1", "--entry", "came")
    assert out.exit_code == 1 and "no entry" in out.stderr


def test_a_text_file_is_read_as_csv_and_never_beside_one(run, tmp_path):
    (tmp_path / "swiss.txt").write_text(SWISS.replace(",", "\t"), encoding="utf-8")
    words = ("--target", "Fertility", "--features", "Examination", "--json")
    unread = run("compare", "swiss.txt", *words)
    assert unread.exit_code == 1 and unread.stderr.rstrip().endswith(r"give --sep '\t'"), unread.stderr
    found, expected = run("compare", "swiss.txt", *words, "--sep", "\\t"), run("compare", "swiss.csv", *words)
    assert found.exit_code == 0 and found.stdout == expected.stdout
    folder = tmp_path / "rows"
    folder.mkdir()
    for name in ("swiss.csv", "README.txt"):
        (folder / name).write_text(SWISS, encoding="utf-8")
    mixed = run("compare", "rows", *words)
    assert mixed.exit_code == 1 and "files must be of one format" in mixed.stderr


@pytest.mark.parametrize("yes, no", [("True", "False"), ("TRUE", "FALSE"), ("true", "false")])
def test_true_and_false_are_one_and_zero(run, tmp_path, yes, no):
    """As pandas reads them; also beside separated thousands, and after a gap."""
    alone, fare = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1]), np.array([7, 71, 8, 1053, 8, 52, 21, 11, 30])
    lines = [f'{yes if a else no},"{f:,}"' for a, f in zip(alone, fare)]
    (tmp_path / "truth.csv").write_text("\n".join(["alone,fare", f",5\n{lines[0]}", *lines[1:], ""]))
    words = ("compare", "truth.csv", "--target", "fare", "--thousands", ",", "--dropna", "--json")
    found = json.loads(run(*words).stdout)[0]["log_evidence"]
    exact = BayesianLinearRegression().fit(alone[:, None], fare).log_evidence_
    assert found == pytest.approx(exact, abs=1e-9)
    (tmp_path / "doubt.csv").write_text("\n".join(["alone,fare", *lines, "perhaps,3", ""]))
    out = run("compare", "doubt.csv", "--target", "fare", "--thousands", ",")
    assert out.exit_code == 1 and f"'alone' has text, '{yes}' in row 0" in out.stderr


@pytest.mark.parametrize(
    "cells", [["1", "1.0", "1.00"], ["-0", "0", "+0"], ["inf", "Inf", "-inf"], ["01", "1", "1e0"]]
)
@pytest.mark.parametrize(
    ("term", "rest"),
    [(Factor("f"), "C(f)"), (Group("f"), "(1|f)"), (Group("f"), "(1 | `f`)")],
    ids=["C", "group", "quoted"],
)
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_levels_of_formulas_are_read_as_written(run, tmp_path, cells, term, rest):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("formulae")
    rng, code = np.random.default_rng(0), np.arange(24) % 3
    frame = pandas.DataFrame({"x": rng.normal(size=24), "f": code, "y": code + rng.normal(size=24)})
    known = BayesianLinearRegression(terms=[term], random_state=0).fit(frame[["x", "f"]], frame["y"])
    path = tmp_path / "rows.csv"
    frame.assign(f=np.array(cells)[code]).to_csv(path, index=False)
    out = run("compare", str(path), "--json", "--formula", f"y ~ x + {rest}")
    assert json.loads(out.stdout)[0]["log_evidence"] == pytest.approx(known.log_evidence_, abs=0.05)


@pytest.mark.parametrize("formula", ["y ~ f + (1|f)", "y ~ x + (1 + f | x)"])
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_a_column_that_a_formula_names_as_a_number_too_is_one(run, tmp_path, formula):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("formulae")
    rng, code = np.random.default_rng(0), np.arange(24) % 3
    frame = pandas.DataFrame({"x": code % 2, "f": code, "y": code + rng.normal(size=24)})
    known = BayesianLinearRegression(formula=formula, random_state=0).fit(frame)
    path = tmp_path / "rows.csv"
    frame.assign(f=np.array(["0", "01", "2e0"])[code]).to_csv(path, index=False)
    out = run("compare", str(path), "--json", "--formula", formula)
    assert json.loads(out.stdout)[0]["log_evidence"] == pytest.approx(known.log_evidence_, abs=0.05)
