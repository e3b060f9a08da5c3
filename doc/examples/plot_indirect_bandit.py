"""
Indirect bandits: the best dose from averages of clinics
========================================================

Which dose of a drug helps most patients? We cannot assign doses. We can only choose a clinic,
whose doctors prescribe as usual, and then learn how many of its patients recovered.
Advertising agencies that spread a budget over channels, and teachers who mix methods, pose the same
problem. In these *indirect bandits* one chooses an agent and looks for the best arm.
"""

# %%
# Forty clinics
# -------------
# The doses of a clinic depend on two of its traits: how bold its doctors are, and how closely
# they follow the old protocol, 35 mg. The new drug works at 35 mg, and better within a narrow range
# around 72 mg, which nobody knows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpb import CMESOptimizer, IndirectEIOptimizer
from skgpb.kernels import PolicyMean

doses = np.arange(5.0, 101.0, 5.0)
rng = np.random.default_rng(3)
clinics = rng.uniform(size=(40, 2))


def recovery(dose):
    """Probability of recovery, unknown to the search."""
    usual = 0.3 * np.exp(-0.5 * ((dose - 35) / 13) ** 2)
    return 0.3 + usual + 0.4 * np.exp(-0.5 * ((dose - 72) / 9) ** 2)


def policy(traits):
    """Probability of each dose in clinics with these traits, shape (n, 20)."""
    boldness, loyalty = traits[:, :1], traits[:, 1:]
    own = np.exp(-0.5 * ((doses - 15 - 75 * boldness) / (5 + 5 * loyalty)) ** 2)
    old = np.exp(-0.5 * ((doses - 35) / 8) ** 2)
    share = 0.3 + 0.3 * loyalty
    return (1 - share) * own / own.sum(axis=1, keepdims=True) + share * old / old.sum()


prescribed = policy(clinics)
n_patients = 500


def ask_clinic(number, rng):
    """Share of 500 patients of a clinic who recovered."""
    given = rng.choice(doses, size=n_patients, p=prescribed[number])
    return rng.binomial(1, recovery(given)).mean()


shares = prescribed @ recovery(doses)
print(f"recovered, by clinic: {shares.min():.2f} to {shares.max():.2f}")
print(f"with the best dose: {recovery(doses).max():.2f}")
print(f"standard error of an answer: {0.5 / np.sqrt(n_patients):.3f}")

# %%
# No clinic is nearly as good as the best dose, and the noise of an answer is as large as the
# differences between clinics. In such a case use ``information="noisy"``, which discounts
# answers that are mostly noise.
#
# Known policies
# --------------
# :class:`~skgpb.kernels.PolicyMean` takes the policies, here as a function of traits. A query is a
# row of traits, a recommendation one of the doses. :class:`~skgpb.CMESOptimizer` asks the clinic
# whose answer has the most information about the recovery under the *best dose*.
# :class:`~skgpb.IndirectEIOptimizer` asks the clinic that may have the highest recovery itself.
#
# The kernel comes from pharmacology: recovery changes over about 10 mg, and between doses twice
# as much as between clinics. Thirty noisy averages are too few to learn this.

known = PolicyMean(policies=policy, arms=doses[:, None])
common = {
    "kernel": ConstantKernel(4.0, "fixed") * RBF(10.0, "fixed"),
    "queries": clinics,
    "alpha": 0.25 / n_patients,
    "normalize_y": True,
    "relearn": "doubling",
}


def with_policies(cls, seed, **parameters):
    """Return an optimizer that knows what clinics prescribe."""
    return cls(conditional=known, random_state=seed, **common, **parameters)


# %%
# Policies from records
# ---------------------
# If the policies are unknown, prescription records are enough: the traits of a clinic and one dose
# given there, without its outcome. ``fit`` learns the conditional mean operator from them. The
# dose may then be any number.


def with_records(cls, seed, **parameters):
    """Return an optimizer that has seen 800 prescriptions."""
    rng = np.random.default_rng(seed)
    where = rng.integers(len(clinics), size=800)
    given = np.array([rng.choice(doses, p=prescribed[number]) for number in where])
    opt = cls(bounds=[(5, 100)], random_state=seed, **common, **parameters)
    return opt.fit(given[:, None], queries=clinics[where])


# %%
# Thirty questions
# ----------------
# The loss is the difference in recovery between the best dose and the recommended one.


def play(make, cls, seed, **parameters):
    """Return the loss after each of thirty answers, and the optimizer."""
    opt, rng, loss = make(cls, seed, **parameters), np.random.default_rng(100 + seed), []
    for _ in range(30):
        query = opt.ask()
        opt.tell(query, ask_clinic(query.index, rng))
        loss.append(recovery(doses).max() - recovery(opt.recommend()[0]))
    return loss, opt


methods = {
    "CMES, policies known": (with_policies, CMESOptimizer, {"information": "noisy"}),
    "EI, policies known": (with_policies, IndirectEIOptimizer, {}),
    "CMES, from records": (with_records, CMESOptimizer, {"information": "noisy"}),
    "EI, from records": (with_records, IndirectEIOptimizer, {}),
}
losses, last = {}, {}
for name, (make, cls, parameters) in methods.items():
    runs = [play(make, cls, seed, **parameters) for seed in range(6)]
    losses[name], last[name] = np.array([loss for loss, _ in runs]), runs[0][1]
    print(f"{name:22} loss after 10, 20, 30: {losses[name].mean(axis=0)[[9, 19, 29]].round(3)}")

# %%
# What was learned
# ----------------
# No clinic gives the best dose to most of its patients, so no single answer reveals it; the
# clinics with lower and higher doses reveal it together. With known policies CMES finds it after
# sixteen answers in every run, and EI nearly finds it after twenty. With 800 records instead, both
# end about two per cent below the best, because the records leave that much uncertain.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
grid = np.linspace(5, 100, 200)
left.plot(grid, recovery(grid), ":", color="0.2", lw=2, label="recovery, unknown")
opt = last["CMES, policies known"]
mean, std = opt.predict(doses[:, None], return_std=True)
left.errorbar(doses, mean, 2 * std, fmt="o", ms=4, label="posterior after 30 answers")
left.plot(prescribed @ doses, shares, "x", color="C1", label="clinics, by mean dose")
best = float(opt.recommend()[0])
left.axvline(best, color="#d55e00", ls="--", label=f"recommended: {best:.0f} mg")
left.set(xlabel="dose (mg)", ylabel="share of patients who recover", ylim=(0.25, 0.9))
left.legend(fontsize="small")
for name, loss in losses.items():
    style = {"color": "C0" if "CMES" in name else "C1", "ls": "-" if "known" in name else ":"}
    right.plot(np.arange(1, 31), loss.mean(axis=0), label=name, **style)
right.set(xlabel="answers", ylabel="recovery lost by the recommended dose", ylim=0)
right.legend(title="mean of 6 runs")
plt.show()
