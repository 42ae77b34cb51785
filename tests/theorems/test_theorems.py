"""Conformance of the registry: every theorem obeys the same laws and refuses the same nonsense."""

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.privacy import Adjacency, Metric
from gibbsafe.theorems import THEOREMS, Constants, compare, get
from gibbsafe.theorems.langevin_last_iterate import last_iterate_mu
from gibbsafe.theorems.lipschitz_metric import kl_bound, meets_necessary_condition, tv_bound

#: Names that stand in files of releases: none may go.
PUBLIC = {
    "exponential-mechanism",
    "bounded-loss",
    "bounded-difference",
    "bounded-range",
    "log-sobolev",
    "log-sobolev-simple",
    "gaussian-dp",
    "gaussian-mean",
    "gaussian-mean-paper",
    "approximate-sampling",
    "langevin-steps",
    "langevin-last-iterate",
    "lipschitz-metric",
    "proximal-last-iterate",
    "stochastic-lipschitz",
    "contaminated-uniform",
    "beta-bernoulli",
    "fixed-normaliser",
}
RICH = {
    "lipschitz": 1.0,
    "convex": True,
    "prior_precision": 2.0,
    "prior_smoothness": 2.0,
    "smoothness": 0.25,
    "loss_bound": 3.0,
    "difference_bound": 4.0,
    "fixed_normaliser": True,
    "record_radius": 1.5,
    "n": 500,
    "maximum_n": 1000,
    "dimension": 4,
    "slack": 1e-12,
    "step": 0.001,
    "steps": 30,
    "metric_lipschitz": 0.7,
    "metric_diameter": 2.0,
    "stochastic_rate": 50.0,
    "stochastic_floor": 0.001,
    "likelihood_ratio_bound": 1.5,
    "contamination": 0.2,
    "density_ratio": 3.0,
    "beta_prior": (2.0, 3.0),
    "clip": 1.0,
}
TEMPERED = sorted(set(THEOREMS) - {"stochastic-lipschitz"})


def open_to(theorem):
    """Return the adjacencies under which the theorem applies to the rich constants."""
    for adjacency in Adjacency:
        try:
            get(theorem).premises(Constants(**RICH), adjacency)
        except gs.PremiseError:
            continue
        yield adjacency


def test_registry_keeps_the_public_names():
    assert set(THEOREMS) >= PUBLIC


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_every_theorem_says_who_proved_it_and_under_what(name):
    theorem = get(name)
    assert theorem.reference
    assert theorem.title
    assert theorem.__doc__
    assert all(number.startswith("E") for number in theorem.errata)
    adjacency = next(open_to(name))
    assert adjacency is Adjacency.REPLACE_ONE
    premises = theorem.premises(Constants(**RICH), adjacency)
    assert premises
    assert all(str(premise).endswith(("(checked)", "(asserted)")) for premise in premises)


@pytest.mark.parametrize("name", TEMPERED)
@settings(max_examples=5)
@given(
    epsilon=st.floats(1e-3, 1.0),
    delta=st.floats(1e-9, 1e-2),
    looser=st.tuples(st.floats(1.0, 1.0), st.floats(1.0, 5.0)),
    draws=st.integers(1, 20),
)
def test_calibration_spends_the_budget_and_never_more(name, epsilon, delta, looser, draws):
    theorem, constants = get(name), Constants(**RICH)
    budget = gs.Budget(epsilon, delta)
    for adjacency in open_to(name):
        beta = theorem.calibrate(constants, budget, adjacency=adjacency, draws=draws)
        claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency, draws=draws)
        assert claim.delta(epsilon) <= delta
        assert claim.adjacency is adjacency
        colder = theorem.guarantee(constants, inverse_temperature=beta * (1 + 1e-9), adjacency=adjacency, draws=draws)
        assert colder.delta(epsilon) > delta
        wider = gs.Budget(min(1.0, epsilon * looser[1]), min(0.5, delta * looser[1]))
        assert theorem.calibrate(constants, wider, adjacency=adjacency, draws=draws) >= beta * (1 - 1e-12)
        if draws > 1:
            assert theorem.calibrate(constants, budget, adjacency=adjacency) >= beta * (1 - 1e-12)


