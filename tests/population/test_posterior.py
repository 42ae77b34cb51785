"""What analysts meet: table, words, plain data, and refusals that say what to plan instead."""

import json
from dataclasses import replace

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.population import Population, overview
from gibbsafe.population.posterior import against, decided

M = gs.models


def made(*shares):
    rng = np.random.default_rng(0)
    names = tuple(f"p{k}" for k in range(len(shares)))
    return Population(names, rng.normal(1.0, 1.0, (2000, len(shares))), np.array(shares), ("records are independent",))


def test_words_say_who_decided():
    assert made(1.0, 0.95).words() == ()
    assert made(0.1, 0.95, 0.7).words() == ("the data say little about p0", "data and prior both speak of p2")
    assert "the data say little about p0" in made(0.1).interval(0.9).assumptions


def test_words_say_that_the_prior_expected_something_else():
    far = replace(made(1.0, 1.0), against_prior=against(np.array([[7.0, 7.0]] * 96 + [[7.0, 1.0]] * 4 + [[7.0, 1.0]] * 2), 1.0))
    assert far.words() == ("the prior expected smaller values, and the data are followed, for p0",)
    assert far.to_dict()["against_prior"] == ["p0"]


def test_summary_has_mean_sd_interval_chance_and_share():
    text = made(0.1, 1.0).summary(0.8)
    for words in (
        "mean",
        "sd",
        "80 % interval",
        "P(> 0)",
        "decided by data",
        "10%",
        "100%",
        "the data say little about p0",
        "free",
    ):
        assert words in text
    assert str(made(1.0)) == made(1.0).summary()


def test_numbers_are_those_of_the_draws():
    found = made(1.0, 1.0)
    assert found.sd == pytest.approx(found.draws.std(axis=0, ddof=1))
    assert found.interval(0.5).lower == pytest.approx(np.quantile(found.draws, 0.25, axis=0))
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["mean"] == found.mean.tolist()
    with pytest.raises(gs.ParameterError, match="level"):
        found.interval(1.0)


def test_an_interval_holds_the_mean_even_of_skewed_draws():
    skewed = Population(("a",), np.concatenate([np.zeros(999), [1e6]])[:, None], np.ones(1), ())
    assert skewed.interval(0.9).covers(skewed.mean).all()


def test_decided_compares_widths():
    rng = np.random.default_rng(1)
    narrow, wide = rng.normal(0, 1, (4000, 1)), rng.normal(0, 10, (4000, 1))
    assert decided(narrow, wide)[0] == pytest.approx(0.99, abs=0.002)
    assert decided(wide, narrow)[0] == 0.0
    assert decided(narrow, narrow)[0] == 0.0


def drawn(model, data, draws=1, **options):
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=len(data[0]), adjacency="replace-one", draws=draws, **options)
    return plan.release(data, generator=np.random.default_rng(0), progress=False)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    X = rng.uniform(-0.5, 0.5, (300, 2))
    return X, (X[:, 0] > 0).astype(int)


def test_releases_that_cannot_tell_say_what_to_plan(table):
    model = M.LogisticRegression(dimension=2)
    few = drawn(model, table, 2)
    for ask in (
        few.population,
        few.interval,
        lambda: few.answer(gs.queries.mean(), of="population"),
        lambda: overview(few, of="population"),
    ):
        with pytest.raises(gs.PremiseError, match=r"show no curvature; plan an estimate, or at least 6") as refusal:
            ask()
        assert "\n" not in str(refusal.value)
    family = gs.plan(M.BetaBernoulli(trim=(0.2, 0.8)), gs.Budget(1.0), n=None, adjacency="add-remove").release(np.arange(30) % 2)
    with pytest.raises(gs.PremiseError, match=r"ask interval\(\)"):
        family.population()
    assert family.interval(0.9).lower[0] >= 0.2


def test_an_overview_of_every_kind_of_release(table):
    model = M.LogisticRegression(dimension=2)
    estimate, many, few = drawn(model, table, purpose="estimate"), drawn(model, table, 40), drawn(model, table, 2)
    for release in (estimate, many):
        found = overview(release, 0.8)
        assert found.of == "population"
        assert found.intervals.covers(found.mean).all()
        assert found.sd.shape == found.positive.shape == found.decided_by_data.shape == (3,)
    shown = overview(few)
    assert (shown.of, shown.intervals, shown.sd, shown.positive) == ("draws", None, None, None)
    assert "plan an estimate" in shown.notes[0]
    raw = overview(many, 0.8, "draws")
    assert raw.intervals.lower == pytest.approx(np.quantile(many.draws, 0.1, axis=0))
    assert raw.sd == pytest.approx(many.draws.std(axis=0, ddof=1))
    assert overview(estimate, of="draws").mean == pytest.approx(estimate.draws[0])
    json.dumps([each.to_dict() for each in (shown, raw)])
    with pytest.raises(gs.ParameterError, match="of = 'both'"):
        overview(many, of="both")


def test_families_keep_their_own_intervals():
    plan = gs.plan(M.BetaBernoulli(trim=(0.2, 0.8)), gs.Budget(1.0), n=None, adjacency="add-remove", draws=20)
    release = plan.release(np.arange(300) % 3 > 0, generator=np.random.default_rng(0))
    found = overview(release)
    assert found.of == "population"
    assert found.intervals.covers(found.mean).all()
    assert found.sd is None
