"""A photograph as a table of pixels."""

from __future__ import annotations

import numpy as np

from skgpb.utils.install import needs


def load_flower() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Load scikit-learn's photograph of a dahlia, without a download.

    Returns
    -------
    places : ndarray of shape (273280, 2)
        Column (from the left) and row (from the top) of every pixel, in pixels.
    brightness : ndarray of shape (273280,)
        Mean over red, green and blue, from 0 (black) to 1 (white).
    image : ndarray of shape (427, 640, 3)
        The photograph, as ``uint8``.

    Raises
    ------
    ImportError
        If Pillow, which decodes the photograph, is not installed.
    """
    from sklearn.datasets import load_sample_image

    with needs("reading the photograph", "Pillow", "plot"):
        image = load_sample_image("flower.jpg")
    rows, columns = np.indices(image.shape[:2], dtype=np.float64)
    places = np.column_stack([columns.ravel(), rows.ravel()])
    return places, image.mean(axis=2).ravel() / 255.0, image
