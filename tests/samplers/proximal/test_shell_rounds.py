"""Rounds drawn by the shell sampler, and exact draws in place of rounds: the same laws, by Kolmogorov–Smirnov at 1e-4 each."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

from gibbsafe.data import Blocks
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.samplers import GibbsPosterior
from gibbsafe.samplers.proximal import sample as proximal
from gibbsafe.samplers.proximal import shell_rounds as proximal_shell
from gibbsafe.samplers.proximal.rounds import Geometry

from ..test_exactness import CRITICAL, ks, posterior_of
from .test_sample import line_cdf

CASES = [(LogisticLoss(), 300, 3.0, 0.5), (SoftHingeLoss(0.5), 100, 2.0, 1.0), (PseudoHuberLoss(1.0), 200, 1.0, 0.2)]


@pytest.mark.parametrize(("loss", "n", "beta", "precision"), CASES, ids=str)
def test_long_steps_are_drawn_by_the_shell_sampler_from_the_same_law(loss, n, beta, precision, monkeypatch):
    """Two rounds of a step of 0.3 prior variances, tangents and shells: samples of 60 and 600 from one law."""
    posterior = posterior_of(loss, n, 2, beta, precision, 5)
    draws = {}
    for name, long in (("shell", True), ("tangent", False)):
        monkeypatch.setattr(proximal, "is_long", lambda *arguments, answer=long: answer)
        generator = np.random.default_rng(6)
        draws[name], seen = proximal.sample(posterior, 60 if long else 600, generator, None, step=0.3, steps=2)
        assert (seen.certificates[1] == "shell") == long
    for axis in range(2):
        assert ks_2samp(draws["shell"][:, axis], draws["tangent"][:, axis]).pvalue > 1e-4
    assert ks_2samp(posterior.values(draws["shell"]), posterior.values(draws["tangent"])).pvalue > 1e-4


def test_what_is_long_depends_on_step_and_curvature():
    posterior = posterior_of(LogisticLoss(), 2000, 3, 5.0, 0.5, 7)
    geometry = Geometry.of(posterior)
    assert not proximal_shell.is_long(posterior, geometry, 1e-4)
    assert proximal_shell.is_long(posterior, geometry, 10.0)
    rows = np.random.default_rng(1).uniform(-0.5, 0.5, (2000, 3))
    squared = GibbsPosterior(Blocks(rows, rows[:, 0]), SquaredLoss(3.0), 5.0, 0.5, 0.0, 1.0)
    assert not proximal_shell.is_long(squared, Geometry.of(squared), 10.0)  # a ball: the shell sampler does not know it


def test_exact_draws_take_the_place_of_rounds_where_they_are_quick():
    posterior = posterior_of(LogisticLoss(), 400, 1, 1.0, 1.0, 8)
    grid, cumulative = line_cdf(posterior)
    draws, seen = proximal.sample(posterior, 3000, np.random.default_rng(9), None, slack=1e-9)
    assert "proximal" not in seen.certificates
    assert ks(draws[:, 0], grid, cumulative) < CRITICAL


def test_rounds_take_over_where_exact_draws_would_not_come():
    """One category with 40 levels: the shell sampler would need hours, rounds from the mode come in seconds."""
    generator = np.random.default_rng(10)
    levels = generator.integers(40, size=3000)
    rows = np.column_stack([np.eye(40)[levels], np.ones(3000)]) / math.sqrt(2)
    signs = np.where(generator.random(3000) < np.linspace(0, 1, 40)[levels], 1.0, -1.0)
    posterior = GibbsPosterior(Blocks(rows * signs[:, None]), LogisticLoss(), 0.5, 0.25, 0.0)
    draws, seen = proximal.sample(posterior, 1, generator, None, slack=1e-6)
    assert seen.certificates[0] == "proximal"
    assert np.isfinite(draws).all()
