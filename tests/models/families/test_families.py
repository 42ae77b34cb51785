"""What every conjugate family must do: round-trip, plan, release, verify, keep to its trim, refuse what is not declared."""

import math

import numpy as np
import pyarrow as pa
import pytest

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.domains.column import Column
from gibbsafe.models import MODELS
from gibbsafe.privacy import Adjacency
from gibbsafe.samplers import draw_exactly
from gibbsafe.theorems.constants import as_blocks

from ...examples import ADD, EXAMPLES, FAMILIES, RATES, REPLACE, records
from ..plans import planned, posterior_of

METRIC = pytest.mark.parametrize("name", [name for name in FAMILIES if EXAMPLES[name].metric])
NAMES = pytest.mark.parametrize("name", FAMILIES)
BOTH = pytest.mark.parametrize("adjacency", [REPLACE, ADD])


@NAMES
@BOTH
def test_plan_release_save_load_verify(name, adjacency, tmp_path):
    model = FAMILIES[name]
    plan = planned(model, adjacency, draws=3)
    assert plan.theorem.name == EXAMPLES[name].theorem
    assert plan.slack == 0
    assert gs.Plan.from_json(plan.to_json()) == plan
    assert plan.guarantee.delta(1.0) <= 1e-6
    assert plan.guarantee.epsilon(1e-6) > 0.99
    made = plan.release(records(FAMILIES[name], 40), generator=np.random.default_rng(1))
    assert made.draws.shape == (3, model.parameters) == (3, len(model.parameter_names))
    path = tmp_path / "release.json"
    made.save(path)
    assert gs.verify(path) == made.certificate
    np.testing.assert_array_equal(gs.Release.load(path).draws, made.draws)
    assert model.name in str(plan)
    assert made.certificate["prior"] == {key: model.to_dict()[key] for key in model.prior_fields}


@NAMES
def test_the_prior_is_part_of_the_declaration(name):
    with pytest.raises(gs.GibbsafeError, match="left out: the prior of"):
        planned(FAMILIES[name], prior=1.0)
    with pytest.raises(gs.GibbsafeError, match="posterior"):
        planned(FAMILIES[name], purpose="estimate")


@NAMES
def test_draws_and_potentials_keep_to_the_support(name):
    plan = planned(FAMILIES[name], budget=gs.Budget(20.0))
    posterior = posterior_of(plan, records(FAMILIES[name], 40))
    draws = draw_exactly(posterior, 200, np.random.default_rng(2))
    low, high = posterior.support
    assert draws.shape == (200, plan.model.parameters)
    assert (draws >= low - 1e-12).all()
    assert (draws <= high + 1e-12).all()
    assert np.isfinite(posterior.values(draws)).all()
    outside = draws + 10 * (high - low)
    assert np.isinf(posterior.values(outside)).all()


