"""One example of every registered model, with its traits: what conformance tests, audits, oracles and benchmarks go by.

A model that is registered has an entry here and nowhere else; whoever wants some of the models filters `EXAMPLES` by trait.
Used by the tests, and by `audits/` and `benchmarks/`, which put this folder on their path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

import gibbsafe as gs
from gibbsafe.models.families.family import Family
from gibbsafe.models.families.rate_family import RateFamily

M = gs.models
REPLACE, ADD = "replace-one", "add-remove"

# -- forms of records ----------------------------------------------------------------------------------------------------


def vectors(model, features, response):
    """Features alone, turned by the response's sign."""
    return features * np.sign(response)[:, None]


def labels_alone(model, features, response):
    """One of two labels, and nothing else."""
    return np.array(model.labels)[(response > 0).astype(int)]


def labelled(model, features, response):
    """Features and one of two labels."""
    return features, labels_alone(model, features, response)


def measured(model, features, response):
    """Features and a number."""
    return features, response


def counted(model, features, response):
    """Features and a count; where there are exposures, one beside each."""
    counts = np.floor(np.maximum(response, 0.0))
    return features, counts if model.exposure is None else np.column_stack([counts, np.exp(-np.clip(response, -2, 2))])


def timed(model, features, response):
    """Features, a time and whether its event was seen; times of any size, none of them 0."""
    times = np.exp(np.clip(response, -700, 700))
    return features, np.column_stack([times, np.where(np.floor(np.abs(response)) % 3 == 1, *model.event_labels)])


def sorted_out(model, features, response):
    """Features and one of several outcomes, whatever the response is."""
    place = np.floor(np.clip(response, -1e6, 1e6)).astype(int) % len(model.outcomes)
    return features, np.array(model.outcomes)[place]


def states(rng, model, n):
    """One of the declared states each."""
    return np.array(model.states)[rng.integers(len(model.states), size=n)]


def coins(rng, model, n):
    """0 or 1."""
    return rng.integers(2, size=n)


def paths(rng, model, n):
    """A state per time."""
    return np.array(model.states)[rng.integers(len(model.states), size=(n, model.length))]


def nodes(rng, model, n):
    """A state per node, or per column of a table."""
    declared = model.states if hasattr(model, "states") else model.categories
    columns = [np.array(each, dtype=object)[rng.integers(len(each), size=n)] for each in declared.values()]
    return np.array(columns, dtype=object).T.reshape(n, len(columns))


# -- what is predicted from linear predictors (rows × draws) ----------------------------------------------------------------


def line(model, predictors):
    """The mean predictor."""
    return predictors.mean(axis=1)


def side(model, predictors):
    """The label on whose side of 0 the mean predictor lies."""
    return np.array(model.labels)[(predictors.mean(axis=1) > 0).astype(int)]


def likelier(model, predictors):
    """The label with the larger mean probability."""
    return np.array(model.labels)[(expit(predictors).mean(axis=1) > 0.5).astype(int)]


def mean_count(model, predictors):
    """The mean of e to the predictor."""
    return np.exp(predictors).mean(axis=1)


def median_time(model, predictors):
    """e to the mean predictor."""
    return np.exp(predictors.mean(axis=1))


# -- tables: the model that reads them, and their columns --------------------------------------------------------------------


def in_one_column(model, data):
    """Records of one entry."""
    return model, {"y": data}


def by_time(model, data):
    """One column per time."""
    named = M.model_from_dict(model.to_dict() | {"time_names": [f"t{k}" for k in range(model.length)]})
    return named, dict(zip(named.time_names, data.T, strict=True))


def by_node(model, data):
    """One column per node."""
    names = model.nodes if hasattr(model, "nodes") else model.columns
    return model, {name: [row[k] for row in data] for k, name in enumerate(names)}


# -- columns and targets of studies, of the table in tests/study --------------------------------------------------------------

