"""The audit runs the releaser's own code: the same generator gives the same bits, and what breaks one breaks the other."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.release import draw as releaser

from ..examples import EXAMPLES, SMALL, records
from .combinations import BUDGET

N = 12
CASES = [(name, what, sampler) for (name, what), model in SMALL.items() for sampler in model.samplers]


def planned(name, what, sampler):
    """A plan of two draws by this sampler, or None where it does not apply."""
    try:
        return gs.plan(SMALL[name, what], BUDGET, n=N, adjacency="replace-one", draws=2, sampler=sampler)
    except gs.GibbsafeError:
        return None


@pytest.mark.parametrize(("name", "what", "sampler"), CASES)
def test_a_run_of_the_audited_mechanism_is_a_release_bit_for_bit(name, what, sampler):
    plan = planned(name, what, sampler)
    if plan is None:
        return
    data = records(plan.model, N)
    run = gs.audit.mechanism_of(plan, np.random.default_rng(5))(data, 1).reshape(2, -1)
    release = plan.release(data, generator=np.random.default_rng(5), progress=False)
    np.testing.assert_array_equal(plan.model.to_original(run), release.draws)


@pytest.mark.parametrize("part", ["blocks_of", "posterior_of", "draw_stage"])
def test_what_a_release_runs_is_what_the_audit_runs(part, monkeypatch):
    """Each of the releaser's steps, once it is replaced, is replaced in the audit too."""
    (name, what), model = next(iter(SMALL.items()))
    plan, data = planned(name, what, "auto"), records(model, N)
    called = []
    own = getattr(releaser, part)
    monkeypatch.setattr(releaser, part, lambda *given, **options: called.append(part) or own(*given, **options))
    plan.release(data, progress=False)
    assert called == [part]
    gs.audit.mechanism_of(plan)(data, 1)
    assert called == [part, part]


def test_every_model_is_compared():
    assert {name for name, what, sampler in CASES if planned(name, what, sampler)} == set(EXAMPLES)
