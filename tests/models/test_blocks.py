"""Independent blocks compose: golden gains, and an oracle that convolves the worst two-point laws of the blocks."""

import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.privacy import Adjacency, BlockRanges, BoundedRange

BUDGET = gs.Budget(1.0, 1e-6)


def welsch(dimension):
    return gs.models.WelschLocation(scale=1.0, bounds=(-10.0, 10.0), dimension=dimension)


def network(nodes):
    return gs.models.BayesianNetwork(states={f"v{k}": 2 for k in range(nodes)}, smallest_probability=0.2)


@pytest.mark.parametrize(("model", "before", "beta"), [(welsch(20), 0.02504, 0.04935), (network(20), 0.01806, 0.03560)])
def test_golden_gains_of_twenty_blocks(model, before, beta):
    made = gs.plan(model, BUDGET, n=1000, adjacency="replace-one")
    assert made.inverse_temperature == pytest.approx(beta, abs=5e-6)
    assert gs.Plan.from_json(made.to_json()) == made
    whole = gs.theorems.get("bounded-range").calibrate(
        {"difference_range": made.constants.whole_difference_range}, BUDGET, adjacency="replace-one"
    )
    assert whole == pytest.approx(before, abs=5e-6)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("model", [welsch(20), network(20)])
def test_pure_budgets_use_the_sum_and_persons_multiply_every_block(model, adjacency):
    per_record = 2 if adjacency == Adjacency.REPLACE_ONE else 1
    width = per_record * (20 if isinstance(model, gs.models.WelschLocation) else sum(model.block_widths))
    pure = gs.plan(model, gs.Budget(1.0), n=1000, adjacency=adjacency)
    assert pure.inverse_temperature * width == pytest.approx(1.0, rel=1e-12)
    one, three = (gs.plan(model, BUDGET, n=1000, adjacency=adjacency, rows_per_person=k) for k in (1, 3))
    assert 3 * three.inverse_temperature == pytest.approx(one.inverse_temperature, rel=1e-12)


@pytest.mark.parametrize(("blocks", "width"), [(2, 1.0), (6, 0.4), (20, 0.1)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_products_of_the_worst_two_point_laws_stay_below(blocks, width, epsilon):
    """Block j takes log ratio t or t − r; every t of a grid, all blocks alike; the product's δ by binomial sums."""
    claimed = BlockRanges([width] * blocks).delta(epsilon)
    for top in np.linspace(0.05, 0.95, 19) * width:
        low = top - width
        q_high = (1 - math.exp(low)) / (math.exp(top) - math.exp(low))
        p_high = q_high * math.exp(top)
        assert 0 < q_high < p_high < 1
        delta = 0.0
        for k in range(blocks + 1):
            mine = math.comb(blocks, k) * p_high**k * (1 - p_high) ** (blocks - k)
            theirs = math.comb(blocks, k) * q_high**k * (1 - q_high) ** (blocks - k)
            delta += max(0.0, mine - math.exp(epsilon) * theirs)
        assert delta <= claimed * (1 + 1e-12)


def test_one_block_is_bounded_range_and_few_are_never_worse():
    assert BlockRanges([0.7]).delta(0.3) <= BoundedRange(0.7).delta(0.3)
    for epsilon in (0.0, 0.1, 1.0):
        assert BlockRanges([0.3, 0.5]).delta(epsilon) <= BoundedRange(0.8).delta(epsilon) * (1 + 1e-12)
    assert BlockRanges([0.25, 0.5]).epsilon(0.0) == 0.75
    assert BlockRanges([0.25, 0.5]).group(2) == BlockRanges([0.5 * (1 + 2.0**-50), 1.0 * (1 + 2.0**-50)])
    with pytest.raises(gs.ParameterError, match="at least one"):
        BlockRanges([])
