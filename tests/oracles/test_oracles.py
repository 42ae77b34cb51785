"""The small version of `make audit PART=oracles`: some cases of every kind, and the oracles themselves beside closed forms.

Cases are drawn by a fixed seed, other ones than the audit's. Nothing here is statistical: a claim below an exact value is wrong.
"""

from __future__ import annotations

import ast
import math
import os
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from gibbsafe.models import MODELS
from gibbsafe.privacy import GaussianDP
from gibbsafe.theorems import THEOREMS

from . import adaptive, densities, exact
from .all_cases import KINDS, Case, run
from .family_cases import beta_pair, gamma_pair

#: Planted bugs that survive the other tests are shown more cases (audits/mutations.py).
SEED, CASES = 1, int(os.environ.get("GIBBSAFE_ORACLE_CASES", "8"))
INDEPENDENT = ("adaptive", "exact", "densities", "draw")


@pytest.mark.parametrize("kind", KINDS)
def test_no_claim_is_below_its_exact_value(kind: str) -> None:
    made = [run(SEED, index, kind) for index in range(CASES)]
    failures = [f"case {index}, {each.setting}: {check}" for index, each in enumerate(made) for check in each.violations]
    assert not failures, "\n".join(failures[:5])
    assert any(each.checks for each in made), [each.refused for each in made]


def test_every_theorem_and_model_has_cases() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("*_cases.py"))
    assert [name for name in THEOREMS if f'"{name}"' not in text] == []
    assert [name for name in MODELS if f'"{name}"' not in text and f"models.{name}(" not in text] == []


@pytest.mark.parametrize("name", INDEPENDENT)
def test_oracles_import_nothing_of_the_library(name: str) -> None:
    tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [module for module in imported if "gibbsafe" in module or "cases" in module or "suite" in module]


def test_the_same_numbers_give_the_same_case() -> None:
    first, second = run(3, 17), run(3, 17)
    assert (first.kind, first.setting, first.checks) == (second.kind, second.setting, second.checks)


@pytest.mark.parametrize("shrink", [1 - 1e-8, 0.5])
def test_a_claim_that_is_too_small_is_caught(shrink: float) -> None:
    made = Case("planted")
    log_p, log_q = (lambda x: -x * x / 2), (lambda x: -((x - 0.7) ** 2) / 2)
    epsilons = [0.0, 0.5, 2.0]
    made.profile(GaussianDP(0.7 * shrink), adaptive.curve(log_p, log_q, adaptive.Line(), epsilons), epsilons)
    assert len(made.violations) == 3


# -- the oracles beside closed forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-6, 0.3, 4.0])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_quadrature_of_normals(mu: float, scale: float) -> None:
    epsilons = [0.0, mu, 3 * mu + mu * mu / 2]
    line = adaptive.Line(centres=(0.0,), unit=scale)
    shown = adaptive.curve(lambda x: -((x / scale) ** 2) / 2, lambda x: -((x / scale - mu) ** 2) / 2, line, epsilons)
    true = np.array([float(exact.gaussian_delta(e, mu)) for e in epsilons])
    assert np.abs(shown.forward - true) == pytest.approx(0, abs=1e-11)
    assert (np.abs(shown.worst - true) <= shown.error + 1e-15).all()


def test_the_published_counterexamples_of_beta_posteriors() -> None:
    beta = 0.0008781442631195772
    pair = beta_pair(0.001, 0.001, (20 * beta, 0.0), (19 * beta, beta), (-math.inf, math.inf))
    assert pair.curve([1.0]).worst[0] == pytest.approx(0.0732396, abs=5e-7)
    pair = beta_pair(2.0, 2.0, (4.0, 4.0), (3.0, 5.0), (-math.inf, math.inf))
    every = [beta_pair(2.0, 2.0, (k + 1.0, 7.0 - k), (float(k), 8.0 - k), (-math.inf, math.inf)).curve([0.5]) for k in range(8)]
    assert max(each.worst[0] for each in every) == pytest.approx(0.16203505296541363, rel=1e-9)


def test_quadrature_of_a_shifted_exponential_is_randomised_response_like() -> None:
    # Gamma(1, 1) against Gamma(1, 2) on (1, 3): densities ∝ e^{−d}, e^{−2d} on d in (0, 2); the ratio crosses e^ε once
    (a, b), epsilon = (1.0, 2.0), 0.2
    mine, theirs = (rate / -math.expm1(-2 * rate) for rate in (a, b))
    cut = (epsilon - math.log(mine / theirs)) / (b - a)
    tails = [(math.exp(-rate * cut) - math.exp(-2 * rate)) / -math.expm1(-2 * rate) for rate in (a, b)]
    shown = gamma_pair((1.0, a), (1.0, b), (1.0, 3.0)).curve([epsilon])
    assert shown.forward[0] == pytest.approx(tails[0] - math.exp(epsilon) * tails[1], rel=1e-9)


def test_products_of_blocks_are_compositions() -> None:
    pairs = [
        adaptive.normalised(lambda x: -x * x / 2, lambda x, m=m: -((x - m) ** 2) / 2, adaptive.Line(), panels=10)
        for m in (0.6, 0.8)
    ]
    shown = adaptive.product_curve(pairs, [0.0, 1.0, 2.5])
    true = [float(exact.gaussian_delta(e, 1.0)) for e in (0.0, 1.0, 2.5)]
    assert (np.abs(shown.forward - true) <= shown.error).all()
    assert shown.error.max() < 1e-3


def test_the_exact_gaussian_profile_and_conversions() -> None:
    assert float(exact.gaussian_delta(1.0, 0.5)) == pytest.approx(0.0068295949831145754, rel=1e-15)
    assert float(exact.gaussian_delta(20.0, 4.0)) == pytest.approx(0.00072897752868782259, rel=1e-15)
    for epsilon in (1e-4, 1.0, 39.0, 41.0, 500.0):
        mu = exact.mu_of_pure(epsilon)
        with mp.workdps(60):
            tail = mp.erfc(mu / 2 / mp.sqrt(2)) / 2
            assert abs(mp.log(tail / (1 - tail)) + epsilon) < mp.mpf(10) ** -25
    assert float(exact.last_iterate_mu(0.1, 1.0, 1.0, 1000)) == pytest.approx(0.97467943448089639, rel=1e-12)
    assert float(exact.group_delta(800.0, 1e-10, 2)) == 1.0
    assert float(exact.stick(exact.two_points(1.2, 0.8), 0.4)) == pytest.approx(0.15553516284310932, rel=1e-12)


def test_losses_are_stable_far_out() -> None:
    u = np.array([-2.0, 0.0, 3.0])
    assert densities.pseudo_huber(1.0)(u, 1e9) == pytest.approx(-u)
    assert densities.pinball(0.3)(u, -1e9) == pytest.approx(0.7 * u)
    assert densities.soft_pinball(0.3, 0.5)(u, -1e9) == pytest.approx(0.7 * u)
    near = densities.soft_pinball(0.3, 1e-9)(u, 0.5)
    assert near == pytest.approx(densities.pinball(0.3)(u, 0.5), abs=1e-8)
