"""Questions to a release. Every answer is the response that maximises average utility over the released draws (PSAQR,
Dimitrakakis et al. 2017, Algorithm 2): a function of what was already released, so asking is free.

To add a question, copy `events.py`: a frozen dataclass with `title` and `respond`, and a line here.
"""

from gibbsafe.queries.decisions import Decision, Utility, decision, utility
from gibbsafe.queries.events import PredictiveProbability, Probability, predictive, probability
from gibbsafe.queries.query import Answer, ErrorBound, Query, Sample
from gibbsafe.queries.summaries import Covariance, CredibleInterval, Mean, Quantile, covariance, credible_interval, mean, quantile

__all__ = [
    "Answer",
    "Covariance",
    "CredibleInterval",
    "Decision",
    "ErrorBound",
    "Mean",
    "PredictiveProbability",
    "Probability",
    "Quantile",
    "Query",
    "Sample",
    "Utility",
    "covariance",
    "credible_interval",
    "decision",
    "mean",
    "predictive",
    "probability",
    "quantile",
    "utility",
]
