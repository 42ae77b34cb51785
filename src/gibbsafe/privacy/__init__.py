"""What a guarantee is: types, adjacency, conversion, composition, group privacy, the attacker's view."""

from gibbsafe.privacy.accounting import pld_epsilon, to_dp_event
from gibbsafe.privacy.adjacency import Adjacency
from gibbsafe.privacy.amplification import RecordReplacement, amplify
from gibbsafe.privacy.beta import BetaBernoulliDP
from gibbsafe.privacy.blocks import BlockRanges
from gibbsafe.privacy.budget import Budget
from gibbsafe.privacy.composition import Composition, compose
from gibbsafe.privacy.estimated import EstimatedBudget, EstimatedPrivacy
from gibbsafe.privacy.guarantee import Guarantee
from gibbsafe.privacy.metric import Metric, MetricDP
from gibbsafe.privacy.proved import ApproximateDP, BoundedRange, ConcentratedDP, GaussianDP, PureDP

__all__ = [
    "Adjacency",
    "ApproximateDP",
    "BetaBernoulliDP",
    "BlockRanges",
    "BoundedRange",
    "Budget",
    "Composition",
    "ConcentratedDP",
    "EstimatedBudget",
    "EstimatedPrivacy",
    "GaussianDP",
    "Guarantee",
    "Metric",
    "MetricDP",
    "PureDP",
    "RecordReplacement",
    "amplify",
    "compose",
    "pld_epsilon",
    "to_dp_event",
]
