"""Runs as files: the format, crashes, damage, and what cannot be saved."""

import contextlib
import io
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from scipy import stats
from scipy.stats import loguniform
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

import skgpb.persistence
from skgpb import (
    CMESOptimizer,
    CombinatorialBandit,
    ContextualGPTreeOptimizer,
    EIOptimizer,
    GPOOOptimizer,
    GPTreeOptimizer,
    GPUCBOptimizer,
    GPZoomingOptimizer,
    IndirectUCBOptimizer,
    MESOptimizer,
    StoOOOptimizer,
)
from skgpb.exceptions import EvaluationWarning, LoadError, ReplayWarning
from skgpb.kernels import CellAverage, Columns, ConditionalMean, PolicyMean, WindowMean
from skgpb.optimizers._base import BaseBanditOptimizer
from skgpb.persistence import Reader, Writer, register_kernel

BOUNDS = [(0.0, 1.0)]


def peak(query):
    """A noisy objective whose noise depends on the query only: the same in any process."""
    x = float(np.asarray(query).mean())
    return float(np.sin(7.0 * x) + 0.1 * np.sin(1e4 * x))


def optimizer(**parameters):
    return GPOOOptimizer(
        **{"bounds": BOUNDS, "diameter": (3.0, 0.6), "random_state": 0} | parameters
    )


def document_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("run.json"))


