"""Laws of guarantees, by property test; refusals, by name."""

import math
import pickle
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.privacy import (
    Adjacency,
    ApproximateDP,
    BlockRanges,
    BoundedRange,
    Composition,
    ConcentratedDP,
    EstimatedPrivacy,
    GaussianDP,
    Guarantee,
    Metric,
    MetricDP,
    PureDP,
    RecordReplacement,
    amplify,
    compose,
    pld_epsilon,
    to_dp_event,
)

sizes = st.floats(1e-6, 20.0)
simple = st.one_of(
    sizes.map(PureDP),
    sizes.map(GaussianDP),
    sizes.map(BoundedRange),
    sizes.map(ConcentratedDP),
    sizes.map(lambda rho: ConcentratedDP(rho, conversion="bun-steinke")),
    st.tuples(st.floats(0, 10), st.floats(0, 0.2)).map(lambda pair: ApproximateDP(*pair)),
)
lists = st.lists(simple, min_size=1, max_size=4)
guarantees = st.one_of(
    simple,
    st.tuples(lists, st.sampled_from([0.0, 0.0, 1e-12, 1e-4])).map(lambda pair: compose(pair[0], slack=pair[1])),
)
epsilons = st.floats(0, 50)
deltas = st.floats(1e-300, 0.5)


@given(guarantees, epsilons, epsilons)
def test_delta_decreases_and_is_a_probability(guarantee, a, b):
    low, high = sorted((a, b))
    assert 0 <= guarantee.delta(high) <= guarantee.delta(low) * (1 + 1e-11) <= 1 + 1e-11


@given(guarantees, epsilons)
def test_epsilon_inverts_delta(guarantee, epsilon):
    delta = guarantee.delta(epsilon)
    if delta < 1:
        back = guarantee.epsilon(delta)
        assert back <= epsilon * (1 + 1e-12)
        assert guarantee.delta(back) <= delta


def test_a_claim_is_found_between_a_large_pure_part_and_what_slack_allows():
    """Its δ falls from ε = 15 to 25 and rises to 1 at 28: once no ε was found."""
    claim = gs.privacy.compose([PureDP(13.0), GaussianDP(5.0), ApproximateDP(0.0, 0.0625)], slack=1e-12)
    assert claim.delta(17.0) < 1
    assert claim.epsilon(claim.delta(17.0)) <= 17.0
    assert claim.delta(40.0) == claim.delta(27.0) == pytest.approx(min(claim.delta(e / 10) for e in range(150, 280)), rel=1e-3)


@given(st.floats(1e-3, 10), st.floats(0.01, 0.95))
def test_gaussian_inversion_is_an_equality(mu, share):
    epsilon = share * mu * 30
    delta = GaussianDP(mu).delta(epsilon)
    if 1e-300 < delta < 1:
        assert GaussianDP(mu).epsilon(delta) == pytest.approx(epsilon, rel=1e-9, abs=1e-13)


@given(guarantees, deltas)
def test_epsilon_keeps_its_word(guarantee, delta):
    epsilon = guarantee.epsilon(delta)
    if epsilon < math.inf:
        assert guarantee.delta(epsilon) <= delta


@given(lists)
def test_composition_is_commutative_and_n_fold_is_n_calls(parts):
    assert compose(parts) == compose(parts[::-1])
    assert compose([compose(parts[:1]), *parts[1:]]) == compose(parts)
    three = parts[0].compose(3)
    assert three == compose([parts[0]] * 3) == compose([parts[0].compose(2), parts[0]])
    assert three.delta(1.0) == compose([parts[0]] * 3).delta(1.0)


@given(lists, deltas)
@settings(max_examples=50)
def test_auto_is_the_best_route_and_more_releases_never_cost_less(parts, delta):
    composed = compose(parts)
    prices = composed.routes(delta)
    assert composed.epsilon(delta) == min(prices.values()) == prices[composed.best_route(delta)]
    assert composed.epsilon(delta) >= max(part.epsilon(delta) for part in parts) * (1 - 1e-9) - 1e-9 or any(
        isinstance(part, ConcentratedDP)
        for part in parts  # a weak reading of one ρ may be improved by company
    )


