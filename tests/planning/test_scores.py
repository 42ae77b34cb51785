"""Plans of estimates by noisy scores: when they are made, what they say, and what they refuse."""

import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.planning.scores import FOR_FIT, GUIDED, LONG, UNCERTAINTY, kept_by
from gibbsafe.theorems.noisy_scores import STEEPEST

M = gs.models
BUDGET = gs.Budget(1.0, 1e-6)
BOUNDED = {
    "logistic": M.LogisticRegression(dimension=4),
    "soft hinge": M.SoftHinge(dimension=4),
    "pseudo-Huber": M.PseudoHuberRegression(dimension=4),
    "soft quantile": M.SoftQuantileRegression(dimension=4),
    "quantile": M.QuantileRegression(dimension=4),
    "logit": M.BernoulliLogit(),
}


def estimate(model=BOUNDED["logistic"], budget=BUDGET, n=5000, adjacency="replace-one", **options):
    options = {"mechanism": "noisy-scores"} | options
    return gs.plan(model, budget, n=n, adjacency=adjacency, purpose="estimate", **options)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", BOUNDED)
def test_every_model_with_bounded_scores_can_be_estimated_so(name, adjacency):
    plan = estimate(BOUNDED[name], adjacency=adjacency)
    assert (plan.mechanism, plan.theorem.name, plan.sampler) == ("noisy-scores",) * 3
    assert BUDGET.admits(plan.guarantee)
    again = gs.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.to_dict()["format"] == "gibbsafe/plan/2"
    text = str(plan)
    assert "noisy scores" in text
    assert "shares of the budget" in text
    assert "stage 1" not in text


@pytest.mark.parametrize("uncertainty", ["auto", 0, 0.0, 0.1, 0.5, 0.99])
def test_shares_are_what_was_asked(uncertainty):
    rule = estimate(uncertainty=uncertainty).scores
    kept = UNCERTAINTY if uncertainty == "auto" else uncertainty
    assert kept_by(rule) == pytest.approx(kept)
    assert rule.path == pytest.approx(1 - kept if kept else 1 - sum(FOR_FIT))
    assert min(rule.moment, rule.facts) > 0
    assert gs.Plan.from_json(estimate(uncertainty=uncertainty).to_json()).scores == rule


def test_the_loss_is_calibrated_by_a_public_rule():
    """Cheap where noise rules, logistic where data do, and by name."""
    clips = [estimate(n=n).scores.clip for n in (10, 1000, 10**5, 10**7)]
    assert clips == sorted(clips)
    assert clips[0] == 0.5
    assert clips[-1] > 0.95
    assert estimate(loss="logistic").scores.clip is None
    assert estimate(loss="calibrated").scores == estimate().scores
    assert estimate(BOUNDED["pseudo-Huber"]).scores.clip is None
    assert gs.Plan.from_json(estimate(loss="logistic").to_json()).scores.clip is None


def test_the_width_is_narrow_where_noise_rules_and_the_declared_one_where_data_do():
    model = BOUNDED["pseudo-Huber"]
    widths = [estimate(model, n=n).scores.width for n in (10, 1000, 10**5, 10**7)]
    assert widths == sorted(widths)
    assert widths[0] == pytest.approx(model.width / STEEPEST)
    assert 0.99 * model.width < widths[-1] <= model.width
    own = estimate(model, loss="pseudo-huber")
    assert own.scores.width is None
    for plan in (own, estimate(model)):
        assert gs.Plan.from_json(plan.to_json()).scores == plan.scores
    assert "pseudo-Huber loss of width" in str(estimate(model))
    beside = gs.plan(model, BUDGET, n=5000, adjacency="replace-one", draws=2, uncertainty=0.5)
    assert beside.scores.width is None  # draws of the loss itself
    assert gs.Plan.from_json(beside.to_json()) == beside


def test_other_mechanisms_stay():
    stages = estimate(mechanism="stages")
    assert (stages.mechanism, len(stages.stages)) == ("stages", 16)
    assert gs.Plan.from_json(stages.to_json()) == stages
    assert estimate(mechanism="auto") == estimate()
    assert estimate(mechanism="auto", draws=3).mechanism == "stages"
    assert estimate(mechanism="auto", sampler="langevin").mechanism == "stages"
    assert gs.plan(BOUNDED["logistic"], BUDGET, n=50, adjacency="replace-one").mechanism == "draws"


