"""Compiled leaves: no module here imports anything else of skgpb."""

from importlib.util import find_spec
from pathlib import Path

# An installed package has no .pyx files here; a checkout has them before they are compiled.
for _source in Path(__file__).parent.glob("*.pyx"):
    if find_spec(f"{__name__}.{_source.stem}") is None:
        raise ImportError(
            f"the sources of skgpb in {_source.parents[2]} are not compiled ({_source.name}): run "
            "`python -m pip install -e .` there, or, where skgpb is installed, start Python in "
            "another folder",
            name=f"{__name__}.{_source.stem}",
        )
