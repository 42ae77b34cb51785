"""Golden values: 17 digits from 50-digit arithmetic, each reproduced at its own tolerance by the public functions."""

import json
import math
from pathlib import Path

import pytest

from gibbsafe import Budget, PremiseError
from gibbsafe.privacy import ApproximateDP, BoundedRange, ConcentratedDP, GaussianDP
from gibbsafe.privacy.profiles import gaussian_delta, gaussian_mu
from gibbsafe.theorems import Constants, get
from gibbsafe.theorems.approximate_sampling import with_slack
from gibbsafe.theorems.langevin_last_iterate import last_iterate_mu
from gibbsafe.theorems.langevin_steps import schedule
from gibbsafe.theorems.stochastic_lipschitz import kl_bound, tv_bound

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())
REPLACE = "replace-one"


def convex(**constants):
    return Constants(convex=True, **constants)


def beta(theorem, constants, epsilon, delta):
    return get(theorem).calibrate(constants, Budget(epsilon, delta), adjacency=REPLACE)


def thm7_delta(eps, beta, L, m_pi):
    claim = get("log-sobolev").guarantee(convex(lipschitz=L, prior_precision=m_pi), inverse_temperature=beta, adjacency=REPLACE)
    return {"mu": math.sqrt(2 * claim.rho), "delta": claim.delta(eps)}


def logistic_bias(eps, delta, r, m_pi):
    blocks = convex(lipschitz=(r, 1.0), prior_precision=m_pi)
    return {"mu": gaussian_mu(eps, delta), "L": blocks.gap(REPLACE) / 2, "beta": beta("gaussian-dp", blocks, eps, delta)}


def prior_for_beta_one(eps, delta, L, beta):
    return {"m_pi": (2 * beta * L / gaussian_mu(eps, delta)) ** 2}


def gauss_exact_delta(eps, r, beta, n, lam):
    constants = Constants(record_radius=r, n=n, prior_precision=lam)
    exact = get("gaussian-mean").guarantee(constants, inverse_temperature=beta, adjacency=REPLACE)
    paper = get("gaussian-mean-paper").guarantee(constants, inverse_temperature=beta, adjacency=REPLACE)
    return {"mu": exact.mu, "delta": exact.delta(eps), "thm15_delta": paper.delta(eps)}


def cor8_refuse(eps, delta, L, m_pi):
    constants = convex(lipschitz=L, prior_precision=m_pi)
    with pytest.raises(PremiseError, match="E1"):
        beta("log-sobolev-simple", constants, eps, delta)
    formula = eps / (2 * L) * math.sqrt(m_pi / (1 + 2 * math.log(1 / delta)))
    exact = get("gaussian-dp").guarantee(constants, inverse_temperature=formula, adjacency=REPLACE)  # attained by |θ − x|
    return {"beta_formula": formula, "exact_delta_at_it": exact.delta(eps)}


def prop13(d, n, beta, M_l, M_pi, m_pi, gamma):
    constants = convex(lipschitz=1.0, prior_precision=m_pi, smoothness=M_l, prior_smoothness=M_pi, n=n, dimension=d, slack=gamma)
    step, steps = get("langevin-steps").schedule(constants, beta, REPLACE)
    assert (step, steps) == schedule(dimension=d, smoothness=n * beta * M_l + M_pi, strong_convexity=m_pi, slack=gamma)
    return {"h": step, "T_real": float(steps), "T": steps}


def bounded_range(r, eps):
    claim = BoundedRange(r)
    return {
        "zcdp": claim.concentrated().rho,
        "zcdp_tight": claim.tight_concentration(),
        "delta": claim.delta(eps),
        "tv": claim.total_variation(),
    }


def langevin(h, G, m, M, t):
    mu = last_iterate_mu(step=h, gap=G, strong_convexity=m, smoothness=M, steps=t)
    return {"mu": mu, "exact_posterior_mu": G / math.sqrt(m)}


def trimmed_bernoulli(a, b):
    logit = [math.log(p / (1 - p)) for p in (a, b)]
    constants = Constants(difference_range=logit[1] - logit[0], metric_lipschitz=max(map(abs, logit)), metric_diameter=1.0)
    paper = get("lipschitz-metric").guarantee(constants, inverse_temperature=1.0, adjacency=REPLACE)
    sharp = get("bounded-range").guarantee(constants, inverse_temperature=1.0, adjacency=REPLACE)
    return {"two_L": paper.epsilon(0.0), "range": sharp.epsilon(0.0)}