def with_document(path, change):
    """Rewrite the JSON of a file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["run.json"])
    change(document)
    members["run.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_parameters_that_had_other_names_are_understood(tmp_path):
    def as_before(parameters):
        assert parameters.pop("max_values") == "draws"
        parameters["n_draws"] = parameters.pop("n_max_values")
        parameters["max_values"] = "joint"

    arms = np.linspace(0.0, 1.0, 6)[:, None]
    single = MESOptimizer(arms=arms, n_max_values=7, random_state=0)
    single.tell(single.ask(), 1.0).save(tmp_path / "single")
    with_document(tmp_path / "single", lambda document: as_before(document["parameters"]))
    resumed = MESOptimizer.load(tmp_path / "single")
    assert resumed.get_params() == single.get_params() | {"arms": resumed.arms}
    assert resumed.ask() == single.ask()

    # Left out of the file, and as part of another optimizer.
    single.save(tmp_path / "omitted", omit=["n_max_values"])
    with_document(tmp_path / "omitted", lambda document: document.update(omitted=["n_draws"]))
    with pytest.raises(LoadError, match="n_max_values"):
        MESOptimizer.load(tmp_path / "omitted")
    several = CombinatorialBandit([single] * 2, 1.0, random_state=0)
    several.tell(several.ask(), [1.0, 0.5]).save(tmp_path / "several")
    with_document(
        tmp_path / "several",
        lambda document: [as_before(o["parameters"]) for o in document["parameters"]["optimizers"]],
    )
    resumed = CombinatorialBandit.load(tmp_path / "several")
    assert resumed.optimizers_[1].n_max_values == 7
    assert resumed.ask() == several.ask()


def test_sides_are_kept_with_their_kinds_and_files_without_them_are_read(tmp_path):
    sides = {"x": (0, 2), "s": loguniform(1e-4, 1), "n": range(2, 9, 3), "k": ["a", None, 1.5]}
    sides["m"] = stats.randint(low=1, high=4)
    run = GPUCBOptimizer(bounds=sides, n_candidates=30, random_state=0)
    run.tell(run.ask(), 1.0).save(tmp_path / "run")
    loaded = GPUCBOptimizer.load(tmp_path / "run")
    for name in ("x", "n", "k"):
        assert loaded.bounds[name] == sides[name]
        assert type(loaded.bounds[name]) is type(sides[name])
    for name in ("s", "m"):
        assert_array_equal(loaded.bounds[name].ppf([0.1, 0.7]), sides[name].ppf([0.1, 0.7]))
    assert loaded.ask().params == run.ask().params

    def change(document):
        (salt,) = (v for k, v in document["parameters"]["bounds"]["dict"] if k == "s")
        salt["distribution"] = "rv_histogram"

    with_document(tmp_path / "run", change)
    with pytest.raises(LoadError, match="not a distribution"):
        GPUCBOptimizer.load(tmp_path / "run")
    old = optimizer()
    old.tell(old.ask(), 1.0).save(tmp_path / "old")
    with_document(tmp_path / "old", lambda document: document.update(version=1))
    assert type(old).load(tmp_path / "old").ask() == old.ask()


OLD_NAMES = {"bounds": "domain", "queries": "candidates"}


@pytest.mark.parametrize("omit", [(), ("queries",)])
def test_a_file_that_has_the_former_names_of_parameters_is_read(omit, tmp_path):
    A = np.linspace(0.0, 2.0, 9)[:, None]
    window = WindowMean(scale=0.3)
    run = CMESOptimizer(conditional=window, bounds=[(0, 2)], queries=A, alpha=0.01, n_points=50)
    for _ in range(5):
        run.tell(run.ask(), peak(run.ask()))
    run.save(tmp_path / "run", omit=omit)

    def rename(document):
        stored = document["parameters"]
        document["parameters"] = {OLD_NAMES.get(name, name): stored[name] for name in stored}
        document["omitted"] = [OLD_NAMES.get(name, name) for name in document["omitted"]]

    with_document(tmp_path / "run", rename)
    assert "domain" in document_of(tmp_path / "run")["parameters"]
    resumed = CMESOptimizer.load(tmp_path / "run", **dict.fromkeys(omit, A))
    np.testing.assert_array_equal(resumed.history_, run.history_)
    np.testing.assert_array_equal(resumed.queries, A)
    assert resumed.ask() == run.ask()


@pytest.mark.parametrize("cls", [CMESOptimizer, IndirectUCBOptimizer])
def test_evaluations_given_to_fit_beside_answers_are_kept(cls, tmp_path):
    run = cls(conditional=WindowMean(scale=0.3), n_points=50, n_candidates=40, random_state=0)
    X = np.linspace(0.1, 1.9, 9)[:, None]
    run.set_params(bounds=[(0, 2)]).fit(X, np.sin(3.0 * X[:, 0]))
    for _ in range(4):
        run.tell(run.ask(), peak(run.ask()))
    run.save(tmp_path / "run")
    resumed = cls.load(tmp_path / "run")
    assert resumed.ask() == run.ask()
    assert_array_equal(resumed.predict(X), run.predict(X))


# The format --------------------------------------------------------------------------------------


def test_a_file_is_json_and_arrays_that_other_programs_read(tmp_path):
    run, path = optimizer(pool=np.linspace(0, 1, 60)[:, None], bounds=None), tmp_path / "run.npz"
    run.run(peak, 5)
    run.save(path)
    document = document_of(path)
    assert document["format"] == "skgpb run"
    assert document["version"] == 2
    assert document["class"] == "GPOOOptimizer"
    told = [event for event in document["events"] if event[0] == "tell"]
    assert [event[2] for event in told] == run.history_["reward"].tolist()
    with np.load(path, allow_pickle=False) as arrays:
        name = document["parameters"]["pool"]["array"]
        assert_array_equal(arrays[name], run.pool)


VALUES = [
    None, True, 3, -2.5, 1e-300, 0.1 + 0.2, np.inf, "text", (1, 2.0), [1, (2,)], (3.0, 0.5),
    np.arange(3), np.linspace(0, 1, 40).reshape(4, 10), np.array([True]), np.float64(1 / 3),
    np.int32(5), {"a": 1, 2: (3,)}, np.array([]),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_exactly(value):
    writer = Writer()
    text = json.dumps(writer.encode(value, "p"), allow_nan=False)
    back = Reader(writer.arrays).decode(json.loads(text))
    assert type(back) is type(value)
    assert getattr(back, "dtype", None) == getattr(value, "dtype", None)
    if isinstance(value, np.ndarray):
        assert_array_equal(back, value)
    else:
        assert back == value


@pytest.mark.parametrize("cls", [np.random.RandomState, np.random.default_rng])
def test_random_states_come_back_where_they_were(cls):
    rng = cls(3)
    rng.random(7)
    writer = Writer()
    text = json.dumps(writer.encode(rng, "random_state"))
    back = Reader(writer.arrays).decode(json.loads(text))
    assert_array_equal(back.random(5), rng.random(5))


KERNELS = [
    ConstantKernel(2.0, (0.1, 10.0)) * RBF([0.1, 0.2]) + WhiteKernel(0.1, "fixed"),
    CellAverage(Matern(0.3, nu=1.5), (2, 3)),
    Columns(RBF(0.2), [0]) * Columns(RBF(0.5), [1]),
    WindowMean(RBF(0.1), 0.3),
    ConditionalMean(RBF(0.3), X=np.random.default_rng(0).random((30, 2)), A=np.ones((30, 1))),
    PolicyMean(RBF(0.3), policies=np.full((2, 3), 1 / 3)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_kernels_come_back(kernel):
    writer = Writer()
    text = json.dumps(writer.encode(kernel, "kernel"))
    back = Reader(writer.arrays).decode(json.loads(text))
    assert repr(back) == repr(kernel)
    assert_array_equal(back.theta, kernel.theta)


class Bumpy(RBF):
    """A kernel that no file knows."""


@register_kernel
class Known(RBF):
    """A kernel that files know."""


def test_what_is_no_data_is_refused_by_name_and_nothing_is_written(tmp_path):
    path = tmp_path / "run"
    for parameters, words in [
        ({"beta": lambda t: 2.0}, "beta is a .*function.*omit="),
        ({"kernel": Bumpy(0.2)}, "kernel has a kernel of the class Bumpy.*register_kernel"),
        ({"kernel": 2.0 * Bumpy(0.2)}, "kernel.k2 has a kernel of the class Bumpy"),
        ({"diameter": float}, "diameter is a "),
    ]:
        with pytest.raises(TypeError, match=words):
            optimizer(**parameters).save(path)
        # It is known before anything is evaluated.
        with pytest.raises(TypeError, match=words):
            optimizer(**parameters).run(lambda query: 1 / 0, 3, checkpoint=path)
        assert os.listdir(tmp_path) == []
    run = optimizer(kernel=Known(0.2))
    run.run(peak, 4)
    run.save(path)
    assert GPOOOptimizer.load(path).ask() == run.ask()
    with pytest.raises(ValueError, match="registered already"):
        register_kernel(type("RBF", (RBF,), {}))
    with pytest.raises(TypeError, match="cls"):
        register_kernel(3)


def test_functions_are_omitted_and_given_again(tmp_path):
    def beta(t):
        return 1.0 + 0.1 * t

    run, path = optimizer(beta=beta), tmp_path / "run"
    run.run(peak, 6)
    with pytest.raises(ValueError, match=r"omit names \['betta'\]"):
        run.save(path, omit=["betta"])
    run.save(path, omit=["beta"])
    with pytest.raises(ValueError, match="without \\['beta'\\]"):
        GPOOOptimizer.load(path)
    resumed = GPOOOptimizer.load(path, beta=beta)
    resumed.run(peak, 6)
    run.run(peak, 6)
    assert_array_equal(resumed.history_, run.history_)


def test_files_of_others_are_refused(tmp_path):
    path = tmp_path / "run"
    optimizer().save(path)
    with pytest.raises(ValueError, match="holds a GPOOOptimizer, not a EIOptimizer"):
        EIOptimizer.load(path)
    assert isinstance(BaseBanditOptimizer.load(path), GPOOOptimizer)
    (tmp_path / "text").write_text("no archive")
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    for name in ("text", "arrays.npz"):
        with pytest.raises(ValueError, match="cannot be loaded as a saved run"):
            GPOOOptimizer.load(tmp_path / name)
    with_document(path, lambda document: document.update(version=99))
    with pytest.raises(ValueError, match="version 99 of the format"):
        GPOOOptimizer.load(path)
    with pytest.raises(FileNotFoundError):
        GPOOOptimizer.load(tmp_path / "nothing")


def _object_array():
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([peak], dtype=object))
    return file.getvalue()


def test_loading_runs_no_code(tmp_path):
    path = tmp_path / "run"
    optimizer(kernel=RBF(0.2)).save(path)

    def foreign(document):
        document["parameters"]["kernel"] = {"kernel": "Popen", "parameters": {"args": ["true"]}}

    with_document(path, foreign)
    with pytest.raises(ValueError, match="class Popen, which is not known"):
        GPOOOptimizer.load(path)
    # An array of objects would need pickle.
    with_member(path, "array_9.npy", _object_array())
    with_document(path, lambda document: document["parameters"].update(kernel={"array": "array_9"}))
    with pytest.raises(ValueError, match="arrays of object are not accepted"):
        GPOOOptimizer.load(path)


# Damage ------------------------------------------------------------------------------------------


def with_member(path, name, data, **options):
    """Add a member to a file."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, data, zipfile.ZIP_DEFLATED, **options)


