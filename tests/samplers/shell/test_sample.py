"""The envelope against the potential, the corner cases, and what must never leave the curator."""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, kstwobign

from gibbsafe.data import Blocks
from gibbsafe.errors import GibbsafeError, ParameterError, PremiseError
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.models import LogisticRegression
from gibbsafe.planning.rules import choose_sampler
from gibbsafe.samplers import SAMPLERS, GibbsPosterior
from gibbsafe.samplers.newton import find_mode
from gibbsafe.samplers.shell import envelope as envelope_module
from gibbsafe.samplers.shell import fourth_moment as fourth
from gibbsafe.samplers.shell import proposals, screen
from gibbsafe.samplers.shell import sample as shell
from gibbsafe.samplers.shell import sums as moments
from gibbsafe.samplers.shell.envelope import KnownSums, bounds_on_shell

from ...audit.loading import load

audit = load("shell_acceptance")
EXACT = ("inverse-cdf", "shell")


def sums_of(posterior):
    frame = moments.Frame.at(find_mode(posterior), posterior)
    loss = posterior.loss
    return KnownSums(
        loss.self_concordance,
        loss.quartic_deficit,
        frame,
        moments.taylor(posterior, frame),
        moments.grams(posterior, frame, moments.FAR_RADII + moments.NEAR_RADII),
        moments.cubic(posterior, frame),
        fourth.certified_fourth_moment(posterior, frame),
    )


def test_log_acceptance_is_never_above_zero():
    """A small part of `make audit-shell`, which makes ten million proposals."""
    outcome = audit.audit(12_000, rows=5_000, dimension=30, seed=1)
    assert outcome.proposals >= 12_000
    assert outcome.problems >= 12
    assert outcome.largest <= 0
    assert outcome.closest >= 0
    assert outcome.decided > 0.2 * outcome.squeezed > 0


def directions_of(posterior, frame, generator):
    """Unit vectors; two thirds of them nearly along the directions of records."""
    directions = generator.standard_normal((40, posterior.dimension))
    records = posterior.data.rows[generator.integers(0, posterior.data.n_rows, 40)].astype(float) @ frame.scale
    directions = np.concatenate([directions, records + 1e-6 * directions, -records + 1e-6 * directions])
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def heights(bound, v):
    """Log of the bound at points."""
    return bound.constant + v @ bound.linear - 0.5 * np.einsum("ij,jk,ik->i", v, bound.precision, v)


@pytest.mark.parametrize("seed", range(30))
def test_every_bound_holds_on_its_shell(seed):
    """Also the bounds that a sharper one would hide."""
    generator = np.random.default_rng(seed)
    posterior = audit.random_posterior(generator, 300, 8)
    known = sums_of(posterior)
    frame = known.frame
    margin = shell.ShellEnvelope(posterior, known, None, 0, 0.0).margin
    for lo, hi in [(0.0, 0.5), (1.0, 1.3), (2.0, 2.3), (4.0, 5.0), (10.0, 12.0), (100.0, 200.0)]:
        directions = directions_of(posterior, frame, generator)
        radius = generator.uniform(lo, hi, len(directions))
        radius[::3] = hi
        v = directions * radius[:, None]
        rise = posterior.values(frame.thetas(v)) - frame.value
        for bound in bounds_on_shell(known, lo, hi):
            assert (-rise <= heights(bound, v) + margin(radius)).all()
            on_edge = radius == hi
            assert (rise[on_edge] >= bound.least_rise() - margin(radius[on_edge])).all()


@pytest.mark.parametrize("seed", range(40))
def test_the_ray_bound_holds_from_any_radius(seed, monkeypatch):
    """Not only from the steepest; and nearly equals the cubic bound at r = lo."""
    generator = np.random.default_rng(600 + seed)
    posterior = audit.random_posterior(generator, 300, 8)
    known = sums_of(posterior)
    margin = shell.ShellEnvelope(posterior, known, None, 0, 0.0).margin
    for radius in np.geomspace(0.01, 30, 12):
        monkeypatch.setattr(envelope_module, "_steepest_radius", lambda *_, radius=radius: radius)
        for stretch in (1.0, 1.01, 1.2, 2.0, 5.0):
            lo, hi = radius * stretch, radius * stretch * 1.02
            v = directions_of(posterior, known.frame, generator) * generator.uniform(lo, hi, 120)[:, None]
            rise = posterior.values(known.frame.thetas(v)) - known.frame.value
            *_, near, ray = bounds_on_shell(known, lo, hi)
            assert (-rise <= heights(ray, v) + margin(np.linalg.norm(v, axis=1))).all()
            if stretch == 1.0:
                assert np.abs(heights(ray, v) - heights(near, v)).max() <= 0.1 * (1 + hi**2 + abs(near.constant))


