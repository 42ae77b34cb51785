"""No theorem of the registry claims less than the truth: exact divergences of neighbouring posteriors against every claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gibbsafe.errors import BudgetError, PremiseError
from gibbsafe.privacy import Adjacency, Budget
from gibbsafe.theorems import THEOREMS, Constants, get

from ..quadrature import Pair
from .cases import (
    ADD,
    REPLACE,
    Case,
    Parameters,
    assert_within,
    check,
    claims,
    run,
)
from .priced import PRICED
from .table import BY_NAME, CASES, LINE, SWEEP, TWO_DIMENSIONS


@pytest.mark.parametrize(("entry", "adjacency"), SWEEP)
def test_exact_divergence_never_exceeds_a_claim(entry: Case, adjacency: Adjacency) -> None:
    examples = 5 if entry in TWO_DIMENSIONS else 15  # more in audits/oracles.py

    @run(examples)
    @given(c=entry.parameters)
    def sweep(c: Parameters) -> None:
        check(entry, c, adjacency)

    sweep()


def test_every_theorem_of_the_registry_is_swept() -> None:
    kinds = {kind for entry in CASES for kind in entry.replace_one}
    assert set(PRICED) == set(THEOREMS), "a theorem that is registered has a line in priced.py"
    assert [name for name, priced in PRICED.items() if not priced & (kinds | {"elsewhere"})] == []


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.name) for entry in LINE])
def test_calibrated_posteriors_keep_to_their_budget(entry: Case) -> None:
    """The inverse direction: the posterior at the largest β that a theorem allows satisfies (ε, δ)."""

    @run(6)
    @given(c=entry.parameters, epsilon=st.floats(0.05, 3.0), power=st.floats(-6.0, -1.0))
    def sweep(c: Parameters, epsilon: float, power: float) -> None:
        budget = Budget(epsilon, 10.0**power)
        for adjacency in (REPLACE, ADD):
            constants = Constants(**entry.constants(c))
            for name in entry.expected(adjacency):
                try:
                    beta = get(name).calibrate(constants, budget, adjacency=adjacency)
                except (BudgetError, PremiseError):  # Corollary 8 above ε = 1; a total variation above δ
                    continue
                if beta > 60:  # the grids are laid out for moderate temperatures
                    continue
                pair = entry.pair({**c, "beta": beta}, adjacency)
                for ordered in (pair, pair.reversed()):
                    assert_within(ordered.delta(epsilon), budget.delta, entry.relative, f"{name} at its own β = {beta}")

    sweep()


TWICE = ["absolute loss", "quadratic on an interval", "exponential, trimmed", "logistic, labels contaminated by a fair coin"]


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
@pytest.mark.parametrize("name", TWICE)
def test_two_draws_are_covered_by_the_composition(name: str, adjacency: Adjacency) -> None:
    """Two draws have a product density, so their exact profile is a two-dimensional integral."""
    entry = BY_NAME[name]

    @run(2)
    @given(c=entry.parameters)
    def sweep(c: Parameters) -> None:
        single = entry.pair(c, adjacency)
        edges = single.edges[:: max(1, single.edges.size // 60)]
        edges = np.unique(np.append(edges, single.edges[-1]))
        kinks = [x for x in [*c["common"], c["x"], c["other"]] if name == "absolute loss" and edges[0] < x < edges[-1]]
        edges = np.unique(np.append(edges, kinks))
        pair = Pair(lambda t, s: single.log_p(t) + single.log_p(s), lambda t, s: single.log_q(t) + single.log_q(s), edges, edges)
        found = claims(entry, c, adjacency, draws=2)
        for ordered in (pair, pair.reversed()):
            for epsilon in (0.0, 0.3, 1.0, 3.0):
                exact = ordered.delta(epsilon)
                for theorem, guarantee in found.items():
                    assert_within(exact, guarantee.delta(epsilon), 1e-5, f"{theorem}, two draws, ε = {epsilon}")

    sweep()
