"""Golden values of the bounds: 17 digits from 50-digit arithmetic."""

import json
import math
from pathlib import Path

import pytest

import gibbsafe as gs
from gibbsafe.assumptions import likelihood_ratio_bound
from gibbsafe.bounds import empirical_ball, stochastic_gap

GOLDEN = json.loads((Path(__file__).parents[1] / "golden.json").read_text())


def lemma_12(n, delta):
    ball = empirical_ball(n, delta)
    return {"radius": ball.radius, "m_max": ball.cells}


def theorem_7_2(C, L0, c, rho):
    gap = stochastic_gap(rate=c, floor=L0, ratio=C, distance=rho)
    return {"kl": gap.kl, "tv": gap.total_variation}


def ratio(alpha, n):
    return {"C": math.exp(likelihood_ratio_bound(gs.models.BetaBernoulli(alpha=alpha, beta=alpha), n))}


@pytest.mark.parametrize(("case", "route"), [("lemma12", lemma_12), ("thm7_2_corrected", theorem_7_2), ("lemma21_C", ratio)])
def test_golden_value(case, route):
    record = GOLDEN[case]
    computed = route(**record["inputs"])
    for name, expected in record["output"].items():
        assert computed[name] == pytest.approx(expected, rel=record["rtol"]), name
