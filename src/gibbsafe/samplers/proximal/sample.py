"""Certified proximal sampler: exact rounds with bounded work for every data set, and two proofs of what their end is worth.

``sample(posterior, draws, generator, progress, step=η, steps=k)`` (route A) starts at the prior's centre and makes k rounds of
step η, all public: the result is private whether it has converged or not (`theorems.proximal_last_iterate`).
``sample(posterior, draws, generator, progress, slack=γ)`` (route B) starts at the mode, takes η from the data and makes as many
rounds as bring every draw within total variation γ of the posterior, for every data set (docs/samplers.md, *Theorem B*); where an
envelope of the posterior itself is likely to be quicker it is drawn from, exactly, instead (`proximal_shell`).

η has no unit: it is the variance of the proximal noise in units of the prior's (on a ball: of its widest direction's). The
public numbers of a plan come from `samplers.proximal.schedule`. Every inner draw is exact by rejection without a cap; on route A
nothing that changes the law (start, step, rounds) depends on the data.
"""

from __future__ import annotations

import math
import time

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import Floats
from gibbsafe.errors import ParameterError, PremiseError
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.progress import Progress
from gibbsafe.samplers.diagnostics import Diagnostics
from gibbsafe.samplers.langevin import project
from gibbsafe.samplers.newton import Mode, find_mode
from gibbsafe.samplers.proximal.rounds import LARGEST_NEWTON, Geometry, Rounds
from gibbsafe.samplers.proximal.schedule import HEADROOM, cheapest_nats, mode_passes, rounds_for_slack, step_for
from gibbsafe.samplers.proximal.shell_rounds import ShellRounds, is_long, quick_envelope
from gibbsafe.samplers.shell.sample import sample_from

__all__ = ["sample"]

SECONDS_BETWEEN_REPORTS = 0.2


def sample(
    posterior: GibbsPosterior,
    draws: int,
    generator: np.random.Generator,
    progress: Progress | None = None,
    *,
    step: float | None = None,
    steps: int | None = None,
    slack: float | None = None,
) -> tuple[Floats, Diagnostics]:
    """Last iterates (draws, p) of independent proximal chains, and diagnostics for the curator only.

    Give ``step`` and ``steps`` (route A: public schedule from the prior's centre) or ``slack`` (route B: within this total
    variation of the posterior, per draw).
    """
    _validate.count("draws", draws)
    if not posterior.loss.smoothness < np.inf:
        raise PremiseError(f"{type(posterior.loss).__name__}: not smooth, and the proximal sampler's work is then not bounded")
    if (slack is None) == (step is None) or (step is None) != (steps is None):
        raise ParameterError("step, steps, slack: give step and steps, or slack alone")
    started = time.perf_counter()
    geometry = Geometry.of(posterior)
    mode = None
    if slack is None:
        assert step is not None
        assert steps is not None
        eta, k = _validate.positive("step", step), _validate.count("steps", steps)
        start = project(posterior.prior_centre[None], posterior.ball)[0]
    else:
        mode = find_mode(posterior)
        start, distance = _start(posterior, geometry, mode)
        eta = _step_from_data(posterior, geometry, mode)
        k = rounds_for_slack(eta, slack, distance=distance)
        envelope = quick_envelope(posterior, draws, k, generator)
        if envelope is not None:
            return sample_from(envelope, draws, generator, progress, started)
    rounds, mode = _rounds(posterior, geometry, eta, k, mode)
    chains = rounds.start(np.tile(start, (draws, 1)))
    ready = reported = time.perf_counter()
    for done in range(1, k + 1):
        rounds.advance(chains, generator)
        if progress is not None:
            now = time.perf_counter()
            if now - reported > SECONDS_BETWEEN_REPORTS or done == k:
                progress(done * draws // k, draws, chains.proposals, now - started)
                reported = now
    diagnostics = Diagnostics(
        mode=start,
        proposals=chains.proposals,
        evaluated=chains.proposals,
        accepted=draws * k,
        mode_passes=0 if mode is None else mode.passes,
        certificates=("proximal", rounds.way),
        setup_seconds=ready - started,
        sampling_seconds=time.perf_counter() - ready,
        log_acceptance=0.0,
        passes=chains.passes,
    )
    return chains.points, diagnostics


def _rounds(
    posterior: GibbsPosterior, geometry: Geometry, eta: float, k: int, mode: Mode | None
) -> tuple[ShellRounds | Rounds, Mode | None]:
    """The way of k rounds, by the shell sampler where they are long, and the mode if it was looked for."""
    if is_long(posterior, geometry, eta):
        return ShellRounds(posterior, eta), mode
    curved = posterior.dimension <= LARGEST_NEWTON
    if mode is None and curved:
        mode = find_mode(posterior, most=mode_passes(k))
    return Rounds(posterior, geometry, eta, mode.hessian if mode is not None and curved else None), mode


def _start(posterior: GibbsPosterior, geometry: Geometry, mode: Mode) -> tuple[Floats, float]:
    """The mode, or the nearest point of the ball to it, and a bound on √E|x − start|² in the prior's units (Theorem B)."""
    start = project(mode.centre[None], posterior.ball)[0]
    gradient = mode.gradient
    inside = posterior.ball is None or float(np.linalg.norm(mode.centre)) <= posterior.ball
    if not inside:
        gradient = posterior.gradient(start)
        outward = start / np.linalg.norm(start)
        gradient = gradient - min(0.0, float(gradient @ outward)) * outward  # the boundary carries what points out of the ball
    offset = float(np.sqrt((gradient**2 / geometry.metric).sum()))
    distance = math.sqrt(posterior.dimension) + offset * (1 + 1e-9)
    if posterior.ball is None:
        return start, distance
    return start, min(distance, 2 * posterior.ball * math.sqrt(float(geometry.metric[0])))


def _step_from_data(posterior: GibbsPosterior, geometry: Geometry, mode: Mode) -> float:
    """η for which an inner draw near the mode costs the cheapest number of nats, and nowhere more than `HEADROOM` above it."""
    nats = cheapest_nats(posterior.rows_per_pass, posterior.dimension)
    at_mode = float(((np.diagonal(mode.hessian) - posterior.prior_precision) / geometry.metric).sum())
    if posterior.ball is not None:
        return step_for(geometry.curvature, nats)
    return step_for(max(at_mode, geometry.curvature * nats / (nats + HEADROOM)), nats)
