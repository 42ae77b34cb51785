"""One page about a release, for a reader who decides whether it may leave the house."""

from gibbsafe.report.attack import AttackView, attack_view
from gibbsafe.report.estimated import render_estimated
from gibbsafe.report.page import render

__all__ = ["AttackView", "attack_view", "render", "render_estimated"]
