"""Exact draws from a Gibbs posterior by rejection from a provable envelope ("shell sampler").

For any loss with |f'''| ≤ κf'' the density lies under a mixture of Gaussians on spherical shells around the (approximate) mode,
and an exponential beyond the last shell (`envelope`, `proposals`). Proposals are accepted with probability target/envelope, so
accepted draws follow the posterior exactly: no burn-in, no mass dropped, no cap on proposals, no other sampler to fall back on.
Everything adaptive here (the mode, which sums are worth their cost, batch sizes) changes the time taken and never the law of the
draws.

**Rounding.** The computed log acceptance carries the rounding of U(θ), U(t) and the envelope. Each is bounded by what was
actually summed (`rounding`; the rounding lemma of `docs/samplers.md` proves the constants), and each shell's envelope is raised
by what rounding can do anywhere on it (`envelope.headroom`). The shell's mass counts its headroom, so that proposals follow the
envelope they are judged by and the law of the draws is left alone; a predicted acceptance counts it too. A log acceptance above
0 would refute the proof, and raises. Losses of a residual are seen from the mode (`recentring`), where their sums are small
whatever the responses and however far the prior's centre.

**Squeeze.** Where enough draws are wanted, two-sided bounds of the potential (`squeeze`) decide most proposals without touching
the data: one is accepted (rejected) at once only if it would be at every value within the bounds, widened by twice the margin
of a computed rise, once for the bounds' own rounding and once for that of the sum they replace. Where most proposals are
rejected, each of the others is judged on a single-precision sum next (and, where nearly all are, on a few records before that:
`screen`), and rejected at once if it would be at every value within that sum's worst-case error. All others are decided in
double precision. Decisions, and so draws, are those of double precision, whatever was decided how.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe import _validate
from gibbsafe._types import JSON, Floats
from gibbsafe.errors import GibbsafeError
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.progress import Progress
from gibbsafe.samplers.diagnostics import Diagnostics
from gibbsafe.samplers.shell.envelope import KnownSums
from gibbsafe.samplers.shell.fourth_moment import FourthMoment, attained_fourth_moment, certify, fourth_moment, fourth_moments
from gibbsafe.samplers.shell.mode import recentred_mode
from gibbsafe.samplers.shell.proposals import NEGLIGIBLE, Mixture, Proposals, build_mixture
from gibbsafe.samplers.shell.screen import Screen, build_screen, rough_rise
from gibbsafe.samplers.shell.squeeze import Choice, Squeeze, build_squeeze, choose
from gibbsafe.samplers.shell.sums import (
    FAR_RADII,
    LARGEST_CUBIC_DIMENSION,
    LARGEST_FOURTH_DIMENSION,
    NEAR_RADII,
    Frame,
    Seconds,
    cubic,
    grams,
    taylor,
)

__all__ = ["ShellEnvelope", "prepare", "sample", "sample_from"]


#: Proposals judged together, and evaluated together on the data (as many as keep a block of rows in cache).
LARGEST_JUDGED = 4096
LARGEST_BATCH = 256


@dataclass(frozen=True, eq=False)
class ShellEnvelope:
    """A posterior with its envelope, ready to sample."""

    posterior: GibbsPosterior
    known: KnownSums
    mixture: Mixture
    mode_passes: int
    log_acceptance: float  # predicted
    screen: Screen | None = None
    squeeze: Squeeze | None = None
    origin: Floats | None = None  # parameters are measured from here

    def seconds(self, draws: int) -> float:
        """What drawing will take, by the predicted acceptance; no promise."""
        return draws * math.exp(min(-self.log_acceptance, 700.0)) * Seconds.of(self.posterior).evaluation

    def margin(self, radius: Floats) -> Floats:
        """Bound on the rounding error of a computed rise at distance ``radius`` from the mode."""
        return self.known.rounding.margin(radius)

    @property
    def headroom(self) -> float:
        """The largest by which a shell of more than a negligible mass is raised for rounding, in nats."""
        components = self.mixture.components
        top = max(component.log_weight for component in components)
        return max(component.bound.headroom for component in components if component.log_weight >= top - NEGLIGIBLE)

    def rises(self, points: Floats) -> Floats:
        """U(θ) − U(t) at each point v: the change of the losses' sum and, without cancellation, of the prior's."""
        posterior, frame = self.posterior, self.known.frame
        steps = frame.steps(points)
        losses = posterior.loss_totals(frame.centre + steps) - frame.loss_total
        return np.asarray(posterior.inverse_temperature * losses + posterior.prior_rises(frame.centre, steps))

    def log_acceptance_of(self, proposals: Proposals) -> Floats:
        """Log acceptance probability of each proposal: U(t) − U(θ) − log envelope, never above 0."""
        answer = -self.rises(proposals.points) - proposals.log_envelope
        if answer.size and not float(answer.max()) <= 0:
            raise GibbsafeError(f"shell sampler: log acceptance {answer.max()} is above 0; the envelope is wrong")
        return np.asarray(answer)

    def squeezed(self, proposals: Proposals) -> tuple[Floats, Floats]:
        """Bounds of the log acceptance that `log_acceptance_of` would compute, its rounding included."""
        assert self.squeeze is not None
        low, high = self.squeeze.rises(proposals.points)
        margin = 2 * self.margin(np.linalg.norm(proposals.points, axis=1))
        top = -proposals.log_envelope
        least = top - high - margin
        if (least > 0).any():
            raise GibbsafeError(f"shell sampler: log acceptance {np.nanmax(least)} is above 0; the envelope is wrong")
        return least, top - low + margin

    def rough_rise(self, points: Floats) -> Floats:
        """Lower bound of U(θ) − U(t) in single precision."""
        return rough_rise(self.posterior, self.known.frame, self.known.taylor.sum_of_row_norms, points)

    def surely_rejected(self, proposals: Proposals, log_uniform: Floats) -> npt.NDArray[np.bool_]:
        """Proposals that lower bounds of the potential already reject: those of the screen, then of the squeeze."""
        radius, rounding = np.linalg.norm(proposals.points, axis=1), self.known.rounding
        margin = 2 * self.margin(radius)
        ceiling = -log_uniform - proposals.log_envelope + margin  # a rise above this is a rejection
        if self.screen is None:
            return self.rough_rise(proposals.points) > ceiling
        parts = [self.screen.least_rise(part.points) for part in proposals.parts(LARGEST_BATCH)]
        rejected: npt.NDArray[np.bool_] = (
            np.concatenate(parts) > ceiling + 2 * rounding.gradient * radius + rounding.curvature * radius**2
        )
        alive = np.flatnonzero(~rejected)
        rejected[alive] = self.rough_rise(proposals.points[alive]) > ceiling[alive]
        return rejected


def _evaluations(predicted: float) -> float:
    """Evaluations that one draw costs at a log acceptance; where nearly all proposals fail, the screen sees to most of them."""
    number = math.exp(min(max(-predicted, 0.0), 700.0))
    return min(number, 20 + 0.15 * number)


def prepare(posterior: GibbsPosterior, draws: int, generator: np.random.Generator) -> ShellEnvelope:
    """Find the mode, and an envelope and a squeeze whose sharpness is worth its set-up for this many draws."""
    posterior, mode, origin = recentred_mode(posterior)
    frame = Frame.at(mode, posterior)
    loss, p = posterior.loss, posterior.dimension
    cost = Seconds.of(posterior)
    # Thin shells make sharper bounds and waste more normals: thin where evaluations are costly.
    width = 0.4 if cost.evaluation < 1e-5 else 0.25 if cost.evaluation < 1e-4 else 0.15
    squeeze: Choice | None = None
    sums: tuple[FourthMoment, FourthMoment] | None = None

    def envelope(**more: Any) -> ShellEnvelope:
        known = replace(best.known, **more) if more else first
        mixture = build_mixture(known, width)
        predicted = 0.5 * p * math.log(2 * math.pi) - mixture.log_mass(generator)
        return ShellEnvelope(posterior, known, mixture, mode.passes, predicted, origin=origin)

    def worth(price: float, hoped: float = 0.0) -> bool:
        each = cost.evaluation if squeeze is None else squeeze.seconds
        return draws * each * (_evaluations(best.log_acceptance) - _evaluations(hoped)) > price

    def choose_squeeze(predicted: float) -> Choice | None:
        prices = 0.0 if best.known.cubic is not None else cost.cubic, 2 * cost.moment
        judged = draws * _evaluations(predicted)
        return choose(loss, frame, best.known.taylor, proposals=judged, evaluation=cost.evaluation, prices=prices)

    first = KnownSums(loss.self_concordance, loss.quartic_deficit, frame, taylor(posterior, frame))
    best = envelope()
    # If the squeeze pays even where hardly any proposal fails, its sums come first: they sharpen the envelope too.
    squeeze = choose_squeeze(max(best.log_acceptance, -0.3))
    if squeeze is not None:
        found: JSON = {"cubic": cubic(posterior, frame)}
        if squeeze.sharp:
            sums = fourth_moments(posterior, frame)
            if worth(cost.fourth - cost.moment):
                found["fourth"] = certify(sums[0], p)
        best = envelope(**found)
    for radii in (FAR_RADII, NEAR_RADII):
        if worth(len(radii) * cost.gram):
            best = envelope(grams=grams(posterior, frame, radii, best.known.grams))
    if best.known.cubic is None and p <= LARGEST_CUBIC_DIMENSION and worth(cost.cubic):
        best = envelope(cubic=cubic(posterior, frame))
    if best.known.fourth is None and p <= LARGEST_FOURTH_DIMENSION and worth(cost.fourth):
        # No certificate is below what some direction attains: see first, without proof, what that much would buy.
        attained = attained_fourth_moment(posterior, frame, best.known.taylor)
        if worth(cost.fourth, envelope(fourth=attained).log_acceptance):
            best = envelope(fourth=certify(sums[0] if sums else fourth_moment(posterior, frame), p))
    if best.log_acceptance < -3 and worth(4 * len(FAR_RADII) * cost.gram + 0.1):
        best = replace(best, screen=build_screen(posterior, frame))
    squeeze = squeeze or choose_squeeze(best.log_acceptance)
    if squeeze is None:
        return best
    if squeeze.sharp and sums is None:
        sums = fourth_moments(posterior, frame)
    third = best.known.cubic or cubic(posterior, frame)
    return replace(best, squeeze=build_squeeze(posterior, frame, best.known.taylor, third, sums))


def sample(
    posterior: GibbsPosterior,
    draws: int,
    generator: np.random.Generator,
    progress: Progress | None = None,
) -> tuple[Floats, Diagnostics]:
    """Independent exact draws (draws, p) from the posterior, and diagnostics for the curator only.

    Guarantees: every draw is exactly distributed (up to rounding in double precision) whatever the data; runs until ``draws``
    proposals are accepted. ``progress(accepted, draws, proposals, seconds)`` is called after every batch.
    """
    _validate.count("draws", draws)
    started = time.perf_counter()
    return sample_from(prepare(posterior, draws, generator), draws, generator, progress, started)


def sample_from(
    envelope: ShellEnvelope, draws: int, generator: np.random.Generator, progress: Progress | None, started: float
) -> tuple[Floats, Diagnostics]:
    """`sample` with an envelope that was prepared before, from ``started`` on."""
    ready = time.perf_counter()
    accepted: list[Floats] = []
    have = proposed = evaluated = 0
    survival, acceptance = 0.1, math.exp(max(min(envelope.log_acceptance, 0.0), -40.0))
    largest = -math.inf
    while have < draws:
        wanted = min(LARGEST_JUDGED, math.ceil(1.2 * (draws - have) / acceptance) + 1)
        proposals = envelope.mixture.propose(min(1 << 15, math.ceil(1.1 * wanted / survival)), generator)
        proposed += proposals.proposed
        survival = max(0.5 * (survival + len(proposals.index) / proposals.proposed), 1e-3)
        for batch in proposals.parts(wanted):
            log_uniform = -generator.standard_exponential(len(batch.index))
            points, judged, top = _judge(envelope, batch, log_uniform, draws - have)
            largest = max(largest, top)
            evaluated += judged
            have += len(points)
            accepted.append(points)
            if have >= draws:
                break
        acceptance = (have + 1) / (evaluated + 1 / acceptance)
        if progress is not None:
            progress(min(have, draws), draws, proposed, time.perf_counter() - started)
    points = np.concatenate(accepted)[:draws]
    known, origin = envelope.known, 0.0 if envelope.origin is None else envelope.origin
    names = [name for name in ("taylor", "grams", "cubic", "fourth") if getattr(known, name) is not None]
    diagnostics = Diagnostics(
        mode=origin + known.frame.centre,
        proposals=proposed,
        evaluated=evaluated,
        accepted=have,
        mode_passes=envelope.mode_passes,
        certificates=tuple(names),
        setup_seconds=ready - started,
        sampling_seconds=time.perf_counter() - ready,
        log_acceptance=largest,
    )
    return origin + known.frame.thetas(points), diagnostics


def _judge(envelope: ShellEnvelope, batch: Proposals, log_uniform: Floats, needed: int) -> tuple[Floats, int, float]:
    """Accepted points of a batch in order, how many were judged until ``needed`` were found, and the largest log acceptance."""
    judged = len(batch.index)
    accepted = np.zeros(judged, dtype=bool)
    undecided, largest = np.arange(judged), -math.inf
    if envelope.squeeze is not None and judged:
        least, most = envelope.squeezed(batch)
        accepted = log_uniform <= least
        undecided = np.flatnonzero(~accepted & ~(log_uniform > most))
        largest = float(np.nan_to_num(least, nan=-math.inf).max())
    together = LARGEST_BATCH if envelope.screen is None else 8 * LARGEST_BATCH
    for start in range(0, len(undecided), together):
        part = undecided[start : start + together]
        if np.count_nonzero(accepted[: part[0]]) >= needed:
            judged = int(part[0])
            break
        accepted[part], top = _evaluate(envelope, batch.take(part), log_uniform[part])
        largest = max(largest, top)
    return batch.points[:judged][accepted[:judged]], judged, largest


def _evaluate(envelope: ShellEnvelope, batch: Proposals, log_uniform: Floats) -> tuple[npt.NDArray[np.bool_], float]:
    """Which of a batch the data accept, and the largest log acceptance seen."""
    alive = np.arange(len(batch.index))
    if envelope.log_acceptance < -0.7 and len(batch.index) >= 4:  # single precision pays when most are rejected
        alive = np.flatnonzero(~envelope.surely_rejected(batch, log_uniform))
    accepted = np.zeros(len(batch.index), dtype=bool)
    if not len(alive):
        return accepted, -math.inf
    log_acceptance = envelope.log_acceptance_of(batch.take(alive))
    accepted[alive] = log_uniform[alive] <= log_acceptance
    return accepted, float(log_acceptance.max())
