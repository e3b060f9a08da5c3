"""Searches that were given the answers of earlier campaigns."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skgpb import EIOptimizer, GPTSOptimizer, GPUCBOptimizer, KGOptimizer
from skgpb.domains import Box, Cells
from skgpb.optimizers import MESOptimizer, Search

pytestmark = pytest.mark.one_in(3)

TOP = np.array([0.35, 0.7])


def hill(X, top=TOP):
    return 10.0 * np.exp(-((np.atleast_2d(X) - top) ** 2).sum(axis=-1) / 0.08)


def campaign(top=TOP, seed=0, n=30):
    X = np.random.default_rng(seed).random((n, 2))
    return X, 30.0 + 4.0 * hill(X, top)


def started(cls=GPUCBOptimizer, top=TOP, **parameters):
    given = {"earlier_campaigns": {"2024": campaign(top)}, "random_state": 0} | parameters
    return cls(bounds=[(0, 1), (0, 1)], **given)


def played(opt, n):
    asked = []
    for _ in range(n):
        query = opt.ask()
        asked.append(query.points[0].tolist())
        opt.tell(query, float(hill(query.points)[0]))
    return asked


def copies(opt):
    file = io.BytesIO()
    opt.save(file)
    file.seek(0)
    return {"file": type(opt).load(file), "pickle": pickle.loads(pickle.dumps(opt))}


@pytest.mark.parametrize(
    ("cls", "n"), [(GPUCBOptimizer, 4), (EIOptimizer, 4), (KGOptimizer, 4), (GPTSOptimizer, 8)]
)
def test_the_first_queries_are_near_the_optimum_of_a_campaign_that_is_alike(cls, n):
    opt = started(cls)
    asked = played(opt, n)
    assert hill(asked).max() > 9.0
    assert hill(asked[1])[0] < 1.0  # one in four is elsewhere
    assert hill(opt.recommend().points)[0] > 9.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_campaign_that_agrees_at_a_local_optimum_hides_no_better_one(seed):
    """The present function has a second hill; with the seed 1, the first answers agree."""
    opt = started(random_state=seed, regret="simple")
    for n in range(16):
        query = opt.ask()
        best = max(hill(query.points)[0], 1.5 * hill(query.points, (0.85, 0.15))[0])
        opt.tell(query, float(best))
        if n == 3 and seed == 1:
            assert not opt._earlier.are_off
    assert 1.5 * hill(opt.recommend().points, (0.85, 0.15))[0] > 14.5


@pytest.mark.parametrize("top", [(0.9, 0.1), TOP])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_files_pickles_and_clones_go_on_with_the_same_query(top, n):
    opt = started(top=top)
    played(opt, n)
    again = clone(opt)
    played(again, n)
    others = copies(opt) | {"clone": again}
    expected = played(opt, 3)
    for name, other in others.items():
        assert played(other, 3) == expected, name
        assert other._earlier.are_off is opt._earlier.are_off


def test_a_campaign_that_contradicts_does_not_count():
    opt, alone = started(top=(0.9, 0.1)), started(earlier_campaigns=None)
    played(opt, 4)
    assert opt._earlier.are_off
    for row in opt.history_:
        alone.tell(row["descriptor"][:2], row["reward"])
    x = np.array([[0.3, 0.3]])
    for mine, theirs in zip(*(o.predict(x, return_std=True) for o in (opt, alone)), strict=True):
        assert mine == pytest.approx(theirs)
    assert opt.recommend().points == pytest.approx(alone.recommend().points, abs=0.05)


def test_the_first_query_is_the_best_setting_of_the_earlier_campaign():
    for top in ((0.9, 0.1), TOP):
        assert started(top=top).ask().points[0] == pytest.approx(np.array(top), abs=0.05)


def test_reading_changes_nothing():
    opt, other = started(), started()
    for _ in range(4):
        assert played(opt, 1) == played(other, 1)
        opt.recommend()
        opt.predict([[0.5, 0.5]], return_std=True)
        opt.sample_y([[0.5, 0.5], [0.6, 0.5]], 3)
        opt.posterior()


def test_predictions_and_draws_are_in_the_units_of_the_present_campaign():
    opt = started()
    played(opt, 6)
    x = np.array([[0.35, 0.7], [0.95, 0.05]])
    mean, std = opt.predict(x, return_std=True)
    assert mean == pytest.approx(hill(x), abs=1.5)
    draws = opt.sample_y(x, 4000)
    assert draws.mean(axis=1) == pytest.approx(mean, abs=0.1 + 0.1 * std.max())
    assert opt.predict_query(list(x)) == pytest.approx(mean)


def test_minimising_is_maximising_the_opposite():
    X, y = campaign()
    opt = started()
    other = started(direction="minimize", earlier_campaigns={"2024": (X, -y)})
    for _ in range(4):
        query, same = opt.ask(), other.ask()
        assert same.points.tolist() == query.points.tolist()
        answer = float(hill(query.points)[0])
        opt.tell(query, answer)
        other.tell(same, -answer)
    assert other.recommend() == opt.recommend()


def test_queries_of_a_batch_differ():
    points = np.array([query.points[0] for query in started().ask(4)])
    apart = np.abs(points[:, None] - points).sum(axis=2) + np.eye(4)
    assert apart.min() > 0.02


def named_campaign(solvents=("A", "B"), n=24):
    rng = np.random.default_rng(1)
    settings = [
        {"heat": float(rng.uniform(20, 90)), "solvent": solvents[i % len(solvents)]}
        for i in range(n)
    ]
    return settings, [worth(each) - 7.0 for each in settings]


def worth(setting):
    of_solvent = {"A": 1.0, "B": 4.0, "C": 2.0}[setting["solvent"]]
    return of_solvent - ((setting["heat"] - 60.0) / 20.0) ** 2


def play_named(opt, n):
    for _ in range(n):
        query = opt.ask()
        opt.tell(query, worth(query.params))
    return opt


def test_lists_among_the_sides():
    sides = {"heat": (20, 90), "solvent": ["A", "B", "C"]}
    opt = GPUCBOptimizer(
        bounds=sides, earlier_campaigns={"2024": named_campaign()}, random_state=0, regret="simple"
    )
    assert worth(play_named(opt, 5).recommend().params) > 3.9
    first, second = (other.ask() for other in copies(opt).values())
    assert first == second == opt.ask()


def test_a_campaign_without_a_side_or_outside_of_it():
    sides = {"heat": (40, 70), "solvent": ["B", "C"], "stirring": (100, 500)}
    campaigns = {"2024": named_campaign()}
    for bounds in (sides, Box(sides, earlier={"stirring": 300})):
        with pytest.raises(ValueError, match=r"earlier_campaigns\['2024'\]: .*earlier={name"):
            GPUCBOptimizer(bounds=bounds, earlier_campaigns=campaigns, random_state=0).ask()
    box = Box(sides, earlier={"heat": (20, 90), "solvent": ["A", "B"], "stirring": 300})
    opt = play_named(GPUCBOptimizer(bounds=box, earlier_campaigns=campaigns, random_state=0), 5)
    best = opt.recommend().params
    assert best["solvent"] == "B"
    assert 50 < best["heat"] <= 70
    # A side of the campaign that is gone is no side of its settings.
    fewer = Box({"heat": (20, 90)})
    GPUCBOptimizer(bounds=fewer, earlier_campaigns=campaigns, random_state=0).ask()


def test_the_box_changes_during_a_run_with_earlier_campaigns():
    opt = GPUCBOptimizer(
        bounds={"heat": (20, 90), "solvent": ["A", "B", "C"]},
        earlier_campaigns={"2024": named_campaign()},
        random_state=0,
    )
    play_named(opt, 3)
    sides = {"heat": (50, 90), "solvent": ["A", "C"], "stirring": (100, 500)}
    opt.set_params(bounds=Box(sides, earlier={"stirring": 300}))
    play_named(opt, 2)
    assert len(opt.history_) == 5
    assert opt.ask().params["solvent"] in "AC"
    play_named(copies(opt)["file"], 1)


@pytest.mark.parametrize("of_dicts", [False, True])
def test_a_side_that_the_campaign_lacks_is_in_every_later_box(of_dicts):
    """As if the campaign had had the side, with the value of all answers before it was new."""
    X, y = campaign(n=12)
    sides, base = {"a": (0, 1), "b": (0, 1)}, {"base": ["A", "B"]}
    named = [dict(zip(sides, x, strict=True)) for x in X.tolist()]
    opt = GPUCBOptimizer(
        bounds=sides, earlier_campaigns={"2024": (named if of_dicts else X, y)}, random_state=0
    ).tell({"a": 0.5, "b": 0.5}, 3.0)
    opt.set_params(bounds=Box({**sides, **base}, earlier={"base": "A"})).ask()
    opt.set_params(bounds={**base, "b": (0, 0.5)}).ask()
    full = [{"base": "A", "b": x["b"]} for x in named]
    other = GPUCBOptimizer(
        bounds=Box({**base, "b": (0, 0.5)}, earlier={"b": (0, 1)}),
        earlier_campaigns={"2024": (full, y)},
        random_state=0,
    ).tell({"base": "A", "b": 0.5}, 3.0)
    at = [{"base": "A", "b": 0.2}, {"base": "B", "b": 0.4}]
    for each in (opt, copies(opt)["file"]):
        assert np.allclose(each.predict(at), other.predict(at), rtol=1e-6)


def test_bad_campaigns_are_refused():
    for given, error, message in (
        ([1], TypeError, "earlier_campaigns"),
        ({"a": 3}, TypeError, r"earlier_campaigns\['a'\] must be a pair"),
        ({"a": ([[0.1, 0.2]] * 4, [1, 1, 1, 1])}, ValueError, r"not all equal, got \[1, 1, 1, 1\]"),
        ({"a": ([[0.1, 0.2]] * 3, [1, 2, 3])}, ValueError, "at least 4 answers"),
        ({"a": ([[0.1, 0.2]] * 3, [1, 2, 3, 4])}, ValueError, "3 settings and 4 answers"),
        ({"a": ([[0.1]] * 4, [1, 2, 3, 4])}, ValueError, "with 2 numbers, got 1"),
        ({"a": ([[0.1, 1.2]] * 4, [1, 2, 3, 4])}, ValueError, "row|outside|must"),
        ({"a": ([[0.1, 0.2]] * 4, [1, 2, 3, np.nan])}, ValueError, r"answers of earlier_camp"),
    ):
        with pytest.raises(error, match=message):
            started(earlier_campaigns=given).ask()


def test_searches_that_cannot_use_campaigns_say_so():
    from sklearn.gaussian_process.kernels import RBF

    with pytest.raises(ValueError, match="kernel that is learned"):
        started(kernel=RBF(0.2)).ask()
    with pytest.raises(ValueError, match="context_bounds must be None"):
        started(context_bounds=[(0, 1)]).ask(context=[0.5])
    with pytest.raises(ValueError, match="queries, targets"):
        started(MESOptimizer, queries=Cells(0.2)).ask()
    with pytest.raises(ValueError, match="block"):
        started().tell([0.5, 0.5], 1.0, block="today")


def test_a_table_of_settings_is_refused_with_the_remedy():
    pd = pytest.importorskip("pandas")
    X, y = campaign()
    with pytest.raises(TypeError, match="to_dict"):
        started(earlier_campaigns={"a": (pd.DataFrame(X, columns=["p", "q"]), y)}).ask()


def test_own_rules_see_the_posterior_given_the_campaigns():
    class Mean(Search):
        def acquisition(self, posterior):
            assert posterior.covariance.shape == (posterior.n_queries, posterior.n_targets)
            assert posterior.query_draws(2).shape == (2, posterior.n_queries)
            assert posterior.covariance_of_target(3)[3] == pytest.approx(posterior.target_var[3])
            assert (posterior.covariance_of_target(3)[:2] != 0.0).all()
            assert posterior.draws(2).shape == (2, posterior.n_targets)
            return posterior.mean

    assert hill(started(Mean, n_candidates=60).ask().points)[0] > 5.0

    class MeanOfTargets(Mean):
        _targets_are_queries_in_box = False

    assert hill(started(MeanOfTargets, n_candidates=60).ask().points)[0] > 5.0


def test_the_posterior_of_a_round_is_what_is_predicted():
    class Own(Search):
        def acquisition(self, posterior):
            return posterior.mean

    class OfTargets(Own):
        _targets_are_queries_in_box = False

    X = np.random.default_rng(3).random((5, 2))
    for cls in (Own, OfTargets):
        opt = started(cls, n_candidates=12).tell(X, hill(X))
        round, queries, targets = opt.posterior(), opt.domain_.rows, opt.targets_.rows
        n, unit = len(queries), round.scale**2
        mean, C = opt.predict(np.concatenate([queries, targets]), return_cov=True)
        means = np.append(round.query_mean, round.target_mean)
        np.testing.assert_allclose(round.in_units_of_reward(means), mean, rtol=1e-7)
        variances = unit * np.append(round.query_var, round.target_var)
        np.testing.assert_allclose(variances, np.diag(C), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(unit * round.covariance, C[:n, n:], atol=1e-7)
        np.testing.assert_allclose(unit * round.covariance_of_target(3), C[n + 3, n:], atol=1e-7)
        for draws, there in ((round.query_draws, slice(0, n)), (round.draws, slice(n, None))):
            found, std = round.in_units_of_reward(draws(500)), np.sqrt(np.diag(C)[there].max())
            np.testing.assert_allclose(found.mean(axis=0), mean[there], atol=5 * std / np.sqrt(500))
            assert 0.7 * std < found.std(axis=0).max() < 1.4 * std


@pytest.mark.parametrize("alpha", [None, 0.0, 0.01])
def test_answers_may_be_equal_exact_repeated_or_failures(alpha):
    opt = started(alpha=alpha)
    for i in range(8):
        query = opt.ask()
        opt.tell(query, None if i == 1 else 0.0)
    for _ in range(3):
        opt.tell([0.4, 0.4], 1.0)
        opt.tell([0.4, 0.4 + 1e-4], 1.0, None if alpha == 0.0 else 0.3)
    assert np.isfinite(opt.predict([[0.4, 0.4]], return_std=True)).all()
    assert np.isfinite(opt.recommend().points).all()
    assert len(opt.ask(3)) == 3


def test_limits_hold_with_earlier_campaigns():
    opt = started(EIOptimizer, limits={"heat": (None, 0.5)})
    for _ in range(10):
        query = opt.ask()
        heat = float(query.points[0, 0]) + 0.3
        opt.tell(query, float(hill(query.points)[0]), outcomes={"heat": heat})
    assert opt.recommend().points[0, 0] + 0.3 <= 0.5


def test_values_given_to_fit_count_as_present_answers():
    X = np.random.default_rng(4).random((4, 2))
    opt = started().fit(X, hill(X))
    assert hill(opt.ask().points)[0] > 8.0
    assert started(top=(0.9, 0.1)).fit([TOP, [0.9, 0.1]], [10.0, 0.0])._earlier.are_off


def test_no_two_rounds_have_the_same_draws():
    opt = started(n_candidates=8)
    opt.ask()
    posterior, rng = opt.posterior().known, np.random.default_rng(0)
    draws = [posterior.draws(1, rng)[0, 0] for _ in range(60)]
    assert len(set(draws)) == 60
