"""Exact privacy curves of every family never exceed the claim, in both directions; and how much of the range they reach.

Densities come from the prior and the likelihood as they are defined, on quadrature grids; nothing of the families' posteriors is
used but to compare with. Grids resolve densities of a few records to 1e-6 or better; claims are compared with a margin of 1e-6.
"""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.posteriors.gamma import GammaPosterior

from ...examples import ADD, FAMILIES, RATES, REPLACE
from ..plans import hockey_stick, planned, posterior_of
from . import quadrature as cases
from .quadrature import densities

EPSILONS = (0.0, 0.05, 0.2, 0.5, 0.9, 0.999)
M = gs.models


def zero_prior(points):
    return np.zeros(len(points))


def instances():
    """Yield (model, grid, log prior, log-likelihood, extreme records) with grids fine enough for a handful of records."""
    for name in RATES:
        model = FAMILIES[name]
        ends = [float(corner[0]) for corner in model.corners()]
        yield (
            name,
            model,
            cases.rate_grid(model),
            lambda points, model=model: cases.log_gamma_prior(model, points),
            cases.rate_log_likelihood,
            [*ends, sum(ends) / 2],
        )
    chain, network = cases.small_chain(), cases.small_network()
    three = M.Categorical(states=("a", "b", "c"), smallest_probability=0.05, concentration=2.0)
    normal = FAMILIES["MultivariateNormalPrecision"]
    yield (
        "MarkovChain",
        chain,
        cases.binary_tables_grid(28, 0.1, 3),
        zero_prior,
        cases.chain_log_likelihood,
        [
            (0, 0, 0),
            (1, 1, 1),
            (0, 1, 0),
        ],
    )
    yield (
        "BayesianNetwork",
        network,
        cases.binary_tables_grid(28, 0.1, 3),
        zero_prior,
        cases.network_log_likelihood,
        [
            (0, 0),
            (1, 1),
            (1, 0),
        ],
    )
    yield (
        "Categorical",
        three,
        cases.simplex_grid(120, 0.05),
        lambda p: np.log(p).sum(axis=1),
        cases.categorical_log_likelihood,
        [
            "a",
            "c",
        ],
    )
    side = 1 / math.sqrt(2)
    yield (
        "MultivariateNormalPrecision",
        normal,
        cases.precision_grid(normal, 28),
        zero_prior,
        cases.normal_log_likelihood,
        [
            (1.0, 0.0),
            (0.0, 1.0),
            (0.0, 0.0),
            (side, -side),
        ],
    )


INSTANCES = {name: rest for name, *rest in instances()}


def neighbours(extremes, adjacency):
    """Yield pairs of small data sets: every replacement or addition beside none, some or many extreme others."""
    for others, count in itertools.product(extremes[:2], (0, 1, 6)):
        rest = [others] * count
        if adjacency == REPLACE:
            for x, y in itertools.permutations(extremes, 2):
                yield [*rest, x], [*rest, y]
        else:
            for x in extremes:
                yield rest, [*rest, x]
                yield [*rest, x], rest


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
@pytest.mark.parametrize("name", INSTANCES)
def test_exact_curves_never_exceed_the_claim(name, adjacency):
    model, grid, log_prior, log_likelihood, extremes = INSTANCES[name]
    budget = gs.Budget(1.0)
    for scale in (1.0, 0.3):
        plan = planned(model, adjacency, n=7, budget=gs.Budget(budget.epsilon * scale))
        power = plan.inverse_temperature
        for first, second in neighbours(extremes, adjacency):
            p, q = densities(grid, log_prior, lambda points, x: log_likelihood(model, points, x), (first, second), power)
            for share in EPSILONS:
                epsilon = share * scale
                assert hockey_stick(p, q, epsilon) <= plan.guarantee.delta(epsilon) + 1e-6
            assert hockey_stick(p, q, scale) <= 1e-9


@pytest.mark.parametrize("name", INSTANCES)
def test_posteriors_are_those_of_prior_and_likelihood(name):
    """The potential differs from −log prior − β log-likelihood by a constant, at every grid point."""
    model, (points, _), log_prior, log_likelihood, extremes = INSTANCES[name]
    plan = planned(model, n=7, budget=gs.Budget(3.0))
    data = [extremes[0]] * 4 + [extremes[1]] * 3
    posterior = posterior_of(plan, np.array(data))
    naive = -log_prior(points) - plan.inverse_temperature * sum(log_likelihood(model, points, x) for x in data)
    clipped = 4 * plan.inverse_temperature * 2.0**-18  # rows of normal vectors are clipped a little inside their ball
    spread = np.ptp(posterior.values(points) - naive)
    assert spread < (clipped if name == "MultivariateNormalPrecision" else 1e-9)


