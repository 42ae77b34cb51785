"""A table of models against every theorem: how an entry is written, and how its exact divergences are held beside claims.

An entry has its loss, prior, declared constants, grid, and the kinds of constants (`priced.py`) that it declares under each
adjacency. The registry is checked against those kinds in both directions, so a theorem cannot drop out of the suite by refusing.

How the neighbours are chosen: hypothesis draws the common records and the pair (x, x′) from the ends of the record domain,
where the loss difference is steepest or its range largest (opposite rows ±r, labels flipped, responses far beyond the mass,
both ends of an interval), mixed with interior points; where the worst pair is known in closed form (far |θ − x| losses, far
Huber and pinball responses, quadratics) it is drawn explicitly and the ratio to the claim is asserted to be 1. Replace-one
compares D ∪ {x} with D ∪ {x′}, add-remove D ∪ {x} with D; both directions always.

Tolerance: the quadrature's relative error (1e-8 in one dimension, 1e-6 in two) and 1e-12 absolute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, BoundedRange, PureDP
from gibbsafe.theorems import THEOREMS, Constants, get

from ..quadrature import Array, Pair
from .priced import PRICED

REPLACE, ADD = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE
EPSILONS = (0.0, 0.02, 0.1, 0.3, 0.7, 1.0, 2.0, 4.0)
Parameters = dict[str, Any]


def gdp(epsilon: float, mu: float) -> float:
    """Return the Gaussian profile, written here once more."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def run(examples: int) -> settings:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=checks)


@dataclass(frozen=True)
class Case:
    """A model: what hypothesis draws, the loss and log prior on its grid, the declared constants and of which kinds they are.

    The drawn parameters always hold ``beta``, ``common`` (a list of records), ``x`` and ``other`` (the replaced record).
    """

    name: str
    parameters: st.SearchStrategy[Parameters]
    loss: Callable[..., Array]  # (parameters, record, *theta)
    log_prior: Callable[..., Array]  # (parameters, *theta)
    grid: Callable[[Parameters], Parameters]  # edges, and outer and breaks in two dimensions
    constants: Callable[[Parameters], Parameters]
    replace_one: frozenset[str]  # kinds of constants
    add_remove: frozenset[str]
    relative: float = 1e-8

    def pair(self, c: Parameters, adjacency: Adjacency) -> Pair:
        """Return the posteriors of D ∪ {x} and of its neighbour."""
        first = [*c["common"], c["x"]]
        second = [*c["common"], c["other"]] if adjacency is REPLACE else c["common"]

        def log_posterior(records: list[Any]) -> Callable[..., Array]:
            def log_density(*theta: Array) -> Array:
                value = self.log_prior(c, *theta)
                for record in records:
                    value = value - c["beta"] * self.loss(c, record, *theta)
                return value

            return log_density

        return Pair(log_posterior(first), log_posterior(second), **self.grid(c))

    def expected(self, adjacency: Adjacency) -> frozenset[str]:
        """Return the theorems whose premises the declared constants meet."""
        declared = self.replace_one if adjacency is REPLACE else self.add_remove
        return frozenset(name for name, kinds in PRICED.items() if kinds & declared)


def case(*args: Any, replace_one: set[str], add_remove: set[str], **kwargs: Any) -> Case:
    return Case(*args, replace_one=frozenset(replace_one), add_remove=frozenset(add_remove), **kwargs)


def drawn(record: st.SearchStrategy[Any], common: int = 2, **others: st.SearchStrategy[Any]) -> st.SearchStrategy[Parameters]:
    beta = others.pop("beta", st.floats(-2.5, 0.4).map(lambda power: 10.0**power))
    fields = {"beta": beta, "common": st.lists(record, max_size=common), "x": record, "other": record, **others}
    return st.fixed_dictionaries(fields)


def ends(*values: Any, inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw the extreme records three times in four."""
    return st.sampled_from(values) | st.sampled_from(values) | st.sampled_from(values) | inside


PRECISION = st.floats(0.3, 8.0)


def gaussian_prior(c: Parameters, theta: Array) -> Array:
    return -c["m"] * theta**2 / 2


def prior_constants(c: Parameters, **others: Any) -> Parameters:
    return {"convex": True, "prior_precision": c["m"], "n": len(c["common"]) + 1, **others}


# -- claims beside exact divergences


def assert_within(exact: float, claim: float, relative: float, what: str) -> None:
    assert exact <= claim * (1 + relative) + 1e-12, f"{what}: exact δ {exact!r} above the claim {claim!r}"


def claims(entry: Case, c: Parameters, adjacency: Adjacency, draws: int = 1) -> dict[str, Any]:
    """Return the guarantee of every theorem of the registry whose premises hold; the list must be the case's own."""
    constants, found = Constants(**entry.constants(c)), {}
    for name, theorem in THEOREMS.items():
        try:
            found[name] = theorem.guarantee(constants, inverse_temperature=c["beta"], adjacency=adjacency, draws=draws)
        except PremiseError as refusal:
            if name == "stochastic-lipschitz" and "nothing is claimed" in str(refusal):
                return {}  # a bound of 1 or more on the total variation: sound, and vacuous
    assert set(found) == entry.expected(adjacency), f"premises met: {sorted(found)}"
    return found


def check(entry: Case, c: Parameters, adjacency: Adjacency) -> None:
    found = claims(entry, c, adjacency)
    pair = entry.pair(c, adjacency)
    widths = {claim.epsilon(0.0) for claim in found.values() if isinstance(claim, PureDP | BoundedRange)}
    epsilons = {*EPSILONS, *(share * width for width in widths for share in (0.25, 0.5, 0.75, 0.95))}
    for direction, ordered in (("forward", pair), ("backward", pair.reversed())):
        for epsilon in epsilons:
            exact = ordered.delta(epsilon)
            for name, guarantee in found.items():
                assert_within(exact, guarantee.delta(epsilon), entry.relative, f"{name}, {direction}, ε = {epsilon}")


def ratio_to(name: str, entry: Case, c: Parameters, epsilon: float, adjacency: Adjacency = REPLACE) -> float:
    claim = get(name).guarantee(Constants(**entry.constants(c)), inverse_temperature=c["beta"], adjacency=adjacency)
    return entry.pair(c, adjacency).delta(epsilon) / claim.delta(epsilon)
