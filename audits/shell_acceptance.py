"""Try to refute the shell sampler's envelope and its squeeze: on every proposal the log acceptance must be at most 0 and lie
between the bounds that decide without the data, whatever the data.

Random problems (rows, dimension, temperature, prior, loss, degenerate data, unconverged modes) are given envelopes with every
combination of certificates; all shells and the tail are proposed from equally often, so that the far ones are tried as hard as
the bulk. Run ``python audits/shell_acceptance.py --proposals 10000000 --report docs/audit-shell.md``.
"""

from __future__ import annotations

import argparse
import datetime
import math
import platform
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata

import numpy as np

from gibbsafe.data import Blocks
from gibbsafe.losses.base import Loss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.newton import Mode, find_mode
from gibbsafe.samplers.shell.envelope import KnownSums
from gibbsafe.samplers.shell.fourth_moment import certified_fourth_moment, fourth_moments
from gibbsafe.samplers.shell.proposals import Proposals, build_mixture
from gibbsafe.samplers.shell.sample import ShellEnvelope
from gibbsafe.samplers.shell.screen import build_screen
from gibbsafe.samplers.shell.squeeze import Squeeze, build_squeeze
from gibbsafe.samplers.shell.sums import FAR_RADII, NEAR_RADII, Frame, cubic, grams, taylor

#: Into how many parts the proposals fall, each kept when it is done.
UNITS = 40

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
    known = KnownSums(loss.self_concordance, loss.quartic_deficit, frame, taylor(posterior, frame))
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
    return ShellEnvelope(posterior, known, even, 0, -1.0, screen, random_squeeze(posterior, known, generator))


def random_squeeze(posterior: GibbsPosterior, known: KnownSums, generator: np.random.Generator) -> Squeeze | None:
    """With or without fourth moments; none in one problem of ten, and where the sums would be too dear."""
    chance = generator.random()
    if chance < 0.1:
        return None
    sums = None
    if chance < 0.7 and posterior.data.n_rows * posterior.dimension**4 / 4 < LARGEST_FOURTH_WORK:
        sums = fourth_moments(posterior, known.frame)
    return build_squeeze(posterior, known.frame, known.taylor, known.cubic or cubic(posterior, known.frame), sums)


@dataclass
class Audit:
    """Outcome so far. ``closest`` is the least distance of a computed log acceptance from the squeeze's bounds, below 0 on the
    wrong side, and ``margins`` the least in units of the rounding margin, of which the bounds are widened by two;
    ``decided`` counts proposals that the squeeze decides, ``rejected`` those that single precision rejects.
    """

    problems: int = 0
    proposals: int = 0
    largest: float = -math.inf
    squeezed: int = 0
    decided: int = 0
    closest: float = math.inf
    margins: float = math.inf
    rejected: int = 0


def check(envelope: ShellEnvelope, batch: Proposals, generator: np.random.Generator, outcome: Audit) -> None:
    """Judge one batch in every way; raises if two ways disagree or the envelope is too low."""
    exact = envelope.log_acceptance_of(batch)
    log_uniform = -generator.standard_exponential(exact.size)
    rejected = envelope.surely_rejected(batch, log_uniform)
    if (log_uniform[rejected] <= exact[rejected]).any():
        raise AssertionError("single precision rejected a proposal that double precision accepts")
    outcome.rejected += int(rejected.sum())
    outcome.proposals += exact.size
    outcome.largest = max(outcome.largest, float(exact.max(initial=-math.inf)))
    if envelope.squeeze is not None:
        least, most = envelope.squeezed(batch)
        distance = np.fmin(exact - least, most - exact)
        outcome.squeezed += exact.size
        outcome.decided += int(((log_uniform <= least) | (log_uniform > most)).sum())
        outcome.closest = min(outcome.closest, float(np.nanmin(distance, initial=math.inf)))
        relative = distance / envelope.margin(np.linalg.norm(batch.points, axis=1))
        outcome.margins = min(outcome.margins, float(np.nanmin(relative, initial=math.inf)))
        if (distance < 0).any():
            raise AssertionError(f"a log acceptance is {outcome.closest} outside the bounds of the squeeze")


