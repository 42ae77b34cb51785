"""Grouped coefficients: a declared prior for the effects of a category, in plans, fits and posteriors of the truth."""

import numpy as np
import pyarrow as pa
import pytest

import gibbsafe as gs
from gibbsafe.domains import Column
from gibbsafe.population.chains import log_prior, prior_draws
from gibbsafe.study import Study

WARDS = tuple("abcdef")
COLUMNS = (Column("age", bounds=(0, 100)), Column("ward", kind="category", levels=WARDS))
BUDGET = gs.Budget(1.0, 1e-6)


def pooled(groups=(("ward", 16.0),), **more):
    return gs.models.LogisticRegression(dimension=7, columns=COLUMNS, groups=groups, **more)


def test_a_group_is_declared_in_the_users_units_and_written_with_the_model():
    model = pooled({"ward": 16})
    precisions = model.units.precision_to_original(model.own_precisions)
    assert precisions == pytest.approx([0, *[16] * 6, 0])
    assert gs.models.base.model_from_dict(model.to_dict()) == model == pooled()
    assert "groups" not in pooled(None).to_dict()
    assert pooled(None).own_precisions is None
    hash(model)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"street": 16}, "groups = 'street': must be a category among the declared columns (ward)"),
        ({"age": 16}, "groups = 'age': must be a category"),
        ({"ward": 0}, "groups, ward = 0: must be"),
        ({"ward": -1.0}, "groups, ward = -1.0: must be"),
        ({"ward": float("nan")}, "groups, ward = nan: must be"),
        ({}, "groups = {}: must be a table"),
        (16, "groups = 16: must be a table"),
        ("ward", "groups = 'ward': must be a table"),
        ((("ward", 1.0), ("ward", 2.0)), "different categories"),
        (("ward",), "a category and a precision"),
    ],
)
def test_bad_groups_are_refused_in_one_line(groups, words):
    with pytest.raises(gs.GibbsafeError) as refusal:
        pooled(groups)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_groups_need_declared_columns():
    with pytest.raises(gs.GibbsafeError, match="there is none"):
        gs.models.LogisticRegression(dimension=2, groups={"ward": 16})


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_plan_prices_the_anisotropic_prior_as_it_prices_one_that_is_given(adjacency):
    """The declared precision where the default is smaller, the default where it is larger; the price is the theorem's own."""
    options = {"n": 2000, "adjacency": adjacency, "sampler": "shell"}
    plain = gs.plan(pooled(None), BUDGET, **options)
    for declared in (16.0, 1e-3):
        plan = gs.plan(pooled({"ward": declared}), BUDGET, **options)
        default = np.broadcast_to(plain.model.units.precision_to_original(np.array(plain.stages[0].prior_precision)), 8)
        expected = np.where([False, *[True] * 6, False], np.maximum(default, declared), default)
        assert plan.prior_precision == pytest.approx(expected)
        given = gs.plan(pooled(None), BUDGET, prior=gs.models.GaussianPrior(tuple(expected)), **options)
        assert plan.inverse_temperature == pytest.approx(given.inverse_temperature, rel=1e-9)
        assert BUDGET.admits(plan.guarantee)
        assert gs.Plan.from_json(plan.to_json()).guarantee == plan.guarantee


def test_a_prior_that_is_given_is_raised_too():
    plan = gs.plan(pooled(), BUDGET, n=2000, adjacency="replace-one", prior=9.0)
    assert plan.prior_precision == pytest.approx([9.0, *[16.0] * 6, 9.0])
    assert gs.Plan.from_json(plan.to_json()).inverse_temperature == plan.inverse_temperature


@pytest.mark.parametrize("options", [{"sampler": "langevin"}, {"purpose": "estimate", "mechanism": "stages"}])
def test_schedules_that_set_the_prior_refuse_groups(options):
    with pytest.raises(gs.PremiseError, match="groups: "):
        gs.plan(pooled(), BUDGET, n=2000, adjacency="replace-one", **options)


