"""Plans of the examples, hostile neighbours, and the exact posteriors of plans by quadrature."""

import math

import numpy as np

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.posteriors.normal import NormalPosterior
from gibbsafe.samplers import SAMPLERS

from ..examples import GIBBS, REPLACE, SMALL, assemble

#: Losses with one parameter, and with two: "name, what is special" → model. Quadrature covers what has no parameter ball.
_FEW = {f"{name}, {what}": model for (name, what), model in SMALL.items() if name in GIBBS and model.ball is None}
ONE_PARAMETER = {name: model for name, model in _FEW.items() if model.parameters == 1}
TWO_PARAMETERS = {name: model for name, model in (GIBBS | _FEW).items() if model.parameters == 2}


def features_of(model, data):
    """Return the features of records, or the records themselves."""
    return data[0] if isinstance(model, LinearModel) else data


def neighbours(model, adjacency, seed=11):
    """Yield hostile pairs of data sets: records at the clip with extreme responses, beside random or extreme others."""
    rng = np.random.default_rng(seed)
    corner = np.full(getattr(model, "dimension", 1), 10.0)
    for n in (1, 20):
        for rest in ("random", "extreme"):
            X = rng.uniform(-1, 1, (n, len(corner))) if rest == "random" else np.tile(corner, (n, 1))
            y = rng.normal(size=n) if rest == "random" else np.full(n, 1e6)
            for start, z, far in ((1e6, corner, -1e6), (1e6, -corner, -1e6), (1e6, -corner, 1e6), (-1e6, -corner, -1e6)):
                first, second = (X.copy(), y.copy()), (X.copy(), y.copy())
                first[0][0], first[1][0], second[0][0], second[1][0] = corner, start, z, far
                if adjacency == "add-remove":
                    second = (np.vstack([X, z]), np.append(y, far))
                    first = (X, y)
                yield assemble(model, *first), assemble(model, *second)


def planned(model, adjacency=REPLACE, n=40, budget=None, **options):
    return gs.plan(model, budget or gs.Budget(1.0, 1e-6), n=n, adjacency=adjacency, **options)


def planned_exactly(model, *arguments, **options):
    """A plan whose draws come from the posterior itself, by the shell sampler where `auto` might take rounds."""
    sampler = "shell" if "shell" in model.samplers and model.parameters > 1 else "auto"
    return planned(model, *arguments, sampler=sampler, **options)


def posterior_of(plan, data):
    """Return the posterior of a plan's only stage on data."""
    (stage,) = plan.stages
    return plan.model.posterior(
        plan.model.encode(data, EncodingOptions()), stage, np.array(stage.prior_centre or (), dtype=float)
    )


def potential(posterior, points):
    if isinstance(posterior, NormalPosterior):
        return 0.5 * np.square(points - posterior.mean) @ posterior.precision
    return np.concatenate([posterior.values(part) for part in np.array_split(points, max(1, len(points) // 4000))])


def density_on(axes, posterior):
    """Return the normalised density on a tensor grid, as cell masses."""
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    values = potential(posterior, points)
    weights = np.exp(values.min() - values)
    return weights / weights.sum()


def axes_for(plan, posteriors, points):
    """Return axes that hold all mass of the posteriors: nine of the prior's standard deviations, or of normal posteriors' own."""
    if isinstance(posteriors[0], NormalPosterior):
        reach = 9 / np.sqrt(posteriors[0].precision)
        ends = zip(
            np.minimum(*(p.mean for p in posteriors)) - reach, np.maximum(*(p.mean for p in posteriors)) + reach, strict=True
        )
    else:
        ends = [(-9 / math.sqrt(m), 9 / math.sqrt(m)) for m in plan.stages[0].prior_precision]
    return [np.linspace(low, up, points) for low, up in ends]


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def draw(plan, data, draws, seed):
    """Return scaled draws by the plan's sampler, before rounding."""
    sampler, rng = SAMPLERS[plan.sampler], np.random.default_rng(seed)
    return sampler.function(posterior_of(plan, data), draws, rng, None, **sampler.options(plan.stages[0]))[0]