@given(simple, st.integers(2, 6), epsilons)
def test_group_of_one_is_identity_and_groups_only_weaken(guarantee, size, epsilon):
    assert guarantee.group(1) is guarantee
    try:
        grouped = guarantee.group(size)
    except gs.PremiseError:
        return  # an (ε, δ) claim that says nothing about groups this large
    assert grouped.delta(epsilon) >= guarantee.delta(epsilon) * (1 - 1e-11)


@given(guarantees, epsilons)
def test_conversions_never_shrink_a_guarantee(guarantee, epsilon):
    for convert in (Guarantee.gaussian, Guarantee.concentrated):
        try:
            other = convert(guarantee)
        except gs.PremiseError:
            continue
        if isinstance(guarantee, ConcentratedDP) or (
            isinstance(guarantee, Composition) and any(isinstance(part, ConcentratedDP) for part, _ in guarantee.parts)
        ):
            continue  # a weak reading of ρ is sharpened by the default one, which is no shrinking of the claim ρ itself
        assert other.delta(epsilon) >= guarantee.delta(epsilon) * (1 - 1e-11)


@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 150.0])
def test_range_to_gaussian_dominates_everywhere(width):
    claim = BoundedRange(width)
    for k in range(101):
        epsilon = width * k / 100
        assert claim.gaussian().delta(epsilon) >= claim.delta(epsilon) * (1 - 1e-11)
        assert claim.concentrated().delta(epsilon) >= claim.delta(epsilon) * (1 - 1e-11)


@given(guarantees)
def test_round_trips(guarantee):
    assert Guarantee.from_dict(guarantee.to_dict()) == guarantee
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee
    assert hash(Guarantee.from_dict(guarantee.to_dict())) == hash(guarantee)
    assert str(guarantee)


def test_guarantees_are_immutable():
    with pytest.raises(AttributeError, match="immutable"):
        GaussianDP(1.0).mu = 0.1
    with pytest.raises(TypeError):
        GaussianDP(1.0).parameters["mu"] = 0.1


def test_hundred_small_ranges_go_by_zcdp():
    hundred = BoundedRange(0.1).compose(100)
    assert hundred.best_route(1e-6) == "zcdp"
    assert hundred.epsilon(1e-6) == pytest.approx(2.42, abs=0.005)
    assert hundred.epsilon(1e-6, route="gaussian") == pytest.approx(2.89, abs=0.005)
    assert hundred.epsilon(0.0) == pytest.approx(10.0)
    assert BoundedRange(0.1).compose(1).epsilon(0.0) == 0.1


def test_concentrated_parts_close_the_gaussian_route():
    mixed = compose([GaussianDP(0.1), ConcentratedDP(0.01)])
    with pytest.raises(gs.PremiseError, match="gaussian"):
        mixed.epsilon(1e-6, route="gaussian")
    assert mixed.epsilon(1e-6) == mixed.epsilon(1e-6, route="zcdp")


def test_slack_is_paid_once_at_the_final_epsilon():
    parts = [GaussianDP(0.1)] * 4
    plain, padded = compose(parts), compose(parts, slack=1e-9)
    assert padded.delta(1.0) == pytest.approx(plain.delta(1.0) + (1 + math.e) * 1e-9, rel=1e-9)
    assert padded.compose(2).slack == 2e-9
    assert padded.group(3).slack == 1e-9
    assert padded.epsilon(1e-9) == math.inf
    with pytest.raises(gs.PremiseError):
        padded.gaussian()