@pytest.fixture
def saved(tmp_path):
    """A file of a run on a pool, whose queries refer to arrays."""
    path = tmp_path / "run"
    pool = np.random.default_rng(0).random((40, 2))
    run = optimizer(kernel=RBF(0.2), bounds=None, pool=pool, alpha=0.01)
    run.run(peak, 5)
    run.save(path)
    return path


def test_flipped_and_missing_bytes_end_in_one_error(saved):
    data, rng = saved.read_bytes(), np.random.default_rng(1)
    for _ in range(150):
        damaged = bytearray(data)
        for place in rng.integers(len(data), size=3):
            damaged[place] ^= int(rng.integers(1, 256))
        saved.write_bytes(damaged if rng.random() < 0.8 else data[: rng.integers(len(data))])
        # Some bytes, such as dates of members, mean nothing.
        with contextlib.suppress(LoadError):
            assert len(GPOOOptimizer.load(saved).history_) == 5


def _changed(*place, to):
    def change(document):
        for key in place[:-1]:
            document = document[key]
        document[place[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        _changed("events", to=None),
        _changed("events", 1, to=["tell"]),
        _changed("events", 1, to=["throw", {}]),
        _changed("events", 0, 1, "query", to="Popen"),
        _changed("events", 0, 1, "arguments", to=[0, 0, None, None, None, None]),
        _changed("events", 1, 2, to=float("nan")),
        _changed("events", 1, 2, to={"float": "nan"}),
        _changed("events", 1, 2, to={"float": "inf"}),
        _changed("events", 1, 2, to={"scalar": "|V1000000000", "value": 1}),
        _changed("events", 1, 3, to=-1.0),
        _changed("parameters", "pool", to={"array": "nothing"}),
        _changed("parameters", "pool", to={"floats": [1.0], "shape": [10**15]}),
        _changed("parameters", "n_children", to="many"),
        _changed("parameters", "colour", to="red"),
        _changed("class", to=[]),
        _changed("version", to="new"),
    ],
)
def test_documents_that_are_none_end_in_one_error(saved, change):
    with_document(saved, change)
    with pytest.raises(LoadError, match="cannot be loaded as a saved run"):
        GPOOOptimizer.load(saved)


