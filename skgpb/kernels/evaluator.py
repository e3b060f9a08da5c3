"""Evaluation of kernels for a posterior: lists of functionals, and two steps.

A functional is one row of descriptors, or the mean over consecutive rows, which begin at
``offsets``. Covariances are evaluated in two steps, so that the expensive half is computed once for
each functional::

    evaluator = evaluator_of(kernel, n_columns)  # for the present hyperparameters
    E = evaluator.embed(rows, offsets)           # everything that depends on one functional only
    evaluator.cross(E, F)                        # (n, m), noiseless

A kernel may have its own evaluator by a method ``evaluator(n_columns)``; any other kernel of
scikit-learn gets :class:`PlainEvaluator`, which calls it. :class:`Functionals` is a list that
caches embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product

from skgpb.kernels._random_effect import of_f
from skgpb.kernels._white import contains_white_noise, diagonal_of, noise_of_points
from skgpb.utils.validation import box_around

#: Rounding: domains this many sides away from zero are far: their coordinates lose digits if they
#: are divided by length scales before they are subtracted.
FAR_FROM_ZERO = 1e3


class Evaluator(Protocol):
    """Noiseless covariances at fixed hyperparameters.

    Attributes
    ----------
    memory : {"none", "whole", "rows"}
        How embeddings are cached: not at all ("none"), because they are the rows themselves;
        as a whole, to be joined with those of later functionals; or by functional ("rows"), as
        an array (n, r). Only the last kind embeds means over rows; otherwise covariances of rows
        are averaged.
    """

    memory: str

    def embed(self, rows: np.ndarray, offsets: Any = None) -> Any:
        """Return the embedding of functionals; with ``memory="rows"`` of means over rows."""

    def join(self, first: Any, second: Any) -> Any:
        """Return the embedding of two lists of functionals, one below the other."""

    def cross(self, E: Any, F: Any) -> np.ndarray:
        """Return the covariances (n, m), a new C-contiguous array."""

    def diag(self, E: Any) -> np.ndarray:
        """Return the variances (n,)."""

    def noise(self, E: Any) -> np.ndarray:
        """Return the white noise of each functional (n,)."""


def evaluator_of(
    kernel: Kernel,
    n_columns: int,
    origin: np.ndarray | None = None,
    sizes: np.ndarray | None = None,
) -> Evaluator:
    """Return the evaluator of any kernel at its present hyperparameters.

    ``origin`` (n_columns,) may be subtracted from rows far from zero, if the kernel depends on
    differences only. ``sizes`` (n_sizes, d) are frequent sizes of boxes.
    """
    kernel = of_f(kernel)
    own = getattr(kernel, "evaluator", None)
    found = None if own is None else own(n_columns)
    if found is None:
        return PlainEvaluator(kernel, origin)
    tabulate_sizes = getattr(found, "tabulate_sizes", None)
    return found if sizes is None or tabulate_sizes is None else tabulate_sizes(sizes)


def origin_of(kernel: Kernel, bounds: np.ndarray) -> np.ndarray | None:
    """Return the middle (d,) of a domain (d, 2) far from zero, if the kernel is stationary.

    scikit-learn's kernels divide coordinates by length scales, and lose the digits that distinguish
    the points of such a domain. Other kernels, such as DotProduct, depend on the position of zero:
    None for them, and for domains that are not far.
    """
    side = bounds[:, 1] - bounds[:, 0]
    far = np.abs(bounds).max(axis=1) > FAR_FROM_ZERO * side
    if not far.any() or not kernel.is_stationary():
        return None
    return np.where(far, bounds[:, 0] + 0.5 * side, 0.0)


def relative(X: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Return points (n, d) minus the origin; the points themselves if it is None."""
    return X if origin is None else X - origin


