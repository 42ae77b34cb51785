"""The price of the proximal sampler's last iterate: golden values, the programme behind the proof, and exact laws on a mesh.

The long version of the mesh (thousands of pairs) is audits/proximal.py, whose report is docs/audit-proximal.md.
"""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import minimize

import gibbsafe as gs
from gibbsafe.privacy import GaussianDP
from gibbsafe.theorems import compare, get
from gibbsafe.theorems.proximal_last_iterate import share_of_posterior

from ..audit.loading import load

audit = load("proximal")
MESH = 1e-5
CONSTANTS = {"lipschitz": 1.0, "convex": True, "prior_precision": 2.0, "step": 0.1, "steps": 30}


def price(adjacency="replace-one", beta=0.5, **changes):
    return get("proximal-last-iterate").guarantee(CONSTANTS | changes, inverse_temperature=beta, adjacency=adjacency).mu


@pytest.mark.parametrize("step", [1e-18, 1e-15, 1e-9, 1e-4, 0.03, 0.7, 1.0, 12.0, 1e3, 1e6])
@pytest.mark.parametrize("steps", [1, 2, 3, 17, 10**4, 10**6, 10**9])
def test_share_against_sixty_digits(step, steps):
    """Never below the exact value, and above it by less than 1e-14 of it."""
    with mp.workdps(60):
        c = 1 / (1 + mp.mpf(step))
        exact = mp.sqrt(1 - 2 * c**steps / (1 + c ** (steps - 1)))
        ours = share_of_posterior(step, steps)
        assert exact <= ours <= min(1, exact * (1 + mp.mpf(10) ** -14))


@pytest.mark.parametrize(
    ("step", "steps", "golden"),
    [
        (1.0, 1, "0.7071067811865475244"),
        (1.0, 2, "0.81649658092772603273"),
        (0.1, 5, "0.51198777406441824749"),
        (0.01, 300, "0.9507045088711698946"),
        (1e-6, 10**6, "0.67979195737168586018"),
    ],
)
def test_golden_values(step, steps, golden):
    assert share_of_posterior(step, steps) == pytest.approx(float(golden), rel=1e-14)


def test_one_round_is_the_price_of_the_tilted_posterior():
    """k = 1: G√(η′/(1 + mη′)), η′ = η/m, the isoperimetric price of a posterior with precision m + 1/η′."""
    gap, m, eta = 2 * 0.5, 2.0, 0.1 / 2.0
    assert price(steps=1) == pytest.approx(gap * math.sqrt(eta / (1 + m * eta)), rel=1e-13)


def test_price_per_block_and_adjacency():
    exact = get("gaussian-dp")
    for adjacency in ("replace-one", "add-remove"):
        for blocks in ({}, {"lipschitz": (0.7, 0.2), "prior_precision": (3.0, 0.1)}, {"difference_lipschitz": 1.1}):
            whole = exact.guarantee(CONSTANTS | blocks, inverse_temperature=0.5, adjacency=adjacency).mu
            assert price(adjacency, **blocks) == pytest.approx(whole * share_of_posterior(0.1, 30), rel=1e-13)
            assert price(adjacency, **blocks, steps=10**9) <= whole * (1 + 1e-12)


def test_price_needs_neither_smoothness_nor_n_nor_counts_strong_losses():
    assert price(smoothness=None, n=None) == price(smoothness=7.0, n=1000, loss_strong_convexity=3.0)
    for missing in ("step", "steps", "prior_precision", "lipschitz"):
        with pytest.raises(gs.PremiseError, match=missing):
            price(**{missing: None})
    with pytest.raises(gs.PremiseError, match="convex"):
        price(convex=False)


def test_comparison_row():
    row = compare(CONSTANTS, gs.Budget(1.0, 1e-6), "add-remove").row("proximal-last-iterate")
    whole = compare(CONSTANTS, gs.Budget(1.0, 1e-6), "add-remove").row("gaussian-dp")
    assert row.inverse_temperature == pytest.approx(whole.inverse_temperature / share_of_posterior(0.1, 30), rel=1e-9)
    assert "30 rounds, 2.86 e-folds, 94.5%" in row.note


# -- the programme behind the proof --------------------------------------------------------------------------------


def shifts(absorbed, step):
    """Return the shift left after every half-round, G = m = 1: the y-step absorbs, the x-step contracts, drifts and absorbs."""
    c, z, path = 1 / (1 + step), 0.0, []
    for by_y, by_x in absorbed.reshape(-1, 2):
        path.append(z := z - by_y)
        path.append(z := c * (z + step) - by_x)
    return np.array(path)