@given(beta=st.floats(1e-4, 5), L=st.floats(0.1, 5), m=st.floats(0.01, 100), r=st.floats(0.1, 3))
def test_gaussian_dp_blocks_are_the_anisotropic_formula(beta, L, m, r):
    def mu(adjacency, **constants):
        return get("gaussian-dp").guarantee(Constants(convex=True, **constants), inverse_temperature=beta, adjacency=adjacency).mu

    assert mu("replace-one", lipschitz=L, prior_precision=m) == pytest.approx(2 * beta * L / math.sqrt(m), rel=1e-12)
    assert mu("add-remove", lipschitz=L, prior_precision=m) == pytest.approx(beta * L / math.sqrt(m), rel=1e-12)
    assert mu("replace-one", lipschitz=L, difference_lipschitz=L, prior_precision=m) == pytest.approx(
        beta * L / math.sqrt(m), rel=1e-12
    )
    split = mu("replace-one", lipschitz=(r, 1.0), prior_precision=(m, 3.0))
    assert split == pytest.approx(2 * beta * math.sqrt(r * r / m + 1 / 3.0), rel=1e-12)
    curved = mu("add-remove", lipschitz=L, prior_precision=m, loss_strong_convexity=0.5, n=10**6, minimum_n=7)
    assert curved == pytest.approx(beta * L / math.sqrt(m + 8 * beta * 0.5), rel=1e-12)


def test_add_remove_never_uses_n():
    base = {"convex": True, "lipschitz": 1.0, "prior_precision": 1.0, "loss_strong_convexity": 0.5}
    prices = {
        get("gaussian-dp").guarantee(Constants(n=n, **base), inverse_temperature=1.0, adjacency="add-remove").mu
        for n in (1, 1000)
    }
    assert len(prices) == 1
    for name in ("gaussian-mean", "gaussian-mean-paper", "langevin-steps"):
        with pytest.raises(gs.PremiseError, match="private under add-remove"):
            get(name).guarantee(Constants(**RICH), inverse_temperature=1.0, adjacency="add-remove")
    with pytest.raises(gs.PremiseError, match="maximum_n"):
        get("langevin-last-iterate").guarantee(RICH | {"maximum_n": None}, inverse_temperature=1.0, adjacency="add-remove")


@given(h=st.floats(1e-6, 3), m=st.floats(1e-3, 10), ratio=st.floats(1, 1e3), t=st.integers(1, 10**6), G=st.floats(0.01, 10))
def test_langevin_price_is_monotone_and_guarded(h, m, ratio, t, G):
    M = m * ratio
    mu = last_iterate_mu(step=h, gap=G, strong_convexity=m, smoothness=M, steps=t)
    plain = math.sqrt(t * h / 2) * G
    assert mu <= plain * (1 + 1e-9)
    assert mu <= last_iterate_mu(step=h, gap=G, strong_convexity=m, smoothness=M, steps=t + 1) * (1 + 1e-9)
    if max(abs(1 - h * m), abs(1 - h * M)) >= 1:
        assert mu == pytest.approx(plain, rel=1e-9)
    elif h <= 2 / (m + M):
        assert mu <= G / math.sqrt(m) * (1 + 1e-9)
        c = 1 - h * m
        exact = math.sqrt(G * G / m * (1 - h * m / 2) * (1 - c**t) / (1 + c**t))
        assert mu >= exact * (1 - 1e-6)


@pytest.mark.parametrize("step", [1e-9, 1e-12])
def test_langevin_price_of_tiny_steps_does_not_cancel(step):
    """One step costs hG²/2 whatever the contraction; a million tiny ones almost a million times as much."""
    one = last_iterate_mu(step=step, gap=1.0, strong_convexity=1.0, smoothness=2.0, steps=1)
    assert one == pytest.approx(math.sqrt(step / 2), rel=1e-9)
    many = last_iterate_mu(step=step, gap=1.0, strong_convexity=1.0, smoothness=2.0, steps=10**6)
    assert many <= math.sqrt(10**6 * step / 2) * (1 + 1e-9)
    assert many >= math.sqrt(10**6 * step / 2) * (1 - 1e-3)


