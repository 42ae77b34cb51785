"""One posterior to draw from, as a plan states it: temperature, prior, steps; or the scores to ask instead."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChainRule", "ScoreRule", "Stage"]


@dataclass(frozen=True)
class ScoreRule:
    """How noisy scores are asked, from public numbers (scaled units). See `gibbsafe.samplers.score_path`.

    Args:
        clip: C of the calibrated loss (`gibbsafe.losses.calibrated`), or None for the model's own.
        width: that of the pseudo-Huber score (`gibbsafe.losses.narrow`), or None for the model's own.
        rows: n, or the guess of it; it sets steps, never the price.
        ridge, slope: Λ and h̄, which set how many scores are asked and how long steps are.
        scores: how many scores the path has, at first.
        moment, facts, point: shares of the second moment of rows, of the size and steepness of slopes, and of the last score; the
            rest is the path's.
        preconditioned: whether steps go by the second moment.
        kernel: b, the width within which records near a kink are counted; None for a smooth loss.
        of_budget: the share of the whole budget (of μ²) that these scores have; posterior draws beside them have the rest.
    """

    clip: float | None
    rows: int
    ridge: float
    slope: float
    scores: int
    moment: float
    facts: float
    point: float
    preconditioned: bool
    kernel: float | None = None
    of_budget: float = 1.0
    width: float | None = None

    @property
    def path(self) -> float:
        """The share of the path."""
        return 1 - self.moment - self.facts - self.point


@dataclass(frozen=True)
class ChainRule:
    """How a whole trajectory is released, from public numbers. See `gibbsafe.samplers.trajectory`.

    Args:
        chains: how many start from the same public point.
        kept: how many of the last iterates of each are draws.
        power: p, the power on the likelihood; 1 for the posterior itself.
        start: the public point.
    """

    chains: int
    kept: int
    power: float
    start: tuple[float, ...]


@dataclass(frozen=True)
class Stage:
    """One posterior to draw from, in scaled units; ``prior_centre`` None means the draw of the stage before.

    With ``scores`` nothing is drawn: noisy scores are asked, whose precisions add up to ``inverse_temperature``. So they do with
    ``chain``: every step of every chain is a noisy score.
    """

    inverse_temperature: float
    prior_precision: tuple[float, ...]
    prior_centre: tuple[float, ...] | None
    draws: int
    step: float | None = None
    steps: int | None = None
    slack: float | None = None
    scores: ScoreRule | None = None
    chain: ChainRule | None = None
