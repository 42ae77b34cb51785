"""Try to refute the shell sampler's envelope: log acceptance must be at most 0 on every proposal, whatever the data.

Random problems (rows, dimension, temperature, prior, loss, degenerate data, unconverged modes) are given envelopes with every
combination of certificates; all shells and the tail are proposed from equally often, so that the far ones are tried as hard as
the bulk. Run ``python audits/shell_acceptance.py --proposals 10000000 --rows 100000 --dimension 60``.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gibbsafe.data import Blocks
from gibbsafe.models.losses import LogisticLoss, Loss, PseudoHuberLoss, SoftHingeLoss, SoftPinballLoss
from gibbsafe.samplers.envelope import Certificates
from gibbsafe.samplers.fourth import certified_fourth_moment
from gibbsafe.samplers.moments import FAR_RADII, NEAR_RADII, Frame, cubic, grams, taylor
from gibbsafe.samplers.newton import Mode, find_mode
from gibbsafe.samplers.posterior import GibbsPosterior
from gibbsafe.samplers.proposals import build_mixture
from gibbsafe.samplers.screen import build_screen
from gibbsafe.samplers.shell import ShellEnvelope

KINDS = ("gaussian", "collinear", "constant", "separable", "one label", "clipped", "one-hot", "zero rows", "huge leverage")
LARGEST_FOURTH_WORK = 2e10
SECONDS_PER_PROBLEM = 0.3


def random_rows(kind: str, n: int, p: int, generator: np.random.Generator) -> np.ndarray:
    """Rows of norm at most 1 with an intercept column last (when there is room for one)."""
    rows = generator.standard_normal((n, p)) * generator.lognormal(0, 1, p)
    if kind == "collinear":
        rows = rows[:, generator.integers(0, max(1, p // 3), p)]
    elif kind == "constant":
        rows[:, : max(1, p // 2)] = 1.0
    elif kind == "clipped":
        rows *= 1e300 ** generator.random((n, 1))
    elif kind == "one-hot":
        rows = np.eye(p)[np.minimum(generator.geometric(min(1.0, 3 / p), n) - 1, p - 1)]
    elif kind == "zero rows":
        rows[generator.random(n) < 0.5] = 0.0
    elif kind == "huge leverage":
        rows *= np.where(generator.random((n, 1)) < 0.05, 1.0, 1e-3)
    if p > 1:
        rows[:, -1] = 1.0
    scale = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(scale > 0, scale, 1.0) * np.minimum(scale, 1e6)
    if kind == "huge leverage":
        return rows / np.linalg.norm(rows, axis=1).max(initial=1e-300)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(norms, 1.0)


def random_loss(generator: np.random.Generator) -> Loss:
    """Any loss, with widths over two decades so that κ is far from 1 both ways."""
    width = float(10 ** generator.uniform(-1.3, 0.7))
    choices: tuple[Loss, ...] = (
        LogisticLoss(),
        SoftHingeLoss(width),
        PseudoHuberLoss(width),
        SoftPinballLoss(float(generator.uniform(0.05, 0.95)), width),
    )
    return choices[generator.integers(0, len(choices))]


def random_posterior(generator: np.random.Generator, rows: int, dimension: int) -> GibbsPosterior:
    """A posterior with up to ``rows`` records and ``dimension`` parameters, log-uniform in everything that has a scale."""
    n = math.floor(math.exp(generator.uniform(0, math.log(rows + 1))))
    p = int(generator.integers(1, dimension + 1))
    loss, kind = random_loss(generator), KINDS[generator.integers(0, len(KINDS))]
    data = random_rows(kind, n, p, generator)
    truth = generator.standard_normal(p) * 10 ** generator.uniform(-1, 1.5)
    signal = data @ truth
    targets = None
    if loss.margin:
        noisy = signal + (0 if kind == "separable" else generator.logistic(size=n))
        signs = np.ones(n) if kind == "one label" else np.where(noisy >= 0, 1.0, -1.0)
        data = data * signs[:, None]
    else:
        targets = signal + generator.standard_t(2, n)
    precision = np.full(p, 10 ** generator.uniform(-3, 3))
    if generator.random() < 0.5:
        precision = precision * 10 ** generator.uniform(-2, 2, p)
    centre = generator.standard_normal(p) * (generator.random() < 0.5)
    beta = float(10 ** generator.uniform(-4, 1))
    storage = data.astype(np.float32) if generator.random() < 0.2 else data
    return GibbsPosterior(Blocks(storage, targets), loss, beta, precision, centre)


def random_envelope(posterior: GibbsPosterior, generator: np.random.Generator) -> ShellEnvelope:
    """An envelope from a random combination of certificates around a mode that may be far from converged."""
    mode = find_mode(posterior)
    if generator.random() < 0.3:
        scale = 10 ** generator.uniform(-3, 0.5) / np.sqrt(np.diagonal(mode.hessian))
        centre = mode.centre + scale * generator.standard_normal(posterior.dimension)
        mode = Mode(centre, *posterior.value_gradient_hessian(centre), mode.passes)
    frame = Frame.at(mode, posterior)
    loss = posterior.loss
    known = Certificates(loss.self_concordance, loss.quartic_deficit, frame, taylor(posterior, frame))
    if generator.random() < 0.7:
        known = replace(known, grams=grams(posterior, frame, FAR_RADII))
    if known.grams is not None and generator.random() < 0.7:
        known = replace(known, grams=grams(posterior, frame, NEAR_RADII, known.grams))
    if generator.random() < 0.5:
        known = replace(known, cubic=cubic(posterior, frame))
    work = posterior.data.n_rows * posterior.dimension**4 / 4
    if generator.random() < 0.5 and work < LARGEST_FOURTH_WORK:
        known = replace(known, fourth=certified_fourth_moment(posterior, frame))
    mixture = build_mixture(known, float(generator.uniform(0.2, 0.8)))
    even = replace(mixture, log_weights=np.zeros_like(mixture.log_weights))
    screen = build_screen(posterior, frame) if generator.random() < 0.5 else None
    return ShellEnvelope(posterior, known, even, 0, -1.0, screen)


@dataclass(frozen=True)
class Audit:
    """Outcome: proposals judged, problems tried, the largest log acceptance (at most 0), proposals the squeeze rejected."""

    proposals: int
    problems: int
    largest: float
    squeezed: int


def audit(proposals: int, rows: int, dimension: int, seed: int, report: Callable[[int, int], None] | None = None) -> Audit:
    """Judge ``proposals`` proposals over random problems; raises at the first log acceptance above 0.

    The single-precision squeeze is checked on the way: what it rejects must be rejected in double precision too.
    """
    generator = np.random.default_rng(seed)
    done = problems = squeezed = 0
    largest = -math.inf
    while done < proposals:
        posterior = random_posterior(generator, rows, dimension)
        envelope = random_envelope(posterior, generator)
        problems += 1
        judged = 0
        # As many proposals per problem as set-up is worth, fewer where each is dear.
        dear = posterior.data.n_rows * (posterior.dimension + 80)
        each = min(max(100, math.floor(SECONDS_PER_PROBLEM * 5e9 / max(dear, 1))), proposals // 200)
        while judged < each:
            batch = envelope.mixture.propose(min(1 << 14, 8 * each), generator)
            log_acceptance = np.concatenate([envelope.log_acceptance_of(part) for part in batch.parts(256)])
            log_uniform = -generator.standard_exponential(log_acceptance.size)
            parts = zip(batch.parts(256), np.split(log_uniform, range(256, log_uniform.size, 256)), strict=True)
            hopeless = np.concatenate([envelope.hopeless(part, uniform) for part, uniform in parts])
            if (log_uniform[hopeless] <= log_acceptance[hopeless]).any():
                raise AssertionError("the squeeze rejected a proposal that double precision accepts")
            squeezed += int(hopeless.sum())
            judged += log_acceptance.size
            largest = max(largest, float(log_acceptance.max(initial=-math.inf)))
        done += judged
        if report is not None:
            report(done, problems)
    return Audit(done, problems, largest, squeezed)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proposals", type=int, default=10_000_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=60)
    parser.add_argument("--seed", type=int, default=20)
    chosen = parser.parse_args()
    started = time.perf_counter()

    def report(done: int, problems: int) -> None:
        seconds = time.perf_counter() - started
        sys.stderr.write(f"\r{done:,} proposals, {problems} problems, {seconds:.0f} s")
        sys.stderr.flush()

    outcome = audit(chosen.proposals, chosen.rows, chosen.dimension, chosen.seed, report)
    sys.stderr.write("\n")
    print(
        f"shell envelope: {outcome.proposals:,} proposals over {outcome.problems} problems, largest log acceptance "
        f"{outcome.largest:.3g} (never above 0), {outcome.squeezed:,} squeezed in agreement with double precision"
    )


if __name__ == "__main__":
    main()