def test_a_study_declares_groups():
    study = Study.from_dict(
        {
            "model": {"name": "LogisticRegression", "groups": {"ward": 16}},
            "columns": {"age": {"bounds": [0, 100]}, "ward": {"levels": list(WARDS)}},
            "target": {"name": "ill", "labels": [0, 1]},
            "budget": {"epsilon": 1.0, "delta": 1e-6},
            "n": 500,
            "adjacency": "replace-one",
            "purpose": "estimate",
        }
    )
    assert study.model().groups == (("ward", 16.0),)


def test_the_density_of_a_declared_prior_and_its_slope():
    """Normal for declared parameters, the common one for the rest; slopes by differences."""
    own, at = np.array([0.0, 4.0, 0.0]), np.array([0.5, -1.0, 2.0])[None, :, None]
    value, slope = log_prior(at, 1.0, own)
    rest = log_prior(at[:, [0, 2]], 1.0)[0]
    assert value[0, 0] == pytest.approx(rest[0, 0] - 4.0 * 1.0 / 2)
    for k in range(3):
        step = 1e-5 * np.eye(3)[k][None, :, None]
        difference = (log_prior(at + step, 1.0, own)[0] - log_prior(at - step, 1.0, own)[0])[0, 0] / 2e-5
        assert slope[0, k, 0] == pytest.approx(difference, rel=1e-6)
    drawn = prior_draws(np.ones((20_000, 3)), 1.0, own)
    assert drawn[:, 1].std() == pytest.approx(0.5, rel=0.02)  # 4 standard errors


def test_small_levels_borrow_and_the_intervals_cover():
    """Six wards, three of them with 1 % of records: effects within their declared size are covered, with much shorter intervals.

    Seeded; 5 releases × 6 effects at 90 %: fewer than 22 covered happens to an honest interval once in 100 runs.
    """
    effects = np.array([0.3, -0.2, 0.1, 0.25, -0.3, 0.05])
    shares, n = np.array([0.4, 0.3, 0.27, 0.01, 0.01, 0.01]), 6000
    covered, widths = 0, {}
    for groups, releases in ((None, 1), ({"ward": 16.0}, 5)):
        plan = gs.plan(pooled(groups), BUDGET, n=n, adjacency="replace-one", purpose="estimate")
        for seed in range(releases):
            random = np.random.default_rng(seed)
            ward, age = random.choice(6, n, p=shares), random.uniform(0, 100, n)
            ill = (random.random(n) < 1 / (1 + np.exp(-(0.02 * (age - 50) + effects[ward])))).astype(int)
            table = pa.table({"age": age, "ward": np.array(WARDS)[ward], "y": ill})
            found = plan.release(table, generator=random, progress=False).interval(0.9)
            widths[groups is None] = (found.upper - found.lower)[4:7]
            if groups is not None:
                inside = (found.lower[1:7] <= effects) & (effects <= found.upper[1:7])
                covered += int(inside.sum())
    assert covered >= 22
    assert (widths[False] < widths[True] / 2).all()
    assert (widths[False] < 2 * 1.645 / 4 * 1.1).all()  # hardly wider than the declared prior


@pytest.mark.parametrize(
    ("model", "options", "wanted"),
    [
        ("MultinomialRegression", {"classes": ("a", "b", "c"), "dimension": 3}, [0, 1, 1, 0] * 2),
        ("OrdinalRegression", {"levels": ("a", "b", "c"), "dimension": 3}, [0, 1, 1, 0, 0]),
        ("LogisticRegression", {"interactions": ("age:ward",), "dimension": 5}, [0, 1, 1, 0, 0, 0]),
    ],
)
def test_every_parameter_has_its_own_precision_or_none(model, options, wanted):
    """Classes have the effects of a level each; thresholds and interactions have none."""
    columns = (gs.domains.Column("age", bounds=(0, 100)), gs.domains.Column("ward", kind="category", levels=("A", "B")))
    made = getattr(gs.models, model)(columns=columns, groups={"ward": 16}, **options)
    assert (made.own_precisions > 0).astype(int).tolist() == wanted
    assert len(wanted) == made.parameters
    plan = gs.plan(made, gs.Budget(1.0, 1e-6), n=1000, adjacency="replace-one", purpose="estimate")
    assert plan.mechanism == "noisy-scores"
