"""Units: what the user sees is the user's, whatever happens inside."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.models import GaussianPrior, model_from_dict

LogisticRegression = gs.models.LogisticRegression
MODELS = [
    LogisticRegression(dimension=3, radius=2.0),
    LogisticRegression(dimension=3, radius=0.1, intercept=False, labels=("a", "b")),
    LogisticRegression(dimension=3, bounds=[(10, 20), (-1, 1), (0, 1000)], row_norm=1.1, feature_names=("u", "v", "w")),
    LogisticRegression(dimension=3, bounds=[(10, 20), (-1, 1), (0, 1000)], intercept=False),
]


@pytest.mark.parametrize("model", MODELS)
@given(seed=st.integers(0, 1000))
def test_predictor_is_the_same_in_both_units(model, seed):
    rng = np.random.default_rng(seed)
    if model.bounds is None:
        features = rng.uniform(-1, 1, (5, 3)) * model.radius / 2
    else:
        low, high = np.array(model.bounds).T
        features = low + (high - low) * rng.uniform(0.3, 0.7, (5, 3))  # inside: nothing is clipped
    scaled = rng.normal(size=(2, model.parameters))
    original = model.to_original(scaled)
    by_scaled = model.encode_features(features) @ scaled.T
    constant = original[:, -1] if model.intercept else 0.0
    by_original = features @ original[:, :3].T + constant
    if not model.intercept and model.bounds is not None:  # without an intercept the origin of the encoding stays
        by_original = (features - np.array(model.bounds).mean(axis=1)) @ original.T
    np.testing.assert_allclose(by_scaled, by_original, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.from_original(original), scaled, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_declaration_round_trips(model):
    assert model_from_dict(model.to_dict()) == model


def test_price_in_original_units_is_the_anisotropic_formula():
    """mu = 2 beta sqrt(r²/m_a + 1/m_b) for precisions m_a, m_b in the user's units (erratum E3)."""
    model = LogisticRegression(dimension=4, radius=2.5)
    for prior in (GaussianPrior(3.0), GaussianPrior((1.0, 2.0, 3.0, 4.0, 0.5))):
        plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=100, adjacency="replace-one", prior=prior, sampler="shell")
        m = prior.precisions(5)
        expected = 2 * plan.inverse_temperature * math.sqrt(2.5**2 / m[:4].min() + 1 / m[4])
        assert plan.guarantee.mu == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(plan.prior_precision, m if prior.precision != 3.0 else 3.0, rtol=1e-9)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dimension": 0}, "dimension = 0"),
        ({"dimension": 2.5}, "dimension"),
        ({"radius": math.nan}, "radius = nan"),
        ({"radius": -1.0}, "radius"),
        ({"bounds": [(0, 1)] * 3, "radius": 1.0}, "left out when bounds"),
        ({"bounds": [(0, 1)]}, "one per feature"),
        ({"bounds": [(0, 1), (0, math.inf), (0, 1)]}, "finite"),
        ({"row_norm": 1.0}, "left out without bounds"),
        ({"labels": (1, 1)}, "two different"),
        ({"labels": (0, 1, 2)}, "a pair"),
        ({"intercept": "yes"}, "True or False"),
        ({"feature_names": ("a", "a", "b")}, "3 different names"),
    ],
)
def test_bad_declarations(fields, words):
    with pytest.raises(gs.ParameterError, match=words):
        LogisticRegression(**{"dimension": 3} | fields)
