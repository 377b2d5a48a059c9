"""A file that is not whole, not ours or not of this version is refused in words; no code of a file is run."""

import hashlib
import io
import json
import os
import pickle
import re
import sys
import tracemalloc
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from estimator_cases import data, estimator
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline

from sgevidence import BayesianGMM, BayesianLinearRegression, SavedFileError, load, save

skops_io = pytest.importorskip("skops.io")
FUNCTIONS = [
    f"estimator_cases.{name}" for name in "sample_slope slope_log_likelihood slope_log_prior".split()
]


def refused(path, words, trusted=()):
    with pytest.raises(SavedFileError, match=words) as caught:
        load(path, trusted=trusted)
    assert str(path) in str(caught.value)


def test_every_cut_and_every_changed_byte_is_named(file, tmp_path, rng):
    data, bad = file.read_bytes(), tmp_path / "bad.sge"
    cuts = [0, 1, 5, 17, 18, 19, 83, 84, 85, 86, len(data) - 1, *rng.integers(1, len(data), size=50)]
    for n in cuts:
        bad.write_bytes(data[:n])
        refused(bad, "empty" if n == 0 else "damaged|something else")
    for place in [*range(90), *rng.integers(90, len(data), size=100)]:
        other = bytearray(data)
        other[place] ^= 1 << int(rng.integers(8))
        bad.write_bytes(other)
        refused(bad, "damaged|something else|upgrade|fit again")
    for more in (b"x", b"\n", data):
        bad.write_bytes(data + more)
        refused(bad, "damaged")


def test_foreign_files_are_named(tmp_path, rng):
    path, X = tmp_path / "foreign", np.ones((3, 2))
    model = Ridge().fit(X, X[:, 0])
    skops_io.dump(model, path)
    refused(path, "skops.io.load")
    for content in (pickle.dumps(model), joblib.dump(model, path) and path.read_bytes()):
        path.write_bytes(content)
        refused(path, "pickle or a joblib file")
    np.save(tmp_path / "foreign.npy", X)
    refused(tmp_path / "foreign.npy", "something else")
    for size in rng.integers(1, 500, size=30):
        path.write_bytes(rng.bytes(int(size)))
        refused(path, "was not written by sgevidence.save")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")


def forged(file, path, header=None, archive=None, state=3):
    """A whole file of another content, as another version or somebody else may write it."""
    rest = file.read_bytes().split(b"\n", 2)[2]
    old, _, old_archive = rest.partition(b"\n")
    body = json.dumps(json.loads(old) | (header or {})).encode() + b"\n" + (archive or old_archive)
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b"sgevidence-state %d\n" % state + digest + b"\n" + body)
    return path


def test_other_versions_are_named(file, tmp_path):
    path = tmp_path / "other.sge"
    refused(forged(file, path, state=4), "state number 4, and sgevidence .* reads up to 3: upgrade")
    refused(forged(file, path, state=2), "written before the folders of sgevidence moved: fit again")
    refused(forged(file, path, {"version": "99.1.0"}), "written by sgevidence 99.1.0, which is newer")
    old = {"version": "0.0.1", "fields": {"sgevidence.history._memory.Memory": ["anchor", "reservoir"]}}
    refused(forged(file, path, old), "0.0.1, whose Memory holds other fields")
    old = {"version": "0.0.1", "fields": {"sgevidence.history._memory.Gone": ["anchor"]}}
    refused(forged(file, path, old), "0.0.1, whose Gone")
    assert load(forged(file, path, {"version": "0.0.1"})).log_evidence_ == load(file).log_evidence_


def test_a_parameter_that_there_was_not_yet_is_named(tmp_path):
    """A file of an estimator from before ``coef_scale``, say, and of one that holds it."""
    old = estimator("linear").fit(*data("linear"))
    del old.coef_scale
    for k, one in enumerate((old, Pipeline([("last", old)]))):
        path = tmp_path / f"{k}.sge"
        save(one, path)
        with pytest.raises(SavedFileError, match=r"other parameters.*coef_scale"):
            load(path)


def test_what_is_no_file_is_left_alone(tmp_path):
    """A pipe, a folder, a device, and links to them: replacing them is what no one can have meant."""
    pipe, folder, device = tmp_path / "pipe", tmp_path / "folder", Path(os.devnull)
    os.mkfifo(pipe)
    folder.mkdir()
    for there in (pipe, folder, device):
        link = tmp_path / f"to_{there.name}"
        link.symlink_to(there)
        for path in (there, link):
            before = path.stat()
            with pytest.raises(ValueError, match=f"{path.name} is a .*: give the path of a file"):
                save(BayesianGMM(2), path)
            refused(path, "give the path of a file")
            assert path.stat().st_ino == before.st_ino and path.stat().st_mode == before.st_mode
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "folder", "pipe", "to_folder", "to_null", "to_pipe"
    ]  # fmt: skip


FORGED = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "null": b"null",
    "no version": b'{"fields": {}}',
    "no fields": b'{"version": "0.0.1"}',
    "a number": b'{"version": 1, "fields": {}}',
    "fields are a list": b'{"version": "0.0.1", "fields": ["a"]}',
    "an endless version": b'{"version": "%s", "fields": {}}' % (b"9" * 5000),
    "fields are a number": b'{"version": "0.0.1", "fields": 3}',
}