def test_finite_families_by_enumeration():
    rng = np.random.default_rng(1)
    for _ in range(6):
        parameters, outcomes = rng.integers(2, 6, 2)
        table = rng.dirichlet(np.ones(outcomes), parameters) * 0.9 + 0.1 / outcomes
        model = M.FiniteFamily(
            points=tuple(range(parameters)),
            likelihood=tuple(tuple(row) for row in table.tolist()),
            outcomes=int(outcomes),
            prior=tuple(rng.uniform(0.1, 1, parameters)),
        )
        for adjacency in (REPLACE, ADD):
            plan = planned(model, adjacency, n=6, budget=gs.Budget(1.0))
            for first, second in neighbours(list(range(outcomes)), adjacency):
                logs = [
                    np.log(model.prior) + plan.inverse_temperature * sum((np.log(table[:, x]) for x in data), 0.0)
                    for data in (first, second)
                ]
                p, q = (np.exp(log - np.logaddexp.reduce(log)) for log in logs)
                blocks = [model.encode(np.array(data, dtype=int), EncodingOptions()) for data in (first, second)]
                ours, theirs = (model.posterior(block, plan.stages[0], np.empty(0)) for block in blocks)
                np.testing.assert_allclose(ours.probabilities, p, rtol=1e-9)
                for epsilon in (0.0, 0.4, 0.95, 1.0):
                    exact = hockey_stick(p, q, epsilon)
                    assert ours.hockey_stick(theirs, epsilon) == pytest.approx(exact, abs=1e-12)
                    assert exact <= plan.guarantee.delta(epsilon) + 1e-12


# -- how much of the range is reached --------------------------------------------------------------------------------------


#: Trims and bounds at which most of the range is reached with 10,000 records at one end.
REACHED = {
    "BetaBernoulli": (M.BetaBernoulli(trim=(0.3, 0.9)), 0, 1),
    "ExponentialRate": (M.ExponentialRate(trim=(0.2, 2.0), bound=1.0), 0.0, 1.0),
    "LaplaceScale": (M.LaplaceScale(trim=(0.5, 0.9), bound=3.0), 3.0, 0.0),
    "NormalPrecision": (M.NormalPrecision(trim=(0.5, 1.5), bound=2.0), 2.0, 0.0),
}


@pytest.mark.parametrize("name", REACHED)
def test_nine_tenths_of_the_range_are_reached(name):
    """All records at one end pile the posterior up at a trim point; at the other one the log ratio is nearly the range."""
    model, common, other = REACHED[name]
    plan = planned(model, n=10_000, budget=gs.Budget(1e3), inverse_temperature=1.0)
    first, second = np.full(10_000, common), np.full(10_000, common)
    second[0] = other
    p, q = (posterior_of(plan, data) for data in (first, second))
    low, high = (float(end[0]) for end in p.support)
    # log ∫ e^{−U} by Gauss–Legendre panels that double away from each end, where everything is.
    steps = (high - low) * np.concatenate([[0], 2.0 ** np.arange(-45, 0)])
    edges = np.unique(np.concatenate([low + steps, high - steps]))
    theta, weight = (
        np.concatenate(parts) for parts in zip(*(cases.gauss(a, b, 30) for a, b in itertools.pairwise(edges)), strict=True)
    )

    def log_density(posterior):
        values = -posterior.values(np.append(theta, [low, high])[:, None])
        inside = values[:-2]
        return values[-2:] - inside.max() - math.log(np.exp(inside - inside.max()) @ weight)

    reached = np.abs(log_density(p) - log_density(q)).max()
    declared = plan.guarantee.epsilon(0.0)
    assert 0.9 * declared <= reached <= declared * (1 + 1e-9)


# -- hockey sticks of rates against 30 digits ---------------------------------------------------------------------------------