def test_the_ray_bound_makes_the_envelope_far_lower_where_parameters_are_many():
    """With 40 parameters and 4,000 records the predicted acceptance is ten times that of the other bounds."""
    rows = np.random.default_rng(5).standard_normal((4000, 40)) / 7
    posterior = GibbsPosterior(Blocks(rows), LogisticLoss(), 0.06, 0.25, 0.0)
    known = sums_of(posterior)
    mixture = proposals.build_mixture(known, 0.25)
    mass = [mixture.log_mass(np.random.default_rng(6))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelope_module, "_steepest_radius", lambda *_: math.inf)
        mass.append(proposals.build_mixture(known, 0.25).log_mass(np.random.default_rng(6)))
    assert mass[0] < mass[1] - math.log(10)


@pytest.mark.parametrize("seed", range(20))
def test_the_screen_and_the_squeeze_never_exceed_the_rise(seed):
    generator = np.random.default_rng(200 + seed)
    posterior = audit.random_posterior(generator, 3000, 8)
    known = sums_of(posterior)
    frame, p = known.frame, posterior.dimension
    envelope = shell.ShellEnvelope(posterior, known, None, 0, 0.0)
    points = generator.standard_normal((300, p)) * np.geomspace(0.01, 30, 300)[:, None]
    rise = posterior.values(frame.thetas(points)) - frame.value
    margin = envelope.margin(np.linalg.norm(points, axis=1))
    assert (screen.build_screen(posterior, frame).least_rise(points) <= rise + margin).all()
    assert (envelope.rough_rise(points) <= rise + margin).all()


