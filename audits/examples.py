"""Small examples of every registered model, for audits: few enough parameters for exact curves wherever there is one.

Used by ``audits/privacy.py`` and by the audit tests. A new model gets a line here.
"""

import gibbsafe as gs

M = gs.models
ALONE = {"dimension": 1, "intercept": False}
PAIR = {"states": {"a": 2, "b": 2}, "parents": {"b": ["a"]}, "smallest_probability": 0.2}

#: Model name → {what is special about the example: the model}.
EXAMPLES: dict[str, dict[str, M.Model]] = {
    "LogisticRegression": {
        "one feature, no intercept": M.LogisticRegression(**ALONE),
        "one feature, intercept": M.LogisticRegression(dimension=1),
    },
    "SoftHinge": {
        "one feature, no intercept": M.SoftHinge(**ALONE, width=0.3),
        "one feature, intercept": M.SoftHinge(dimension=1, width=0.3),
    },
    "PseudoHuberRegression": {
        "one feature, no intercept": M.PseudoHuberRegression(**ALONE, width=2.0),
        "one feature, intercept": M.PseudoHuberRegression(dimension=1, width=2.0),
    },
    "SoftQuantileRegression": {
        "one feature, no intercept": M.SoftQuantileRegression(**ALONE, quantile=0.8, width=0.2),
        "one feature, intercept": M.SoftQuantileRegression(dimension=1, radius=1.5, quantile=0.8, width=0.2),
    },
    "LinearRegression": {
        "one feature, no intercept": M.LinearRegression(**ALONE, response_bounds=(-1.0, 1.0), parameter_radius=2.0),
    },
    "Hinge": {"one feature, no intercept": M.Hinge(**ALONE)},
    "QuantileRegression": {"one feature, no intercept": M.QuantileRegression(**ALONE, quantile=0.3)},
    "GaussianMean": {"one column": M.GaussianMean(dimension=1, radius=3.0), "five columns": M.GaussianMean(dimension=5)},
    "BernoulliLogit": {"two labels": M.BernoulliLogit()},
    "BetaBernoulli": {
        "trimmed to (0.3, 0.9)": M.BetaBernoulli(trim=(0.3, 0.9)),
        "not trimmed": M.BetaBernoulli(),
    },
    "ExponentialRate": {"trimmed to (0.2, 2)": M.ExponentialRate(trim=(0.2, 2.0), bound=1.0)},
    "LaplaceScale": {"trimmed to (0.5, 0.9)": M.LaplaceScale(trim=(0.5, 0.9), bound=3.0)},
    "NormalPrecision": {"trimmed to (0.5, 1.5)": M.NormalPrecision(trim=(0.5, 1.5), bound=2.0)},
    "MultivariateNormalPrecision": {"2 × 2": M.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0.5, 1.5))},
    "Categorical": {"three states": M.Categorical(states=("a", "b", "c"), smallest_probability=0.1)},
    "BayesianNetwork": {"two nodes": M.BayesianNetwork(**PAIR)},
    "MarkovChain": {"two states, length 3": M.MarkovChain(states=("s", "w"), length=3, smallest_probability=0.2)},
    "FiniteFamily": {"Bernoulli on a grid": M.FiniteFamily.bernoulli(0.1)},
    "WelschLocation": {"records in (-2, 2)": M.WelschLocation(bounds=(-2, 2))},
}
