"""Noisy scores that are wrong on purpose, one constant at a time; each is caught by runs of it.

A bug changes what runs, never what is claimed: the attack knows the plan, its claim and the transcripts.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

import gibbsafe as gs
from gibbsafe.audit.mechanisms import mechanism_of
from gibbsafe.audit.transcripts import concentrated, ratio_of
from gibbsafe.losses import kernels
from gibbsafe.losses.calibrated import CalibratedScore
from gibbsafe.planning.plans import Plan
from gibbsafe.samplers import noisy_scores, transcript_fit
from gibbsafe.samplers.score_path import ScorePath

#: Where an attack comes near the claim, and where so few runs can show more than it.
BUDGET, BETWEEN, LESS = gs.Budget(20.0, 1e-6), gs.Budget(14.0, 1e-6), gs.Budget(8.0, 1e-6)
#: A path of large steps, whose length follows from its answers.
ADAPTIVE = {"scores": 6, "rows": 1, "slope": 0.4}
MODEL = gs.models.PseudoHuberRegression(dimension=2, intercept=False, width=1.0)
N = 16


def records(row, response):
    """One record that is replaced; the others keep the path near 0."""
    return np.vstack([row, np.tile([1.0, 0.0], (N - 1, 1))]), np.array([response] + [0.0] * (N - 1))


#: A response from one end to the other moves every score by all that is claimed; a row turned by a right angle the second moment.
DATA, NEIGHBOUR, OTHER = records([1.0, 0.0], 1e9), records([1.0, 0.0], -1e9), records([0.0, 1.0], 1e9)
#: A response at the prediction makes the slope 0 and the steepness greatest.
NEAR = records([1.0, 0.0], 0.0)
#: Neighbours that move a part of the transcript by all that is claimed for it, one line each.
WORST = {
    "path": (DATA, NEIGHBOUR),
    "last": (DATA, NEIGHBOUR),
    "moment": (DATA, OTHER),
    "facts": (DATA, NEAR),
}


def plan_of(model=MODEL, budget=BUDGET, n=N, adjacency="replace-one", **options):
    return gs.plan(model, budget, n=n, adjacency=adjacency, purpose="estimate", mechanism="noisy-scores", **options)


def alone(plan, **rule):
    """Return the plan whose whole budget goes into its path, the rule altered within what it may be."""
    changed = replace(plan.scores, **{"moment": 0.0, "point": 0.0, **rule})
    return replace(plan, stages=(replace(plan.stages[0], scores=changed),))


def attack(plan, pair=(DATA, NEIGHBOUR), runs=600, part=None, confidence=0.99):
    """Return a lower confidence bound on μ from the transcripts' own log-likelihood ratio."""
    return gs.audit.estimate_lower_bound(
        mechanism_of(plan, np.random.default_rng(0)),
        *pair,
        draws=runs,
        delta=1e-6,
        confidence=confidence,
        score=ratio_of(plan, *pair, part),
        vectorised=True,
        progress=False,
    ).mu


# -- the bugs ----------------------------------------------------------------------------------------------------------


def factor_two_of_replace_one_forgotten(monkeypatch):
    """Noise for G = L where one replaced record moves a score by 2L."""
    honest = alone(plan_of(budget=LESS), scores=3)
    cold = replace(honest, stages=(replace(honest.stages[0], inverse_temperature=4 * honest.inverse_temperature),))
    return attack(cold, runs=200) > honest.guarantee.mu


def shares_of_the_path_add_up_to_more_than_one(monkeypatch):
    honest, started = alone(plan_of(budget=LESS), scores=3), ScorePath.__init__

    def generous(self, *arguments):
        started(self, *arguments)
        self._left = self._total = 3.0

    monkeypatch.setattr(ScorePath, "__init__", generous)
    return attack(honest, runs=300) > honest.guarantee.mu


def share_of_the_point_not_taken_from_the_path(monkeypatch):
    """Two parts of nearly the whole budget each."""
    honest, started = concentrated(plan_of(budget=BETWEEN), "last"), ScorePath.__init__

    def forgetful(self, rule, *arguments):
        started(self, rule, *arguments)
        self._left = self._total = 1 - rule.moment

    monkeypatch.setattr(ScorePath, "__init__", forgetful)
    return attack(honest, runs=600) > honest.guarantee.mu


def a_longer_path_at_the_old_shares(monkeypatch):
    """A path that grows while it is walked, and does not lower its shares for it."""
    honest, asked = alone(plan_of(budget=LESS), **{**ADAPTIVE, "slope": 0.8}), ScorePath.ask

    def ask(self):
        self._left = self._total
        return asked(self)

    monkeypatch.setattr(ScorePath, "ask", ask)
    return attack(honest, runs=220) > honest.guarantee.mu