FEATURES = "[columns.a]\nbounds = [0, 1]\n[columns.b]\nbounds = [0, 5]\n"
ONE = "[columns.a]\nbounds = [0, 1]\n"
LABEL = '[target]\nname = "y"\nlabels = ["no", "yes"]\n'
NUMBER = '[target]\nname = "z"\nbounds = [0, 20]\n'
COUNT = '[target]\nname = "k"\nbounds = [0, 20]\n'
CATEGORY = '[columns.w]\nlevels = ["u", "v", "w"]\n'
LEVELS = '[target]\nname = "w"\nlevels = ["u", "v", "w"]\n'
CATEGORIES = CATEGORY + '[columns.x]\nlevels = ["s", "t"]\n'
TIMES = '[columns.x]\nlevels = ["s", "t"]\n[columns.x2]\nlevels = ["s", "t"]\n'


@dataclass(frozen=True, kw_only=True)
class Example:
    """One model as a curator would declare it, and what tests, audits and benchmarks have to know of it.

    Args:
        model: the declaration.
        study: columns and target of a study that declares such a model.
        options: what that study's [model] table says besides the name.
        link: of a loss of a linear predictor: (model, features, any response) → records in the form that it reads.
        draw: of a family: (generator, model, n) → records in the form that it reads.
        small: what is special → a model with few parameters, whose privacy curve is exact wherever there is one; for audits.
        adjacencies: those under which it can be planned.
        unpriced: which of the small ones declare no constant of their likelihood.
        slow: whether its potential is slow by design, so that searches get less effort.
        gap: why its worst neighbours stay below half of its claim, for the audit's report.
        tightness: what is measured → model and number of records; for the benchmark of that name.
        predicts: of a linear model: (model, predictors) → predictions.
        lipschitz_share: how much of the declared Lipschitz constant hostile records reach at least; None: it declares none.
        spent: how much of a budget's δ hostile neighbours reach at least, with one parameter.
        recovers: of a regression line: how many standard deviations of normal noise it lies above the mean; None: no such line.
        range_share: how much of the declared range extreme records reach at least.
        bought: options with which `trimmed_for` buys a trim; None: it has no trim to buy.
        metric: whether it states a Lipschitz constant under a metric on records.
        table: (model, records) → model and columns of a table of the same records; None: not by name.
        theorem: of a family: which theorem prices it.
        refused: entries outside its domain, with what the refusal says.
    """

    model: M.Model
    study: str
    options: str = ""
    link: Callable[..., Any] | None = None
    draw: Callable[..., Any] | None = None
    small: Mapping[str, M.Model]
    unpriced: tuple[str, ...] = ()
    adjacencies: tuple[str, ...] = (REPLACE, ADD)
    slow: bool = False
    gap: str | None = None
    tightness: Mapping[str, tuple[M.Model, int]] = field(default_factory=dict)
    predicts: Callable[..., Any] | None = None
    lipschitz_share: float | None = None
    spent: float = 0.9
    recovers: float | None = None
    range_share: float = 0.6
    bought: Mapping[str, Any] | None = None
    metric: bool = True
    table: Callable[..., Any] | None = None
    theorem: str = "bounded-range"
    refused: tuple[tuple[Any, str], ...] = ()


WIDE = {"dimension": 2, "radius": 2.0}
ALONE = {"dimension": 1, "intercept": False}
ONE_FEATURE, TWO_FEATURES = "one feature, no intercept", "one feature, intercept"
RAIN = {
    "states": {"rain": ("no", "yes"), "wet": ("dry", "wet"), "slip": 3},
    "parents": {"wet": ["rain"], "slip": ["rain", "wet"]},
}
PAIR = {"states": {"a": 2, "b": 2}, "parents": {"b": ["a"]}, "smallest_probability": 0.2}
#: Margin losses of one parameter have the full slope on one side of 0 only: they spend a part of their budget.
ONE_SIDED = 1e-3
#: Losses of several predictors: why the worst neighbours of their draws stay below half of the claim.
FAR_OUT = "a score is largest at parameters that are sure of a wrong outcome, far from where draws are"

#: A category whose effects have a prior of their own, stronger than the default one of small data.
WARD = gs.domains.Column("ward", kind="category", levels=("a", "b"))

