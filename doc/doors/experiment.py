from scipy.stats import loguniform

from skgpb import GPUCBOptimizer
from skgpb.plotting import PosteriorDisplay


def measure(setting):  # do the experiment with these settings, and type what it gave
    return float(input(f"{setting} gave "))


search = GPUCBOptimizer(bounds={"temperature": (20, 90), "salt": loguniform(1e-4, 1e-1)})
search.run(measure, budget=20, checkpoint="experiment.skgpb")
print("best settings:", search.recommend().params)

# Its picture
PosteriorDisplay.from_optimizer(search).figure_.savefig("experiment.png")
