"""Samplers whose draws carry a proof, by name."""

from gibbsafe.posteriors import trimmed
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.closed_form import can_draw, draw_exactly
from gibbsafe.samplers.diagnostics import Diagnostics
from gibbsafe.samplers.registry import SAMPLERS, Sampler

__all__ = ["SAMPLERS", "Diagnostics", "GibbsPosterior", "Sampler", "can_draw", "draw_exactly", "trimmed"]
