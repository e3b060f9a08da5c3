import matplotlib.pyplot as plt

from skgpb import DAGPUCBOptimizer, EIOptimizer, GPUCBOptimizer
from skgpb.problems import gp_draw
from skgpb.problems.simulation import simulate

problems = [gp_draw("matern", random_state=seed) for seed in range(20)]
known = {"kernel": problems[0].kernel, "arms": problems[0].arms, "alpha": 0.1}
rules = [GPUCBOptimizer, EIOptimizer, DAGPUCBOptimizer]
policies = {rule.__name__: rule(**known) for rule in rules}
result = simulate(policies, problems, n_rounds=50, random_state=0)

# Its picture
for name, regret in result.regret.items():
    plt.plot(regret.mean(axis=(0, 1)), label=f"{name}, {regret[..., -1].mean():.1f} in the end")
plt.legend()
plt.xlabel("pulls")
plt.ylabel("regret")
plt.savefig("regret.png")
