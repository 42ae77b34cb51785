"""Golden values of the families' lemmas: 17 digits from 50-digit arithmetic, each by the public declarations."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

import gibbsafe as gs
from gibbsafe.models.families.tables import smallest_for
from gibbsafe.theorems.stochastic_lipschitz import kl_bound, tv_bound

GOLDEN = json.loads((Path(__file__).parents[2] / "golden.json").read_text())
M = gs.models


def constants(model, n=None):
    return model.constants(np.empty(0), adjacency=gs.privacy.Adjacency.REPLACE_ONE, n=n, rows_per_person=1)


def network(e, S, K, v):
    states = {f"x{k}": S for k in range(K)}
    parents = {f"x{k}": ["x0"] for k in range(1, v)}
    model = M.BayesianNetwork(states=states, parents=parents, smallest_probability=e)
    assert model.connectivity[0] == v
    return {
        "row_eps": constants(model).whole_difference_range,
        "cell_eps": model.cell_guarantee("x0").epsilon(0.0),
        "e_for_row_eps_1": smallest_for(gs.Budget(1.0), S, K),
    }


def chain(e, S):
    return {"eps": M.MarkovChain(states=S, length=9, smallest_probability=e).state_guarantee().epsilon(0.0)}


def corrected_ratio(c1, c2, reach):
    """The lemmas' C for one record; the declared one is at most that."""
    return c2 / min(c1 * math.exp(-c1 * reach), c2 * math.exp(-c2 * reach))


def exponential_ratio(c1, c2, B):
    formula = corrected_ratio(c1, c2, B)
    assert 1 <= constants(M.ExponentialRate(trim=(c1, c2), bound=B), n=1).likelihood_ratio_bound <= formula
    return {"C": formula}


def laplace_ratio(c1, c2, B, mu):
    formula = corrected_ratio(c1, c2, B + abs(mu))
    assert 1 <= constants(M.LaplaceScale(trim=(c1, c2), bound=B, location=mu), n=1).likelihood_ratio_bound <= formula
    return {"C": formula}


def exponential_range(c1, c2, rho):
    declared = constants(M.ExponentialRate(trim=(c1, c2), bound=rho))
    claim = gs.theorems.get("bounded-range").guarantee(declared, inverse_temperature=1.0, adjacency="replace-one")
    return {"eps": claim.epsilon(0.0), "tv": claim.total_variation()}


def beta_rate(alpha):
    def rate(a):
        return constants(M.BetaBernoulli(alpha=a, beta=a), n=8).stochastic_rate

    return {"c": rate(alpha), "alpha_crit": brentq(lambda a: rate(a) - 1, 2.0, 4.0, xtol=1e-14)}


def matrix_lipschitz(A, mu):
    model = M.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0.5, 3.0), mean=mu)
    return {"L": float(model.lipschitz_at(np.array([[A[0][0], A[0][1], A[1][1]]]))[0])}


def stochastic(C, L0, c, rho):
    given = {"ratio": C, "floor": L0, "rate": c, "distance": rho}
    return {"kl": kl_bound(**given), "tv": tv_bound(**given)}


def beta_profile(alpha, beta, n, eps):
    plan = gs.plan(
        M.BetaBernoulli(alpha=alpha, beta=beta), gs.Budget(eps, 0.5), n=n, adjacency="replace-one", inverse_temperature=1.0
    )
    return {"delta": plan.guarantee.delta(eps)}


def trimmed_range(a, b):
    declared = constants(M.BetaBernoulli(trim=(a, b)))
    return {"two_L": 2 * declared.metric_lipschitz, "range": declared.difference_range}


ROUTES = {
    "dbn_0": network,
    "markov_0": chain,
    "lemma19_C": exponential_ratio,
    "lemma19_range": exponential_range,
    "lemma20_C": laplace_ratio,
    "lemma21_c": beta_rate,
    "lemma21_C": lambda alpha, n: {"C": constants(M.BetaBernoulli(alpha=alpha, beta=alpha), n=n).likelihood_ratio_bound},
    "lemma23": matrix_lipschitz,
    "thm7_2_corrected": stochastic,
    "beta_bern_0": beta_profile,
    "bern_trim_range": trimmed_range,
}


@pytest.mark.parametrize("case", ROUTES)
def test_golden_value(case):
    record = GOLDEN[case]
    computed = ROUTES[case](**record["inputs"])
    for name, expected in record["output"].items():
        assert computed[name] == pytest.approx(expected, rel=record["rtol"]), name


