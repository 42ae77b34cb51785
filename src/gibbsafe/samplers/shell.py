"""Exact draws from a Gibbs posterior by rejection from a provable envelope ("shell sampler").

For any loss with |f'''| ≤ κf'' the density lies under a mixture of Gaussians on spherical shells around the (approximate) mode,
and an exponential beyond the last shell (`envelope`, `proposals`). Proposals are accepted with probability target/envelope, so
accepted draws follow the posterior exactly: no burn-in, no mass dropped, no cap on proposals, no other sampler to fall back on.
Everything adaptive here (the mode, which sums are worth their cost, batch sizes) changes the time taken and never the law of the
draws.

**Rounding.** The computed log acceptance carries the rounding of U(θ), U(t) and the envelope. Each is below the margin

    2⁻⁴⁰ (1 + |U(t)| + β Lip Σ|y_i| s + ½ s²) + 10⁻⁹ (1 + s²),

(thousands of roundings of the sums' magnitudes, on which the first term is a bound: |f(u+a)| ≤ |f(u)| + Lip|a|). Its value at
twice the last shell's radius is added to the envelope everywhere: one constant, so that it costs acceptance and leaves the law
of the draws alone (a margin that grew with s would tilt it). A log acceptance above 0 would refute the proof or the margin, and
raises.

**Squeeze.** Where most proposals are rejected, each is first judged on a single-precision sum (and, where nearly all are, on a
few records before that: `screen`). It is rejected at once only if it would be rejected at every value within that sum's
worst-case error; all others are decided in double precision. Decisions are those of double precision.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe import _validate
from gibbsafe.errors import GibbsafeError
from gibbsafe.samplers.diagnostics import Diagnostics, Progress
from gibbsafe.samplers.envelope import Certificates
from gibbsafe.samplers.fourth import attained_fourth_moment, certified_fourth_moment
from gibbsafe.samplers.moments import FAR_RADII, NEAR_RADII, Frame, cubic, grams, taylor
from gibbsafe.samplers.newton import find_mode
from gibbsafe.samplers.posterior import GibbsPosterior
from gibbsafe.samplers.proposals import Mixture, Proposals, build_mixture
from gibbsafe.samplers.screen import Screen, build_screen, rough_error

__all__ = ["ShellEnvelope", "prepare", "sample"]

Floats: TypeAlias = npt.NDArray[np.float64]

LARGEST_BATCH = 256
#: The fourth moment is a square matrix of p(p+1)/2 rows: 27 MB at p = 60.
LARGEST_FOURTH_DIMENSION = 64
LARGEST_CUBIC_DIMENSION = 128


@dataclass(frozen=True, eq=False)
class ShellEnvelope:
    """A posterior with its envelope, ready to sample."""

    posterior: GibbsPosterior
    certificates: Certificates
    mixture: Mixture
    mode_passes: int
    log_acceptance: float  # predicted
    screen: Screen | None = None

    def margin(self, radius: Floats) -> Floats:
        """Bound on all rounding errors of a log acceptance at distance ``radius`` from the mode."""
        posterior, frame = self.posterior, self.certificates.frame
        reach = posterior.inverse_temperature * posterior.loss.lipschitz * self.certificates.taylor.sum_of_norms
        magnitude = 1 + abs(frame.value) + reach * radius + 0.5 * radius**2
        return np.asarray(2.0**-40 * magnitude + 1e-9 * (1 + radius**2))

    @property
    def headroom(self) -> float:
        """The margin by which the whole envelope is raised: the same at every point."""
        return float(self.margin(np.asarray(2 * self.mixture.radius)))

    def log_acceptance_of(self, proposals: Proposals) -> Floats:
        """Log acceptance probability of each proposal: U(t) − U(θ) − log envelope − headroom, never above 0."""
        frame = self.certificates.frame
        rise = self.posterior.values(frame.thetas(proposals.points)) - frame.value
        answer = -rise - proposals.log_envelope - self.headroom
        if answer.size and not float(answer.max()) <= 0:
            raise GibbsafeError(f"shell sampler: log acceptance {answer.max()} is above 0; the envelope is wrong")
        return np.asarray(answer)

    def hopeless(self, proposals: Proposals, log_uniform: Floats) -> npt.NDArray[np.bool_]:
        """Proposals that lower bounds of the potential already reject: those of the screen, then of the squeeze."""
        margin = self.margin(np.linalg.norm(proposals.points, axis=1))
        ceiling = -log_uniform - proposals.log_envelope + margin  # a rise above this is a rejection
        if self.screen is None:
            return self._rough_rise(proposals.points) > ceiling
        parts = [self.screen.least_rise(part.points) for part in proposals.parts(LARGEST_BATCH)]
        hopeless = np.concatenate(parts) > ceiling
        alive = np.flatnonzero(~hopeless)
        hopeless[alive] = self._rough_rise(proposals.points[alive]) > ceiling[alive]
        return hopeless

    def _rough_rise(self, points: Floats) -> Floats:
        """Lower bound of U(θ) − U(t): a single-precision sum less its worst-case error."""
        posterior, frame = self.posterior, self.certificates.frame
        thetas = frame.thetas(points)
        total = posterior.rough_loss_totals(thetas)
        total = total - rough_error(posterior, total, thetas, self.certificates.taylor.sum_of_row_norms)
        return np.asarray(posterior.inverse_temperature * total + posterior.prior_values(thetas) - frame.value)


@dataclass(frozen=True)
class _Seconds:
    """Rough cost, on one core, of one evaluation in a batch, a Gram matrix, the cubic, and the fourth moment."""

    evaluation: float
    gram: float
    cubic: float
    fourth: float

    @classmethod
    def of(cls, posterior: GibbsPosterior) -> _Seconds:
        n, p = posterior.data.n_rows, posterior.dimension
        pairs = p * (p + 1) / 2
        return cls(
            evaluation=n * (0.1 * p + 8) * 1e-9,
            gram=n * (0.05 * p**2 + 1.5 * p + 80) * 1e-9,
            cubic=n * (0.1 * p * pairs + 0.6 * pairs) * 1e-9,
            fourth=n * (0.02 * pairs**2 + 0.6 * pairs) * 1e-9 + 3e-10 * pairs**3 + 1e-2,
        )


def prepare(posterior: GibbsPosterior, draws: int, generator: np.random.Generator) -> ShellEnvelope:
    """Find the mode and an envelope whose sharpness is worth its set-up for this many draws."""
    mode = find_mode(posterior)
    frame = Frame.at(mode, posterior)
    loss, p = posterior.loss, posterior.dimension
    cost = _Seconds.of(posterior)
    # Thin shells make sharper bounds and waste more normals: thin where evaluations are dear.
    width = 0.4 if cost.evaluation < 1e-5 else 0.25 if cost.evaluation < 1e-4 else 0.15

    def envelope(known: Certificates) -> ShellEnvelope:
        mixture = build_mixture(known, width)
        predicted = 0.5 * p * math.log(2 * math.pi) - mixture.log_mass(generator)
        return ShellEnvelope(posterior, known, mixture, mode.passes, predicted)

    def per_draw(predicted: float) -> float:
        """Expected seconds for one draw; where nearly all proposals fail, the screen sees to most of them."""
        evaluations = math.exp(min(max(-predicted, 0.0), 700.0))
        return cost.evaluation * min(evaluations, 20 + 0.15 * evaluations)

    def worth(price: float, hoped: float = 0.0) -> bool:
        return draws * (per_draw(best.log_acceptance) - per_draw(hoped)) > price

    best = envelope(Certificates(loss.self_concordance, loss.quartic_deficit, frame, taylor(posterior, frame)))
    for radii in (FAR_RADII, NEAR_RADII):
        if worth(len(radii) * cost.gram):
            found = grams(posterior, frame, radii, best.certificates.grams)
            best = envelope(replace(best.certificates, grams=found))
    if p <= LARGEST_CUBIC_DIMENSION and worth(cost.cubic):
        best = envelope(replace(best.certificates, cubic=cubic(posterior, frame)))
    if p <= LARGEST_FOURTH_DIMENSION and worth(cost.fourth):
        # No certificate is below what some direction attains: see first, without proof, what that much would buy.
        attained = attained_fourth_moment(posterior, frame, best.certificates.taylor)
        hoped = envelope(replace(best.certificates, fourth=attained)).log_acceptance
        if worth(cost.fourth, hoped):
            best = envelope(replace(best.certificates, fourth=certified_fourth_moment(posterior, frame)))
    if best.log_acceptance < -3 and worth(4 * len(FAR_RADII) * cost.gram + 0.1):
        best = replace(best, screen=build_screen(posterior, frame))
    return best


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
    envelope = prepare(posterior, draws, generator)
    ready = time.perf_counter()
    accepted: list[Floats] = []
    have = proposed = evaluated = 0
    survival, acceptance = 0.1, math.exp(max(min(envelope.log_acceptance, 0.0), -40.0))
    largest = -math.inf
    while have < draws:
        most = LARGEST_BATCH if envelope.screen is None else 8 * LARGEST_BATCH
        wanted = min(most, math.ceil(1.2 * (draws - have) / acceptance) + 1)
        proposals = envelope.mixture.propose(min(1 << 15, math.ceil(1.1 * wanted / survival)), generator)
        proposed += proposals.proposed
        survival = max(0.5 * (survival + len(proposals.index) / proposals.proposed), 1e-3)
        for batch in proposals.parts(wanted):
            log_uniform = -generator.standard_exponential(len(batch.index))
            points, top = _judge(envelope, batch, log_uniform)
            largest = max(largest, top)
            evaluated += len(batch.index)
            have += len(points)
            accepted.append(points)
            if have >= draws:
                break
        acceptance = (have + 1) / (evaluated + 1 / acceptance)
        if progress is not None:
            progress(min(have, draws), draws, proposed, time.perf_counter() - started)
    points = np.concatenate(accepted)[:draws]
    known = envelope.certificates
    names = [name for name in ("taylor", "grams", "cubic", "fourth") if getattr(known, name) is not None]
    diagnostics = Diagnostics(
        mode=envelope.certificates.frame.centre,
        proposals=proposed,
        evaluated=evaluated,
        accepted=have,
        mode_passes=envelope.mode_passes,
        certificates=tuple(names),
        setup_seconds=ready - started,
        sampling_seconds=time.perf_counter() - ready,
        log_acceptance=largest,
    )
    return envelope.certificates.frame.thetas(points), diagnostics


def _judge(envelope: ShellEnvelope, batch: Proposals, log_uniform: Floats) -> tuple[Floats, float]:
    """Accepted points of a batch in order, and the largest log acceptance seen."""
    if envelope.log_acceptance < -0.7 and len(batch.index) >= 4:  # the squeeze pays when most are rejected
        alive = ~envelope.hopeless(batch, log_uniform)
        batch, log_uniform = batch.take(alive), log_uniform[alive]
    if not len(batch.index):
        return batch.points, -math.inf
    log_acceptance = envelope.log_acceptance_of(batch)
    return batch.points[log_uniform <= log_acceptance], float(log_acceptance.max())