def test_adjacency_is_kept_and_never_mixed():
    removed = GaussianDP(0.5, adjacency="add-remove")
    assert removed.to_replace_one() == GaussianDP(removed.group(2).mu, adjacency=Adjacency.REPLACE_ONE)
    assert removed.compose(3).to_replace_one().adjacency is Adjacency.REPLACE_ONE
    with pytest.raises(gs.PremiseError, match="add-remove and unstated"):
        compose([removed, GaussianDP(0.5)])
    with pytest.raises(gs.PremiseError, match="add-remove, not replace-one"):
        removed.under("replace-one")
    with pytest.raises(gs.PremiseError, match="unstated"):
        GaussianDP(0.5).to_replace_one()


@given(simple, st.floats(1e-6, 0.99))
@settings(max_examples=60)
def test_attack_view_is_consistent(guarantee, rate):
    success = guarantee.true_positive_rate(rate)
    assert rate * (1 - 1e-9) <= success <= 1
    assert success <= rate + guarantee.advantage() * (1 + 1e-9) + 1e-12
    assert guarantee.advantage() == guarantee.delta(0.0)


@pytest.mark.parametrize("mu", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5])
def test_gaussian_trade_off_matches_its_profile(mu, rate):
    exact = GaussianDP(mu).true_positive_rate(rate)
    by_profile = Guarantee.true_positive_rate(GaussianDP(mu), rate)
    assert exact <= by_profile * (1 + 1e-9)
    assert by_profile <= exact * 1.02


def test_pure_trade_off_is_randomised_response():
    assert PureDP(1.0).true_positive_rate(0.01) == pytest.approx(math.e * 0.01, rel=1e-6)
    assert PureDP(1.0).true_positive_rate(0.5) == pytest.approx(1 - 0.5 / math.e, rel=1e-6)


@pytest.mark.parametrize("mu", [10 ** (k / 2 - 1.5) for k in range(5)])
def test_gaussian_epsilon_agrees_with_dp_accounting(mu):
    ours = GaussianDP(mu).epsilon(1e-6)
    theirs = pld_epsilon(GaussianDP(mu), 1e-6)
    discretisation = 1e-4  # the accountant rounds losses up to multiples of this
    assert ours <= theirs * (1 + 1e-9)
    assert theirs - ours <= discretisation


def test_concentrated_export_agrees_with_the_rdp_accountant():
    from dp_accounting.rdp import RdpAccountant

    for guarantee in (BoundedRange(0.1).compose(100), PureDP(0.1).compose(30), ConcentratedDP(0.02)):
        accountant = RdpAccountant()
        accountant.compose(to_dp_event(guarantee))
        theirs = accountant.get_epsilon(1e-6)
        ours = compose([guarantee]).epsilon(1e-6, route="zcdp")
        assert ours <= theirs * (1 + 1e-9)
        assert theirs <= ours * 1.02  # the accountant has a finite list of orders


def test_why_randomised_response_events_are_not_used():
    """`dp_accounting` 0.6.0 prices ten randomised responses as one; should this ever fail, `to_dp_event` may use them."""
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.pld import PLDAccountant

    response = dp_event.RandomizedResponseDpEvent(2 / (1 + math.exp(0.3)), 2)
    accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_event.SelfComposedDpEvent(response, 10))
    assert accountant.get_epsilon(1e-6) < 0.31


@pytest.mark.parametrize("guarantee", [ApproximateDP(1.0, 1e-6), compose([PureDP(1.0)], slack=1e-9)])
def test_what_has_no_event_is_refused(guarantee):
    with pytest.raises(gs.PremiseError):
        to_dp_event(guarantee)


BAD = [0, -1.0, math.nan, math.inf, -math.inf, "1", None, True, 1j, 10**400]


@pytest.mark.parametrize("value", BAD)
def test_bad_epsilons(value):
    for build in (PureDP, lambda e: gs.Budget(e, 1e-6)):
        with pytest.raises(gs.GibbsafeError, match="epsilon"):
            build(value)


@pytest.mark.parametrize("value", [*BAD[1:], 1.0, 1.5])
def test_bad_deltas(value):
    for build in (lambda d: gs.Budget(1.0, d), lambda d: ApproximateDP(1.0, d), GaussianDP(1.0).epsilon, PureDP(1.0).epsilon):
        with pytest.raises(ValueError, match="delta"):
            build(value)


