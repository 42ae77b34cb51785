"""Names and declarations of contaminated models."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.contamination.epsilon.repeats import epsilon_of
from gibbsafe.contamination.epsilon.suprema import setting
from gibbsafe.contamination.model.declare import model_from_table
from gibbsafe.contamination.model.models import ContaminatedModel

C = gs.contamination
NAMES = ("NormalMean", "LinearRegression", "LogisticRegression", "CauchyRegression", "QuantileRegression")


@pytest.mark.parametrize("name", NAMES)
def test_names_are_their_own_and_the_old_ones_still_work(name):
    cls = getattr(C, f"Contaminated{name}")
    assert getattr(C, name) is cls
    assert cls.__name__ == f"Contaminated{name}"
    assert getattr(gs.models, name, None) is not cls
    made, _ = model_from_table({"model": name})  # as study files name it
    assert type(made) is cls
    assert made.describe().startswith(f"{name}, ")


@pytest.mark.parametrize("name", NAMES)
def test_contamination_none_is_the_clean_model(name):
    cls = getattr(C, f"Contaminated{name}")
    clean, usual = cls(contamination=None), cls()
    assert clean.contamination is None
    assert clean.p(1000) == 0.0
    assert usual.contamination is not None
    assert usual.p(1000) == pytest.approx(1000**-0.125)
    rng = np.random.default_rng(0)
    x, w = clean.simulate(50, np.full(clean.parameters, 0.3), rng)
    records = clean.contaminate((x, w), rng)
    assert np.array_equal(records.x, x)
    with pytest.raises(gs.GibbsafeError, match="rate"):
        cls(contamination=None, rate=0.1)


def test_a_model_that_is_neither_a_mean_nor_a_regression_is_refused():
    class Other(ContaminatedModel):
        name = "Other"

    rng = np.random.default_rng(0)
    other = Other(contamination=None)
    records = other.records(rng.normal(size=20), np.ones((20, 1)))
    with pytest.raises(gs.PremiseError, match="Other: neither a mean nor a regression"):
        epsilon_of(other, records, 1e-3)
    with pytest.raises(gs.PremiseError, match="Other: neither a mean nor a regression"):
        setting(other, 0.1, np.zeros(1), None)