def exact_hockey_stick(p, q, epsilon):
    with mp.workdps(30):
        low, high = mp.mpf(p.low), mp.mpf(p.high)
        cuts = [low + (high - low) * k / 24 for k in range(25)]
        forms = [(mp.mpf(each.shape), mp.mpf(each.rate)) for each in (p, q)]
        f, g = (lambda t, a=a, b=b: t ** (a - 1) * mp.exp(-b * t) for a, b in forms)
        totals = mp.quad(f, cuts), mp.quad(g, cuts)

        def excess(t):
            return f(t) / totals[0] - mp.exp(epsilon) * g(t) / totals[1]

        fine = [low + (high - low) * k / 240 for k in range(241)]
        kinks = [mp.findroot(excess, (a, b), solver="anderson") for a, b in itertools.pairwise(fine) if excess(a) * excess(b) < 0]
        pieces = sorted([*cuts, *kinks])
        return mp.fsum(mp.quad(excess, [a, b]) for a, b in itertools.pairwise(pieces) if excess((a + b) / 2) > 0)


@pytest.mark.parametrize(
    ("p", "q", "epsilon"),
    [
        (GammaPosterior(3.0, 2.0, 0.5, 2.0), GammaPosterior(3.0, 2.5, 0.5, 2.0), 0.1),
        (GammaPosterior(3.0, 2.5, 0.5, 2.0), GammaPosterior(3.0, 2.0, 0.5, 2.0), 0.0),
        (GammaPosterior(13.0, 11.0, 0.5, 2.0), GammaPosterior(14.0, 12.0, 0.5, 2.0), 0.02),  # two kinks
        (GammaPosterior(14.0, 12.0, 0.5, 2.0), GammaPosterior(13.0, 11.0, 0.5, 2.0), 0.02),
        (GammaPosterior(200.0, 600.0, 0.5, 2.0), GammaPosterior(200.0, 601.0, 0.5, 2.0), 0.1),
        (GammaPosterior(2.0, 1.0, 0.5, 2.0), GammaPosterior(40.0, 60.0, 0.5, 2.0), 1.0),
    ],
)
def test_hockey_sticks_of_rates(p, q, epsilon):
    assert p.hockey_stick(q, epsilon) == pytest.approx(float(exact_hockey_stick(p, q, epsilon)), rel=1e-9, abs=1e-14)


def test_networks_and_chains_are_not_cheaper_for_cells_than_exact():
    """One changed cell or state costs its own guarantee, less than a whole row; exact curves stay under it."""
    chain, grid, log_prior, log_likelihood, _ = INSTANCES["MarkovChain"]
    network, net_grid, _, net_likelihood, _ = INSTANCES["BayesianNetwork"]
    for model, where, likelihood, first, second, claim in (
        (chain, grid, log_likelihood, [(0, 0, 0)] * 3, [(0, 0, 0)] * 2 + [(0, 1, 0)], chain.state_guarantee(0.2)),
        (chain, grid, log_likelihood, [(1, 1, 1)], [(0, 1, 1)], chain.state_guarantee(0.2)),
        (network, net_grid, net_likelihood, [(0, 0)] * 3, [(0, 0)] * 2 + [(1, 0)], network.cell_guarantee("a", 0.2)),
        (network, net_grid, net_likelihood, [(0, 0)] * 3, [(0, 0)] * 2 + [(0, 1)], network.cell_guarantee("b", 0.2)),
    ):
        p, q = densities(where, log_prior, lambda t, x, m=model, f=likelihood: f(m, t, x), (first, second), 0.2)
        for epsilon in np.linspace(0, claim.range, 6):
            for a, b in ((p, q), (q, p)):
                assert hockey_stick(a, b, epsilon) <= claim.delta(epsilon) + 1e-9
    assert network.cell_guarantee("b").range < network.cell_guarantee("a").range


@pytest.mark.parametrize(("draws", "share"), [(100, 0.32), (10_000, 0.05)])
def test_many_draws_cost_a_fraction_of_the_papers_sum(draws, share):
    """Bernoulli trimmed to [0.4875, 0.5125] at δ = 1e-9: the best route against 2NL (Corollary 10)."""
    declared = M.BetaBernoulli(trim=(0.4875, 0.5125)).metric_constants()
    claim = gs.theorems.get("bounded-range").guarantee(declared, inverse_temperature=1.0, adjacency=REPLACE, draws=draws)
    assert claim.epsilon(1e-9) <= share * 2 * draws * declared.metric_lipschitz