@pytest.mark.parametrize("gap_below_two", [1e-15, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("steps", [10, 10**6, 10**9])
def test_langevin_price_near_the_stability_limit_is_rounded_up(gap_below_two, steps):
    """Against 60-digit arithmetic, where 1 − c = 2 − hM cancels in doubles."""
    with mp.workdps(60):
        step, smoothness = 0.7, (2 - gap_below_two) / 0.7
        h, M = mp.mpf(step), mp.mpf(smoothness)
        c = max(abs(1 - h), abs(1 - h * M))
        exact = mp.sqrt(h / 2 * (1 - c**steps) * (1 + c) / ((1 + c**steps) * (1 - c)))
        ours = last_iterate_mu(step=step, gap=1.0, strong_convexity=1.0, smoothness=smoothness, steps=steps)
        assert ours >= exact
        assert ours <= mp.sqrt(steps * h / 2) * (1 + mp.mpf(10) ** -9)


def test_gaussian_mean_with_a_precision_per_block_still_prints():
    constants = {"record_radius": 1.0, "n": 10, "prior_precision": (1.0, 2.0)}
    table = compare(constants, gs.Budget(1.0, 1e-6), "replace-one")
    assert "isotropic" in table.row("gaussian-mean").failure


def test_stochastic_lipschitz_is_about_the_untempered_posterior():
    theorem, constants = get("stochastic-lipschitz"), Constants(**RICH | {"likelihood_ratio_bound": 1.0})
    claim = theorem.guarantee(constants, inverse_temperature=1.0, adjacency="replace-one")
    assert claim.pair == pytest.approx((0.0, math.sqrt((0.001 + 1 / 50) * 2.0)), rel=1e-12)
    assert theorem.calibrate(constants, gs.Budget(1.0, 0.3), adjacency="replace-one") == 1.0
    with pytest.raises(gs.BudgetError, match="total-variation bound"):
        theorem.calibrate(constants, gs.Budget(1.0, 1e-6), adjacency="replace-one")
    with pytest.raises(gs.PremiseError, match="untempered"):
        theorem.guarantee(constants, inverse_temperature=0.5, adjacency="replace-one")
    with pytest.raises(gs.PremiseError, match="nothing is claimed"):
        theorem.guarantee(constants, inverse_temperature=1.0, adjacency="replace-one", draws=10**4)


def test_metric_bounds():
    theorem = get("lipschitz-metric")
    claim = theorem.metric_guarantee(Constants(metric_lipschitz=0.7), Metric.hamming(), inverse_temperature=0.5)
    assert claim.at(3.0).range == pytest.approx(2.1)
    assert kl_bound(1.0, 0.5) == pytest.approx(0.125)
    assert kl_bound(1.0, 50.0) == pytest.approx(100.0)
    assert tv_bound(1.0, 0.5) == pytest.approx(math.tanh(0.25))
    assert meets_necessary_condition(log_likelihood_ratio=1.0, log_marginal_ratio=5.0, lipschitz=1.0, distance=1.0)
    assert not meets_necessary_condition(log_likelihood_ratio=1.1, log_marginal_ratio=5.0, lipschitz=1.0, distance=1.0)


def test_comparison_lists_every_theorem_once():
    table = compare(RICH, gs.Budget(1.0, 1e-6), "replace-one", draws=3)
    assert {row.theorem.name for row in table} == set(THEOREMS)
    allowed = [row.inverse_temperature for row in table if row.inverse_temperature is not None]
    assert allowed == sorted(allowed, reverse=True)
    assert table.best.inverse_temperature == allowed[0]
    for row in table:
        assert (row.inverse_temperature is None) == (row.failure is not None) == (row.guarantee is None)
        assert row.theorem.name in str(table)
    assert len(table.to_dict()["theorems"]) == len(THEOREMS)


def test_colder_than_the_paper():
    """The exact price allows 1.27 to 2.14 times the β of the paper's Theorem 7."""
    constants = {"lipschitz": 1.0, "prior_precision": 1.0, "convex": True}
    for epsilon, delta, gain in ((0.1, 1e-3, 2.14), (0.1, 1e-5, 1.56), (1.0, 1e-6, 1.27)):
        table = compare(constants, gs.Budget(epsilon, delta), "replace-one")
        ratio = table.row("gaussian-dp").inverse_temperature / table.row("log-sobolev").inverse_temperature
        assert ratio == pytest.approx(gain, abs=0.01)


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({"lipschitz": -1.0}, "lipschitz = -1.0"),
        ({"lipschitz": math.nan}, "lipschitz = nan"),
        ({"prior_precision": math.inf}, "prior_precision = inf"),
        ({"loss_bound": 0.0}, "loss_bound = 0.0"),
        ({"loss_interval": (2.0, 1.0)}, "loss_interval"),
        ({"loss_interval": 3.0}, "loss_interval"),
        ({"n": 0}, "n = 0"),
        ({"n": 10.5}, "n = 10.5"),
        ({"steps": 0}, "steps = 0"),
        ({"slack": 1.0}, "slack = 1.0"),
        ({"contamination": 0.0}, "contamination"),
        ({"convex": "yes"}, "convex"),
        ({"lipschits": 1.0}, "did you mean lipschitz"),
        ({"lipschitz": 1.0, "difference_lipschitz": 3.0}, "at most twice"),
        ({"lipschitz": (1.0, 1.0), "difference_lipschitz": 2.0}, "one number per block"),
    ],
)
def test_bad_constants(constants, words):
    with pytest.raises(gs.ParameterError, match=words):
        compare(constants, gs.Budget(1.0, 1e-6), "replace-one")


