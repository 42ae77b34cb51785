"""Where strict files, private numbers of records and charges meet the rules of plans: what is read back is what was planned."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.planning.conditions import coarse

BUDGET = gs.Budget(1.0, 1e-6)


def logistic(**options):
    return gs.plan(gs.models.LogisticRegression(dimension=2), BUDGET, **{"n": 60, "adjacency": "replace-one"} | options)


def records(n=60, seed=0):
    generator = np.random.default_rng(seed)
    return generator.uniform(-0.5, 0.5, (n, 2)), generator.integers(0, 2, n)


def test_a_plan_of_the_first_edition_has_no_slack_and_is_read():
    plan = logistic()
    content = plan.to_dict()
    for stage in content["stages"]:
        assert stage.pop("slack") is None
    assert gs.Plan.from_dict(content) == plan


@pytest.mark.parametrize("odd", [{"slack": 0.0}, {"slack": "1e-9"}, {"slack": 1e-9}, {"other": None}])
def test_no_other_stage_is_read(odd):
    content = logistic().to_dict()
    content["stages"][0] |= odd
    with pytest.raises(gs.CertificateError):
        gs.Plan.from_dict(content)


@pytest.mark.parametrize("stages", [None, 3, "ab", [3], [None], [[]], {}, []])
def test_stages_of_another_form_are_refused_in_one_line(stages):
    with pytest.raises(gs.CertificateError) as refusal:
        gs.Plan.from_dict(logistic().to_dict() | {"stages": stages})
    assert "\n" not in str(refusal.value)


def test_a_slack_that_is_stated_must_be_the_rule_s():
    plan = logistic(theorem="approximate-sampling", adjacency="add-remove")
    content = plan.to_dict()
    assert gs.Plan.from_dict(content) == plan
    assert content["stages"][0].pop("slack") > 0
    with pytest.raises(gs.CertificateError):
        gs.Plan.from_dict(content)


@pytest.mark.parametrize("purpose", ["posterior", "estimate"])
@pytest.mark.parametrize("n", [1, 3, 1000, 123_456])
def test_a_private_number_is_snapped_once(n, purpose):
    assert coarse(coarse(n)) == coarse(n)
    plan = logistic(n=n, adjacency="add-remove", purpose=purpose)
    assert plan.n == coarse(n)
    again = gs.Plan.from_json(plan.to_json())
    assert again == plan == logistic(n=plan.n, adjacency="add-remove", purpose=purpose)
    assert again.work == plan.work


class Told:
    """A ledger that admits no seeded release and counts what it is asked."""

    def __init__(self):
        self.asked = []

    def refuse_seeded(self):
        self.asked.append("seeded")
        raise gs.BudgetError("account: admits none")

    def charge(self, plan):
        self.asked.append("charge")


@pytest.mark.parametrize("untrusted", [False, True])
def test_a_seeded_release_is_refused_before_it_is_charged(untrusted):
    told = Told()
    with pytest.raises(gs.BudgetError):
        logistic().release(records(), ledger=told, untrusted=untrusted, generator=np.random.default_rng(0), progress=False)
    assert told.asked == ["seeded"]


def test_draws_outside_the_support_are_no_release(tmp_path):
    generator = np.random.default_rng(1)
    bounded = gs.models.LinearRegression(dimension=2, response_bounds=(-1.0, 1.0))
    ball = gs.plan(bounded, BUDGET, n=60, adjacency="replace-one", draws=5)
    table = {"points": (0.2, 0.8), "outcomes": (0, 1), "likelihood": ((0.8, 0.2), (0.2, 0.8))}
    finite = gs.plan(gs.models.FiniteFamily(**table), BUDGET, n=60, adjacency="replace-one", draws=5)
    rows, labels = records()
    for plan, data, far in ((ball, (rows, generator.uniform(-1, 1, 60)), 1e3), (finite, labels, 0.25)):
        made = plan.release(data, progress=False)
        made.save(tmp_path / f"{plan.model.name}.json")
        gs.verify(tmp_path / f"{plan.model.name}.json")
        assert plan.model.outside(made.draws, plan.grid) is None
        assert plan.model.outside(made.draws + far, plan.grid) is not None
