"""The true parameter from a released trajectory: where it is, how surely, and what stands in the way."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.posteriors.clipped import clip_gradients
from gibbsafe.posteriors.coordinates import Coordinates, InCoordinates

from ...own_gaussian import gaussian

BUDGET = gs.Budget(3.0, 1e-6)
N, TRUTH = 3000, np.array([1.0, -2.0])


def simulated(parameters, columns, generator):
    return {"x": generator.normal(parameters["mean"], 1.0, columns["x"].shape)}


def released(seed=1, **options):
    model = gaussian(**({"clip": 2.5, "steps": 24, "simulator": simulated} | options))
    plan = gs.plan(model, BUDGET, n=N, adjacency="replace-one")
    data = (np.random.default_rng(seed).normal(TRUTH, 1.0, (N, 2)),)
    return plan.release(data, generator=np.random.default_rng(seed), progress=False)


def test_the_truth_is_where_the_population_says():
    """Means are off by about a deviation, which is that of records and noise together, whatever the clip shortened."""
    found = [released(seed).population(draws=400) for seed in range(6)]
    off = np.array([(each.mean - TRUTH) / each.sd for each in found])
    assert 0.6 < np.sqrt(np.square(off).mean()) < 1.5
    assert np.median([each.sd for each in found]) < 2.5 * N**-0.5
    assert found[0].decided_by_data.min() > 0.9


def test_a_tight_clip_is_no_bias():
    """Half of all gradients are shortened, and the records are skewed: their clipped mean is another one."""

    def skewed(parameters, columns, generator):
        return {"x": parameters["mean"] + generator.exponential(1.0, columns["x"].shape) - 1}

    model = gaussian(clip=0.7, steps=40, simulator=skewed)
    plan = gs.plan(model, gs.Budget(8.0, 1e-6), n=N, adjacency="replace-one")
    rng = np.random.default_rng(0)
    made = plan.release((TRUTH + rng.exponential(1.0, (N, 2)) - 1,), generator=rng, progress=False)
    truth = made.population()
    assert np.abs(made.draws.mean(axis=0) - TRUTH).max() > 0.15
    assert np.abs(truth.mean - TRUTH).max() < 0.1


def test_intervals_summaries_and_questions_are_of_the_population():
    made = released()
    assert made.tells_population
    found = made.interval(0.9)
    assert ((found.lower < TRUTH + 0.1) & (found.upper > TRUTH - 0.1)).all()
    assert "assumes: records are independent" in made.summary()
    np.testing.assert_allclose(made.answer(gs.queries.mean()).value, made.population().mean)


def test_a_file_needs_the_models_code(tmp_path):
    made = released(steps=8)
    made.save(tmp_path / "r.json")
    loaded = gs.Release.load(tmp_path / "r.json")
    assert not loaded.tells_population
    with pytest.raises(gs.PremiseError, match="not its code"):
        loaded.interval()
    again = loaded.with_model(gaussian(clip=1.0, simulator=simulated))
    assert np.array_equal(again.population().draws, made.population().draws)
    for other in (gaussian(prior=3.0, simulator=simulated), gaussian(3, simulator=simulated)):
        with pytest.raises(gs.GibbsafeError, match=r"model|coordinates"):
            loaded.with_model(other)


@pytest.mark.parametrize(("options", "told"), [({"simulator": None}, "cannot simulate"), ({}, "number of records")])
def test_what_a_population_needs_is_said(options, told):
    model = gaussian(**({"steps": 4, "simulator": simulated} | options))
    plan = gs.plan(model, BUDGET, n=N if options else None, adjacency="add-remove")
    made = plan.release((np.zeros((5, 2)),), progress=False)
    with pytest.raises(gs.PremiseError, match=told):
        made.population()
    assert "draws" in made.summary()


# -- coordinates ------------------------------------------------------------------------------------------------------------


def uneven(parameters, records):
    """Gradients of very different lengths, and correlated."""
    off = records["x"] - parameters["mean"]
    return {"mean": np.stack([100 * off[..., 0] + 30 * off[..., 1], off[..., 1]], axis=-1)}


def test_coordinates_are_even_and_keep_lengths():
    information = np.array([[9e3, 90.0], [90.0, 1.0]])
    made = Coordinates.evening((0.0, 0.0), information, np.full(2, 1e-9))
    turned = made.matrix.T @ information @ made.matrix
    np.testing.assert_allclose(turned, np.trace(information) / 2 * np.eye(2), rtol=0.02, atol=0.02 * turned.max())
    assert Coordinates.from_dict(made.to_dict(), (0.0, 0.0)) == made


def test_no_bit_of_a_turned_gradient_depends_on_other_records():
    model, rng = gaussian(gradient=uneven), np.random.default_rng(0)
    assert not model.coordinates.are_own
    rows = rng.normal(0, 5, (4097, 2))
    rows[7] = 1e308
    code = InCoordinates(model.code, model.coordinates, model.clip)
    whole = code(rows, np.zeros((3, 2)))
    assert np.array_equal(whole[:, ::-1], code(rows[::-1], np.zeros((3, 2))))
    assert np.array_equal(whole[:, 5:8], np.concatenate([code(rows[k : k + 1], np.zeros((3, 2))) for k in (5, 6, 7)], axis=1))
    assert (np.linalg.norm(clip_gradients(whole, model.clip), axis=-1) <= model.clip).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"scales": [1.0], "turn": None},
        {"scales": [1.0, -1.0], "turn": None},
        {"scales": [1.0, 1.0], "turn": [[1.0, 0.1], [0.1, 1.0]]},
        {"scales": [1.0, 1.0], "turn": [[1000.0, 0.0], [0.0, 1.0]]},
        {"scales": [1.0, 1.0], "turn": [[1.0, 0.0]]},
    ],
)
def test_coordinates_that_could_not_be_exact_are_refused(wrong):
    with pytest.raises(gs.GibbsafeError):
        gaussian(coordinates=wrong)


def test_coordinates_may_be_ones_own():
    assert gaussian(coordinates="own", gradient=uneven).coordinates.are_own
    with pytest.raises(gs.GibbsafeError, match="coordinates"):
        gaussian(coordinates="polar")