def test_the_number_of_scores_follows_the_signal_and_is_capped():
    rules = [estimate(n=n).scores for n in (50, 500, 500_000)]
    assert rules[0].scores < rules[1].scores <= LONG[True]
    assert [rule.preconditioned for rule in rules] == [False, False, True]
    assert rules[-1].scores == GUIDED[True]
    assert math.isfinite(estimate().work.seconds)
    assert estimate().work.passes <= 803


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"uncertainty": 1.0}, "uncertainty = 1"),
        ({"uncertainty": -0.1}, "uncertainty"),
        ({"uncertainty": math.nan}, "uncertainty"),
        ({"uncertainty": "much"}, "uncertainty"),
        ({"loss": "hinge"}, "loss"),
        ({"model": BOUNDED["soft hinge"], "loss": "calibrated"}, "loss"),
        ({"mechanism": "magic"}, "mechanism"),
        ({"draws": 3}, "one point"),
        ({"model": M.GaussianMean(dimension=2)}, "not bounded"),
        ({"model": M.BetaBernoulli(trim=(0.2, 0.8))}, "not bounded"),
        ({"sampler": "langevin"}, "'stages' with a sampler"),
        ({"prior_radius": 2.0}, "'stages' with a sampler"),
        ({"mechanism": "stages", "uncertainty": 0.2}, "uncertainty"),
        ({"prior": 1.0}, "prior"),
        ({"inverse_temperature": 0.1}, "temperature of your own"),
    ],
)
def test_refusals_name_the_thing_and_the_remedy(options, words):
    with pytest.raises(gs.GibbsafeError, match=words) as refusal:
        estimate(**options)
    assert "\n" not in str(refusal.value)


def test_options_of_estimates_are_refused_for_draws():
    for options, words in (
        ({"loss": "logistic"}, "loss"),
        ({"mechanism": "noisy-scores"}, "estimate"),
        ({"uncertainty": 1.0}, "share"),
    ):
        with pytest.raises(gs.GibbsafeError, match=words):
            gs.plan(BOUNDED["logistic"], BUDGET, n=50, adjacency="replace-one", **options)


def test_draws_may_leave_a_share_of_the_budget_to_scores():
    plan = gs.plan(BOUNDED["logistic"], BUDGET, n=50, adjacency="replace-one", draws=2, uncertainty=0.3)
    asked, drawn = plan.stages
    assert asked.scores.of_budget == 0.3
    assert drawn.draws == 2
    assert BUDGET.admits(plan.guarantee)
    whole = estimate(n=50).inverse_temperature
    assert asked.inverse_temperature == pytest.approx(0.3 * whole)
    assert gs.Plan.from_json(plan.to_json()).to_json() == plan.to_json()


@pytest.mark.parametrize(
    ("name", "value"),
    [("clip", 0.6), ("rows", 10), ("ridge", 1e-9), ("scores", 3), ("moment", 0.0), ("point", 0.5), ("preconditioned", True)],
)
def test_a_rule_that_public_numbers_do_not_give_is_refused(name, value):
    content = estimate().to_dict()
    content["stages"][0]["scores"][name] = value
    with pytest.raises(gs.CertificateError):
        gs.Plan.from_dict(content)


def test_estimates_come_closer_than_stages():
    """Ten releases of either on one synthetic table, ε = 0.2: less than two thirds of the squared error (measured: a quarter)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, 4)) / 2
    truth = np.array([1.0, -2.0, 0.5, 1.5])
    y = (rng.random(20_000) < 1 / (1 + np.exp(-X @ truth))).astype(int)
    errors = {}
    for mechanism in ("noisy-scores", "stages"):
        plan = estimate(
            budget=gs.Budget(0.2, 1e-6),
            n=20_000,
            mechanism=mechanism,
            **({"uncertainty": 0} if mechanism == "noisy-scores" else {}),
        )
        points = [plan.release((X, y), generator=rng, progress=False).draws[0, :4] for _ in range(10)]
        errors[mechanism] = np.mean((np.array(points) - truth) ** 2)
    assert errors["noisy-scores"] < errors["stages"] * 2 / 3
