"""Theorem 4's rates, when its conditions begin, Theorem 29, and the checker."""

import math

import numpy as np
import pytest
from scipy import stats

import gibbsafe as gs
from gibbsafe.contamination import (
    Asserted,
    ContaminatedCauchyRegression,
    ContaminatedLogisticRegression,
    ContaminatedNormalMean,
    efficiency_loss,
)
from gibbsafe.contamination.theory import (
    WONG_SHEN,
    Schedule,
    begins_at,
    denominator_failure,
    ghosal_contraction,
    main_theorem,
    outside_failure,
    supremum_failure,
)

MODEL = ContaminatedNormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0)


def test_constants():
    assert WONG_SHEN.c == pytest.approx(2**-7.5 * 3**-2 / 5, rel=1e-14)
    assert WONG_SHEN.c1 == pytest.approx(1 / 12, rel=1e-14)
    assert WONG_SHEN.c0 == pytest.approx(25 * (4 - math.log(5)) / 16, rel=1e-14)
    assert WONG_SHEN.c2 == pytest.approx(4 / 27 / (32 * WONG_SHEN.c0 + 8 / 3), rel=1e-14)
    assert WONG_SHEN.c5(1.0) == WONG_SHEN.c2


def test_counts_of_lemma_8():
    """Shells and brackets counted by their definitions (E36)."""
    for phi in (0.9, 0.5, 0.31, 0.1, 0.003):
        shells = next(x for x in range(99) if 2 ** (x + 1) * phi**2 > 1)
        narrow = (2 / 3) ** 2 * phi**2 / (2**4.5 * 5)
        brackets = next(x for x in range(99) if 2**x * narrow > phi)
        counted = (1 + shells) * (1 + brackets)
        assert supremum_failure(1, phi) == pytest.approx(counted * math.exp(-WONG_SHEN.c2 * phi**2), rel=1e-12)
    assert supremum_failure(1e6, 0.1) == pytest.approx(4 * math.exp(-WONG_SHEN.c2 * 1e4))


def test_theorem_4_as_printed():
    n, phi, psi, p, steep = 1e8, 0.05, 0.01, 0.3, 2.0
    found = main_theorem(n, phi=phi, psi=psi, rate=p, gradient_ratio=steep, alpha=0.5, c3=2.0, c4=3.0)
    small = 2 * (1 - p) * steep * psi / p
    delta = 4 / 2 * math.exp(-n * phi**2 / 24)
    assert found.delta == pytest.approx(delta)
    assert found.epsilon == pytest.approx(small + math.log(delta + math.exp(small)))
    parts = 4 * math.exp(-n * phi**2 * 0.5 / 96) + 8 * math.exp(-WONG_SHEN.c2 * n * phi**2) + 6 * math.exp(-n * phi**2 / 12)
    assert found.failure == pytest.approx(parts)
    assert denominator_failure(n, phi, 0.5) + outside_failure(n, phi, 3.0) == pytest.approx(parts / 2)
    assert "asymptotic" in str(found)
    assert "not a guarantee" in str(found)
    assert not isinstance(found, gs.privacy.Guarantee | gs.privacy.EstimatedPrivacy)
    assert main_theorem(100.0, phi=0.4, psi=1.0, rate=0.4, gradient_ratio=1.0).vacuous


@pytest.fixture(scope="module")
def begins():
    return {begin.condition: begin for begin in begins_at(MODEL, 30.0)}


def test_conditions_begin_where_they_begin(begins):
    """Each condition, written down once more, holds at 1.03 times the n found and fails below it."""
    c1, c2 = WONG_SHEN.c1, WONG_SHEN.c2

    def records(n):
        return n * c1 * n**-0.4 / 8 / math.log(n) > max(1, c1 / (8 * c2))

    def first_case(n):
        return c2 * n**0.6 >= math.log(2)

    def delta(n):
        return 4 * math.exp(-c1 * n**0.6 / 2) < 1 / n

    for name, holds in (("Assumption 2, records", records), ("Theorem 4, first case", first_case), ("Theorem 4, δ", delta)):
        assert holds(begins[name].n * 1.03), name
        assert not holds(begins[name].n / 1.03), name
    far = 30.0 / 40 - 1
    n = 1e8
    assert stats.chi2.logsf((n**0.35 - abs(far)) ** 2, 1) <= -2 * c1 * n**0.6  # Assumption 3, long before
    assert begins["Assumption 3"].n <= 100


def test_nobody_has_that_many_records(begins):
    """The authors' "unrealistically large n": the entropy condition begins beyond 10¹⁴ records, ε_n ≤ 1 beyond 10¹⁵."""
    assert begins["Assumption 1"].n > 1e14
    assert begins["Theorem 4, ε"].n > 1e15
    assert "from n = " in str(begins["Assumption 1"])


