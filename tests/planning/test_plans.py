"""Plans: frozen, readable, exactly round-tripping, never over budget."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.models import GaussianPrior, LogisticRegression
from gibbsafe.planning.rules import work_of
from gibbsafe.privacy.profiles import gaussian_mu
from gibbsafe.theorems.proximal_last_iterate import share_of_posterior

BUDGET = gs.Budget(1.0, 1e-6)


def make(model=None, budget=BUDGET, **options):
    model = model or LogisticRegression(dimension=20)
    return gs.plan(model, budget, **({"n": 10_000, "adjacency": "replace-one"} | options))


def test_the_rule_for_the_default_prior():
    plan = make(sampler="shell")
    mu, d = gaussian_mu(1.0, 1e-6), 21
    per_beta = 3 * math.sqrt(d) / (mu * 3 * math.sqrt(d))
    beta = mu**2 * per_beta / 4
    assert plan.inverse_temperature == pytest.approx(beta, rel=1e-9)
    scaled = np.array(plan.stages[0].prior_precision)
    np.testing.assert_allclose(scaled, beta * per_beta, rtol=1e-9)
    assert plan.theorem.name == "gaussian-dp"
    assert plan.sampler == "shell"
    assert plan.guarantee.mu == pytest.approx(mu, rel=1e-9)
    rounds = make()  # the same prior, drawn by rounds that cost less than the posterior, so that β is larger
    assert (rounds.theorem.name, rounds.sampler) == ("proximal-last-iterate", "proximal")
    assert rounds.stages[0].prior_precision == plan.stages[0].prior_precision
    assert beta < rounds.inverse_temperature < 1.06 * beta
    assert rounds.guarantee.mu == pytest.approx(mu, rel=1e-9)


@settings(max_examples=40)
@given(
    epsilon=st.floats(0.01, 20),
    delta=st.floats(1e-12, 0.1),
    draws=st.integers(1, 50),
    radius=st.floats(0.1, 100),
    adjacency=st.sampled_from(["replace-one", "add-remove"]),
    cap=st.integers(1, 5),
    dimension=st.integers(1, 8),
)
def test_no_plan_is_over_budget(epsilon, delta, draws, radius, adjacency, cap, dimension):
    budget = gs.Budget(epsilon, delta)
    plan = make(
        LogisticRegression(dimension=dimension),
        budget,
        draws=draws,
        prior_radius=radius,
        adjacency=adjacency,
        rows_per_person=cap,
        n=500,
    )
    assert plan.guarantee.delta(epsilon) <= delta
    assert plan.guarantee.epsilon(delta) >= epsilon * (1 - 1e-6)
    assert gs.Plan.from_json(plan.to_json()) == plan
    if plan.slack:  # a wide prior and a private n: rounds from the mode, priced with their slack
        return
    factor = (2 if adjacency == "replace-one" else 1) * cap
    m = plan.stages[0].prior_precision[0]
    per_draw = plan.guarantee.gaussian().mu / math.sqrt(draws)
    share = 1.0 if plan.sampler != "proximal" else share_of_posterior(plan.stages[0].step, plan.stages[0].steps)
    assert per_draw == pytest.approx(share * factor * plan.inverse_temperature / math.sqrt(m), rel=1e-9)


def test_a_wide_prior_under_add_remove_is_drawn_within_a_slack():
    plan = make(LogisticRegression(dimension=8), adjacency="add-remove", prior_radius=100.0, n=500)
    assert plan.theorem.name == "approximate-sampling"
    assert plan.guarantee.delta(1.0) <= 1e-6
    assert gs.Plan.from_json(plan.to_json()) == plan


def test_more_draws_more_rows_per_person_and_smaller_budgets_are_warmer():
    assert make(draws=10).inverse_temperature < make().inverse_temperature
    assert make(rows_per_person=3).inverse_temperature < make().inverse_temperature
    assert make(budget=gs.Budget(0.5, 1e-6)).inverse_temperature < make().inverse_temperature
    assert make(adjacency="add-remove").inverse_temperature > make().inverse_temperature
    assert make(theorem="log-sobolev").inverse_temperature < make().inverse_temperature


def test_huge_budget_recovers_the_untempered_posterior():
    """As ε grows any β fits under a fixed prior: β = 1, the Bayesian posterior, among them."""
    plan = make(budget=gs.Budget(500.0, 1e-6), prior=GaussianPrior(1.0))
    assert plan.inverse_temperature > 1
    assert make(budget=gs.Budget(500.0, 1e-6), prior=1.0, inverse_temperature=1.0).inverse_temperature == 1.0


def test_pricing_a_given_temperature():
    largest = make().inverse_temperature
    assert make(inverse_temperature=largest / 2).guarantee.mu == pytest.approx(make().guarantee.mu / 2, rel=1e-9)
    with pytest.raises(gs.BudgetError, match="more than the budget"):
        make(inverse_temperature=largest * 1.001)


def test_plans_are_frozen_and_round_trip_exactly():
    plan = make(draws=3, prior=GaussianPrior(tuple(range(1, 22)), centre=0.1))
    again = gs.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.to_json() == plan.to_json()
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.draws = 5


def test_reading_a_plan_rechecks_its_claim():
    good = json.loads(make().to_json())
    for change in (
        {"format": "gibbsafe/plan/2"},
        {"theorem": "bounded-loss"},
        {"sampler": "nuts"},
        {"adjacency": "add-remove"},
        {"draws": 2},
        {"grid": 0.1},
        {"budget": {"epsilon": 0.9, "delta": 1e-6}},
        {"rows_per_person": 2},
        {"guarantee": {"type": "GaussianDP", "mu": 0.1, "adjacency": "replace-one"}},
        {"extra": 1},
    ):
        with pytest.raises(gs.CertificateError):
            gs.Plan.from_dict(good | change)
    for text in ("", "{", "[]", "null", '{"format": "gibbsafe/plan/1"}'):
        with pytest.raises(gs.CertificateError):
            gs.Plan.from_json(text)


def test_a_plan_reads_well():
    text = str(make())
    known = ("gaussian-dp", "n = 10,000", "attacker's advantage", "log-sobolev", "inverse temperature")
    rounds = ("proximal", "rounds of size", "τ = 3.0", "μ_k/μ = 0.95", "passes over the records", "seconds on one core")
    for words in (*known, *rounds):
        assert words in text
    assert "years on one core, whatever the data" in str(make(sampler="shell"))
    private = str(make(adjacency="add-remove", n=12_345))
    assert "12,345" not in private
    assert "12345" not in private


def test_excess_risk_bound_is_a_bound():
    """One dimension, by quadrature: mean training loss of a draw against the best parameter of norm D."""
    rng = np.random.default_rng(3)
    plan = make(LogisticRegression(dimension=1, intercept=False), n=200, prior_radius=3.0)
    rows = rng.uniform(-1, 1, 200)
    theta = np.linspace(-60, 60, 200_001)
    total = np.zeros_like(theta)
    for x in rows:
        total += np.logaddexp(0, -x * theta)
    m = plan.stages[0].prior_precision[0]
    log_density = -plan.inverse_temperature * total - m * theta**2 / 2
    weight = np.exp(log_density - log_density.max())
    expected = (weight * total).sum() / weight.sum() / 200
    best = total[np.abs(theta) <= 3.0].min() / 200
    assert 0 <= expected - best <= plan.utility.excess_risk


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n": 0}, gs.ParameterError, "n = 0"),
        ({"n": None}, gs.ParameterError, "n = None"),
        ({"n": 10.5}, gs.ParameterError, "n = 10.5"),
        ({"draws": 0}, gs.ParameterError, "draws = 0"),
        ({"adjacency": "replace"}, gs.ParameterError, "did you mean replace-one"),
        ({"adjacency": None}, gs.ParameterError, "adjacency = None"),
        ({"purpose": "posteriors"}, gs.ParameterError, "did you mean posterior"),
        ({"theorem": "gaussian"}, gs.ParameterError, "did you mean"),
        (
            {"theorem": "bounded-loss"},
            gs.PremiseError,
            "prior of its own, and LogisticRegression.*; use gaussian-dp or log-sobolev",
        ),
        ({"theorem": "gaussian-mean"}, gs.PremiseError, "record_radius: not declared"),
        ({"theorem": "langevin-steps"}, gs.PremiseError, "unadjusted-langevin, not those by shell .*langevin-last-iterate"),
        ({"sampler": "shel"}, gs.ParameterError, "did you mean shell"),
        ({"prior_radius": 0}, gs.ParameterError, "prior_radius"),
        ({"prior": -1.0}, gs.ParameterError, "precision"),
        ({"prior": GaussianPrior((1.0, 2.0))}, gs.ParameterError, "one per parameter"),
        ({"inverse_temperature": -1}, gs.ParameterError, "inverse_temperature"),
        ({"rows_per_person": 0}, gs.ParameterError, "rows_per_person"),
        ({"budget": (1.0, 1e-6)}, gs.ParameterError, "Budget"),
        ({"budget": gs.Budget(1.0)}, gs.BudgetError, "no theorem prices"),
        ({"model": "logistic"}, gs.ParameterError, "a model of"),
    ],
)
def test_bad_requests(options, error, words):
    with pytest.raises(error, match=words):
        make(**options)


def test_ill_conditioned_posteriors_are_refused_before_data_is_seen():
    """A refusal that some data set would otherwise cause in the sampler is made for all of them, in the plan."""
    tiny = {"prior": GaussianPrior(1e-9), "budget": gs.Budget(500.0, 1e-6)}
    with pytest.raises(gs.PremiseError, match="rounds would be needed"):
        make(n=10**9, **tiny)
    with pytest.raises(gs.PremiseError, match="could outweigh it"):
        make(n=10**9, sampler="shell", **tiny)
    assert make(n=10, sampler="shell", **tiny).sampler == "shell"
    for guess in (10, None):  # private: a floor on the precision that no number of records gets below
        with pytest.raises(gs.PremiseError, match="could outweigh it"):
            make(n=guess, sampler="shell", adjacency="add-remove", **tiny)


def test_a_sampler_whose_work_nobody_states_is_an_error():
    plan = gs.plan(gs.models.LogisticRegression(dimension=2), gs.Budget(1.0, 1e-6), n=100, adjacency="replace-one")
    with pytest.raises(gs.PremiseError, match="nobody says what it costs"):
        work_of(plan.request(), "mystery", plan.stages)