def test_refusals_name_what_is_wrong():
    theorem = get("gaussian-dp")
    good = {"lipschitz": 1.0, "prior_precision": 1.0, "convex": True}
    price = {"inverse_temperature": 1.0, "adjacency": "replace-one"}
    with pytest.raises(gs.PremiseError, match="convex: declared False"):
        theorem.guarantee(good | {"convex": False}, **price)
    with pytest.raises(gs.PremiseError, match="convex: not declared"):
        theorem.guarantee({"lipschitz": 1.0, "prior_precision": 1.0}, **price)
    with pytest.raises(gs.PremiseError, match="prior_precision"):
        theorem.guarantee(good | {"prior_precision": 0.0}, **price)
    with pytest.raises(gs.PremiseError, match="2 blocks for 3"):
        theorem.guarantee(good | {"prior_precision": (1.0, 1.0), "lipschitz": (1.0, 1.0, 1.0)}, **price)
    with pytest.raises(gs.ParameterError, match="did you mean replace-one"):
        theorem.guarantee(good, inverse_temperature=1.0, adjacency="replace one")
    with pytest.raises(gs.ParameterError, match="adjacency = None"):
        theorem.guarantee(good, inverse_temperature=1.0, adjacency=None)
    with pytest.raises(gs.ParameterError, match="inverse_temperature = 0"):
        theorem.guarantee(good, inverse_temperature=0, adjacency="replace-one")
    with pytest.raises(gs.ParameterError, match="draws = 0"):
        theorem.guarantee(good, inverse_temperature=1.0, adjacency="replace-one", draws=0)
    with pytest.raises(gs.ParameterError, match="did you mean gaussian-dp"):
        get("gaussian-pd")
    with pytest.raises(gs.BudgetError, match="no inverse temperature above 0"):
        theorem.calibrate(good, gs.Budget(1.0, 0.0), adjacency="replace-one")
    with pytest.raises(gs.PremiseError, match="any inverse temperature"):
        theorem.calibrate(good | {"lipschitz": 0.0}, gs.Budget(1.0, 1e-6), adjacency="replace-one")


@pytest.mark.parametrize("adjacency", ["replace-one", Adjacency.REPLACE_ONE])
def test_adjacency_by_name_and_by_type_are_one_price(adjacency):
    """A string that slipped through as 'not replace-one' would halve the price: it must not."""
    constants = Constants(lipschitz=1.0, prior_precision=1.0, convex=True)
    assert constants.gap(adjacency) == 2.0
    assert get("gaussian-dp").premises(constants, adjacency)
    assert get("gaussian-dp").guarantee(constants, inverse_temperature=0.5, adjacency=adjacency).mu == pytest.approx(1.0)