def test_rates_of_section_5():
    """ε_n falls like n^{−1/2q}: ψ like φ = n^{−1/q}, over p = n^{−1/2q}."""
    from gibbsafe.contamination.theory.begins import _Conditions

    asked = _Conditions(MODEL, 30.0, Schedule(q=5.0), alpha=1.0, w=None, reach=4.0)
    sizes = (1e22, 1e26)
    slope = math.log(asked.at(sizes[1]).epsilon / asked.at(sizes[0]).epsilon) / math.log(sizes[1] / sizes[0])
    assert slope == pytest.approx(-0.1, abs=0.01)


def test_schedules_are_checked():
    with pytest.raises(gs.ParameterError, match="q = 4"):
        Schedule(q=4)
    with pytest.raises(gs.ParameterError, match=r"k = 0.2: must be above .* 0.333"):
        Schedule(q=6, k=0.2)  # E32: the paper's k > 1/6 is not enough


def test_theorem_29_as_derived():
    n, phi, m, d = 1e6, 0.0022, 26.0, 20.0
    size, k = n * phi**2, 1 / 8
    found = ghosal_contraction(n, phi=phi, multiple=m, divisor=d, sieve_rate=50.0)
    first, last = math.exp(-0.5 * (k * m * m - 1) * size), math.exp(-0.5 * (50 - 2 * d) * size)
    assert found.mass == pytest.approx(first + math.exp(-(k * m * m / 4 - d) * size) + last)
    shells = sum(math.exp(-(k * m * m / 4 * (2 * j * j - 1) - d) * size) for j in range(1, 9))
    assert found.failure == pytest.approx(first / (1 - math.exp(-k * m * m * size)) + shells + last + 2 / d)
    assert ghosal_contraction(n, phi=phi, multiple=20.0, divisor=d).mass > found.mass
    assert ghosal_contraction(n, phi=phi, multiple=24.0, divisor=d, sieve_rate=50.0).vacuous  # Remark 18: KM² ≤ 4D
    with pytest.raises(gs.ParameterError, match="sieve_rate"):
        ghosal_contraction(n, phi=phi, multiple=m, divisor=d, sieve_rate=40.0)


def test_theorem_29_is_not_violated_by_a_normal_mean():
    """θ* = 0, prior N(0, 1), n = 10⁶: the posterior is known, and so is its mass beyond the Hellinger radius."""
    n, phi, m = 10**6, 0.0022, 30.0
    claim = ghosal_contraction(n, phi=phi, multiple=m, divisor=20.0)
    assert not claim.vacuous
    radius = math.sqrt(-8 * math.log(1 - (m * phi) ** 2))
    means = np.random.default_rng(6).normal(0, 1 / math.sqrt(n), 400) * n / (n + 1)
    spread = 1 / math.sqrt(n + 1)
    outside = stats.norm.sf((radius - means) / spread) + stats.norm.cdf((-radius - means) / spread)
    assert (outside > claim.mass).mean() <= claim.failure


def test_contaminated_models_are_checked():
    found = gs.assumptions.check(MODEL, 1000)
    assert all(finding.applies for finding in found.findings)
    assert found.basis == ("checked", "checked", "by form", "checked", "by form")
    assert "no guarantee follows" in str(found)
    assert found.to_dict()["findings"][3]["basis"] == "checked"


def test_covariates_and_assertions_count():
    model = ContaminatedLogisticRegression(columns=2)
    assert gs.assumptions.check(model, 10).basis[4] == "asserted"
    assert gs.assumptions.check(model, 10, w=np.array([[1.0, 0.5], [1.0, -0.5]])).applies("Assumption 5")
    assert not gs.assumptions.check(model, 10, w=np.array([[1.0, 0.5]])).applies("Assumption 5")
    own = Asserted(lambda x: -np.abs(x) - np.log(2), lambda rng, size: rng.laplace(size=size), tails_asserted=True)
    found = gs.assumptions.check(ContaminatedNormalMean(contamination=own), 10)
    assert found.basis[3] == "asserted"
    assert not gs.assumptions.check(ContaminatedNormalMean(contamination=None), 10).applies("Assumption 4")
    assert gs.assumptions.check(ContaminatedCauchyRegression(columns=2, scale=None), 10).basis[0] == "by form"
    with pytest.raises(gs.ParameterError, match="contaminated model"):
        gs.assumptions.check("nothing", 10)


def test_efficiency_loss_falls_with_p():
    """Theorem 5: I_p → I, and 1 − I_p/I ≥ p."""
    losses = [efficiency_loss(MODEL, 30.0, p) for p in (0.4, 0.1, 0.01, 0.001)]
    assert losses == sorted(losses, reverse=True)
    assert all(loss >= p for loss, p in zip(losses, (0.4, 0.1, 0.01, 0.001), strict=True))
    assert losses[-1] < 0.01