def near(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Return points (n, d) relative to the middle of their own box, see :func:`origin_of`."""
    return relative(X, origin_of(kernel, box_around(X)))


def row_set_means(K: np.ndarray, offsets: np.ndarray | None, axis: int) -> np.ndarray:
    """Average runs of rows (axis 0) or columns (axis 1) of a covariance matrix."""
    if offsets is None:
        return K
    sizes = np.diff(offsets)
    sums = np.add.reduceat(K, offsets[:-1], axis=axis)
    return sums / sizes.reshape([-1 if a == axis else 1 for a in range(K.ndim)])


def check_covariances(kernel: Kernel, K: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless a kernel returned an array with this shape of covariances."""
    if np.shape(K) != shape:
        call = "diag(X)" if len(shape) == 1 else "kernel(X, Y)"
        raise ValueError(
            f"{call} of {type(kernel).__name__} must have the shape {shape}, one number for each "
            f"{'row' if len(shape) == 1 else 'pair of rows'}; got {np.shape(K)} from {kernel!r}"
        )


class PlainEvaluator:
    """Any kernel of scikit-learn; the embedding is the rows themselves.

    Parameters
    ----------
    kernel : Kernel
        Kernel over descriptor rows.
    origin : ndarray of shape (n_columns,) or None, default=None
        Subtracted from all rows, for a kernel that depends on differences only.
    """

    memory = "none"

    def __init__(self, kernel: Kernel, origin: np.ndarray | None = None) -> None:
        self.kernel = kernel
        self.origin = origin
        # Speed: scikit-learn's product would fill an array with a constant factor.
        scaled = type(kernel) is Product and type(kernel.k1) is ConstantKernel
        self._factor: Any = kernel.k1.constant_value if scaled else 1.0
        self._base: Kernel = kernel.k2 if scaled else kernel
        self._covariances: Callable[..., Any] | None = None

    @cached_property
    def _white(self) -> bool:
        return contains_white_noise(self.kernel)

    @cached_property
    def _diagonal(self) -> Callable[[np.ndarray], np.ndarray]:
        return diagonal_of(self._base)

    def embed(self, rows: np.ndarray, offsets: None = None) -> np.ndarray:
        """Return the rows."""
        return rows

    def join(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return two lists of rows, one below the other."""
        return np.concatenate([first, second])

    def cross(self, E: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the covariances (n, m)."""
        if self._covariances is None:
            compiled = getattr(self._base, "compiled", None)
            self._covariances = self._base if compiled is None else compiled(E.shape[1])
        K = self._covariances(relative(E, self.origin), relative(F, self.origin))
        K = np.asarray(self._times_factor(K), dtype=np.float64, order="C")
        check_covariances(self.kernel, K, (len(E), len(F)))
        return K

    def diag(self, E: np.ndarray) -> np.ndarray:
        """Return the variances (n,)."""
        of_base = self._diagonal(relative(E, self.origin))
        total = np.array(self._times_factor(of_base), dtype=np.float64)
        check_covariances(self.kernel, total, (len(E),))
        return total - self.noise(E) if self._white else total

    def _times_factor(self, values: Any) -> Any:
        return values if self._factor == 1.0 else np.multiply(values, self._factor)

    def noise(self, E: np.ndarray) -> np.ndarray:
        """Return k(x, x) minus k(x, copy of x), for each row (n,)."""
        return noise_of_points(self.kernel, relative(E, self.origin))


class ColumnsEvaluator(PlainEvaluator):
    """A kernel on columns that are computed from rows: the embedding is the columns.

    Parameters
    ----------
    kernel : Kernel
        Kernel over columns.
    columns : callable
        Function of rows (n, c) that returns their columns (n, n_columns).
    """

    memory = "whole"
    #: Columns do not depend on the batch.
    is_exact = True

    def __init__(self, kernel: Kernel, columns: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(kernel)
        self._columns = columns

    def embed(self, rows: np.ndarray, offsets: None = None) -> np.ndarray:
        """Return the columns."""
        return self._columns(rows)


class FeatureEvaluator:
    """A kernel with finitely many features: the embedding is the features (n, r).

    Parameters
    ----------
    features : object
        Object with ``means(rows, starts)``, the features of means over runs of rows.
    """

    memory = "rows"

    def __init__(self, features: Any) -> None:
        self.features = features

    def embed(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the features (n, r)."""
        return self.features.means(rows, np.arange(len(rows)) if offsets is None else offsets[:-1])

    def join(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the features of both lists."""
        return np.concatenate([first, second])

    def cross(self, E: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Return the covariances (n, m)."""
        return E @ F.T

    def diag(self, E: np.ndarray) -> np.ndarray:
        """Return the variances (n,)."""
        return np.einsum("ij,ij->i", E, E)

    def noise(self, E: np.ndarray) -> np.ndarray:
        """Return zeros: features cannot represent white noise."""
        return np.zeros(len(E))


class Functionals:
    """A growing list of functionals: one descriptor row each, or the mean over several.

    Parameters
    ----------
    n_columns : int
        Number of columns of a descriptor.
    rows : ndarray of shape (n, n_columns), default=None
        One functional for each row; the array is not copied.
    row_sets : list of ndarray of shape (n_rows, n_columns), default=None
        Means over rows, instead.
    one_by_one : bool, default=False
        Whether each embedding is computed separately. BLAS rounds a row differently in a batch of
        another size, so only then does a list read from a file have the same embeddings as one that
        has grown.
    strata : dict, default=None
        Levels, from 1, of the random effect of functionals that have one in addition to f, by the
        indices of the functionals.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Descriptor rows.
    offsets : ndarray of shape (n + 1,) or None
        Functional i averages rows ``offsets[i]:offsets[i + 1]``; None if each has one row.
    """

    def __init__(
        self,
        n_columns: int,
        rows: np.ndarray | None = None,
        row_sets: list[np.ndarray] | None = None,
        one_by_one: bool = False,
        strata: dict[int, int] | None = None,
    ) -> None:
        self._strata: dict[int, int] = strata or {}
        self._n = len(row_sets) if row_sets is not None else 0 if rows is None else len(rows)
        self._buffer = np.empty((8, n_columns)) if rows is None else rows
        self._row_sets = row_sets
        self._one_by_one = one_by_one
        self._memory: _Whole | _ByRow | None = None

    @classmethod
    def of(
        cls, row_sets: list[np.ndarray], n_columns: int, stratum: int | Sequence[int] = 0
    ) -> Functionals:
        """Return the functionals of lists of rows, as a read-only list.

        All of them have the random effect of level ``stratum``, or each its own; 0 for none.
        """
        if not row_sets:
            return cls(n_columns)
        rows = row_sets[0] if len(row_sets) == 1 else np.concatenate(row_sets)
        strata = None
        if stratum:
            levels = [stratum] * len(row_sets) if isinstance(stratum, int) else stratum
            strata = {i: level for i, level in enumerate(levels) if level}
        if len(rows) == len(row_sets):
            return cls(n_columns, rows, strata=strata)
        return cls(n_columns, row_sets=row_sets, strata=strata)

    @classmethod
    def of_rows(cls, rows: np.ndarray) -> Functionals:
        """Return one functional for each row (n, n_columns), as a read-only list."""
        return cls(rows.shape[1], rows)

    @classmethod
    def between(cls, rows: np.ndarray, offsets: np.ndarray | None, strata: Any = ()) -> Functionals:
        """Return functionals, given their rows, offsets and strata, as a read-only list."""
        levels = {i: int(stratum) for i, stratum in enumerate(strata) if stratum}
        if offsets is None:
            return cls(rows.shape[1], rows, strata=levels)
        ends = len(offsets) and (offsets[0], offsets[-1]) == (0, len(rows))
        if not (ends and (np.diff(offsets) > 0).all()):
            raise ValueError(f"functionals must have rows, got offsets {offsets}")
        return cls(rows.shape[1], row_sets=np.split(rows, offsets[1:-1]), strata=levels)

    def __len__(self) -> int:
        return self._n

    @property
    def n_columns(self) -> int:
        """Number of columns of a descriptor."""
        return self._buffer.shape[1]

    @property
    def rows(self) -> np.ndarray:
        """Descriptor rows of all functionals, one below the other."""
        if self._row_sets is not None:
            return np.concatenate(self._row_sets) if self._row_sets else self._buffer[:0]
        return self._buffer[: self._n]

    @property
    def offsets(self) -> np.ndarray | None:
        """First row of each functional, or None if each has one row."""
        if self._row_sets is None:
            return None
        return np.concatenate([[0], np.cumsum([len(row_set) for row_set in self._row_sets])])

    @property
    def strata(self) -> np.ndarray:
        """Levels of a random effect (n,), from 1; 0 for functionals of f alone."""
        out = np.zeros(self._n, dtype=np.intp)
        out[list(self._strata)] = list(self._strata.values())
        return out

    def keys(self) -> list[str]:
        """Return the identities of all functionals, see :func:`key_of`."""
        return [key_of(*each) for each in zip(self, self.strata.tolist(), strict=True)]

    @property
    def has_strata(self) -> bool:
        """True if any functional has a random effect."""
        return bool(self._strata)

    def share_strata(self, other: Functionals) -> np.ndarray | float:
        """Return (n, m) with 1 for functionals with the same level of a random effect, else 0."""
        if not (self._strata and other._strata):
            return 0.0
        mine, theirs = self.strata[:, np.newaxis], other.strata
        return ((mine == theirs) & (mine > 0)).astype(np.float64)

    def embedding(self, evaluator: Evaluator) -> Any:
        """Return the embedding of all functionals, cached if ``evaluator.memory`` says so."""
        if evaluator.memory == "none":
            return self.rows
        if self._memory is None or self._memory.evaluator is not evaluator:
            kind = _ByRow if evaluator.memory == "rows" else _Whole
            self._memory = kind(evaluator, self._one_by_one)
        return self._memory.embedding(self)

    def covariance(self, other: Functionals, evaluator: Evaluator) -> np.ndarray:
        """Return the noiseless prior covariances (n, m) with the functionals of another list."""
        if not self._n or not other._n:
            return np.zeros((self._n, other._n))
        theirs = other.embedding(evaluator)
        K = evaluator.cross(self.embedding(evaluator), theirs)
        if evaluator.memory != "rows":  # its embeddings are of single rows
            if self._row_sets is not None:
                K = row_set_means(K, self.offsets, 0)
            if other._row_sets is not None:
                K = row_set_means(K, other.offsets, 1)
        return K

    def variance(self, evaluator: Evaluator) -> np.ndarray:
        """Return the noiseless prior variances (n,)."""
        if not self._n:
            return np.zeros(0)
        if evaluator.memory != "rows" and self._row_sets is not None:
            pairs = (
                (evaluator.embed(row_set), evaluator.embed(row_set.copy()))
                for row_set in self._row_sets
            )
            return np.array([evaluator.cross(*pair).mean() for pair in pairs])
        return evaluator.diag(self.embedding(evaluator))

    def white_noise(self, evaluator: Evaluator) -> np.ndarray:
        """Return the variances (n,) of the kernel's own white noise."""
        if not self._n:
            return np.zeros(0)
        noise = evaluator.noise(self.embedding(evaluator))
        offsets = None if evaluator.memory == "rows" else self.offsets
        if offsets is not None:
            noise = np.add.reduceat(noise, offsets[:-1]) / np.diff(offsets) ** 2
        return noise

    def put(self, i: int, other: Functionals, j: int) -> None:
        """Replace functional i by functional j of another list; append it if i is the length."""
        self[i] = other[j]
        if j in other._strata:
            self._strata[i] = other._strata[j]
        if isinstance(self._memory, _ByRow) and not self._one_by_one:
            known = other.cached_embedding(j, self._memory.evaluator)
            if known is not None:
                self._memory.put([i], known)

    def put_all(self, slots: np.ndarray, other: Functionals, n: int) -> None:
        """Put another list into slots, in turn, as :meth:`put` does; the length becomes n."""
        single = self._row_sets is None and other._row_sets is None
        if single and not isinstance(self._memory, _ByRow):
            self._reserve(n)
            self._buffer[slots] = other.rows
            self._n = n
            if self._memory is not None and len(slots):
                self._memory.forget(int(slots.min()))
            return
        for i, slot in enumerate(slots.tolist()):
            self.put(slot, other, i)

    def one(self, i: int) -> Functionals:
        """Return functional i alone, as a read-only list."""
        row_set = self[i]
        out = Functionals.of([row_set], row_set.shape[1], self._strata.get(i, 0))
        if isinstance(self._memory, _ByRow):
            known = self.cached_embedding(i, self._memory.evaluator)
            if known is not None:
                out.remember(self._memory.evaluator, known)
        return out

    def select(self, numbers: np.ndarray) -> Functionals:
        """Return the functionals with these indices, as a read-only list."""
        if self._row_sets is None:
            out = Functionals.of_rows(self._buffer[numbers])
        else:
            out = Functionals.of([self._row_sets[i] for i in numbers.tolist()], self.n_columns)
        if self._strata:
            of = enumerate(numbers.tolist())
            out._strata = {place: self._strata[i] for place, i in of if i in self._strata}
        return out

    def first(self, n: int) -> Functionals:
        """Return the first n functionals, as a read-only list."""
        return self if n == self._n else self._slice(0, n)

    def after(self, start: int) -> Functionals:
        """Return the functionals from index ``start`` on, as a read-only list."""
        return self if start == 0 else self._slice(start, self._n)

    def parts(self, most: int) -> Iterator[tuple[int, Functionals]]:
        """Yield runs of functionals and their first indices; about ``most`` pairs with all each."""
        if self._n**2 <= most:
            yield 0, self
            return
        size = max(1, most // self._n)
        for start in range(0, self._n, size):
            yield start, self._slice(start, min(start + size, self._n))

    def _slice(self, start: int, stop: int) -> Functionals:
        if self._row_sets is not None:
            out = Functionals.of(self._row_sets[start:stop], self.n_columns)
        else:
            out = Functionals.of_rows(self._buffer[start:stop])
        if self._strata:
            out._strata = {i - start: k for i, k in self._strata.items() if start <= i < stop}
        memory = self._memory
        if isinstance(memory, _ByRow) and 0 < stop - start == memory.known[start:stop].sum():
            out.remember(memory.evaluator, memory.values[start:stop])
        return out

    def cached_embedding(self, i: int, evaluator: Evaluator) -> np.ndarray | None:
        """Return the cached embedding (1, r) of functional i; None if it is not cached."""
        memory = self._memory
        if not isinstance(memory, _ByRow) or memory.evaluator is not evaluator:
            return None
        return memory.values[i : i + 1] if i < len(memory.known) and memory.known[i] else None

    def remember(self, evaluator: Evaluator, values: np.ndarray) -> None:
        """Cache given embeddings (n, r) of all functionals."""
        self._memory = _ByRow(evaluator, self._one_by_one)
        self._memory.put(np.arange(self._n), values)

    def copy(self) -> Functionals:
        """Return an independent copy."""
        out = Functionals.__new__(Functionals)
        memory = None if self._memory is None else self._memory.copy()
        out.__setstate__({**self.__getstate__(), "_memory": memory})
        return out

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(self._n))

    def __getitem__(self, i: int) -> np.ndarray:
        if not 0 <= i < self._n:
            raise IndexError(f"there are functionals 0 to {self._n - 1}, got {i}")
        return self._buffer[i : i + 1] if self._row_sets is None else self._row_sets[i]

    def __setitem__(self, i: int, row_set: np.ndarray) -> None:
        """Replace functional i; append it if i is the length."""
        if self._row_sets is None and len(row_set) != 1:
            self._row_sets = [self._buffer[j : j + 1].copy() for j in range(self._n)]
        if self._row_sets is not None:
            self._row_sets[i : i + 1] = [np.array(row_set)]
        else:
            self._reserve(i + 1)
            self._buffer[i] = row_set[0]
        if self._memory is not None:
            self._memory.forget(i)
        self._strata.pop(i, None)
        self._n = max(self._n, i + 1)

    def extend(self, new: Functionals) -> None:
        """Append the functionals of another list."""
        if not self._n:
            one_by_one = self._one_by_one
            self.__dict__.update(vars(new.copy()))
            self._one_by_one = one_by_one
            if one_by_one:
                self._memory = None
            return
        if self._row_sets is not None or new.offsets is not None:
            for i in range(len(new)):
                self.put(self._n, new, i)
            return
        self._strata |= {self._n + i: stratum for i, stratum in new._strata.items()}
        rows, n = new.rows, self._n + len(new.rows)
        self._reserve(n)
        self._buffer[self._n : n] = rows
        self._n = n

    def _reserve(self, n: int) -> None:
        """Extend the buffer to n functionals of one row each."""
        if n > len(self._buffer):
            grown = np.empty((2 * n, self._buffer.shape[1]))
            grown[: self._n] = self.rows
            self._buffer = grown

    def thin(self, most: int) -> Functionals:
        """Return functionals with about ``most`` rows in all, evenly chosen, at least one each."""
        if self._row_sets is None or len(self.rows) <= most:
            return self
        each = max(1, most // self._n)
        thin = Functionals(self._buffer.shape[1])
        for i, row_set in enumerate(self._row_sets):
            chosen = np.arange(min(each, len(row_set))) * len(row_set) // min(each, len(row_set))
            thin[i] = row_set[chosen]
        thin._strata = dict(self._strata)
        return thin

    def __getstate__(self) -> dict[str, Any]:
        row_sets = None if self._row_sets is None else list(self._row_sets)
        return {
            "_n": self._n,
            "_row_sets": row_sets,
            "_buffer": self._buffer[: self._n].copy(),
            "_one_by_one": self._one_by_one,
            "_strata": dict(self._strata),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_memory": None, "_strata": {}, **state})
        if not len(self._buffer):
            self._buffer = np.empty((8, self._buffer.shape[1]))


class _Whole:
    """Cache of one embedding of the first rows of a list, to be joined with later ones."""

    def __init__(self, evaluator: Evaluator, one_by_one: bool) -> None:
        self.evaluator = evaluator
        self.one_by_one = one_by_one and not getattr(evaluator, "is_exact", False)
        self.n, self.known = 0, None

    def embedding(self, functionals: Functionals) -> Any:
        rows = functionals.rows
        if self.known is None:
            self.known = self._embed(rows)
        elif self.n < len(rows):
            self.known = self.evaluator.join(self.known, self._embed(rows[self.n :]))
        self.n = len(rows)
        return self.known

    def _embed(self, rows: np.ndarray) -> Any:
        if not self.one_by_one or len(rows) < 2:
            return self.evaluator.embed(rows)
        half = len(rows) // 2  # halves, so that joining copies each row log n times
        return self.evaluator.join(self._embed(rows[:half]), self._embed(rows[half:]))

    def forget(self, i: int) -> None:
        if i < self.n:
            self.n, self.known = 0, None

    def copy(self) -> _Whole:
        out = _Whole(self.evaluator, self.one_by_one)
        out.n, out.known = self.n, self.known  # joining replaces these, and never changes them
        return out


class _ByRow:
    """Cache of the embeddings of single functionals, each computed at its first access."""

    def __init__(self, evaluator: Evaluator, one_by_one: bool) -> None:
        self.evaluator = evaluator
        self.one_by_one = one_by_one
        self.known = np.zeros(0, dtype=bool)
        self.values: Any = None  # (n, r), once the first is known

    def embedding(self, functionals: Functionals) -> np.ndarray:
        n = len(functionals)
        self._reserve(n)
        new = np.flatnonzero(~self.known[:n])
        for places in new[:, np.newaxis] if self.one_by_one else [new] if len(new) else []:
            row_sets = [functionals[i] for i in places.tolist()]
            some = Functionals.of(row_sets, functionals.n_columns)
            self.put(places, self.evaluator.embed(some.rows, some.offsets))
        if self.values is None:
            return self.evaluator.embed(functionals.rows)
        return self.values[:n]

    def forget(self, i: int) -> None:
        if i < len(self.known):
            self.known[i] = False

    def copy(self) -> _ByRow:
        out = _ByRow(self.evaluator, self.one_by_one)
        out.known = self.known.copy()
        out.values = None if self.values is None else self.values.copy()
        return out

    def _reserve(self, n: int) -> None:
        if n > len(self.known):
            spare = 2 * n - len(self.known)
            self.known = np.concatenate([self.known, np.zeros(spare, dtype=bool)])
            if self.values is not None:
                more = np.empty((spare, self.values.shape[1]))
                self.values = np.concatenate([self.values, more])

    def put(self, places: Any, values: np.ndarray) -> None:
        self._reserve(int(np.max(places)) + 1)
        if self.values is None:
            self.values = np.empty((len(self.known), values.shape[1]))
        self.values[places] = values
        self.known[places] = True


def key_of(row_set: np.ndarray, stratum: int = 0) -> str:
    """Return the identity of a functional: equal for equal descriptors (-0.0 is 0.0) and level."""
    # A str, because some file formats allow no other keys.
    return (row_set + 0.0).tobytes().decode("latin-1") + (str(stratum) if stratum else "")


def unique_rows(rows: np.ndarray, merge: bool = True) -> tuple[np.ndarray, list[int]]:
    """Return the index of the distinct row of each row (n, c), and the first row of each of these.

    Without ``merge`` every row counts as distinct.
    """
    if not merge:
        return np.arange(len(rows)), list(range(len(rows)))
    return unique_keys(map(key_of, rows))


def unique_keys(keys: Iterable[str]) -> tuple[np.ndarray, list[int]]:
    """Return :func:`unique_rows` for the keys of functionals."""
    position: dict[str, int] = {}
    first: list[int] = []
    numbers: list[int] = []
    for i, key in enumerate(keys):
        numbers.append(position.setdefault(key, len(first)))
        if numbers[i] == len(first):
            first.append(i)
    return np.array(numbers, dtype=np.intp), first
