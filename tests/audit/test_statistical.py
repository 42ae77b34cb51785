"""The statistical audit is valid under the null, strong enough, and honest about what it cannot do.

Validity: of 400 runs at confidence c the number of bounds above the truth is at most Binomial(400, 1 − c); its 1 − 1e-4 quantile
is the limit. Seeds are fixed.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

import gibbsafe as gs
from gibbsafe.audit.sampling import Sample
from gibbsafe.audit.statistical import bound_from_samples, lower_limit, upper_limit
from gibbsafe.privacy import GaussianDP, PureDP

FIRST = lambda outputs: outputs[:, 0]  # noqa: E731
RUNS, CONFIDENCE = 400, 0.9
LIMIT = binom.ppf(1 - 1e-4, RUNS, 1 - CONFIDENCE)


def bounds(make, seed, delta=0.0, score=FIRST):
    rng = np.random.default_rng(seed)
    for _ in range(RUNS):
        samples = [Sample(make(rng, side), np.zeros(300, bool)) for side in (1, 0)]
        yield bound_from_samples(*samples, failure=1 - CONFIDENCE, delta=delta, score=score)


def nothing(rng, side):
    return rng.standard_normal((300, 1))


def gaussian(rng, side):
    return side + rng.standard_normal((300, 1))


def randomised_response(rng, side):
    truth = rng.random((300, 1)) < math.e / (1 + math.e)
    return np.where(truth, float(side), 1.0 - side)


def test_no_privacy_loss():
    found = list(bounds(nothing, 1))
    assert sum(bound.epsilon > 0 or bound.mu > 0 for bound in found) <= LIMIT
    assert min(bound.epsilon for bound in found) >= 0
    assert min(bound.mu for bound in found) >= 0


def test_exactly_gaussian_dp():
    found = list(bounds(gaussian, 2))
    assert sum(bound.mu > 1 for bound in found) <= LIMIT
    assert np.median([bound.mu for bound in found]) > 0.3


def test_exactly_pure_dp():
    found = list(bounds(randomised_response, 3))
    assert sum(bound.epsilon > 1 for bound in found) <= LIMIT
    assert np.median([bound.epsilon for bound in found]) > 0.5


def test_exactly_approximate_dp():
    """δ of the Gaussian mechanism at ε = 1 is its exact profile."""
    exact = GaussianDP(1.0)
    found = list(bounds(gaussian, 4, delta=exact.delta(1.0)))
    assert sum(bound.epsilon > 1.0 for bound in found) <= LIMIT


def test_a_trained_score_is_as_valid():
    rng = np.random.default_rng(5)
    above = 0
    for _ in range(12):
        samples = [Sample(rng.standard_normal((400, 3)), np.zeros(400, bool)) for _ in range(2)]
        above += bound_from_samples(*samples, failure=0.1, delta=0.0, score=None).mu > 0
    assert above <= binom.ppf(1 - 1e-4, 12, 0.1)


def test_gaussian_mean_at_mu_one_reaches_four_fifths():
    model = gs.models.GaussianMean(dimension=3, radius=2.0)
    budget = gs.Budget(GaussianDP(1.0).epsilon(1e-6), 1e-6)
    plan = gs.plan(model, budget, n=10, adjacency="replace-one")
    worst = gs.audit.worst_neighbours(plan)
    pair = worst.data, worst.neighbour
    assert worst.curve.mu == pytest.approx(1.0, abs=1e-5)
    bound = gs.audit.estimate_lower_bound(
        gs.audit.mechanism_of(plan, np.random.default_rng(7)),
        *pair,
        draws=10_000,  # 20,000 in all
        score=gs.audit.score_of(plan, *pair),
        vectorised=True,
    )
    assert 0.8 <= bound.mu <= 1.0
    assert not bound.refutes(plan.guarantee)
    assert bound.refutes(GaussianDP(0.7))


def test_without_a_score_a_classifier_finds_a_change_of_spread():
    rng = np.random.default_rng(8)
    bound = gs.audit.estimate_lower_bound(
        lambda scale, runs: scale * rng.standard_normal((runs, 2)), 1.0, 3.0, draws=2000, vectorised=True
    )
    assert bound.epsilon > 1.0


def test_limits_are_clopper_and_pearsons():
    assert float(lower_limit(0, 10, 0.05)) == 0.0
    assert float(upper_limit(10, 10, 0.05)) == 1.0
    assert float(upper_limit(0, 10, 0.05)) == pytest.approx(1 - 0.05 ** (1 / 10))
    assert binom.sf(6, 10, float(lower_limit(7, 10, 0.05))) == pytest.approx(0.05)


def test_a_time_budget_ends_sampling_early_and_evenly():
    import time

    def slow(data):
        time.sleep(0.002)
        return float(data)

    bound = gs.audit.estimate_lower_bound(slow, 1.0, 0.0, draws=100_000 // 16, seconds=0.5, score=FIRST)
    assert 8 <= bound.draws < 6250


def test_progress_is_reported_and_workers_agree():
    seen = []
    bound = gs.audit.estimate_lower_bound(
        _fresh_normal, 3.0, 0.0, draws=200, score=FIRST, workers=2, progress=lambda done, total, *_: seen.append((done, total))
    )
    assert seen[-1] == (400, 400)
    assert 0 < bound.mu < 3


def _fresh_normal(shift):
    return shift + np.random.default_rng().standard_normal()


def test_copied_randomness_is_refused():
    rng = np.random.default_rng(1)

    def copied(shift, runs):
        return shift + np.random.default_rng(rng.bit_generator.seed_seq).standard_normal((runs, 1))

    with pytest.raises(gs.GibbsafeError, match="two batches of runs are identical"):
        gs.audit.estimate_lower_bound(copied, 1.0, 0.0, draws=8000, score=FIRST, vectorised=True, workers=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"draws": 3}, "draws"), ({"confidence": 1.0}, "confidence"), ({"delta": -1.0}, "delta"), ({"workers": 0}, "workers")],
)
def test_nonsense_is_refused(change, message):
    options = {"draws": 100, "score": FIRST} | change
    with pytest.raises(gs.ParameterError, match=message):
        gs.audit.estimate_lower_bound(lambda data: data, 1.0, 0.0, **options)


def test_a_score_of_the_wrong_shape_is_refused():
    with pytest.raises(gs.GibbsafeError, match="one number each"):
        gs.audit.estimate_lower_bound(_fresh_normal, 1.0, 0.0, draws=20, score=lambda outputs: outputs)


def test_a_pure_claim_is_refuted_only_by_more():
    rng = np.random.default_rng(9)
    bound = gs.audit.estimate_lower_bound(
        lambda side, runs: randomised_response(rng, side)[:runs], 1, 0, draws=300, score=FIRST, vectorised=True
    )
    assert not bound.refutes(PureDP(1.0))
    assert bound.refutes(PureDP(0.3))
