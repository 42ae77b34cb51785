"""A proportion with a trimmed Beta prior: exact curves, exact draws, calibration both ways, refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import logit
from scipy.stats import beta as beta_law
from scipy.stats import kstest

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.posteriors.beta import BetaPosterior
from gibbsafe.samplers import draw_exactly

REPLACE = "replace-one"


def seeded(seed=0):
    return np.random.default_rng(seed)


def posterior_of(plan, data):
    blocks = plan.model.encode(data, EncodingOptions())
    return plan.model.posterior(blocks, plan.stages[-1], np.zeros(1))


def exact_delta(p, q, epsilon):
    """Return ∫(p − e^ε q)₊ by quadrature of SciPy's densities, renormalised; nothing of ours but a, b and the trim."""

    def density(posterior):
        law = beta_law(posterior.a, posterior.b)
        total = quad(law.pdf, posterior.low, posterior.high, limit=500, epsabs=0, epsrel=1e-11)[0]
        return lambda x: law.pdf(x) / total

    f, g = density(p), density(q)
    edges = np.linspace(p.low, p.high, 33)
    return sum(
        quad(lambda x: max(0.0, f(x) - math.exp(epsilon) * g(x)), low, high, limit=200)[0]
        for low, high in itertools.pairwise(edges)
    )


@settings(max_examples=12, deadline=None)
@given(
    low=st.floats(0.05, 0.45),
    high=st.floats(0.55, 0.95),
    alpha=st.floats(0.3, 5),
    beta=st.floats(0.3, 5),
    power=st.floats(0.1, 2),
    ones=st.integers(0, 20),
    zeros=st.integers(0, 20),
    epsilon=st.floats(0, 2),
)
def test_neighbours_stay_within_the_claim_and_the_closed_form_is_the_integral(
    low, high, alpha, beta, power, ones, zeros, epsilon
):
    model = gs.models.BetaBernoulli(alpha=alpha, beta=beta, trim=(low, high))
    n = ones + zeros + 1
    plan = gs.plan(model, gs.Budget(50.0), n=n, adjacency=REPLACE, inverse_temperature=power)
    rest = [1] * ones + [0] * zeros
    p, q = posterior_of(plan, np.array([*rest, 1])), posterior_of(plan, np.array([*rest, 0]))
    for one, other in ((p, q), (q, p)):
        exact = exact_delta(one, other, epsilon)
        assert one.hockey_stick(other, epsilon) == pytest.approx(exact, abs=1e-7)
        assert exact <= plan.guarantee.delta(epsilon) + 1e-9
        assert one.hockey_stick(other, plan.guarantee.epsilon(0.0)) <= 1e-12


def test_the_range_bound_is_reached_within_a_tenth_at_the_trim_of_the_paper():
    """Trimmed to [0.3, 0.9]: the log density ratio of the worst neighbours spans at least 0.9 of the claim at n ≤ 10,000."""
    model = gs.models.BetaBernoulli(trim=(0.3, 0.9))
    plan = gs.plan(model, gs.Budget(10.0), n=10_000, adjacency=REPLACE, inverse_temperature=1.0)
    claim = plan.guarantee.epsilon(0.0)
    assert claim == pytest.approx(float(logit(0.9) - logit(0.3)), rel=1e-9)
    reached = 0.0
    for extreme in (0, 1):  # all other records at one end push the posterior against a trim point
        p, q = (posterior_of(plan, np.array([*[extreme] * 9_999, last])) for last in (extreme, 1 - extreme))
        for theta in (0.3, 0.9):
            reached = max(reached, abs(p.log_density(theta) - q.log_density(theta)))
    assert 0.9 * claim <= reached <= claim