def root_two_of_the_moment_forgotten(monkeypatch):
    """Noise of the second moment for one term, where a replacement changes two."""
    honest, ratio = concentrated(plan_of(budget=BETWEEN), "moment"), Plan.moment_ratio.fget
    monkeypatch.setattr(Plan, "moment_ratio", property(lambda self: ratio(self) / math.sqrt(2)))
    return attack(honest, WORST["moment"], runs=600) > honest.guarantee.mu


def noise_of_the_moment_halved_beside_the_diagonal(monkeypatch):
    """Rows turned in the plane: the difference of the second moments lies beside the diagonal alone."""
    honest, symmetric = concentrated(plan_of(budget=LESS), "moment"), noisy_scores.symmetric

    def halved(generator, parameters):
        noise = symmetric(generator, parameters)
        return noise * np.where(np.eye(parameters) > 0, 1.0, 0.4)

    monkeypatch.setattr(noisy_scores, "symmetric", halved)
    turned = [records(np.array([1.0, sign]) / math.sqrt(2), 1e9) for sign in (1.0, -1.0)]
    return attack(honest, turned, runs=400) > honest.guarantee.mu


def rows_counted_more_than_their_norm_allows(monkeypatch):
    """Weights of the calibrated loss that make up for more than the length of short rows."""
    model = gs.models.LogisticRegression(dimension=2, intercept=False)
    honest = alone(plan_of(model, LESS), scores=3, clip=0.5)
    monkeypatch.setattr(kernels, "_COMPILED", False)
    monkeypatch.setattr(CalibratedScore, "weights", lambda self, rows: np.linalg.norm(rows, axis=1) ** -2.0)
    short, labels = np.vstack([[0.4, 0.0], np.tile([1.0, 0.0], (N - 1, 1))]), np.r_[1, np.arange(N - 1) % 2]
    return attack(honest, ((short, labels), (short, np.r_[0, labels[1:]])), runs=300) > honest.guarantee.mu


def slopes_not_divided_by_their_bound(monkeypatch):
    """Slopes of the calibrated loss as large as 1/C, priced as if they were at most 1."""
    model = gs.models.LogisticRegression(dimension=2, intercept=False)
    honest, slope = alone(plan_of(model, LESS), scores=3, clip=0.5), CalibratedScore.slope
    monkeypatch.setattr(kernels, "_COMPILED", False)
    monkeypatch.setattr(CalibratedScore, "slope", lambda self, u: slope(self, u) / self.clip)
    rows, labels = np.tile([1.0, 0.0], (N, 1)), np.arange(N) % 2
    pair = ((rows, np.r_[1, labels[1:]]), (rows, np.r_[0, labels[1:]]))
    return attack(honest, pair, runs=300) > honest.guarantee.mu


@dataclass(frozen=True)
class Reused:
    """A generator that gives the same noise again."""

    noise: float = 0.3

    def standard_normal(self, size):
        return np.full(size, self.noise)


def noise_of_the_last_score_reused(monkeypatch):
    """The score at the point has the same noise in every release: two data sets never give the same answer."""
    honest, noisy = concentrated(plan_of(budget=LESS), "last"), noisy_scores._noisy
    share = honest.scores.point * honest.inverse_temperature

    def same(records, point, precision, generator):
        return noisy(records, point, precision, Reused() if precision == share else generator)

    monkeypatch.setattr(noisy_scores, "_noisy", same)
    return attack(honest, runs=200) > honest.guarantee.mu


def facts_of_private_rows_in_the_unit_of_public_ones(monkeypatch):
    """Under add-remove a record adds to all three facts."""
    honest = concentrated(plan_of(budget=BETWEEN, adjacency="add-remove"), "facts")
    monkeypatch.setattr(transcript_fit, "facts_unit", lambda lipschitz, private_rows: lipschitz)
    return attack(honest, (DATA, (DATA[0][1:], DATA[1][1:])), runs=1200) > honest.guarantee.mu


BROKEN = [
    facts_of_private_rows_in_the_unit_of_public_ones,
    factor_two_of_replace_one_forgotten,
    shares_of_the_path_add_up_to_more_than_one,
    share_of_the_point_not_taken_from_the_path,
    a_longer_path_at_the_old_shares,
    root_two_of_the_moment_forgotten,
    noise_of_the_moment_halved_beside_the_diagonal,
    rows_counted_more_than_their_norm_allows,
    slopes_not_divided_by_their_bound,
    noise_of_the_last_score_reused,
]
