"""Thumbnails of the gallery are squares with one panel of a figure."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("sphinx_gallery")

SCRIPT = Path(__file__).parents[1] / "doc" / "thumbnails.py"
if not SCRIPT.exists():
    pytest.skip("needs a checkout", allow_module_level=True)


@pytest.mark.parametrize("chosen", [None, 1])
def test_a_thumbnail_is_a_square_with_one_panel(tmp_path, chosen):
    save_square = runpy.run_path(str(SCRIPT))["save_square"]
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    colors = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for ax, color in zip(axes, colors, strict=True):
        ax.imshow(np.tile(color, (3, 3, 1)))
        ax.set(title="title", xlabel="x")
    if chosen is not None:
        axes[chosen].set_label("thumbnail")
    save_square(figure, tmp_path / "thumb.png")
    plt.close(figure)
    picture = plt.imread(tmp_path / "thumb.png")[..., :3]
    assert picture.shape[0] == picture.shape[1] >= 400
    share = (np.abs(picture - colors[chosen or 0]) < 0.1).all(axis=2).mean()
    assert share > 0.9
