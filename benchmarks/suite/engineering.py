"""Models from engineering over the unit cube, in eight to twenty dimensions, to be maximised.

References
----------
.. [Surjanovic2013] S. Surjanovic and D. Bingham, "Virtual Library of Simulation Experiments: Test
   Functions and Datasets", 2013. Borehole, robot arm, wing weight, Trid, and the screening function
   of Welch et al.
.. [Wang2018] Z. Wang, C. Gehring, P. Kohli and S. Jegelka, "Batched Large-scale Bayesian
   Optimization in High-dimensional Spaces", AISTATS 2018. The rover, here with fewer obstacles.
"""

from __future__ import annotations

import numpy as np

# Steps of a landing and their length in seconds; gravity; largest forces of the engines.
N_STEPS, STEP, GRAVITY, UP, ASIDE = 30, 0.25, 1.0, 2.5, 1.0
#: Where a landing starts, and how fast, sideways.
STARTS = np.array([[-1.0, 0.3], [-0.5, -0.4], [0.6, 0.2], [1.0, -0.1]])
#: Centres and radii of what a rover must not cross, in a square that is left at (1, 1).
OBSTACLES = np.array(
    [
        [0.25, 0.30, 0.12],
        [0.55, 0.20, 0.10],
        [0.45, 0.55, 0.13],
        [0.75, 0.50, 0.11],
        [0.30, 0.75, 0.12],
        [0.70, 0.85, 0.10],
    ]
)


def _between(X: np.ndarray, limits: list[tuple[float, float]]) -> np.ndarray:
    """Return the columns (d, n) of points of the unit cube, between limits."""
    low, high = np.array(limits).T
    return (low + (high - low) * X).T


def borehole(X: np.ndarray) -> np.ndarray:
    """Flow of water through a borehole, eight inputs."""
    rw, r, upper, head_upper, lower, head_lower, length, conductivity = _between(
        X,
        [
            (0.05, 0.15),
            (100.0, 50_000.0),
            (63_070.0, 115_600.0),
            (990.0, 1110.0),
            (63.1, 116.0),
            (700.0, 820.0),
            (1120.0, 1680.0),
            (9855.0, 12_045.0),
        ],
    )
    log_ratio = np.log(r / rw)
    leak = 2.0 * length * upper / (log_ratio * rw**2 * conductivity)
    flow = 2.0 * np.pi * upper * (head_upper - head_lower)
    return flow / (log_ratio * (1.0 + leak + upper / lower))


def robot_arm(X: np.ndarray) -> np.ndarray:
    """Reach of an arm of four segments, by their angles and lengths."""
    angles, lengths = 2.0 * np.pi * np.cumsum(X[:, :4], axis=1), X[:, 4:]
    u, v = (lengths * np.cos(angles)).sum(axis=1), (lengths * np.sin(angles)).sum(axis=1)
    return np.hypot(u, v)


def wing_weight(X: np.ndarray) -> np.ndarray:
    """Weight of the wing of a light aircraft, to be small, ten inputs."""
    area, fuel, aspect, sweep, pressure, taper, thickness, load, design, paint = _between(
        X,
        [
            (150.0, 200.0),
            (220.0, 300.0),
            (6.0, 10.0),
            (-10.0, 10.0),
            (16.0, 45.0),
            (0.5, 1.0),
            (0.08, 0.18),
            (2.5, 6.0),
            (1700.0, 2500.0),
            (0.025, 0.08),
        ],
    )
    cosine = np.cos(np.radians(sweep))
    body = 0.036 * area**0.758 * fuel**0.0035 * (aspect / cosine**2) ** 0.6 * pressure**0.006
    shape = taper**0.04 * (100.0 * thickness / cosine) ** -0.3 * (load * design) ** 0.49
    return -(body * shape + area * paint)


def trid(X: np.ndarray) -> np.ndarray:
    """A bent valley in which neighbours depend on each other."""
    d = X.shape[1]
    Z = d**2 * (2.0 * X - 1.0)
    return (Z[:, 1:] * Z[:, :-1]).sum(axis=1) - ((Z - 1.0) ** 2).sum(axis=1)