@pytest.mark.parametrize("adjacency", [REPLACE, "add-remove"])
def test_calibration_spends_the_budget_and_no_more(adjacency):
    model = gs.models.BetaBernoulli(trim=(0.2, 0.7), trials=3)
    plan = gs.plan(model, gs.Budget(1.0), n=50, adjacency=adjacency)
    single = max(math.log(0.7 / 0.2), math.log(0.8 / 0.3)) * 3
    width = 3 * float(logit(0.7) - logit(0.2)) if adjacency == REPLACE else single
    assert plan.inverse_temperature == pytest.approx(1 / width, rel=1e-9)
    assert plan.guarantee.epsilon(0.0) <= 1.0
    trimmed = gs.models.BetaBernoulli.trimmed_for(gs.Budget(1.0), trials=3)
    assert gs.plan(trimmed, gs.Budget(1.0), n=50, adjacency=REPLACE).inverse_temperature == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [(3.0, 5.0, 0.2, 0.9), (0.4, 0.3, 0.01, 0.99), (5000.0, 1.0, 0.3, 0.4), (1.0, 2e6, 0.5, 0.6), (700.0, 700.0, 0.62, 0.64)],
    ids=["ordinary", "shapes below 1", "far right of the trim", "far left of the trim", "1e-20 of the mass"],
)
def test_draws_follow_the_trimmed_posterior(a, b, low, high):
    """One Kolmogorov–Smirnov test each, false-alarm rate 1e-4, against numerical integration of e^{−U} alone."""
    posterior = BetaPosterior(a, b, low, high)
    draws = draw_exactly(posterior, 20_000, seeded(1))[:, 0]
    assert draws.min() >= low
    assert draws.max() <= high
    grid = np.unique(np.concatenate([np.linspace(low, high, 200_001), low + (high - low) * np.geomspace(1e-12, 1, 20_001)]))
    grid = np.unique(np.concatenate([grid, high - (high - low) * np.geomspace(1e-12, 1, 20_001)]))
    density = np.exp(posterior.values(grid[:1] * 0 + grid[:, None]).min() - posterior.values(grid[:, None]))
    cumulative = np.concatenate([[0], np.cumsum(np.diff(grid) * (density[1:] + density[:-1]) / 2)])
    assert kstest(draws, lambda x: np.interp(x, grid, cumulative / cumulative[-1])).pvalue > 1e-4


@pytest.mark.parametrize("data", [np.zeros(30), np.ones(30), np.array([0, 1] * 15)], ids=["all 0", "all 1", "half"])
def test_whatever_is_inside_the_domain_is_released_and_verified(tmp_path, data):
    plan = gs.plan(gs.models.BetaBernoulli(trim=(0.1, 0.8)), gs.Budget(1.0), n=30, adjacency=REPLACE, draws=5)
    released = plan.release(data, generator=seeded())
    released.save(tmp_path / "r.json")
    loaded = gs.Release.load(tmp_path / "r.json")
    assert np.array_equal(loaded.draws, released.draws)
    assert loaded.certificate["prior"] == {"alpha": 1.0, "beta": 1.0, "trim": [0.1, 0.8]}
    assert "trimmed" in str(plan)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ({"trim": (0.9, 0.3)}, "a < b"),
        ({"trim": (0.0, 0.5)}, "strictly inside"),
        ({"trim": (-0.1, 0.5)}, "0 ≤ a < b ≤ 1"),
        ({"trim": (0.2, float("nan"))}, "trim"),
        ({"alpha": 0.0}, "alpha"),
        ({"trials": 3}, "declared where a record has several trials"),
        ({"labels": ("a", "a")}, "labels"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(declaration, message):
    with pytest.raises(gs.GibbsafeError, match=message):
        gs.models.BetaBernoulli(**declaration)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array([0, 1, 2.5]), r"row 2 is 2.5"),
        (np.array([0, 1, 4]), "not a whole number from 0 to 3.*row 2 is 4"),
        (np.array([0, np.nan, 1]), "row 1 is nan"),
        (np.array([[0, 1], [1, 0], [1, 1]]), "one column"),
        (np.array(["a", "b", "c"]), "must be numbers"),
        (np.array([0, 1]), "not the n = 3 records.*there are 2"),
    ],
)
def test_records_outside_the_declared_form_are_refused(data, message):
    plan = gs.plan(gs.models.BetaBernoulli(trim=(0.2, 0.8), trials=3), gs.Budget(1.0), n=3, adjacency=REPLACE)
    with pytest.raises(gs.DomainError, match=message):
        plan.release(data, generator=seeded(), show_values=True)


@pytest.mark.parametrize("options", [{"prior": 1.0}, {"prior_radius": 2.0}, {"purpose": "estimate"}])
def test_the_prior_is_part_of_the_declaration(options):
    with pytest.raises(gs.ParameterError, match="BetaBernoulli"):
        gs.plan(gs.models.BetaBernoulli(trim=(0.2, 0.8)), gs.Budget(1.0), n=3, adjacency=REPLACE, **options)


def test_prior_mass_and_lipschitz_constant():
    model = gs.models.BetaBernoulli(alpha=2.0, beta=3.0, trim=(0.2, 0.9))
    assert model.lipschitz_at(np.array([[0.5], [0.9]])) == pytest.approx([0.0, float(logit(0.9))])
    law = beta_law(2.0, 3.0)
    inside = (law.cdf(1 / (1 + math.exp(-1))) - law.cdf(1 / (1 + math.exp(1)))) / (law.cdf(0.9) - law.cdf(0.2))
    assert model.prior_mass_below(1.0) == pytest.approx(inside, rel=1e-9)
    assert model.prior_mass_below(50.0) == pytest.approx(1.0)
    assert model.prior_mass_below(0.0) == 0.0