@pytest.mark.parametrize("line", FORGED.values(), ids=FORGED)
def test_forged_headers_are_named(file, tmp_path, line):
    archive = file.read_bytes().split(b"\n", 3)[3]
    path, body = tmp_path / "forged.sge", line + b"\n" + archive
    path.write_bytes(b"sgevidence-state 3\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    refused(path, "has no header of sgevidence.save")


@pytest.mark.parametrize(
    "name", ["", ".", "sgevidence.", "sgevidence..io", "sgevidence.io.\0", "sgevidence.x.Y"]
)
def test_forged_names_of_classes_are_named(file, tmp_path, name):
    path = forged(file, tmp_path / "forged.sge", {"version": "0.0.1", "fields": {name: ["a"]}})
    refused(path, "holds other fields")


def test_a_state_number_without_end(file, tmp_path):
    path = tmp_path / "long.sge"
    path.write_bytes(b"sgevidence-state " + b"1" * 10_000 + b"\n" + file.read_bytes().partition(b"\n")[2])
    refused(path, "was not written by")


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("claimed", [10, 1000, None])
def test_a_member_that_lies_about_its_size_is_not_unpacked(file, tmp_path, packing, claimed):
    """Sizes in the directory and before the member are what somebody has written there."""
    lies = io.BytesIO()
    with zipfile.ZipFile(lies, "w", packing) as archive:
        archive.writestr("schema.json", b" " * 30_000_000)
        size = archive.infolist()[0].compress_size if claimed is None else claimed
    found = lies.getvalue().replace((30_000_000).to_bytes(4, "little"), size.to_bytes(4, "little"))
    path = forged(file, tmp_path / "lies.sge", archive=found)
    tracemalloc.start()
    refused(path, "'schema.json' packed, or of two sizes|would unpack")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000


def test_an_archive_that_would_grow_is_not_unpacked(file, tmp_path):
    """It is refused by what it says of itself: nothing is unpacked."""
    grows = io.BytesIO()
    with zipfile.ZipFile(grows, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 30_000_000)
    path = forged(file, tmp_path / "grows.sge", archive=grows.getvalue())
    tracemalloc.start()
    refused(path, "would unpack .* bytes to 30,000,000")
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


class Harmful(BaseEstimator):
    ran = False

    def __setstate__(self, state):
        Harmful.ran = True


def test_no_code_is_run_that_nobody_trusts(file, tmp_path):
    """Neither a class, nor a function, nor what a module of ours only uses."""
    path = tmp_path / "harmful.sge"
    save(BayesianLinearRegression(sampler=Harmful()), path)
    refused(
        path,
        r"names test_io_saved_refused.Harmful.*load\(path, trusted=\['test_io_saved_refused.Harmful'\]\)",
    )
    assert not Harmful.ran
    load(path, trusted=["test_io_saved_refused.Harmful"])
    assert Harmful.ran
    for name in ("os.system", *(f"sgevidence.io._saved.{name}" for name in ("os", "pickle", "load"))):
        refused(forged(file, path, archive=archive_of(*name.rsplit(".", 1))), re.escape(name))


def archive_of(module, name):
    """A skops archive of whatever has this import path."""
    archive = io.BytesIO()
    schema = json.loads(zipfile.ZipFile(io.BytesIO(skops_io.dumps(save))).read("schema.json"))
    with zipfile.ZipFile(archive, "w") as changed:
        changed.writestr("schema.json", json.dumps(schema | {"__class__": name, "__module__": module}))
    return archive.getvalue()


def test_archives_that_skops_cannot_read_are_named(file, tmp_path):
    path = tmp_path / "other.sge"
    refused(forged(file, path, archive=b"no archive"), "cannot be read by skops")
    refused(forged(file, path, archive=skops_io.dumps({"a": 1})), "holds a dict, which is no estimator")


def test_what_cannot_be_saved_is_said_before_a_file_is_made(tmp_path):
    path = tmp_path / "one.sge"
    with pytest.raises(TypeError, match="got a dict"):
        save({}, path)
    for function in (lambda rng, size: rng.standard_normal((size, 1)), lambda rng, size: None):
        with pytest.raises(ValueError, match=r"no import path.*top of a module"):
            save(estimator("custom").set_params(sample_prior=function), path)
    assert not list(tmp_path.iterdir())


def test_functions_are_loaded_by_import_path_when_they_are_trusted(tmp_path):
    path = tmp_path / "one.sge"
    save(estimator("custom"), path)
    refused(path, "names estimator_cases.sample_slope")
    assert load(path, trusted=FUNCTIONS).sample_prior is estimator("custom").sample_prior
    gone = forged(path, tmp_path / "gone.sge", archive=archive_of("estimator_cases", "no_function"))
    refused(gone, "names what cannot be imported here", trusted=["estimator_cases.no_function"])


def test_skops_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: save(BayesianGMM(), tmp_path / "x"), lambda: load(tmp_path / "x")):
        with pytest.raises(ImportError, match=r"pip install skops"):
            call()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such folder") as caught:
        save(BayesianLinearRegression().fit(*data("linear", 20)), tmp_path / "lost" / "one.sge")
    assert caught.value.filename == str(tmp_path / "lost") and ".part" not in str(caught.value)
