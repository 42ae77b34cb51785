"""Transcripts of every kind that a mechanism may meet, without records: ordinary, pure noise, zeros, one-sided, huge."""

import numpy as np

import gibbsafe as gs
from gibbsafe.domains.column import Column
from gibbsafe.samplers.noisy_scores import Answers, start, within_reach
from gibbsafe.samplers.pseudo_rows import symmetric
from gibbsafe.samplers.transcript_fit import fitted

M = gs.models
KINDS = ("ordinary", "noise", "zeros", "one-sided", "huge")


def _columns(*levels, numbers=1):
    categories = [Column(f"c{k}", kind="category", levels=tuple("abcdef"[:count])) for k, count in enumerate(levels)]
    return tuple(categories + [Column(f"n{k}", bounds=(0.0, 5.0)) for k in range(numbers)])


def models():
    """Every law, one parameter to six, with and without intercept, categories, constant and clipped columns."""
    mixed, levels = _columns(4), _columns(3, 2, numbers=0)
    for kind in (M.LogisticRegression, M.SoftHinge, M.PseudoHuberRegression, M.SoftQuantileRegression, M.QuantileRegression):
        for intercept in (True, False):
            yield kind(dimension=1, intercept=intercept)
            yield kind(dimension=3, bounds=((0.0, 1e6), (-1e-6, 1e-6), (-5.0, 5.0)), row_norm=0.3, intercept=intercept)
            yield kind(dimension=5, columns=mixed, intercept=intercept)
            yield kind(dimension=5, columns=levels, row_norm=0.5, intercept=intercept)
    yield M.CountRegression(dimension=2, cap=20)
    yield M.BernoulliLogit()
    yield M.MultinomialRegression(dimension=2, classes=3)
    yield M.OrdinalRegression(dimension=3, bounds=((0.0, 1e6), (-1e-6, 1e-6), (-5.0, 5.0)), row_norm=0.3, levels=4)
    yield M.MultinomialRegression(dimension=5, columns=mixed, intercept=False, classes=4)


def plan_of(model, rng):
    """A plan of random size, budget, adjacency and share."""
    adding = rng.random() < 0.5
    rows = None if adding and rng.random() < 0.5 else int(rng.choice([1, 2, 30, 3000, 10**5]))
    budget = gs.Budget(float(rng.choice([1e-3, 0.3, 3, 100])), 1e-6)
    kept = rng.choice([0.0, 0.05, 0.5, 0.9])
    adjacency = "add-remove" if adding else "replace-one"
    return gs.plan(model, budget, n=rows, adjacency=adjacency, purpose="estimate", uncertainty=float(kept))


def transcript(plan, kind, rng):
    """Return the answers and their path, the last score asked at the fit of the others."""
    public, size = plan.public_of_scores(), plan.model.parameters
    rule, bound, scale = public.rule, public.loss.lipschitz, public.beta**-0.5
    whole, truth = rule.rows * bound, rng.standard_normal(size)
    moment = None
    if rule.moment > 0:
        width = public.shape.parameters
        middle = {"zeros": 0.0, "noise": 0.0, "huge": 1e6}.get(kind, 1 / width) * whole
        moment = middle * (np.ones((width, width)) if kind == "one-sided" else np.eye(width))
        moment += 0 if kind == "zeros" else public.moment_scale * symmetric(rng, width)

    def answer(point, share):
        noise = scale / share**0.5 * rng.standard_normal(size)
        sums = {"zeros": 0 * noise, "noise": 5 * noise, "one-sided": np.full(size, -whole), "huge": np.full(size, 1e9 * whole)}
        return sums.get(kind, whole / size * np.tanh(point - truth) + noise)

    path = start(rule, size, public.loss, moment, public.moment_scale)
    while (asked := path.ask()) is not None:
        path.answer(answer(*asked))
    facts = None
    if rule.facts > 0:
        odd = {"zeros": np.zeros(3), "huge": np.array([1e12, -1e12, 1e3]) * whole}
        facts = odd.get(kind, whole * rng.random(3) + public.facts_scale * rng.standard_normal(3))
    answers = Answers(np.array(path.scores), moment, facts)
    if rule.point > 0:
        pilot = within_reach(fitted(public, answers, path))
        answers = Answers(answers.scores, moment, facts, answer(pilot, rule.point), pilot)
    return answers, path