LISTED = (
    Example(
        model=M.LogisticRegression(**WIDE, labels=("no", "yes")),
        study=FEATURES + CATEGORY + LABEL,
        link=labelled,
        small={
            ONE_FEATURE: M.LogisticRegression(**ALONE),
            TWO_FEATURES: M.LogisticRegression(dimension=1),
            "a group of two": M.LogisticRegression(dimension=2, intercept=False, columns=(WARD,), groups={"ward": 1.0}),
        },
        tightness={"logistic regression, two coefficients": (M.LogisticRegression(dimension=2, intercept=False), 20)},
        gap="rows of one category are the same or orthogonal: a replacement moves the gradient by at most √2 of the 2 paid for",
        predicts=likelier,
        lipschitz_share=0.95,
        spent=ONE_SIDED,
    ),
    Example(
        model=M.SoftHinge(**WIDE, width=0.3),
        study=FEATURES + LABEL,
        link=labelled,
        small={ONE_FEATURE: M.SoftHinge(**ALONE, width=0.3), TWO_FEATURES: M.SoftHinge(dimension=1, width=0.3)},
        predicts=side,
        lipschitz_share=0.95,
        spent=ONE_SIDED,
    ),
    Example(
        model=M.PseudoHuberRegression(**WIDE, width=2.0),
        study=FEATURES + NUMBER,
        options="width = 2.0\n",
        link=measured,
        small={
            ONE_FEATURE: M.PseudoHuberRegression(**ALONE, width=2.0),
            TWO_FEATURES: M.PseudoHuberRegression(dimension=1, width=2.0),
        },
        tightness={"pseudo-Huber regression, one coefficient": (M.PseudoHuberRegression(**ALONE), 20)},
        predicts=line,
        lipschitz_share=0.95,
        recovers=0.0,
    ),
    Example(
        model=M.SoftQuantileRegression(dimension=2, bounds=[(0, 1), (-5, 5)], quantile=0.8, width=0.2, scale=3.0),
        study=FEATURES + NUMBER,
        options="quantile = 0.9\n",
        link=measured,
        small={
            ONE_FEATURE: M.SoftQuantileRegression(**ALONE, quantile=0.8, width=0.2),
            TWO_FEATURES: M.SoftQuantileRegression(dimension=1, radius=1.5, quantile=0.8, width=0.2),
        },
        predicts=line,
        lipschitz_share=0.95,
        recovers=0.8416,
    ),
    Example(
        model=M.LinearRegression(**WIDE, response_bounds=(-1.0, 9.0), parameter_radius=20.0),
        study=FEATURES + NUMBER,
        link=measured,
        small={ONE_FEATURE: M.LinearRegression(**ALONE, response_bounds=(-1.0, 1.0), parameter_radius=2.0)},
        adjacencies=(REPLACE,),
        gap="the declared constant is a supremum over the whole parameter ball, and the mass of the posterior is not where it is "
        "attained; the price of squared loss on a ball",
        predicts=line,
        lipschitz_share=0.0,
        recovers=0.0,
    ),
    Example(
        model=M.CountRegression(**WIDE, cap=12, dispersion=2.0),
        study=FEATURES + COUNT,
        options="dispersion = 3.0\n",
        link=counted,
        small={
            ONE_FEATURE: M.CountRegression(**ALONE, cap=3),
            TWO_FEATURES: M.CountRegression(dimension=1, cap=3),
            "exposures": M.CountRegression(**ALONE, cap=3, exposure="days"),
        },
        gap="slopes of the cap's size all have one sign and lie far below 0: with one predictor no replacement moves the "
        "gradient by the 2·cap that is paid for, which nearly opposite rows of several dimensions approach",
        predicts=mean_count,
        lipschitz_share=0.85,
        spent=1e-4,
    ),
    Example(
        model=M.SurvivalRegression(**WIDE, scale=0.5),
        study=FEATURES + NUMBER,
        options='scale = 0.5\nevent = "y"\nevent_labels = ["no", "yes"]\n',
        link=timed,
        small={
            ONE_FEATURE: M.SurvivalRegression(**ALONE, scale=0.5),
            TWO_FEATURES: M.SurvivalRegression(dimension=1, scale=0.5),
        },
        predicts=median_time,
        lipschitz_share=0.95,
    ),
    Example(
        model=M.MultinomialRegression(**WIDE, classes=("bus", "car", "train")),
        study=FEATURES + LEVELS,
        link=sorted_out,
        small={"three classes": M.MultinomialRegression(dimension=1, classes=3)},
        adjacencies=(REPLACE,),
        gap=FAR_OUT,
        lipschitz_share=0.9,
    ),
    Example(
        model=M.OrdinalRegression(**WIDE, levels=("never", "sometimes", "often", "always"), thresholds=(-1.0, 0.0, 1.5)),
        study=FEATURES + LEVELS,
        options="gap = 0.25\n",
        link=sorted_out,
        small={"three levels": M.OrdinalRegression(dimension=1, levels=3)},
        adjacencies=(REPLACE,),
        gap=FAR_OUT,
        lipschitz_share=0.7,
    ),
    Example(
        model=M.GaussianMean(dimension=2, radius=3.0),
        study=FEATURES,
        link=vectors,
        small={"one column": M.GaussianMean(dimension=1, radius=3.0), "five columns": M.GaussianMean(dimension=5)},
        adjacencies=(REPLACE,),
    ),
    Example(
        model=M.BernoulliLogit(labels=("tails", "heads")),
        study=LABEL,
        link=labels_alone,
        small={"two labels": M.BernoulliLogit()},
        # One record: others would only add curvature.
        tightness={"proportion on the logit scale": (M.BernoulliLogit(), 1)},
        lipschitz_share=0.999,
        spent=ONE_SIDED,
    ),
    Example(
        model=M.Hinge(**ALONE),
        study=ONE + LABEL,
        options="intercept = false\n",
        link=labelled,
        small={ONE_FEATURE: M.Hinge(**ALONE)},
        predicts=side,
        lipschitz_share=0.999,
        spent=ONE_SIDED,
    ),
    Example(
        model=M.QuantileRegression(**ALONE, quantile=0.3, scale=2.0),
        study=ONE + NUMBER,
        options="intercept = false\n",
        link=measured,
        small={ONE_FEATURE: M.QuantileRegression(**ALONE, quantile=0.3)},
        predicts=line,
        lipschitz_share=0.999,
    ),
    Example(
        model=M.BetaBernoulli(trim=(0.3, 0.9)),
        study=LABEL,
        options="trim = [0.2, 0.8]\n",
        draw=coins,
        small={"trimmed to (0.3, 0.9)": M.BetaBernoulli(trim=(0.3, 0.9)), "not trimmed": M.BetaBernoulli()},
        unpriced=("not trimmed",),
        bought={},
        table=in_one_column,
        refused=((2, "row 7"), (0.5, "row 7")),
    ),
    Example(
        model=M.ExponentialRate(trim=(0.2, 2.0), bound=1.0),
        study=NUMBER,
        options="trim = [0.1, 1.0]\n",
        draw=lambda rng, model, n: rng.exponential(0.4, n),
        small={"trimmed to (0.2, 2)": M.ExponentialRate(trim=(0.2, 2.0), bound=1.0)},
        bought={"lower": 0.5, "bound": 2.0},
        table=in_one_column,
        refused=((-0.1, "below 0"), (np.nan, "row 7"), (np.inf, "row 7")),
    ),
    Example(
        model=M.LaplaceScale(trim=(0.5, 0.9), bound=3.0, location=0.5, shape=2.0),
        study=NUMBER,
        options="trim = [0.1, 1.0]\n",
        draw=lambda rng, model, n: rng.normal(0, 1, n),
        small={"trimmed to (0.5, 0.9)": M.LaplaceScale(trim=(0.5, 0.9), bound=3.0)},
        bought={"lower": 0.5, "bound": 2.0, "location": 3.0},
        table=in_one_column,
        refused=((np.nan, "row 7"), (-np.inf, "row 7")),
    ),
    Example(
        model=M.NormalPrecision(trim=(0.5, 1.5), bound=2.0, location=-0.3, rate=0.0),
        study=NUMBER,
        options="trim = [0.01, 0.1]\n",
        draw=lambda rng, model, n: rng.normal(0, 1, n),
        small={"trimmed to (0.5, 1.5)": M.NormalPrecision(trim=(0.5, 1.5), bound=2.0)},
        bought={"lower": 0.5, "bound": 2.0, "location": 0.1},
        table=in_one_column,
        refused=((np.nan, "row 7"),),
    ),
    Example(
        model=M.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0.5, 1.5), mean=(0.1, -0.2)),
        study=FEATURES,
        options="trim = [0.1, 0.5]\n",
        draw=lambda rng, model, n: rng.normal(0, 0.5, (n, model.dimension)),
        small={"2 × 2": M.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0.5, 1.5))},
        range_share=0.25,
        bought={"lower": 0.5, "bound": 2.0, "dimension": 4, "structure": "diagonal"},
        refused=((np.nan, "row 7"),),
    ),
    Example(
        model=M.Categorical(states=("a", "b", "c"), smallest_probability=0.05, concentration=0.7),
        study=LEVELS,
        options="smallest_probability = 0.1\n",
        draw=states,
        small={"three states": M.Categorical(states=("a", "b", "c"), smallest_probability=0.1)},
        bought={"states": 4},
        table=in_one_column,
        refused=(("d", "row 7 is 'd'"), (None, "row 7")),
    ),
    Example(
        model=M.BayesianNetwork(**RAIN, smallest_probability={"rain": 0.1, "wet": 0.2, "slip": 0.05}),
        study=CATEGORIES,
        options='smallest_probability = 0.1\nparents = {x = ["w"]}\n',
        draw=nodes,
        small={"two nodes": M.BayesianNetwork(**PAIR)},
        range_share=0.25,
        bought=RAIN,
        table=by_node,
        refused=(("snow", "row 7 is 'snow'"),),
    ),
    Example(
        model=M.MarkovChain(states=("s", "w"), length=4, smallest_probability=0.1),
        study=TIMES,
        options="smallest_probability = 0.1\n",
        draw=paths,
        small={"two states, length 3": M.MarkovChain(states=("s", "w"), length=3, smallest_probability=0.2)},
        range_share=0.25,
        bought={"states": 3, "length": 5},
        table=by_time,
        refused=(("x", "row 7 is 'x'"),),
    ),
    Example(
        model=M.ContingencyTable(categories={"ward": ("A", "B", "C"), "died": ("no", "yes")}),
        study=CATEGORIES,
        draw=nodes,
        small={
            "two categories": M.ContingencyTable(categories={"y": 2}),
            "two by two": M.ContingencyTable(categories={"a": 2, "b": 2}),
        },
        metric=False,
        table=by_node,
        theorem="fixed-normaliser",
        refused=(("D", "row 7 is 'D'"), (None, "row 7")),
    ),
    Example(
        model=M.FiniteFamily.bernoulli(0.1),
        study=LABEL,
        options="points = [0.2, 0.8]\nlikelihood = [[0.8, 0.2], [0.2, 0.8]]\n",
        draw=coins,
        small={"Bernoulli on a grid": M.FiniteFamily.bernoulli(0.1)},
        table=in_one_column,
        refused=((0.5, "row 7 is 0.5"), (2, "row 7 is 2")),
    ),
    Example(
        model=M.WelschLocation(scale=1.0, bounds=(-10.0, 10.0)),
        study=ONE,
        draw=lambda rng, model, n: rng.uniform(-1, 1, (n, model.dimension)),
        small={"records in (-2, 2)": M.WelschLocation(bounds=(-2, 2))},
        slow=True,
        metric=False,
        refused=((np.nan, "row 7"), (np.inf, "row 7")),
    ),
)