@pytest.mark.parametrize("names", ["x", ["x", "y"], [1], [None], 5])
def test_names_that_do_not_fit_the_features_are_refused(names, tmp_path):
    path = tmp_path / "run"
    optimizer().fit([[0.1], [0.3]]).save(path)
    with_document(path, _changed("feature_names", to=names))
    with pytest.raises(LoadError, match="feature_names must be a list of 1"):
        GPOOOptimizer.load(path)


@pytest.mark.parametrize("text", [b"[" * 100_000, b"\xff", b'"\xc3\xa9"', b"1" * 10_000, b""])
def test_documents_that_are_no_json_end_in_one_error(tmp_path, text):
    with_member(tmp_path / "run", "run.json", text)
    with pytest.raises(LoadError, match="cannot be loaded as a saved run"):
        GPOOOptimizer.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("center", {"float": "nan"}),
        ("scale", 0.0),
        ("theta", {"tuple": [{"float": "inf"}, 0.0]}),
        ("theta", {"floats": [0.0], "shape": [1]}),
        ("noise", -1.0),
        ("noise", "small"),
    ],
)
def test_learned_numbers_that_cannot_be_are_refused(tmp_path, key, value):
    run, path = optimizer(diameter="kernel"), tmp_path / "run"
    run.run(peak, 6)
    run.save(path)

    def change(document):
        learned = [event[1]["dict"] for event in document["events"] if event[0] == "learned"]
        assert key in [pair[0] for pair in learned[-1]]
        learned[-1][:] = [[name, value if name == key else old] for name, old in learned[-1]]

    with_document(path, change)
    with pytest.raises(LoadError):
        GPOOOptimizer.load(path)


