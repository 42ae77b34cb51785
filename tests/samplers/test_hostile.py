"""Hard data sets and plans at small sizes (audits/hostile.py is the long version), and bugs that the suite must see."""

import dataclasses

import numpy as np
import pytest

from gibbsafe.errors import GibbsafeError

from .hostile import KINDS, Case, Tally, case, examine


@pytest.mark.parametrize("n", [0, 1, 40, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_data_are_released_and_neighbours_treated_alike(kind, n):
    tally = Tally()
    examine(case(kind, n, seed=1), 1, tally)
    assert tally.failures == []
    assert tally.releases == 2
    assert tally.largest <= 0


def test_a_case_is_made_from_its_seed():
    first, second = case("cauchy", 50, 3), case("cauchy", 50, 3)
    assert first.name == second.name
    assert first.plan.to_dict() == second.plan.to_dict()
    assert all(
        np.array_equal(a, b) for a, b in zip((*first.data, *first.neighbour), (*second.data, *second.neighbour), strict=True)
    )


def test_cases_cover_samplers_and_adjacencies():
    names = [case(kind, 20, seed).name for kind in KINDS for seed in range(4)]
    for part in ("replace-one", "add-remove", "n = None", "shell", "inverse-cdf", "langevin", *KINDS):
        assert any(part in name for name in names)


class Planted:
    """A plan with a bug in its release."""

    def __init__(self, plan, bug):
        self._plan, self._bug = plan, bug

    def __getattr__(self, name):
        return getattr(self._plan, name)

    def release(self, data, **options):
        return self._bug(data, self._plan.release(data, **options))


def crash_on_the_neighbour(neighbour):
    def bug(data, release):
        if data is neighbour:
            raise GibbsafeError("log acceptance 1e-9 is above 0")
        return release

    return bug


def other_certificate_on_the_neighbour(neighbour):
    def bug(data, release):
        return release if data is not neighbour else dataclasses.replace(release, draws=release.draws[:, :0])

    return bug


def not_a_number(neighbour):
    return lambda data, release: dataclasses.replace(release, draws=np.full_like(release.draws, np.nan))


def envelope_too_low(neighbour):
    def bug(data, release):
        values = tuple(dataclasses.replace(seen, log_acceptance=1e-12) for seen in release.curator_diagnostics.values)
        release.curator_diagnostics.values = values
        return release

    return bug


@pytest.mark.parametrize("bug", [crash_on_the_neighbour, other_certificate_on_the_neighbour, not_a_number, envelope_too_low])
def test_planted_bugs_are_seen(bug):
    made, tally = case("separable", 30, 1), Tally()
    examine(Case(made.name, Planted(made.plan, bug(made.neighbour)), made.data, made.neighbour), 1, tally)
    assert tally.failures


def test_a_release_that_does_not_end_is_seen(monkeypatch):
    from . import hostile

    monkeypatch.setattr(hostile, "UNSTATED", 0.2)
    monkeypatch.setattr(hostile, "LEAST_SECONDS", 0.2)
    monkeypatch.setattr(hostile, "OVERRUN", 0.0)

    def forever(data, release):
        while True:
            pass

    made, tally = case("separable", 30, 1), Tally()
    examine(Case(made.name, Planted(made.plan, forever), made.data, made.neighbour), 1, tally)
    assert all("OvertimeError" in failure for failure in tally.failures)
    assert len(tally.failures) == 2
