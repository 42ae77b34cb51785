"""Conformance of every registered model: declared constants stand the attack, corners are records, neighbours run the same."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.audit.records import blend, columns_of, hostile_copies, join, replace_record, rows_of
from gibbsafe.data.options import EncodingOptions

from ..examples import EXAMPLES, SMALL

ALL = pytest.mark.parametrize(("name", "what"), SMALL)


@ALL
def test_declared_constants_are_not_refuted(name, what):
    model = SMALL[name, what]
    outcome = gs.audit.refute(model, effort=2 if EXAMPLES[name].slow else 8)  # more in audits/privacy.py
    assert not outcome.refuted, str(outcome)
    if what not in EXAMPLES[name].unpriced:
        assert outcome.evaluations > 10_000
        largest = max(share for constant, share in outcome.checked if constant not in ("clipping", "gradient", "derivatives"))
        assert largest > 0.5  # what is declared is not far from what is found


@ALL
def test_corners_are_records_of_the_domain(name, what):
    model = SMALL[name, what]
    corners = model.corners()
    assert len(corners) >= 2
    for corner in corners:
        assert model.encode(corner, EncodingOptions()).n_rows == 1


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@ALL
def test_neighbours_run_the_same_mechanism(name, what, adjacency):
    try:
        plan = gs.plan(SMALL[name, what], gs.Budget(1.0, 1e-6), n=7, adjacency=adjacency)
    except gs.GibbsafeError:
        return  # not covered under this adjacency
    outcome = gs.audit.same_mechanism(plan)
    assert not outcome.refuted, str(outcome)
    assert len(outcome.situations) >= 2


def test_records_of_ones_own_can_be_passed():
    class Own(gs.models.BernoulliLogit):
        name = "Own"

        def corners(self):
            raise gs.GibbsafeError("corners: none listed")

    with pytest.raises(gs.GibbsafeError, match="none listed"):
        gs.audit.refute(Own())
    assert not gs.audit.refute(Own(), records=[np.array([0]), np.array([1])]).refuted


def test_refuting_needs_a_model():
    with pytest.raises(gs.ParameterError, match="must be a model"):
        gs.audit.refute("LogisticRegression")


# -- data sets made of records -----------------------------------------------------------------------------------------


def test_records_are_joined_replaced_and_blended():
    one, two = (np.array([[1.0, 2.0]]), np.array(["no"])), (np.array([[5.0, 2.0]]), np.array(["yes"]))
    data = join([(one, 2), (two, 1)])
    assert rows_of(data) == 3
    assert rows_of(join([(one, 0)])) == 0
    changed = replace_record(data, 0, two)
    assert changed[0][0].tolist() == [5.0, 2.0]
    assert changed[1].tolist() == ["yes", "no", "yes"]
    assert data[1].tolist() == ["no", "no", "yes"]
    between = blend(one, two, 0.25)
    assert between[0].tolist() == [[2.0, 2.0]]
    assert between[1].tolist() == ["no"]


def test_hostile_copies_touch_only_numbers():
    copies = hostile_copies((np.array([[1.0, 2.0]]), np.array(["no"])), invalid=True)
    assert all(copy[1].tolist() == ["no"] for copy in copies)
    assert any(np.isnan(copy[0]).any() for copy in copies)
    assert hostile_copies(np.array(["a"])) == []


def test_what_is_not_a_data_set_is_refused():
    with pytest.raises(gs.DomainError, match="one entry per record"):
        columns_of((np.zeros(3), np.zeros(2)))