@pytest.mark.parametrize("step", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_price_is_the_optimum_of_the_shift_programme(step, rounds):
    """Σ a²/variance over all ways to absorb the shift without ever overshooting, by a general optimiser."""
    c = 1 / (1 + step)
    cost = np.tile([1 / step, 1 / (c * step)], rounds)
    answer = minimize(
        lambda a: float((cost * a * a).sum()),
        np.full(2 * rounds, 0.01),
        jac=lambda a: 2 * cost * a,
        constraints=[
            {"type": "eq", "fun": lambda a: shifts(a, step)[-1]},
            {"type": "ineq", "fun": lambda a: np.append(shifts(a, step)[:-1], a)},
        ],
        options={"maxiter": 3000, "ftol": 1e-15},
    )
    assert answer.fun == pytest.approx(share_of_posterior(step, rounds) ** 2, rel=1e-6)


@pytest.mark.parametrize("rounds", [2, 3, 10])
def test_the_programme_without_feasibility_would_claim_too_little(rounds):
    """(1 − cᵏ)²/(1 − c²ᵏ⁻¹), stated for this sampler before, lets the last y-step absorb more shift than there is."""
    step = 0.2
    c = 1 / (1 + step)
    weights = np.array([w for j in range(rounds, 0, -1) for w in (c**j, c ** (j - 1))])
    variances = np.tile([step, c * step], rounds)
    weights[0] = 0.0  # nothing to absorb before the first drift
    target = 1 - c**rounds
    absorbed = weights * variances * target / float((weights**2 * variances).sum())
    path = shifts(absorbed, step)
    assert path[-1] == pytest.approx(0, abs=1e-12)
    assert float((absorbed**2 / variances).sum()) == pytest.approx(target**2 / (1 - c ** (2 * rounds - 1)), rel=1e-12)
    assert path[-2] < -0.01 * step  # overshoots: the bound on the distance of the two chains no longer holds
    assert target**2 / (1 - c ** (2 * rounds - 1)) < share_of_posterior(step, rounds) ** 2


# -- exact laws ------------------------------------------------------------------------------------------------------


def linear(step, rounds, gap=1.0):
    """Far records on either side: Gaussian chains whose means part by G(1 − cᵏ) at variance 1 − c²ᵏ."""
    return audit.Neighbours(
        lambda x: 0.5 * x**2 + gap / 2 * x, lambda x: 0.5 * x**2 - gap / 2 * x, gap, step, rounds, 0.0, what="linear"
    )


@pytest.mark.parametrize(("step", "rounds"), [(0.3, 1), (0.3, 4), (4.0, 2), (15.0, 3)])
def test_the_mesh_against_a_closed_form(step, rounds):
    c = 1 / (1 + step)
    exact = GaussianDP((1 - c**rounds) / math.sqrt(1 - c ** (2 * rounds)))
    for (_, epsilon), delta in audit.deltas(linear(step, rounds)).items():
        assert delta == pytest.approx(exact.delta(epsilon), rel=4e-6, abs=1e-12)


def test_exact_laws_of_random_neighbours_never_exceed_the_claim():
    generator = np.random.default_rng(5)
    pairs = [audit.random_neighbours(generator) for _ in range(60)]
    assert sum(pair.interval is not None for pair in pairs) > 20
    assert max(audit.worst_ratio(pair) for pair in pairs) < 1 + MESH


def test_exact_laws_in_the_plane_never_exceed_the_claim():
    generator = np.random.default_rng(6)
    assert max(audit.plane_ratio(generator, nodes=60) for _ in range(8)) < 1.01


def test_the_bound_is_nearly_attained():
    assert audit.worst_ratio(linear(15.0, 3)) > 0.999


@pytest.mark.parametrize("bug", ["contraction", "rounds", "start"])
def test_planted_bugs_are_caught(bug):
    """A claim with c = 1/(1 + η/2), a claim for one round fewer, a start that follows the data: all exceed their claim."""
    pair = linear(9.0, 2)
    if bug == "contraction":
        claim = GaussianDP(share_of_posterior(9.0 / 2, 2))
    elif bug == "rounds":
        claim = GaussianDP(share_of_posterior(9.0, 1))
    else:
        claim = None
        pair = replace(linear(0.5, 2), start=-0.5, other_start=0.5)
    assert audit.worst_ratio(pair, claim) > 1.005
