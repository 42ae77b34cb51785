"""What certificates print about loss differences is true: the printed numbers are read back and attacked."""

from dataclasses import replace

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe._numerics import at_most
from gibbsafe.audit import refute
from gibbsafe.audit.premises import printed_norm, printed_range
from gibbsafe.theorems import get

QUANTILE = gs.models.SoftQuantileRegression(dimension=2, quantile=0.9)


def statements(model, precisions):
    constants = model.constants(np.array(precisions), adjacency=gs.privacy.Adjacency.REPLACE_ONE, n=10, rows_per_person=1)
    return [premise.statement for premise in get("gaussian-dp").premises(constants, gs.privacy.Adjacency.REPLACE_ONE)]


def test_the_quantile_certificate_states_the_norm_that_was_proved():
    """The intercept block alone reaches 0.7071 (slopes τ and τ − 1 of two rows); "0 for the intercept's block" was false."""
    sentence = statements(QUANTILE, [1.0, 1.0, 1.0])[1]
    assert "per block" not in sentence
    limit, weights = printed_norm(sentence)
    assert weights == []
    assert limit >= QUANTILE.row_scale  # of the intercept's block
    assert limit >= 2 * 0.9 * QUANTILE.row_scale


@pytest.mark.parametrize("last", [0.1, 10.0])
def test_unequal_precisions_are_printed_with_the_norm(last):
    limit, weights = printed_norm(statements(QUANTILE, [1.0, 1.0, last])[1])
    assert weights == [1.0, last]
    opposite = QUANTILE.row_scale * np.sqrt(1 + 1 / last)
    assert limit >= max(1.8 * QUANTILE.row_scale, opposite)


@pytest.mark.parametrize(
    "model",
    [
        QUANTILE,
        gs.models.LogisticRegression(dimension=2),
        gs.models.LogisticRegression(dimension=1, intercept=False),
        gs.models.PseudoHuberRegression(dimension=1),
        gs.models.BetaBernoulli(trim=(0.2, 0.7)),
    ],
)
def test_printed_numbers_survive_the_search(model):
    outcome = refute(model)
    assert not outcome.refuted, str(outcome)


class Understated(gs.models.SoftQuantileRegression):
    """A model whose declared blocks hide the intercept: only the printed norm tells."""

    name = "understated"

    def constants(self, prior_precision, **context):
        constants = super().constants(prior_precision, **context)
        first = constants.difference_lipschitz[0] * 0.7
        return replace(constants, difference_lipschitz=(first, 0.0))


def test_a_false_printed_number_is_found():
    outcome = refute(Understated(dimension=2, quantile=0.9))
    assert outcome.refuted


def test_sentences_round_up():
    for value in (1.2727922, 0.1, 1e-12, 123456.78, 9.999999999, 2.0**-40):
        assert value <= float(at_most(value)) <= value * (1 + 2e-5)
    assert printed_range("the loss difference of neighbours varies by at most 1.5e-05 over the parameters") == 1.5e-5