def test_langevin_without_a_declared_step_takes_the_largest_that_contracts():
    constants = {"lipschitz": 1.0, "convex": True, "smoothness": 0.25, "prior_precision": 2.0, "prior_smoothness": 3.0}
    constants |= {"steps": 40, "n": 8}
    theorem = get("langevin-last-iterate")
    unsaid = theorem.guarantee(constants, inverse_temperature=1.0, adjacency="replace-one")
    said = theorem.guarantee(constants | {"step": 2 / (2.0 + 8 * 0.25 + 3.0)}, inverse_temperature=1.0, adjacency="replace-one")
    assert unsaid.mu == pytest.approx(said.mu, rel=1e-9)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", ["exponential-mechanism", "bounded-loss", "bounded-difference", "bounded-range"])
@pytest.mark.parametrize(
    ("declared", "low", "high"),
    [
        ({"loss_bound": 0.7}, -0.7, 0.7),
        ({"loss_interval": (-0.3, 1.1)}, -0.3, 1.1),
        ({"loss_interval": (0.4, 1.3)}, 0.4, 1.3),
        ({"loss_range": 0.9}, 0.2, 1.1),
        ({"sensitivity": 0.9}, -0.9, 0.9),
        ({"difference_bound": 0.9}, -0.45, 0.45),
        ({"difference_range": 0.9}, -0.225, 0.225),
    ],
)
def test_two_parameters_at_the_ends_of_what_is_declared(name, declared, low, high, adjacency):
    """Records that love opposite parameters, one of them with hardly any mass: the log ratio comes close to its supremum."""
    if adjacency == "replace-one" and "sensitivity" in declared:
        low, high = low / 2, high / 2
    beta, prior = 0.8, (1.0, 1e-9)
    losses = [(low, high), (high, low)] if adjacency == "replace-one" else [(low, high), (0.0, 0.0)]
    laws = []
    for one in losses:
        masses = [weight * math.exp(-beta * loss) for weight, loss in zip(prior, one, strict=True)]
        laws.append([mass / math.fsum(masses) for mass in masses])
    shown = max(abs(math.log(p / q)) for p, q in zip(*laws, strict=True))
    try:
        claim = get(name).guarantee(declared, inverse_temperature=beta, adjacency=adjacency)
    except gs.PremiseError:
        return
    assert shown <= claim.epsilon(0.0)
    assert claim.epsilon(0.0) <= 2.001 * shown * (1 if name != "exponential-mechanism" or adjacency == "replace-one" else 4)


def test_bounded_theorems_refuse_only_what_is_not_declared():
    """So that the test above cannot pass by refusing."""
    answered = {
        (name, next(iter(declared)))
        for name in ("exponential-mechanism", "bounded-loss", "bounded-difference", "bounded-range")
        for declared in (
            {"loss_bound": 1.0}, {"loss_interval": (0.0, 1.0)}, {"loss_range": 1.0}, {"sensitivity": 1.0},
            {"difference_bound": 1.0}, {"difference_range": 1.0},
        )
        if _is_priced(name, declared)
    }  # fmt: skip
    assert answered == {
        ("exponential-mechanism", "loss_bound"), ("exponential-mechanism", "loss_interval"),
        ("exponential-mechanism", "sensitivity"), ("exponential-mechanism", "difference_bound"),
        ("bounded-loss", "loss_bound"), ("bounded-loss", "loss_interval"),
        ("bounded-difference", "difference_bound"),
        ("bounded-range", "loss_bound"), ("bounded-range", "loss_interval"), ("bounded-range", "loss_range"),
        ("bounded-range", "sensitivity"), ("bounded-range", "difference_bound"), ("bounded-range", "difference_range"),
    }  # fmt: skip


def _is_priced(name, declared):
    try:
        get(name).guarantee(declared, inverse_temperature=1.0, adjacency="replace-one")
    except gs.PremiseError:
        return False
    return True