#: Every example by its model's name.
EXAMPLES: dict[str, Example] = {example.model.name: example for example in LISTED}
#: Losses of a linear predictor, whose prior the plan sets; and likelihoods with a prior of their own.
GIBBS = {name: example.model for name, example in EXAMPLES.items() if isinstance(example.model, M.GibbsModel)}
FAMILIES = {name: example.model for name, example in EXAMPLES.items() if isinstance(example.model, Family)}
RATES = [name for name, model in FAMILIES.items() if isinstance(model, RateFamily)]
#: (name, what is special about it) → small model, for audits.
SMALL = {(name, what): model for name, example in EXAMPLES.items() for what, model in example.small.items()}


def example_of(model) -> Example:
    """Return the traits of a model, whichever of its declarations this is."""
    return EXAMPLES[model.name]


def assemble(model, features, response):
    """Return records in the form that a model of a predictor reads, from features and any numbers."""
    return example_of(model).link(model, features, response)


def records(model, n, seed=0):
    """Return n ordinary records in the form that the model reads."""
    rng, example = np.random.default_rng(seed), example_of(model)
    if example.link is None:
        return example.draw(rng, model, n)
    features = rng.uniform(-1, 1, (n, getattr(model, "dimension", 1)))
    return assemble(model, features, features[:, 0] + rng.standard_t(2, n))
