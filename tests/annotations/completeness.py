"""Check the share of the public names with a known type, as pyright counts it: at least ``LEAST``.

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
    return int(share < LEAST)


if __name__ == "__main__":
    sys.exit(main())