def test_the_screen_is_used_where_nearly_all_proposals_fail_and_leaves_the_law_alone(monkeypatch):
    """Two-sample Kolmogorov-Smirnov with and without a screen, at false-alarm rate 1e-4 each."""
    rows = np.random.default_rng(23).standard_normal((1500, 6)) / 6
    posterior = GibbsPosterior(Blocks(rows), LogisticLoss(), 0.2, 0.2, 0.0)
    monkeypatch.setattr(shell.Seconds, "of", lambda posterior: shell.Seconds(1e-4, 1e9, 1e9, 1e9, 1e9))
    plain = shell.prepare(posterior, 1, np.random.default_rng(24))
    screened = replace(plain, screen=screen.build_screen(posterior, plain.known.frame), log_acceptance=-5.0)
    samples = []
    for envelope, seed in ((plain, 25), (screened, 26)):
        monkeypatch.setattr(shell, "prepare", lambda *_, envelope=envelope: envelope)
        samples.append(shell.sample(posterior, 4000, np.random.default_rng(seed))[0])
    statistics = [_two_sample(a, b) for a, b in zip(samples[0].T, samples[1].T, strict=True)]
    assert max(statistics) < kstwobign.isf(1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_certified_fourth_moment_is_attained_to_within_a_factor_and_never_exceeded(seed):
    generator = np.random.default_rng(100 + seed)
    posterior = audit.random_posterior(generator, 500, 6)
    frame = moments.Frame.at(find_mode(posterior), posterior)
    certified = fourth.certified_fourth_moment(posterior, frame)
    attained = fourth.attained_fourth_moment(posterior, frame, moments.taylor(posterior, frame))
    rows, targets = posterior.data.rows.astype(float), posterior.data.targets
    weights = posterior.inverse_temperature * posterior.loss.curvature(rows @ frame.centre, targets)
    directions = generator.standard_normal((2000, posterior.dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    found = (weights @ (rows @ frame.scale @ directions.T) ** 4).max()
    assert found <= certified
    assert attained <= certified
    assert certified <= 3 * attained + 1e-9


def test_cubic_is_the_third_derivative_of_the_potential():
    generator = np.random.default_rng(7)
    posterior = audit.random_posterior(generator, 400, 5)
    frame = moments.Frame.at(find_mode(posterior), posterior)
    cubic = moments.cubic(posterior, frame)
    rows, targets = posterior.data.rows.astype(float), posterior.data.targets
    third = posterior.inverse_temperature * posterior.loss.third(rows @ frame.centre, targets)
    white = rows @ frame.scale
    tensor = np.einsum("n,ni,nj,nk->ijk", third, white, white, white) / 6
    p = posterior.dimension
    linear = 3 * np.einsum("ijj->i", tensor) / (p + 2)
    unit = np.eye(p)
    trace = np.einsum("i,jk->ijk", linear, unit) + np.einsum("j,ik->ijk", linear, unit) + np.einsum("k,ij->ijk", linear, unit)
    rest = tensor - trace / 3
    np.testing.assert_allclose(cubic.linear, linear, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(cubic.spread, np.einsum("ijk,ljk->il", rest, rest), rtol=1e-9, atol=1e-12)


def logistic(rows, beta=1.0, precision=0.1):
    return GibbsPosterior(Blocks(np.asarray(rows, dtype=float)), LogisticLoss(), beta, precision, 0.0)


GENERATOR = np.random.default_rng(3)
CORNERS = {
    "no rows": (np.empty((0, 3)), 1.0, 0.1),
    "one row": (np.array([[0.6, -0.8]]), 10.0, 1e-3),
    "more columns than rows": (GENERATOR.standard_normal((5, 40)) / 7, 1.0, 0.01),
    "constant column": (np.ones((100, 2)) / 2, 1.0, 0.1),
    "zero rows": (np.zeros((100, 3)), 1.0, 0.1),
    "all labels equal": (np.c_[np.full(500, 0.7), GENERATOR.standard_normal((500, 3)) / 10], 0.1, 0.01),
    "tiny precision": (GENERATOR.standard_normal((200, 3)) / 4, 1.0, 1e-6),
    "huge precision": (GENERATOR.standard_normal((200, 3)) / 4, 1.0, 1e8),
    "mixed precision": (GENERATOR.standard_normal((200, 3)) / 4, 1.0, np.array([1e-4, 1.0, 1e6])),
    "tiny temperature": (GENERATOR.standard_normal((200, 3)) / 4, 1e-4, 1e-4),
    "infinite temperature": (GENERATOR.standard_normal((200, 3)) / 4, 0.0, 2.0),
    "sixty parameters": (GENERATOR.standard_normal((300, 60)) / 10, 0.1, 1.0),
}


@pytest.mark.parametrize("name", CORNERS)
def test_everything_inside_the_domain_is_sampled(name):
    rows, beta, precision = CORNERS[name]
    draws, diagnostics = shell.sample(logistic(rows, beta, precision), 20, np.random.default_rng(4))
    assert draws.shape == (20, rows.shape[1])
    assert np.isfinite(draws).all()
    assert diagnostics.log_acceptance <= 0


def test_no_rows_give_the_prior():
    """Kolmogorov-Smirnov per coordinate at false-alarm rate 1e-4 each."""
    precision, centre = np.array([0.01, 1.0, 400.0]), np.array([5.0, 0.0, -1.0])
    posterior = GibbsPosterior(Blocks(np.empty((0, 3))), LogisticLoss(), 1.0, precision, centre)
    draws, diagnostics = shell.sample(posterior, 5000, np.random.default_rng(5))
    assert diagnostics.acceptance > 0.999
    for column, m, c in zip(draws.T, precision, centre, strict=True):
        assert kstest((column - c) * np.sqrt(m), "norm").pvalue > 1e-4


@pytest.mark.parametrize("p", [1, 2, 5])
def test_the_tail_is_sampled_exactly(monkeypatch, p):
    """With the tail forced to begin in the bulk; Kolmogorov-Smirnov at false-alarm rate 1e-4 each."""
    monkeypatch.setattr(proposals, "NEGLIGIBLE", -100.0)
    posterior = GibbsPosterior(Blocks(np.empty((0, p))), LogisticLoss(), 1.0, 4.0, 1.0)
    envelope = shell.prepare(posterior, 1, np.random.default_rng(6))
    assert envelope.mixture.radius < np.sqrt(p) + 2
    share = np.exp(envelope.mixture.log_weights - envelope.mixture.log_weights.max())
    assert share[-1] > 1e-3
    draws, _ = shell.sample(posterior, 20_000, np.random.default_rng(6))
    for column in draws.T:
        assert kstest((column - 1) * 2, "norm").pvalue > 1e-4
    radii = np.linalg.norm((draws - 1) * 2, axis=1)
    assert kstest(radii, "chi", args=(p,)).pvalue > 1e-4


def test_single_precision_storage_is_the_posterior_of_the_stored_rows():
    rows = (np.random.default_rng(8).standard_normal((2000, 3)) / 4).astype(np.float32)
    narrow = GibbsPosterior(Blocks(rows), LogisticLoss(), 0.5, 0.1, 0.0)
    wide = GibbsPosterior(Blocks(rows.astype(float)), LogisticLoss(), 0.5, 0.1, 0.0)
    first, second = (shell.sample(posterior, 50, np.random.default_rng(9))[0] for posterior in (narrow, wide))
    np.testing.assert_allclose(first, second, rtol=1e-9)


def test_same_seed_same_draws():
    posterior = logistic(np.random.default_rng(10).standard_normal((500, 4)) / 4)
    first, second = (shell.sample(posterior, 10, np.random.default_rng(11))[0] for _ in range(2))
    assert (first == second).all()


def test_sharper_certificates_change_speed_and_not_the_law(monkeypatch):
    """Two-sample Kolmogorov-Smirnov between the cheapest and the dearest envelope, at false-alarm rate 1e-4 each."""
    posterior = logistic(np.random.default_rng(12).standard_normal((400, 3)) / 3, 0.5)
    monkeypatch.setattr(shell.Seconds, "of", lambda posterior: shell.Seconds(1e-9, 1e9, 1e9, 1e9, 1e9))
    cheap, plain = shell.sample(posterior, 6000, np.random.default_rng(13))
    monkeypatch.setattr(shell.Seconds, "of", lambda posterior: shell.Seconds(1.0, 0.0, 0.0, 0.0, 0.0))
    dear, sharp = shell.sample(posterior, 6000, np.random.default_rng(14))
    assert plain.certificates == ("taylor",)
    assert sharp.certificates == ("taylor", "grams", "cubic", "fourth")
    assert sharp.acceptance > plain.acceptance
    statistics = [_two_sample(a, b) for a, b in zip(cheap.T, dear.T, strict=True)]
    statistics.append(_two_sample(posterior.values(cheap), posterior.values(dear)))
    assert max(statistics) < kstwobign.isf(1e-4)


def _two_sample(first, second):
    pooled = np.concatenate([first, second])
    gaps = [np.searchsorted(np.sort(x), pooled, side="right") / len(x) for x in (first, second)]
    return np.abs(gaps[0] - gaps[1]).max() * np.sqrt(len(first) * len(second) / len(pooled))


@pytest.mark.parametrize("name", EXACT)
def test_progress_counts_up_to_the_draws(name):
    seen = []
    posterior = logistic(np.random.default_rng(15).standard_normal((300, 1)) / 3)
    SAMPLERS[name].function(posterior, 700, np.random.default_rng(16), lambda *numbers: seen.append(numbers))
    accepted, draws, made, seconds = map(list, zip(*seen, strict=True))
    assert accepted == sorted(accepted)
    assert (accepted[-1], set(draws)) == (700, {700})
    assert made == sorted(made)
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("name", EXACT)
def test_diagnostics_cannot_be_pickled_or_copied(name):
    _, diagnostics = SAMPLERS[name].function(logistic(np.ones((5, 1))), 3, np.random.default_rng(17), None)
    assert diagnostics.accepted >= 3
    assert 0 < diagnostics.acceptance <= 1
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(GibbsafeError, match="cannot be pickled"):
            leak(diagnostics)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("draws", [0, -1, 1.5, True])
def test_draws_must_be_a_positive_count(name, draws):
    with pytest.raises(ParameterError, match="draws"):
        SAMPLERS[name].function(logistic(np.ones((5, 1))), draws, np.random.default_rng(18), None)


def test_inverse_cdf_needs_one_parameter():
    with pytest.raises(ParameterError, match="one parameter"):
        SAMPLERS["inverse-cdf"].function(logistic(np.ones((5, 2))), 1, np.random.default_rng(19), None)
    with pytest.raises(PremiseError, match="one parameter"):
        choose_sampler("inverse-cdf", LogisticRegression(dimension=2))


def test_unknown_samplers_are_refused():
    with pytest.raises(ParameterError, match="did you mean shell"):
        choose_sampler("shel", LogisticRegression(dimension=2))


def test_a_wrong_envelope_is_caught():
    posterior = logistic(np.random.default_rng(20).standard_normal((300, 2)) / 3)
    envelope = shell.prepare(posterior, 1, np.random.default_rng(21))
    batch = envelope.mixture.propose(2000, np.random.default_rng(22))
    lowered = proposals.Proposals(batch.proposed, batch.points, batch.log_envelope - 3.0, batch.index)
    with pytest.raises(GibbsafeError, match="envelope is wrong"):
        envelope.log_acceptance_of(lowered)