# -- the declared constants of Assumption 2, by quadrature ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        M.ExponentialRate(trim=(0.2, 2.0), bound=1.0),
        M.LaplaceScale(trim=(0.5, 0.9), bound=0.3, location=0.2, shape=3.0, rate=2.0),
        M.NormalPrecision(trim=(0.1, 0.5), bound=3.0, location=1.5, shape=0.5),
    ],
    ids=lambda model: model.name,
)
def test_stochastic_constants_hold(model):
    """ξ(Θ_L) ≥ 1 − e^{−c(L − L₀)} everywhere, and likelihood over marginal is at most C for 1 and 5 records."""
    declared = constants(model, n=5)
    floor, rate = declared.stochastic_floor, declared.stochastic_rate
    for lipschitz in np.linspace(floor, declared.metric_lipschitz * 1.1, 60):
        assert model.prior_mass_below(float(lipschitz)) >= 1 - math.exp(-rate * (lipschitz - floor)) - 1e-9
    points, weights = np.polynomial.legendre.leggauss(200)
    low, high = model.trim
    theta = 0.5 * (low + high) + 0.5 * (high - low) * points
    prior = theta ** (model.shape - 1) * np.exp(-model.rate * theta) * weights
    for n in (1, 5):
        bound = constants(model, n=n).likelihood_ratio_bound
        for statistic in np.linspace(*model.statistic_bounds, 7):
            likelihood = theta ** (model.power * n) * np.exp(-theta * n * statistic)
            assert likelihood.max() / (prior @ likelihood / prior.sum()) <= bound
    assert constants(model, n=10**6).likelihood_ratio_bound is None


def test_diameters_by_search():
    """Random pairs of records are never farther apart than declared, and come close (E18: 4.7096 on the unit ball)."""
    rng = np.random.default_rng(1)
    for bound in (0.4, 1.0, 3.0):
        for mean in ((0.0, 0.0), (0.3, 0.1)):
            model = M.MultivariateNormalPrecision(dimension=2, bound=bound, trim=(1, 2), mean=mean)
            radius = bound * np.sqrt(rng.uniform(0.5, 1, (2, 2_000, 1)))
            radius[:, ::2] = bound
            angle = rng.uniform(0, 2 * math.pi, (2, 2_000))
            x, y = radius * np.stack([np.cos(angle), np.sin(angle)], axis=2)
            found = max(model.metric.between(a[None], b[None]) for a, b in zip(x, y, strict=True))
            assert 0.97 * model.diameter <= found <= model.diameter
        line = M.NormalPrecision(trim=(1, 2), bound=bound)
        grid = np.linspace(-bound, bound, 101)
        found = max(line.metric.between([a], [b]) for a in grid for b in grid[::4])
        assert 0.98 * line.diameter <= found <= line.diameter
        for mean in ((0.0,), (0.3,)):
            single = M.MultivariateNormalPrecision(dimension=1, bound=bound, trim=(1, 2), mean=mean)
            found = max(single.metric.between([[a]], [[b]]) for a in grid for b in grid[::4])
            assert 0.98 * single.diameter <= found <= single.diameter
    unit = M.MultivariateNormalPrecision(dimension=3, bound=1.0, trim=(1, 2), mean=(0.1, 0, 0), structure="diagonal")
    assert unit.diameter == pytest.approx(4.7096, abs=1e-4)


@pytest.mark.parametrize("bound", [0.4, 3.0])
@pytest.mark.parametrize("away", [0.0, 0.3, 2.5])
@pytest.mark.parametrize("name", ["ExponentialRate", "LaplaceScale", "NormalPrecision", "MultivariateNormalPrecision"])
def test_lipschitz_constants_by_search(name, away, bound):
    """|log p(x) − log p(y)| ≤ Lρ(x, y) by SciPy's densities at the upper trim point; the worst pair comes close where stated."""
    rng, high = np.random.default_rng(2), 1.7
    if name == "ExponentialRate":
        model, law, low = M.ExponentialRate(trim=(0.2, high), bound=bound), stats.expon(scale=1 / high), 0.0
    elif name == "LaplaceScale":
        model, law, low = M.LaplaceScale(trim=(0.2, high), bound=bound, location=away), stats.laplace(away, 1 / high), -bound
    elif name == "NormalPrecision":
        model, law = M.NormalPrecision(trim=(0.2, high), bound=bound, location=away), stats.norm(away, high**-0.5)
        low = -bound
    else:
        model = M.MultivariateNormalPrecision(dimension=1, trim=(0.2, high), bound=bound, mean=(away,))
        law, low = stats.norm(away, high**-0.5), -bound
    x = rng.uniform(low, bound, 300)
    x, y = np.concatenate([x, [bound, bound]]), np.concatenate([x + bound * 1e-3 * rng.normal(size=300), [low, 0.0]])
    y = np.clip(y, low, bound)
    moved = np.abs(law.logpdf(x) - law.logpdf(y))
    packed = (lambda v: [[v]]) if name == "MultivariateNormalPrecision" else (lambda v: [v])
    apart = np.array([model.metric.between(packed(a), packed(b)) for a, b in zip(x, y, strict=True)])
    declared = model.metric_constants().metric_lipschitz
    assert (moved <= declared * apart * (1 + 1e-9) + 1e-12).all()
    if name != "NormalPrecision" and (
        away == 0 or name != "MultivariateNormalPrecision"
    ):  # elsewhere max(|location|, 1) is coarse
        assert (moved / np.maximum(apart, 1e-12)).max() >= 0.98 * declared
