"""GPOO over sides of different kinds, in the user's values and by dense algebra."""

import itertools

import numpy as np

# A cell is a dict: a pair for a continuous side, a list for one of separate values.


def columns(setting, sides):
    """Return the coordinates of a setting for a kernel; categories are at distance 1."""
    out = []
    for name, side in sides.items():
        value = setting[name]
        if isinstance(side, tuple):
            out.append([value])
        elif isinstance(side[0], str):
            out.append([(value == each) / np.sqrt(2.0) for each in side])
        else:
            out.append([side.index(value) / (len(side) - 1)])
    return np.concatenate(out)


def length(part, side):
    """Side of a cell, in units of the root's."""
    if isinstance(side, tuple):
        return (part[1] - part[0]) / (side[1] - side[0])
    if isinstance(side[0], str):
        return float(len(part) > 1)
    return (side.index(part[-1]) - side.index(part[0])) / (len(side) - 1)


def halves(cell, sides):
    """Both halves of a cell along its longest side; None for a single setting."""
    lengths = {name: length(cell[name], side) for name, side in sides.items()}
    longest = max(lengths.values())
    if longest == 0:
        return None
    name = next(each for each in sides if lengths[each] > longest - 1e-9)
    part = cell[name]
    if isinstance(part, tuple):
        middle = 0.5 * (part[0] + part[1])
        ends = (part[0], middle), (middle, part[1])
    else:
        half = (len(part) + 1) // 2
        ends = part[:half], part[half:]
    return [cell | {name: end} for end in ends]


def points(cell, sides, n):
    """Settings that stand for a cell: n of every continuous side, all separate values."""
    along = [
        [part[0] + (i + 0.5) * (part[1] - part[0]) / n for i in range(n)]
        if isinstance(part, tuple)
        else part
        for part in cell.values()
    ]
    settings = [dict(zip(sides, values, strict=True)) for values in itertools.product(*along)]
    return np.array([columns(setting, sides) for setting in settings])


def gpoo(sides, f, kernel, n, rounds, variation, beta, alpha):
    """Cells asked (expansion="after"), their posteriors and the final leaves."""
    root = dict(sides)
    leaves, asked, seen, rewards = [((0, 0), root)], [], [], []

    def covariances(new):
        return np.array([kernel(each, new).mean() for each in seen])

    def posterior(cell):
        new = points(cell, sides, n)
        prior = kernel(new).mean()
        if not seen:
            return 0.0, prior
        k = covariances(new)
        weights = np.linalg.solve(gram[-1] + alpha * np.eye(len(seen)), k)
        return weights @ np.array(rewards), prior - weights @ k

    gram = []

    c, rho = variation
    for _ in range(rounds):
        values = []
        for (depth, _), cell in leaves:
            mean, var = posterior(cell)
            values.append(mean + np.sqrt(beta * var) + c * rho**depth)
        tied = [leaf for leaf, v in zip(leaves, values, strict=True) if v >= max(values) - 1e-9]
        (depth, index), cell = min(tied, key=lambda leaf: leaf[0])
        asked.append(cell)
        where = points(cell, sides, n)
        seen.append(where)
        gram.append(np.array([covariances(each) for each in seen]))
        rewards.append(np.mean([f(row) for row in where]))
        _, var = posterior(cell)
        parts = halves(cell, sides)
        if parts is not None and np.sqrt(beta * var) <= c * rho**depth:
            leaves.remove(((depth, index), cell))
            leaves += [((depth + 1, 2 * index + j), part) for j, part in enumerate(parts)]
    return asked, posterior, [cell for _, cell in leaves]