def welch(X: np.ndarray) -> np.ndarray:
    """A function of twenty inputs, of which a few matter much and two do not."""
    x = (X - 0.5).T
    return (
        5.0 * x[11] / (1.0 + x[0])
        + 5.0 * (x[3] - x[19]) ** 2
        + x[4]
        + 40.0 * x[18] ** 3
        - 5.0 * x[18]
        + 0.05 * x[1]
        + 0.08 * x[2]
        - 0.03 * x[5]
        + 0.03 * x[6]
        - 0.09 * x[8]
        - 0.01 * x[9]
        - 0.07 * x[10]
        + 0.25 * x[12] ** 2
        - 0.04 * x[13]
        + 0.06 * x[14]
        - 0.01 * x[16]
        - 0.03 * x[17]
    )


def lander(X: np.ndarray) -> np.ndarray:
    """A landing from four starts, steered by the twelve weights of a controller."""
    n, gains = len(X), np.tile(4.0 * (X - 0.5), (len(STARTS), 1)).T
    x, vx = np.repeat(STARTS, n, axis=0).T
    y, vy, burnt, one = (np.full(len(x), each) for each in (2.0, -0.2, 0.0, 1.0))
    for _ in range(N_STEPS):
        state = np.stack([x, y, vx, vy, np.abs(x), one])
        up = UP / (1.0 + np.exp(-4.0 * (gains[:6] * state).sum(axis=0)))
        aside = ASIDE * np.tanh((gains[6:] * state).sum(axis=0))
        step = STEP * (y > 0.0)
        vx, vy = vx + step * aside, vy + step * (up - GRAVITY)
        x, y = x + step * vx, y + step * vy
        burnt += step * (up + np.abs(aside))
    crash = np.abs(x) + np.hypot(vx, vy) + np.clip(y, 0.0, 5.0)
    score = np.minimum(crash, 6.0) + 0.05 * burnt
    return -score.reshape(len(STARTS), n).mean(axis=0)


def rover(X: np.ndarray) -> np.ndarray:
    """A path through ten points, from one corner of a square to the other around obstacles."""
    inner = 1.2 * X.reshape(len(X), -1, 2) - 0.1
    start, end = np.zeros((len(X), 1, 2)), np.ones((len(X), 1, 2))
    nodes = np.concatenate([start, inner, end], axis=1)
    shares = np.linspace(0.0, 1.0, 8)[:, np.newaxis, np.newaxis, np.newaxis]
    path = (1.0 - shares) * nodes[:, :-1] + shares * nodes[:, 1:]
    gaps = np.linalg.norm(path[..., np.newaxis, :] - OBSTACLES[:, :2], axis=-1)
    hits = (gaps < OBSTACLES[:, 2]).any(axis=-1).mean(axis=(0, 2))
    length = np.linalg.norm(np.diff(nodes, axis=1), axis=2).sum(axis=1)
    return -length - 10.0 * hits


#: Points at which they are largest; of the last two those at which a long search ended.
LARGEST_AT = {
    borehole: [1, 0, 1, 1, 1, 0, 0, 1],
    robot_arm: [0, 0, 0, 0, 1, 1, 1, 1],
    wing_weight: [0, 0, 0, 0.5, 0, 0, 1, 0, 0, 0],
    trid: [0.55, 0.59, 0.62, 0.64, 0.65, 0.65, 0.64, 0.62, 0.59, 0.55],
    welch: [0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0],
    rover: [
        0.467, 0.145, 0.588, 0.176, 0.668, 0.272, 0.764, 0.415, 0.792, 0.461,
        0.809, 0.513, 0.833, 0.605, 0.852, 0.675, 0.877, 0.769, 0.895, 0.837,
    ],
    lander: [0.469, 0, 0.496, 0.162, 0.466, 0.475, 0.057, 0.374, 0, 0.429, 0.554, 0.49],
}  # fmt: skip