def test_only_what_the_document_names_is_read(saved):
    expected = GPOOOptimizer.load(saved).ask()
    with_member(saved, "array_99.npy", b"no array")
    with_member(saved, "other", b"something")
    assert GPOOOptimizer.load(saved).ask() == expected


def _header(shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def test_bombs_are_refused_before_they_expand(saved, monkeypatch):
    document = document_of(saved)
    large = bytes(3 * 2**20)
    monkeypatch.setattr(skgpb.persistence, "LARGEST_ARRAYS", 2**20)
    monkeypatch.setattr(skgpb.persistence, "LARGEST_DOCUMENT", 2**20)
    bombs = []
    for name, data in [
        ("large.npy", large),
        # A header that promises more than there is.
        ("large.npy", _header((10**12,)) + bytes(80)),
        ("large.npy", _header((0, 10**12)) + bytes(80)),
        ("run.json", large),
    ]:
        document["parameters"]["pool"] = {"array": "large"}
        members = {"run.json": json.dumps(document), name: data}
        path = saved.with_name(f"bomb{len(bombs)}")
        bombs.append(path)
        for member, content in members.items():
            with_member(path, member, content)
    tracemalloc.start()
    for path in bombs:
        with pytest.raises(LoadError):
            GPOOOptimizer.load(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 2**20
    # So are many small values, each of which takes more room than its text.
    monkeypatch.setattr(skgpb.persistence, "LARGEST_NUMBER_OF_VALUES", 1000)
    many = saved.with_name("many")
    with_member(many, "run.json", b"[" + b"[]," * 2000 + b"0]")
    with pytest.raises(LoadError, match="larger than a file may hold"):
        GPOOOptimizer.load(many)


def test_what_would_not_be_read_is_not_written(tmp_path, monkeypatch):
    run = optimizer(bounds=None, pool=np.random.default_rng(0).random((40, 2)))
    run.run(peak, 5)
    monkeypatch.setattr(skgpb.persistence, "LARGEST_ARRAYS", 600)
    with pytest.raises(ValueError, match="omit"):
        run.save(tmp_path / "run")
    monkeypatch.setattr(skgpb.persistence, "LARGEST_NUMBER_OF_VALUES", 100)
    with pytest.raises(ValueError, match="pickle it"):
        run.save(tmp_path / "run")
    assert os.listdir(tmp_path) == []


def test_methods_of_compression_that_save_does_not_use_are_refused(saved):
    pytest.importorskip("lzma")
    text = json.dumps(document_of(saved))
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("run.json", text)
    with pytest.raises(LoadError, match="compressed"):
        GPOOOptimizer.load(saved)


def test_queries_that_come_out_otherwise_are_taken_as_they_were(tmp_path):
    run, path = optimizer(feedback="center"), tmp_path / "run"
    run.run(peak, 12)
    run.save(path)
    X = np.linspace(0, 1, 9)[:, None]
    with pytest.warns(ReplayWarning, match="steps"):
        other = GPOOOptimizer.load(path, n_children=3)
    assert_array_equal(other.history_["reward"], run.history_["reward"])
    # With the same kernel the posterior is that of the answers, whoever chose the queries.
    np.testing.assert_allclose(other.predict(X), run.predict(X), atol=1e-10)
    other.tell(other.ask(), 0.3)


def test_seeds_that_nobody_chose_are_kept(tmp_path):
    for random_state in (None, np.random.RandomState(4)):
        run = EIOptimizer(bounds=BOUNDS, n_candidates=30, random_state=random_state)
        run.run(peak, 4)
        run.save(tmp_path / "run")
        resumed = EIOptimizer.load(tmp_path / "run")
        resumed.run(peak, 5)
        run.run(peak, 5)
        assert_array_equal(resumed.history_, run.history_)


# Crashes -----------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
import numpy as np
from skgpb import GPUCBOptimizer

path, n_jobs, fatal = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def objective(query):
    objective.calls += 1
    if objective.calls == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    x = float(np.asarray(query).mean())
    return float(np.sin(7.0 * x) + 0.1 * np.sin(1e4 * x))

objective.calls = 0
opt = GPUCBOptimizer(bounds=[(0, 1)], n_candidates=40, normalize_y=True,
                     optimizer="fmin_l_bfgs_b", random_state=0)
opt.run(objective, 20, checkpoint=path)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("fatal", [1, 9])
@pytest.mark.usefixtures("own_seeds")
def test_a_killed_run_resumes_on_the_same_trajectory(fatal, tmp_path):
    path = tmp_path / "run"
    killed = subprocess.run([sys.executable, "-c", KILLED, path, "1", str(fatal)], check=False)
    assert killed.returncode == -signal.SIGKILL
    resumed = GPUCBOptimizer.load(path)
    assert len(resumed.history_) == fatal - 1
    resumed.run(peak, 20 - len(resumed.history_), checkpoint=path)
    whole = GPUCBOptimizer(**resumed.get_params())
    whole.run(peak, 20)
    assert_array_equal(resumed.history_, whole.history_)
    assert_array_equal(GPUCBOptimizer.load(path).history_, whole.history_)
    assert os.listdir(tmp_path) == ["run"]


def test_a_run_interrupted_within_a_batch_evaluates_the_rest_of_it_first(tmp_path):
    whole, path = optimizer(), tmp_path / "run"
    with parallel_config(backend="threading"):
        whole.run(peak, 12, n_jobs=4)
        run = optimizer()
        run.run(peak, 12, n_jobs=4, callback=lambda self: len(self.history_) == 6, checkpoint=path)
        for resumed in (GPOOOptimizer.load(path), pickle.loads(pickle.dumps(run))):
            resumed.run(peak, 6, n_jobs=4)
            assert_array_equal(resumed.history_, whole.history_)


KILLED_WHILE_SAVING = """
import os, signal, sys
from skgpb import GPOOOptimizer

opt = GPOOOptimizer(bounds=[(0, 1)], random_state=0)
opt.save(sys.argv[1])
opt.tell(opt.ask(), 0.5)
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
opt.save(sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
def test_a_kill_while_saving_leaves_the_older_file_alone(tmp_path):
    path = tmp_path / "run"
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_SAVING, path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["run"]
    assert len(GPOOOptimizer.load(path).history_) == 0


@pytest.mark.parametrize("unseen", [True, False])
def test_saving_keeps_permissions_and_links(tmp_path, monkeypatch, unseen):
    if not unseen:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    target, link = tmp_path / "run", tmp_path / "link"
    link.symlink_to(target)
    run = optimizer()
    run.save(link)
    plain = tmp_path / "plain"
    plain.write_text("")
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    target.chmod(0o664)
    run.tell(run.ask(), 0.3).save(link)
    assert stat.S_IMODE(target.stat().st_mode) == 0o664
    assert link.is_symlink() and not target.is_symlink()
    assert len(GPOOOptimizer.load(target).history_) == 1
    assert sorted(os.listdir(tmp_path)) == ["link", "plain", "run"]


def test_names_of_any_length_can_be_saved(tmp_path):
    path = tmp_path / ("x" * 250)
    optimizer().save(path)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_are_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)  # the file is smaller than a pipe's buffer
    try:
        optimizer().save(path)
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert os.read(descriptor, 2) == b"PK"
    finally:
        os.close(descriptor)


def test_a_failing_write_leaves_the_older_file(tmp_path, monkeypatch):
    run, path = optimizer(), tmp_path / "run"
    run.run(peak, 3)
    run.save(path)
    before = path.read_bytes()

    def broken(descriptor):
        raise OSError("the disk is full")

    monkeypatch.setattr(skgpb.persistence.os, "fsync", broken)
    run.run(peak, 3)
    with pytest.raises(OSError, match="full"):
        run.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run"]


# Parallel ----------------------------------------------------------------------------------------


def failing_peak(query):
    if 0.4 < float(np.asarray(query).mean()) < 0.5:
        raise ArithmeticError("there is a hole")
    return peak(query)


def parallel_history():
    run = EIOptimizer(bounds=BOUNDS, n_candidates=40, random_state=0)
    with pytest.warns(EvaluationWarning):
        run.run(failing_peak, 20, n_jobs=2)
    return run.history_.tolist() + run.failed_.tolist()


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "dask", "ray"])
def test_backends_give_the_same_run(backend):
    with parallel_config(backend="threading"):
        expected = parallel_history()
    if backend == "dask":
        distributed = pytest.importorskip("distributed")
        with (
            distributed.Client(n_workers=1, threads_per_worker=3, processes=False),
            parallel_config(backend="dask"),
        ):
            assert repr(parallel_history()) == repr(expected)
        return
    if backend == "ray":
        ray = pytest.importorskip("ray")
        pytest.importorskip("ray.util.joblib").register_ray()
        ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
        try:
            with parallel_config(backend="ray"):
                assert repr(parallel_history()) == repr(expected)
        finally:
            ray.shutdown()
        return
    with parallel_config(backend=backend):
        assert repr(parallel_history()) == repr(expected)


RENAMED = {
    "tree": (
        GPTreeOptimizer(bounds=BOUNDS, horizon=7, max_active=5, random_state=0),
        {"horizon": "budget", "max_active": "max_leaves"},
    ),
    "balls": (
        GPZoomingOptimizer(bounds=BOUNDS, horizon=7, max_active=5, variation=(2.0, 1.0)),
        {"horizon": "budget", "max_active": "max_balls", "variation": "diameter"},
    ),
    "contexts": (
        ContextualGPTreeOptimizer(context_bounds=BOUNDS, bounds=BOUNDS, horizon=7, max_active=99),
        {"horizon": "budget", "max_active": "max_leaves"},
    ),
    "means": (
        StoOOOptimizer(bounds=BOUNDS, width="munos", horizon=7),
        {"horizon": "budget"},
    ),
}


@pytest.mark.parametrize("name", RENAMED)
@pytest.mark.parametrize("omit", [False, True])
def test_files_with_the_names_of_earlier_versions_are_read(name, omit, tmp_path):
    """Those of which a parameter has had another name since, given anew or in the file."""
    opt, old = RENAMED[name]
    path = tmp_path / "run.skgpb"
    asked = ([0.4],) if isinstance(opt, ContextualGPTreeOptimizer) else ()
    for value in (0.2, 0.7):
        opt.tell(opt.ask(*asked), value)
    opt.save(path, omit=["horizon"] if omit else [])

    def rename(document):
        for new, former in old.items():
            if new in document["parameters"]:
                document["parameters"][former] = document["parameters"].pop(new)
            document["omitted"] = [former if x == new else x for x in document["omitted"]]

    with_document(path, rename)
    if omit:
        with pytest.raises(LoadError, match="horizon"):
            type(opt).load(path)
    resumed = type(opt).load(path, **({"horizon": 7} if omit else {}))
    assert resumed.get_params(deep=False) == opt.get_params(deep=False)
    assert resumed.ask(*asked) == opt.ask(*asked)
    for field in opt.history_.dtype.names:  # of which some are NaN
        assert_array_equal(resumed.history_[field], opt.history_[field])