@pytest.mark.parametrize("cls", [GaussianDP, ConcentratedDP, BoundedRange])
@pytest.mark.parametrize("value", BAD[1:])
def test_bad_parameters(cls, value):
    with pytest.raises(gs.ParameterError, match="must be a finite number, 0 or above"):
        cls(value)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, math.nan, "2"])
def test_bad_counts(value):
    for act in (GaussianDP(1.0).compose, GaussianDP(1.0).group, PureDP(1.0).compose(2).group):
        with pytest.raises(gs.ParameterError, match="whole number, 1 or above"):
            act(value)


def test_bad_epsilon_of_a_profile():
    for value in (-1e-9, math.nan, math.inf):
        with pytest.raises(gs.ParameterError, match="epsilon"):
            GaussianDP(1.0).delta(value)


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(gs.ParameterError, match="did you mean replace-one"):
        Adjacency.of("replace_one")
    with pytest.raises(gs.ParameterError, match="did you mean gaussian"):
        GaussianDP(1.0).compose(2).epsilon(1e-6, route="gausian")
    with pytest.raises(gs.ParameterError, match="adjacency = None"):
        Adjacency.of(None)


# -- metric claims, estimates, amplification ------------------------------------------------------------------------


def test_metric_claims_add_under_one_metric_only():
    claim = MetricDP(0.5, Metric.hamming(), 1e-3)
    assert claim.compose(4) == MetricDP(2.0, Metric.hamming(), 4e-3)
    assert claim.at(2.0).pair == pytest.approx((1.0, 2e-3))
    assert compose([claim, claim]) == claim.compose(2)
    assert MetricDP(epsilon=0.5, metric=Metric.hamming(), delta=1e-3) == claim
    with pytest.raises(gs.PremiseError, match="absolute, hamming"):
        compose([claim, MetricDP(0.5, Metric.absolute())])
    with pytest.raises(gs.PremiseError, match=r"\.at\(distance\)"):
        claim.epsilon(1e-6)
    with pytest.raises(gs.PremiseError, match="nothing is claimed"):
        claim.at(2000.0)
    with pytest.raises(gs.PremiseError, match="only proved guarantees compose"):
        compose([claim, PureDP(1.0)])


def test_metric_distances():
    assert Metric.hamming().between([[1, 2], [3, 4]], [[1, 2], [3, 5]]) == 1.0
    mean = Metric.induced("mean", lambda data: sum(data) / len(data))
    assert mean.between([0, 1], [1, 1]) == 0.5
    assert MetricDP(2.0, mean, bounded_range=True).between([0, 1], [1, 1]) == BoundedRange(1.0 * (1 + 2**-50))
    with pytest.raises(gs.PremiseError, match="by name only"):
        MetricDP(1.0, "somewhere").between(1, 2)


@given(st.floats(1e-3, 5), st.floats(0, 3), st.floats(0, 3), st.floats(0, 3))
def test_metric_claims_grow_with_distance(per_unit, near, extra, epsilon):
    claim = MetricDP(per_unit, Metric.absolute(), bounded_range=True)
    assert claim.at(near).delta(epsilon) <= claim.at(near + extra).delta(epsilon) * (1 + 1e-11)


def test_estimates_are_never_treated_as_proved():
    estimate = EstimatedPrivacy(0.94, 1e-4, 0.01, 0.95, "normal data")
    for act in (lambda: estimate.compose(2), lambda: estimate.group(2), lambda: estimate.amplify(0.5)):
        with pytest.raises(gs.PremiseError, match="only proved guarantees"):
            act()
    with pytest.raises(gs.PremiseError, match="only proved guarantees compose"):
        compose([estimate])
    with pytest.raises(gs.PremiseError, match="only a proved"):
        amplify(estimate, whole(0.5))
    assert "not a differential-privacy guarantee" in str(estimate)
    with pytest.raises(gs.ParameterError, match="data_model"):
        EstimatedPrivacy(0.94, 1e-4, 0.01, 0.95, " ")