def audit(proposals: int, rows: int, dimension: int, seed: int, problems: int = 200) -> Audit:
    """Judge ``proposals`` proposals over random problems; raises at the first log acceptance above 0 or outside its bounds."""
    generator = np.random.default_rng(seed)
    outcome = Audit()
    while outcome.proposals < proposals:
        posterior = random_posterior(generator, rows, dimension)
        envelope = random_envelope(posterior, generator)
        outcome.problems += 1
        # As many proposals per problem as set-up is worth, fewer where each is dear.
        dear = posterior.data.n_rows * (posterior.dimension + 80)
        each = min(max(100, math.floor(SECONDS_PER_PROBLEM * 5e9 / max(dear, 1))), proposals // problems)
        stop = outcome.proposals + each
        while outcome.proposals < stop:
            batch = envelope.mixture.propose(min(1 << 14, 8 * each), generator)
            for part in batch.parts(256):
                check(envelope, part, generator, outcome)
    return outcome


def markdown(outcome: Audit, chosen: argparse.Namespace, seconds: float) -> str:
    """The report that is committed."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("gibbsafe", "numpy", "scipy"))
    limits = f"up to {chosen.rows:,} rows and {chosen.dimension} parameters"
    rows = {
        "date": datetime.date.today().isoformat(),
        "versions": f"Python {platform.python_version()}, {versions}",
        "random problems": f"{outcome.problems:,} ({limits}; all losses, degenerate data, unconverged modes)",
        "proposals judged": f"{outcome.proposals:,}, all shells and the tail equally often",
        "largest log acceptance": f"{outcome.largest:.3g} (must be at most 0)",
        "proposals compared with the squeeze": f"{outcome.squeezed:,}, of which it decides {outcome.decided:,} without the data",
        "smallest distance of its bounds from the computed log acceptance": (
            f"{outcome.closest:.3g} (negative would be the wrong side); {outcome.margins:.3g} rounding margins, "
            "of which the bounds are widened by 2"
        ),
        "rejected in single precision": f"{outcome.rejected:,}, all rejected in double precision too",
        "seconds": f"{seconds:.0f}",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    title = "# Audit of the shell sampler's envelope and squeeze"
    return f"{title}\n\nWritten by `{chosen.command}`.\n\n| | |\n|---|---|\n{table}\n"


def chunk(chosen: argparse.Namespace, unit: tuple[int, int]) -> Audit:
    """Judge one chunk of the proposals, on problems of its own."""
    number, proposals = unit
    return audit(proposals, chosen.rows, chosen.dimension, chosen.seed * 1_000_003 + number, 200 // UNITS)


def merged(outcomes: list[Audit]) -> Audit:
    """Return the outcome of all chunks together."""
    summed = ("proposals", "problems", "rejected", "squeezed", "decided")
    counts = {name: sum(getattr(each, name) for each in outcomes) for name in summed}
    return Audit(
        **counts,
        largest=max(each.largest for each in outcomes),
        closest=min(each.closest for each in outcomes),
        margins=min(each.margins for each in outcomes),
    )


def main() -> None:
    """Command line."""
    from arguments import arguments, finish
    from parts import Part, chunks

    sizes = {"proposals": (10_000_000, 200_000)}
    chosen = arguments(__doc__, sizes, seed=20, settings={"rows": 100_000, "dimension": 60})
    part = Part("shell", (chosen.proposals, chosen.rows, chosen.dimension, chosen.seed))
    pieces = chunks(chosen.proposals, max(1, chosen.proposals // UNITS))
    outcomes, seconds = part.run(pieces, partial(chunk, chosen), minutes=chosen.minutes)
    finish(chosen, markdown(merged([each for each in outcomes if each is not None]), chosen, seconds), outcomes)


if __name__ == "__main__":
    main()
