"""Check the share of the public names with a known type, as pyright counts it: at least ``LEAST``.

It also checks that pyright finds every call of ``wrong_calls.py``.

``python tests/annotations/completeness.py`` needs pyright on the path, and the stubs of SciPy and
scikit-learn, which bring none: see the session ``completeness``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST = 0.98


def calls_not_found() -> list[str]:
    """Return the calls of ``wrong_calls.py`` in which pyright finds nothing wrong."""
    source = (Path(__file__).parent / "wrong_calls.py").read_text(encoding="utf-8")
    # It would leave out lines with the comments that are for mypy.
    lines = [line.partition("  # ")[0] for line in source.splitlines()]
    with tempfile.TemporaryDirectory() as elsewhere:
        path = Path(elsewhere) / "wrong_calls.py"
        path.write_text("\n".join(lines), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = ["pyright", "--outputjson", str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    places = {each["range"]["start"]["line"] for each in found if each["severity"] == "error"}
    calls = [place for place, line in enumerate(lines) if line.startswith("    lambda: ")]
    return [lines[place] for place in calls if place not in places]


def main() -> int:
    """Print the share, and the names whose types are not known; 1 where these are too many."""
    command = ["pyright", "--verifytypes", "skgpb", "--ignoreexternal", "--outputjson"]
    # It finds neither an editable installation nor a package in the working directory.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            command, env=environment, cwd=elsewhere, capture_output=True, text=True, check=False
        )
    try:
        found = json.loads(done.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        print(done.stdout, done.stderr, file=sys.stderr)
        return 1
    for symbol in found["symbols"]:
        if symbol["isExported"] and not symbol["isTypeKnown"]:
            print(symbol["name"], *(each["message"] for each in symbol["diagnostics"]), sep="\n  ")
    share = found["completenessScore"]
    print(f"the types of {share:.1%} of the public names are known, {LEAST:.0%} are asked for")
    unfound = calls_not_found()
    print(f"wrong calls that pyright does not find: {len(unfound)}", *unfound, sep="\n")
    return int(share < LEAST or bool(unfound))


if __name__ == "__main__":
    sys.exit(main())