def whole(keep, rows=1, whole_record=True):
    return RecordReplacement(keep_probability=keep, whole_record=whole_record, rows_per_person=rows)


@given(st.floats(1e-6, 10), st.floats(0, 0.1), st.floats(0.01, 0.99))
def test_amplification_never_weakens(epsilon, delta, keep):
    amplified = amplify(ApproximateDP(epsilon, delta, adjacency="replace-one"), whole(keep))
    assert amplified.pair[0] <= epsilon * (1 + 1e-12)
    assert amplified.pair[1] <= delta
    with pytest.raises(gs.PremiseError, match="approximate"):
        amplify(GaussianDP(1.0, adjacency="replace-one"), whole(keep))


@pytest.mark.parametrize(
    ("adjacency", "replaced", "message"),
    [
        ("add-remove", {}, "adjacency = add-remove"),
        (None, {}, "adjacency = unstated"),
        ("replace-one", {"whole_record": False}, "whole_record"),
        ("replace-one", {"rows": 3}, "rows_per_person = 3"),
    ],
)
def test_what_replacing_records_does_not_protect_is_not_amplified(adjacency, replaced, message):
    with pytest.raises(gs.PremiseError, match=message):
        amplify(PureDP(1.0, adjacency=adjacency), whole(0.5, **replaced))


def test_a_bare_probability_says_too_little_to_amplify():
    with pytest.raises(gs.ParameterError, match="RecordReplacement"):
        amplify(PureDP(1.0, adjacency="replace-one"), 0.5)


def test_groups_of_approximate_claims_never_saturate():
    """Three data sets with P(a) = 1 − 1e-10, 1e-10, 0: neighbours satisfy (800, 1e-10), the outer two only δ = 1 − 1e-10."""
    with pytest.raises(gs.PremiseError, match="nothing about groups"):
        ApproximateDP(800.0, 1e-10).group(2)
    with mpmath.workdps(40):
        exact = mpmath.mpf(1e-250) * mpmath.expm1(800) / mpmath.expm1(400)
    total = ApproximateDP(400.0, 1e-250).group(2).pair[1]
    assert exact <= total <= exact * (1 + 1e-9)


@given(st.floats(1e-12, 1e12), st.floats(-300, -1), st.integers(2, 50))
def test_group_deltas_are_rounded_up(epsilon, exponent, size):
    failure = 10.0**exponent
    with mpmath.workdps(60):
        ratio = mpmath.expm1(size * mpmath.mpf(epsilon)) / mpmath.expm1(mpmath.mpf(epsilon)) * mpmath.mpf(failure)
    try:
        total = ApproximateDP(epsilon, failure).group(size).pair[1]
    except gs.PremiseError:
        assert ratio >= 1 - 1e-9
        return
    assert ratio <= total <= ratio * (1 + 1e-9)


def test_metric_claims_add_up_to_at_least_their_exact_sum():
    total = MetricDP(0.1, "hamming").compose(10)
    assert total.at(1).epsilon(0.0) >= Fraction(0.1) * 10


def test_a_block_that_no_record_moves_costs_nothing_and_frees_nothing():
    for epsilon in (0.0, 0.2, 0.7):
        assert BlockRanges([0.0, 1.0, 0.5]).delta(epsilon) == BlockRanges([1.0, 0.5]).delta(epsilon) > 0
    assert BlockRanges([0.0]).delta(0.0) == 0


def test_total_variation_of_a_bounded_range_to_the_last_digit():
    for k in range(200):
        width = 10 ** (k / 40 - 3)
        assert mpmath.mpf(BoundedRange(width).total_variation()) >= mpmath.tanh(mpmath.mpf(width) / 4)


def test_distances_of_records():
    assert Metric.absolute().between([1.0, -2.0], [3.0, 1.0]) == 5.0
    assert Metric.hamming().between([1, 2, 3], [1, 5, 3]) == 1
