"""Files of every format that there was are read; what cannot be read is named as older or newer.

The files of versions 1 and 2 in ``files`` were written by the code of that time: the first and the
last code of version 1, and that of version 2. A format that is new gets files of its own here.
"""

import json
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from runs import of_another_version, optimizer, peak, with_document

import skgpb
from skgpb import GPOOOptimizer, GPUCBOptimizer
from skgpb.exceptions import LoadError
from skgpb.lab.datasets import PrivacyLedger, PrivateAverages
from skgpb.lab.experiments import Experiment
from skgpb.model_selection.checkpoint import Checkpoint
from skgpb.utils.persistence import VERSION

FILES = Path(__file__).parent / "files"
# Those of each version of a run: of the first code that wrote it, and of its last.
RUNS = ["1_first", "1", "2"]


def test_there_is_a_file_of_every_version():
    kinds = {path.name.split("_")[0] for path in FILES.iterdir()}
    assert kinds == {"tree", "box", "experiment", "search", "income"}
    for kind in kinds:
        written = {path.stem.removesuffix("_first") for path in FILES.glob(f"{kind}_*")}
        assert written == {f"{kind}_{version}" for version in range(1, VERSION + 1)}


@pytest.mark.parametrize("version", RUNS)
def test_a_run_in_cells(version):
    run = GPOOOptimizer.load(FILES / f"tree_{version}.skgpb")
    middles = [0.5, 0.125, 0.375, 0.3125, 0.875, 0.5625]
    assert_allclose(run.history_["reward"], [-((x - 0.3) ** 2) for x in middles], rtol=1e-12)
    run.tell(run.ask(), 0.0)
    assert len(run.history_) == 7


@pytest.mark.parametrize("version", RUNS)
def test_a_run_with_a_failure_in_a_box(version):
    # Of the first file, the kernel is another one today, and is learned again.
    run = GPUCBOptimizer.load(FILES / f"box_{version}.skgpb")
    answers = [-0.0106319066, -1.1365883722, -0.1620480925, -0.2899185649, -0.0297183764]
    assert_allclose(run.history_["reward"], answers, rtol=1e-8)
    assert len(run.history_) == 5 and len(run.failed_) == 1
    run.tell(run.ask(), 0.0)


@pytest.mark.parametrize("version", RUNS)
def test_an_experiment(tmp_path, version):
    path = tmp_path / "experiment.skgpb"
    shutil.copy(FILES / f"experiment_{version}.skgpb", path)
    experiment = Experiment(path)
    answers = [(each["params"]["x"], each["params"]["c"]) for each in experiment.history()]
    assert answers == [
        (0.321, "red"),
        (0.822, "blue"),
        (0.224, "blue"),
        (0.902, "red"),
        (0.553, "blue"),
    ]
    assert [each["answer"] for each in experiment.history()] == [0.32, 0.82, 0.22, 0.9, 0.55]
    experiment.tell(1.0, query=experiment.ask()[0]["query"])
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("run.json"))["version"] == VERSION
    assert Experiment(path).history() == experiment.history()


@pytest.mark.parametrize("version", ["1", "2"])
def test_fits_of_a_hyperparameter_search(version):
    kept = Checkpoint(FILES / f"search_{version}.json", True, {})
    assert (kept.seed, kept.n_iter) == (0, 4)
    fits = [kept.get(np.float64(third / 3).tobytes()) for third in range(4)]
    scores = [[each["test_scores"] for each in fit] for fit in fits]
    means = [0.9999433432716219, 0.9950852028440131, 0.8166088118875954, 0.0996591311409844]
    assert_allclose(np.mean(scores, axis=1), means, rtol=1e-3)


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_privacy_ledger(tmp_path, version):
    path = tmp_path / "income.ledger"
    shutil.copy(FILES / f"income_{version}.ledger", path)
    ledger = PrivacyLedger(path, np.linspace(0, 1, 300))
    income = np.linspace(20, 80, 300)
    office = PrivateAverages(income, (0, 100), epsilon=2, delta=1e-6, ledger=ledger)
    spent = np.repeat([0.044957863, 0.018512061, 0.0], [150, 50, 100])
    assert_allclose(office.spent_, spent, rtol=1e-6, atol=1e-12)
    first = office.answer(np.arange(150))
    assert first.variance == 8.402930258365814  # what was answered is repeated, at no cost
    assert_allclose(office.spent_, spent, rtol=1e-6, atol=1e-12)
    office.answer(np.arange(300), share=0.1)
    again = PrivacyLedger(path, np.linspace(0, 1, 300))
    with again.exclusive():
        assert_array_equal(again.spent, office.spent_)


@pytest.mark.parametrize(
    ("skgpb_version", "age"), [("0.0.9", "older"), ("0.10.0", "newer"), ("1.0", "newer")]
)
def test_what_cannot_be_read_is_older_or_newer(tmp_path, skgpb_version, age):
    path = tmp_path / "run"
    optimizer().save(path)
    of_another_version(path, expectation=7)
    with_document(path, lambda document: document.update(skgpb=skgpb_version))
    said = (
        f"it was saved by skgpb {skgpb_version} in version 2 of the format, {age} than this one "
        f"({skgpb.__version__}, version 2): GPOOOptimizer has no parameter 'expectation'"
    )
    with pytest.raises(LoadError, match=re.escape(said)):
        GPOOOptimizer.load(path)


def test_a_run_in_an_older_format_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "run"
    shutil.copy(FILES / "tree_1.skgpb", path)
    with_document(path, lambda document: document["parameters"].update(expectation=7))
    with pytest.raises(LoadError, match=r"in version 1 of the format, older than this one"):
        GPOOOptimizer.load(path)
    before = path.read_bytes()
    with pytest.raises(LoadError, match=r"older than this one .*; choose another name"):
        optimizer().run(peak, 3, checkpoint=path, resume=True)
    assert path.read_bytes() == before


def test_a_run_in_a_newer_format_is_named(tmp_path):
    path = tmp_path / "run"
    optimizer().save(path)
    with_document(path, lambda document: document.update(version=VERSION + 1))
    with pytest.raises(LoadError, match=r"version 3 of the format, which is newer than this skgpb"):
        GPOOOptimizer.load(path)


def test_no_message_advises_to_delete_a_file():
    """A file that cannot be read may hold answers all the same."""
    for path in Path(skgpb.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(delete|remove|erase)\W+(it|the file)\W+or\b", text), path