@NAMES
@BOTH
def test_people_with_several_rows_pay_for_them(name, adjacency):
    model = FAMILIES[name]
    one, three = (model.constants(np.empty(0), adjacency=Adjacency.of(adjacency), n=40, rows_per_person=rows) for rows in (1, 3))
    blocks = {rows: (as_blocks(of.loss_range), as_blocks(of.difference_range)) for rows, of in ((1, one), (3, three))}
    assert blocks[3][0] == pytest.approx([3 * single for single in blocks[1][0]], rel=1e-12)
    assert blocks[3][1] == pytest.approx([3 * max(pair) for pair in zip(*blocks[1], strict=True)], rel=1e-12)
    plan = planned(model, adjacency, n=8, rows_per_person=3)
    assert plan.inverse_temperature < planned(model, adjacency).inverse_temperature
    made = plan.release(records(FAMILIES[name], 40), persons=np.arange(40) // 5, generator=np.random.default_rng(1))
    assert made.certificate["unit"] == "one person with at most 3 records"


@NAMES
def test_add_remove_releases_any_number_of_rows(name):
    for n in (0, 1, 5):
        made = planned(FAMILIES[name], ADD).release(records(FAMILIES[name], 5)[:n], generator=np.random.default_rng(3))
        assert np.isfinite(made.draws).all()


@NAMES
def test_corners_are_records_and_attain_the_range(name):
    """The best pair of extreme records differs in log-likelihood by nearly the declared range over the parameters."""
    model = FAMILIES[name]
    corners = model.corners()
    plan = planned(model, n=1)
    values = []
    draws = np.concatenate([draw_exactly(posterior_of(plan, corner), 400, np.random.default_rng(4)) for corner in corners])
    for corner in corners:
        assert len(corner) == 1
        values.append(posterior_of(plan, corner).values(draws))
    widths = [np.ptp(a - b) for a in values for b in values]
    declared = plan.constants.whole_difference_range * plan.inverse_temperature
    assert max(widths) <= declared * (1 + 1e-9)
    assert max(widths) >= EXAMPLES[name].range_share * declared


@NAMES
def test_synthetic_records_can_be_read_back(name):
    model = FAMILIES[name]
    made = planned(model).release(records(FAMILIES[name], 40), generator=np.random.default_rng(5))
    synthetic = model.simulate(made.draws[0], 50, np.random.default_rng(6))
    assert model.encode(synthetic, EncodingOptions()).n_rows == 50


@pytest.mark.parametrize("name", [name for name in FAMILIES if EXAMPLES[name].bought is not None])
def test_budgets_buy_trims_and_trims_cost_budgets(name):
    """The declaration that a budget buys at β = 1 spends at least 0.999 of it and never more."""
    for epsilon, draws in ((0.5, 1), (2.0, 3)):
        budget = gs.Budget(epsilon)
        model = MODELS[name].trimmed_for(budget, draws=draws, **EXAMPLES[name].bought)
        plan = gs.plan(model, budget, n=10, adjacency=REPLACE, draws=draws, inverse_temperature=1.0)
        assert 0.999 * epsilon < plan.guarantee.epsilon(0.0) <= epsilon


@METRIC
def test_metric_claims(name):
    """2βL per unit of the family's metric, sound between the extreme records at their distance."""
    model = FAMILIES[name]
    claim = model.metric_guarantee(0.5)
    constants = model.metric_constants()
    assert claim.epsilon_per_unit == pytest.approx(constants.metric_lipschitz, rel=1e-12)
    first, second = model.corners()[:2]
    plan = planned(model, n=1, inverse_temperature=0.5, budget=gs.Budget(1e3))
    p, q = (posterior_of(plan, corner) for corner in (first, second))
    draws = draw_exactly(p, 400, np.random.default_rng(7))
    assert np.ptp(p.values(draws) - q.values(draws)) <= claim.between(first, second).epsilon(0.0) * (1 + 1e-9)
    assert claim.metric.between(first, second) <= constants.metric_diameter * (1 + 1e-12)


@METRIC
def test_lipschitz_parameters(name):
    model = FAMILIES[name]
    posterior = posterior_of(planned(model), records(FAMILIES[name], 40))
    draws = draw_exactly(posterior, 100, np.random.default_rng(8))
    largest = model.metric_constants().metric_lipschitz
    assert (model.lipschitz_at(draws) <= largest * (1 + 1e-9)).all()
    assert model.prior_mass_below(largest) == pytest.approx(1.0, abs=1e-12)
    masses = [model.prior_mass_below(share * largest) for share in (0.01, 0.3, 0.6, 0.9)]
    assert masses == sorted(masses)
    assert masses[0] < 0.12


def test_the_papers_theorems_price_the_same_families():
    """Never more than the range allows; the second assumption claims total variation of the ordinary posterior."""
    for model in (model for name, model in FAMILIES.items() if EXAMPLES[name].metric):
        by_range, by_metric = (
            planned(model, budget=gs.Budget(1.0), theorem=theorem) for theorem in ("bounded-range", "lipschitz-metric")
        )
        assert by_metric.inverse_temperature <= by_range.inverse_temperature * (1 + 1e-12)
    narrow = gs.models.ExponentialRate(trim=(0.2, 0.25), bound=0.1)
    plan = gs.plan(narrow, gs.Budget(0.1, 0.5), n=2, adjacency=REPLACE, theorem="stochastic-lipschitz")
    constants = plan.constants
    total = constants.likelihood_ratio_bound * (constants.stochastic_floor + 1 / constants.stochastic_rate) * 0.1
    assert plan.guarantee.delta(0.0) == pytest.approx(math.sqrt(total), rel=1e-9)
    first, second = (posterior_of(plan, np.array([0.1, end])) for end in (0.0, 0.1))
    assert first.hockey_stick(second, 0.0) <= plan.guarantee.delta(0.0)
    with pytest.raises(gs.PremiseError, match="untempered"):
        gs.plan(narrow, gs.Budget(0.1, 0.5), n=2, adjacency=REPLACE, theorem="stochastic-lipschitz", inverse_temperature=0.5)


@NAMES
def test_without_a_public_n_no_constant_depends_on_it(name):
    declared = [
        FAMILIES[name].constants(np.empty(0), adjacency=gs.privacy.Adjacency.ADD_REMOVE, n=n, rows_per_person=1)
        for n in (None, 3, 500)
    ]
    assert declared[0] == declared[1] == declared[2]


# -- tables -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FAMILIES if EXAMPLES[name].table is not None])
def test_tables_give_the_same_draws_as_arrays(name):
    """Also when they come in pieces and in another order of columns."""
    data = records(FAMILIES[name], 40)
    model, columns = EXAMPLES[name].table(FAMILIES[name], data)
    table = pa.table(dict(reversed(columns.items())) | {"who": np.arange(40)})
    plan = planned(model)
    by_array, by_table = (plan.release(each, generator=np.random.default_rng(1)).draws for each in (data, table))
    np.testing.assert_array_equal(by_array, by_table)
    spilled = plan.release(table, generator=np.random.default_rng(1), memory=64)  # bytes: encoded rows go to a file
    np.testing.assert_array_equal(by_array, spilled.draws)
    capped = planned(model, rows_per_person=2)
    capped.release(table, persons="who", generator=np.random.default_rng(1))
    with pytest.raises(gs.DomainError, match="found 0 times"):
        plan.release(pa.table({"z": np.arange(40)}))


def test_studies_declare_families():
    number = Column("wait", bounds=(0, 5))
    colour = Column("colour", kind="category", levels=("red", "blue"))
    shape = Column("shape", kind="category", levels=("round", "flat", "odd"))
    for name in RATES:
        model = MODELS[name].from_columns([], number, {"trim": (0.5, 1.0)})
        assert (model.bound, model.target) == (5.0, "wait")
    assert MODELS["Categorical"].from_columns([], shape, {"smallest_probability": 0.1}).states == ("round", "flat", "odd")
    network = MODELS["BayesianNetwork"].from_columns(
        [colour, shape], None, {"smallest_probability": 0.1, "parents": {"shape": ["colour"]}}
    )
    assert network.parameters == 2 + 6
    chain = MODELS["MarkovChain"].from_columns(
        [colour, Column("next", kind="category", levels=("red", "blue"))], None, {"smallest_probability": 0.1}
    )
    assert chain.time_names == ("colour", "next")
    normal = MODELS["MultivariateNormalPrecision"].from_columns([number, Column("age", bounds=(-12, 4))], None, {"trim": (1, 2)})
    assert (normal.bound, normal.feature_names) == (13.0, ("wait", "age"))
    finite = MODELS["FiniteFamily"].from_columns([], colour, {"points": (0.2, 0.6), "likelihood": ((0.2, 0.8), (0.6, 0.4))})
    assert finite.outcomes == ("red", "blue")
    for wrong in (
        lambda: MODELS["ExponentialRate"].from_columns([number], number, {"trim": (1, 2)}),
        lambda: MODELS["ExponentialRate"].from_columns([], colour, {"trim": (1, 2)}),
        lambda: MODELS["Categorical"].from_columns([], number, {"smallest_probability": 0.1}),
        lambda: MODELS["BayesianNetwork"].from_columns([number], None, {"smallest_probability": 0.1}),
        lambda: MODELS["BayesianNetwork"].from_columns([colour], shape, {"smallest_probability": 0.1}),
        lambda: MODELS["MarkovChain"].from_columns([colour, shape], None, {"smallest_probability": 0.1}),
    ):
        with pytest.raises(gs.GibbsafeError):
            wrong()


@pytest.mark.parametrize(
    ("dimension", "structure"), [(1, "full"), (1, "diagonal"), (2, "diagonal"), (3, "full"), (5, "diagonal")], ids=str
)
def test_precision_matrices_of_other_sizes(dimension, structure):
    """Released precisions of 20,000 rows at β = 1 are near the truth, whole or diagonal."""
    rng = np.random.default_rng(11)
    truth = np.diag(np.linspace(1.0, 2.0, dimension))
    if structure == "full":
        truth += 0.3 * (1 - np.eye(dimension))
    data = rng.multivariate_normal(np.zeros(dimension), np.linalg.inv(truth), 20_000)
    model = gs.models.MultivariateNormalPrecision(dimension=dimension, bound=20.0, trim=(0.3, 4.0), structure=structure)
    for adjacency in (REPLACE, ADD):
        plan = planned(model, adjacency, n=20_000, budget=gs.Budget(1e4), inverse_temperature=1.0)
        made = plan.release(data, generator=rng)
        gs.verify(made)
        rows, columns = np.triu_indices(dimension) if structure == "full" else (np.arange(dimension),) * 2
        np.testing.assert_allclose(made.draws[0], truth[rows, columns], atol=0.12)


# -- large networks -------------------------------------------------------------------------------------------------------


def test_counts_are_those_of_the_definition():
    model, data = FAMILIES["BayesianNetwork"], records(FAMILIES["BayesianNetwork"], 300, 9)
    counts = model.count_cells(model.encode(data, EncodingOptions()))
    named = dict(zip(model.parameter_names, counts, strict=True))
    assert named["P(rain=yes)"] == sum(row[0] == "yes" for row in data)
    assert named["P(slip=2 | rain=no, wet=wet)"] == sum(tuple(row) == ("no", "wet", 2) for row in data)
    assert counts.sum() == 3 * 300
    chain, paths = FAMILIES["MarkovChain"], records(FAMILIES["MarkovChain"], 50, 9)
    found = dict(zip(chain.parameter_names, chain.count_cells(chain.encode(paths, EncodingOptions())), strict=True))
    assert found["P(s→w)"] == sum(("".join(path).count("sw")) for path in paths)
    assert found["P(start=w)"] == sum(path[0] == "w" for path in paths)


def test_a_network_of_fifty_nodes_with_ten_states():
    rng = np.random.default_rng(10)
    model = gs.models.BayesianNetwork(
        states={f"x{k}": 10 for k in range(50)},
        parents={f"x{k}": [f"x{k - 1}"] for k in range(1, 50)},
        smallest_probability=0.02,
        concentration=0.5,
    )
    assert model.parameters == 10 + 49 * 100
    data = rng.integers(0, 10, (2000, 50)).astype(np.int8)
    data[:, 7] = 3  # nine states of this node, and the contexts they make for the next, are never seen
    made = planned(model, n=2000, budget=gs.Budget(5.0)).release(data, generator=rng)
    parts = made.draws[0].reshape(-1, 10)
    np.testing.assert_allclose(parts.sum(axis=1), 1, atol=1e-9)
    assert parts.min() >= 0.02 - 1e-9
    assert model.cell_guarantee("x3").range == pytest.approx(4 * math.log(0.82 / 0.02))
    assert model.cell_guarantee("x49").range == pytest.approx(2 * math.log(0.82 / 0.02))
    assert model.metric.between(data[:1], data[:1]) == 0


def test_the_metric_of_a_network_prices_its_widest_table():
    """Tables of two and of five states: one record moves either by its own width, which differs."""
    network = gs.models.BayesianNetwork(states={"a": 2, "b": 5}, smallest_probability=0.05)
    few, many = (gs.models.Categorical(states=k, smallest_probability=0.05) for k in (2, 5))
    alone = [model.metric_constants().metric_lipschitz for model in (few, many)]
    assert alone[0] != pytest.approx(alone[1], rel=0.01)
    assert network.metric_constants().metric_lipschitz == pytest.approx(max(alone), rel=1e-12)
    assert network.metric_constants().metric_lipschitz >= max(math.log(0.95 / 0.05), math.log(0.8 / 0.05))
