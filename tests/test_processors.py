"""Queries do not depend on the processor (decision D-G1).

OpenBLAS can be told to compute as another processor does, and NumPy to leave out instructions: sums
come out with other last digits. Both processes must be able to run what they are told to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trajectories
from threadpoolctl import threadpool_info

SCRIPT = Path(__file__).with_name("trajectories.py")
#: Kinds of processors by the newest instructions that they have, x86 and Arm.
KINDS = ["SkylakeX", "Haswell", "Sandybridge", "Nehalem", "NEOVERSEV1", "NEOVERSEN1", "ARMV8"]
#: Instructions that NumPy is told to leave out where OpenBLAS computes as an older processor.
NEWEST = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
#: Queries are rounded to this fraction of a side; the sides of the cases are 1 to 3 long.
SAME = 1e-9
#: One case of every form of search; those over points had other queries at 70857ab.
FEW = [
    *("indirect:CMES", "indirect:CMES-points", "indirect-even:UCB", "indirect-even:CMES-noisy"),
    *("even:GPOO-after-K3", "even:zooming", "even:KG-cells", "even:IDS", "even:GP-UCB-box"),
    *("contexts:UCB-box-in-contexts", "contextual:tree", "campaigns:three"),
    *("even:rule-of-cells", "indirect:rule-of-answers", "indirect:CMETS"),
]

openblas = pytest.mark.skipif(
    not any(each["internal_api"] == "openblas" for each in threadpool_info()),
    reason="NumPy and SciPy have another BLAS than OpenBLAS",
)


def play(kind, n_rounds, *names):
    """Return the queries on a kind of processor; None if this machine cannot emulate it."""
    environment = os.environ | {"OPENBLAS_CORETYPE": kind, "OPENBLAS_NUM_THREADS": "1"}
    if kind != KINDS[0]:
        environment["NPY_DISABLE_CPU_FEATURES"] = NEWEST
    command = [sys.executable, str(SCRIPT), str(n_rounds), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode < 0:  # an instruction that this processor does not know
        return None
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    of_blas = {each["architecture"] for each in found["libraries"] if "architecture" in each}
    return found["runs"] if of_blas == {kind} else None


def numbers(run):
    """All that a run asked, and what it recommends in the end."""
    return [*run["queries"], run["best"]]


def same(a, b):
    """Return whether two queries have equal numbers."""
    return len(a) == len(b) and np.abs(np.array(a) - np.array(b)).max() <= SAME


def check_same(n_rounds, names):
    """Play cases on two kinds of processors, and compare."""
    runs = []
    for kind in KINDS:
        runs += [each for each in [play(kind, n_rounds, *names)] if each is not None]
        if len(runs) == 2:
            break
    assert len(runs) == 2, f"this processor can compute as no two of {KINDS}"
    ours, theirs = runs
    different = {}
    for name in names:
        pairs = list(zip(numbers(ours[name]), numbers(theirs[name]), strict=True))
        assert len(pairs) == n_rounds + 1
        apart = [pair for pair in pairs if not same(*pair)]
        if apart:
            different[name] = apart[0]
    assert not different


@openblas
@pytest.mark.slow
def test_every_class_asks_the_same_on_two_processors():
    check_same(20, trajectories.NAMES)


@pytest.mark.slow
@openblas
def test_every_form_of_search_asks_the_same_on_two_processors():
    check_same(10, FEW)