def n_draws(N, mu, delta):
    composed = GaussianDP(mu).compose(N)
    return {"mu_total": composed.gaussian().mu, "eps": composed.epsilon(delta)}


ROUTES = {
    "gdp_delta": lambda eps, mu: {"delta": GaussianDP(mu).delta(eps)},
    "gdp_mu": lambda eps, delta: {"mu": gaussian_mu(eps, delta)},
    "thm7_delta": thm7_delta,
    "thm7_beta": lambda eps, delta, L, m_pi: {"beta": beta("log-sobolev", convex(lipschitz=L, prior_precision=m_pi), eps, delta)},
    "cor8_beta": lambda eps, delta, L, m_pi: {
        "beta": beta("log-sobolev-simple", convex(lipschitz=L, prior_precision=m_pi), eps, delta)
    },
    "cor8_refuse": cor8_refuse,
    "gdp_beta_logistic_bias": logistic_bias,
    "gdp_mpi_for_beta1": prior_for_beta_one,
    "thm10_gdp_beta": lambda eps, delta, L, n, m_l, m_pi: {
        "beta": beta("gaussian-dp", convex(lipschitz=L, n=n, loss_strong_convexity=m_l, prior_precision=m_pi), eps, delta)
    },
    "thm15_beta": lambda eps, delta, r: {"beta_over_n": beta("gaussian-mean-paper", Constants(record_radius=r, n=1), eps, delta)},
    "gauss_exact_beta": lambda eps, delta, r: {"beta_over_n": beta("gaussian-mean", Constants(record_radius=r, n=1), eps, delta)},
    "gauss_exact_delta": gauss_exact_delta,
    "prop12": lambda eps, delta, gamma: {"delta": with_slack(ApproximateDP(eps, delta), gamma).delta(eps)},
    "prop13": prop13,
    "expmech": lambda beta, Delta: {
        "eps": get("exponential-mechanism")
        .guarantee(Constants(sensitivity=Delta), inverse_temperature=beta, adjacency=REPLACE)
        .epsilon(0.0)
    },
    "range": bounded_range,
    "zcdp_bs": lambda rho, delta: {"eps": ConcentratedDP(rho, conversion="bun-steinke").epsilon(delta)},
    "zcdp_cks": lambda rho, delta: {"eps": ConcentratedDP(rho).epsilon(delta)},
    "gdp_Ndraws": n_draws,
    "langevin": langevin,
    "bern_trim_range": trimmed_bernoulli,
}


def route_of(case):
    return max((name for name in ROUTES if case.startswith(name)), key=len, default=None)


@pytest.mark.parametrize("case", [name for name in GOLDEN if route_of(name)])
def test_golden_value(case):
    record = GOLDEN[case]
    computed = ROUTES[route_of(case)](**record["inputs"])
    for name, expected in record["output"].items():
        tolerance = 1e-6 if name == "T_real" else record["rtol"]  # T is the ceiling of T_real
        assert computed[name] == pytest.approx(expected, rel=tolerance), name


def test_stochastic_lipschitz_golden():
    constants = {"ratio": 1.5, "floor": 0.1, "rate": 20.0, "distance": 0.25}
    assert kl_bound(**constants) == pytest.approx(0.1125, rel=1e-9)
    assert tv_bound(**constants) == pytest.approx(0.23717082451262845, rel=1e-9)


def test_end_to_end_logistic_stays_under_both_prices():
    record = GOLDEN["e2e_logistic"]
    beta, m, eps = (record["inputs"][name] for name in ("beta", "m", "eps"))
    exact = max(record["output"]["delta"], record["output"]["delta_rev"])
    tight, default = gaussian_delta(eps, beta / math.sqrt(m)), gaussian_delta(eps, 2 * beta / math.sqrt(m))
    assert tight == pytest.approx(record["output"]["gdp_bound_G_eq_beta"], rel=1e-8)
    assert default == pytest.approx(record["output"]["gdp_bound_2betaL"], rel=1e-8)
    assert exact <= tight <= default
