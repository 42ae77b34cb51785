"""From model, budget, n and adjacency to a plan: everything that can change the guarantee, before any record is read."""

from gibbsafe.planning.plans import Plan, plan
from gibbsafe.planning.utility import Utility, excess_risk_bound, predict_utility

__all__ = ["Plan", "Utility", "excess_risk_bound", "plan", "predict_utility"]
