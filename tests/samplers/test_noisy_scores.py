"""Noisy scores of records: the sums themselves by plain Python, the law of the noise, and nothing that depends on order."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

import gibbsafe as gs
from gibbsafe.data.blocks import Blocks
from gibbsafe.data.compression import merge_identical
from gibbsafe.data.options import EncodingOptions
from gibbsafe.losses.calibrated import CalibratedScore
from gibbsafe.posteriors.stage import ScoreRule, Stage
from gibbsafe.samplers.noisy_scores import Records, ask, replay
from gibbsafe.samplers.transcript_fit import Public
from gibbsafe.theorems.noisy_scores import facts_unit

M = gs.models
N = 300
OWN = ScoreRule(None, N, 1.0, 0.25, 4, 0.1, 0.05, 0.15, False)
CALIBRATED = replace(OWN, clip=0.7)
KINKED = replace(OWN, kernel=0.5)
MODELS = {
    "logistic": (M.LogisticRegression(dimension=3), OWN),
    "calibrated": (M.LogisticRegression(dimension=3), CALIBRATED),
    "pseudo-Huber": (M.PseudoHuberRegression(dimension=3, width=0.5), OWN),
    "quantile": (M.QuantileRegression(dimension=3, quantile=0.3), KINKED),
    "soft hinge": (M.SoftHinge(dimension=3, width=0.4), OWN),
}


def blocks_of(name, seed=0):
    """Coarse records, so that some are the same, encoded by the model."""
    model, _ = MODELS[name]
    rng = np.random.default_rng(seed)
    features = rng.integers(-1, 2, (N, 3)) / 2
    response = rng.integers(0, 2, N) if model.loss.margin else rng.integers(-1, 1, N) / 2
    return model.encode((features, response), EncodingOptions("error", "float64"))


def public_of(name, beta=0.04):
    """What a fit may know, with a moment's noise of 0.7 times a score's."""
    model, rule = MODELS[name]
    return Public(rule, beta, model.loss, model.row_shape, 0.7, model.parameter_scale)


def one_by_one(name, blocks, point):
    """The score, the second moment, and how large and steep slopes are, record by record."""
    model, rule = MODELS[name]
    loss, score, moment, facts = model.loss, np.zeros(4), np.zeros((4, 4)), np.zeros(3)
    for k, row in enumerate(blocks.rows):
        u, target = np.array([math.fsum(row * point)]), None if blocks.targets is None else blocks.targets[k : k + 1]
        weight = 1.0
        if rule.clip is None:
            relative = loss.slope(u, target)[0] / loss.lipschitz
            steep = max(0, 1 - abs(target[0] - u[0]) / 0.5) if rule.kernel else loss.curvature(u, target)[0] / loss.smoothness
        else:
            calibrated = CalibratedScore(rule.clip)
            weight = math.fsum(row * row) ** (rule.clip - 1)
            relative, steep = calibrated.slope(u.copy())[0], calibrated.curvature(u)[0] / calibrated.smoothness
        score += loss.lipschitz * relative * weight * row
        moment += loss.lipschitz * np.outer(row, row)
        facts += np.array([relative**2, steep, 1.0])
    return score, moment, facts


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("merged", [False, True])
def test_sums_are_those_of_the_records(name, merged):
    model, rule = MODELS[name]
    blocks, point = blocks_of(name), np.array([0.7, -1.3, 0.2, 0.4])
    given = merge_identical(blocks) if merged else blocks
    assert not merged or given.weights is not None
    posterior = model.posterior(given, Stage(1.0, (1.0,) * 4, (0.0,) * 4, 1, scores=rule), np.zeros(4))
    records = Records(posterior.data, posterior.loss, rule)
    score, moment, facts = one_by_one(name, blocks, point)
    np.testing.assert_allclose(records.facts(point, 1.0), facts, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(records.score(point), score, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(records.moment(), moment, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_one_record_moves_a_score_by_at_most_twice_its_bound(name):
    """At far points, near ones and at kinks."""
    model, rule = MODELS[name]
    rng, bound = np.random.default_rng(3), model.loss.lipschitz
    blocks = blocks_of(name)
    for size in (0.0, 1.0, 30.0):
        point = size * rng.standard_normal(4)
        sums = [
            Records(
                Blocks(blocks.rows[k : k + 1], None if blocks.targets is None else blocks.targets[k : k + 1]), model.loss, rule
            )
            for k in range(0, N, 7)
        ]
        assert max(np.linalg.norm(each.score(point)) for each in sums) <= bound * (1 + 1e-12)
        assert max(np.linalg.norm(each.moment()) for each in sums) <= bound * (1 + 1e-12)
        counted = np.array([each.facts(point, facts_unit(bound, private_rows=True)) for each in sums])
        assert np.linalg.norm(counted, axis=1).max() <= bound
        assert counted.min() >= 0  # in the positive orthant: two of them are at most √2 times the bound apart
        counted = np.array([each.facts(point, facts_unit(bound, private_rows=False)) for each in sums])
        assert max(np.linalg.norm(counted - one, axis=1).max() for one in counted) <= bound * math.sqrt(2)


def test_a_kink_is_not_crossed_by_where_a_row_stands():
    """Responses exactly on the predictor: whatever rows stand before them, their slopes are the same."""
    rng, point = np.random.default_rng(4), np.array([0.1, 0.7, -0.3, 0.9])
    rows = rng.uniform(-0.5, 0.5, (4000, 4))
    model, rule = MODELS["quantile"]
    targets = (rows * point).sum(axis=1)
    whole = Records(Blocks(rows, targets), model.loss, rule).score(point)
    for shift in (1, 3, 5):
        order = np.roll(np.arange(4000), shift)
        moved = Records(Blocks(rows[order], targets[order]), model.loss, rule).score(point)
        np.testing.assert_allclose(moved, whole, atol=1e-9)


def test_noise_has_the_stated_law():
    """Answers minus their sums, divided by their scales: standard normal (Kolmogorov–Smirnov, false alarm 1e-4)."""
    model, rule = MODELS["calibrated"]
    blocks, beta, ratio = blocks_of("calibrated"), 0.04, 0.7
    stage, public = Stage(beta, (1.0,) * 4, (0.0,) * 4, 1, scores=rule), public_of("calibrated")
    posterior = model.posterior(blocks, stage, np.zeros(4))
    records, generator = Records(posterior.data, posterior.loss, rule), np.random.default_rng(5)
    scores, lasts, diagonal, beside, facts = [], [], [], [], []
    for _ in range(100):
        answers, _ = ask(posterior, stage, public, generator)
        path = replay(rule, model.loss, answers, public.moment_scale)
        for point, share, answer in zip(path.points, path.shares, answers.scores, strict=True):
            scores.append((answer - records.score(point)) * math.sqrt(beta * share))
        lasts.append((answers.last - records.score(answers.asked)) * math.sqrt(beta * rule.point))
        noise = (answers.moment - records.moment()) * math.sqrt(beta * rule.moment) / ratio
        assert np.array_equal(answers.moment, answers.moment.T)
        diagonal.append(np.diag(noise))
        beside.append(noise[np.triu_indices(4, 1)] * math.sqrt(2))
        facts.append((answers.facts - records.facts(path.point, public.facts_unit)) * math.sqrt(beta * rule.facts) / ratio)
    for found in (scores, lasts, diagonal, beside, facts):
        assert kstest(np.concatenate(found), "norm").pvalue > 1e-4


def test_answers_lie_on_a_grid_far_below_their_noise():
    model, rule = MODELS["logistic"]
    stage = Stage(0.04, (1.0,) * 4, (0.0,) * 4, 1, scores=rule)
    posterior, public = model.posterior(blocks_of("logistic"), stage, np.zeros(4)), public_of("logistic")
    answers, _ = ask(posterior, stage, public, np.random.default_rng(6))
    path = replay(rule, model.loss, answers, public.moment_scale)
    scale = 1 / math.sqrt(0.04 * path.shares[0])
    grid = 2.0 ** (math.floor(math.log2(scale)) - 30)
    assert np.array_equal(np.round(answers.scores[0] / grid) * grid, answers.scores[0])
