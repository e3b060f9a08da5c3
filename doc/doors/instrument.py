import numpy as np

from skgpb import GPOOOptimizer
from skgpb.plotting import PosteriorDisplay

rng = np.random.default_rng(0)


def telescope(patch):  # put your instrument here: it is told where to look, in degrees,
    distance = (patch.points - [62, 22]) / [12, 8]
    return np.exp(-(distance**2).sum(axis=1)).mean() + 0.02 * rng.normal()  # and answers


search = GPOOOptimizer(bounds={"azimuth": (0, 90), "altitude": (0, 60)})
search.run(telescope, budget=40)
print("look here:", search.recommend(side=(10, 10)))

# Its picture
PosteriorDisplay.from_optimizer(search).figure_.savefig("sky.png")
