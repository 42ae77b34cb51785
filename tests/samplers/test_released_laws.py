"""Released draws, through plan and release, against laws written down from the likelihood: families with closed forms and tables.

Kolmogorov–Smirnov and chi-square tests at a false-alarm rate of 1e-4 each, fixed seeds; about 20 tests make 0.2 % over the file.
"""

import numpy as np
import pytest
from scipy.stats import beta, binom, chisquare, kstest, norm

import gibbsafe as gs

M = gs.models
FALSE_ALARM = 1e-4
DRAWS = 4000


def released(model, data, n):
    plan = gs.plan(model, gs.Budget(3.0, 1e-6), n=n, adjacency="replace-one", draws=DRAWS)
    return plan, plan.release(data, generator=np.random.default_rng(5)).draws


def test_gaussian_mean_has_its_normal_law():
    rng = np.random.default_rng(1)
    data = rng.normal(size=(200, 3)) * 0.4 + [0.5, 0.0, -0.7]
    model = M.GaussianMean(dimension=3, radius=2.0)
    plan, draws = released(model, data, 200)
    power, precision = plan.inverse_temperature, float(np.atleast_1d(plan.prior_precision)[0])
    total = 200 * power + precision
    for j in range(3):
        law = norm(power * data[:, j].sum() / total, 1 / np.sqrt(total))
        assert kstest(draws[:, j], law.cdf).pvalue > FALSE_ALARM


def truncated_beta(successes, failures, smallest):
    """Distribution function of Beta(successes, failures) between e and 1 − e."""
    law = beta(successes, failures)
    low, high = law.cdf(smallest), law.cdf(1 - smallest)
    return lambda x: (law.cdf(x) - low) / (high - low)


def test_network_tables_have_their_truncated_beta_laws():
    rng = np.random.default_rng(2)
    rain = rng.random(300) < 0.3
    wet = np.where(rain, rng.random(300) < 0.9, rng.random(300) < 0.2)
    network = M.BayesianNetwork(
        states={"rain": 2, "wet": 2}, parents={"wet": ["rain"]}, smallest_probability=0.02, concentration=0.6
    )
    plan, draws = released(network, np.column_stack([rain, wet]).astype(int), 300)
    power, e = plan.inverse_temperature, 0.02
    pairs = {
        "P(rain=1)": (rain.sum(), (~rain).sum()),
        "P(wet=1 | rain=0)": ((wet & ~rain).sum(), (~wet & ~rain).sum()),
        "P(wet=1 | rain=1)": ((wet & rain).sum(), (~wet & rain).sum()),
    }
    for name, (ones, zeros) in pairs.items():
        column = draws[:, network.parameter_names.index(name)]
        assert kstest(column, truncated_beta(0.6 + power * ones, 0.6 + power * zeros, e)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("states", [2, 3])
def test_chain_transitions_have_their_truncated_laws(states):
    """Two states: Beta laws. Three: each probability beside another, given the third, is a Beta law on what is left."""
    rng = np.random.default_rng(3)
    paths = rng.integers(states, size=(80, 6))
    paths[:, 1] = paths[:, 0]  # not uniform
    e = 0.03
    chain = M.MarkovChain(states=states, length=6, smallest_probability=e, concentration=1.5)
    plan, draws = released(chain, paths, 80)
    power = plan.inverse_temperature
    starts = np.bincount(paths[:, 0], minlength=states)
    moves = np.zeros((states, states))
    np.add.at(moves, (paths[:, :-1].ravel(), paths[:, 1:].ravel()), 1)
    names = chain.parameter_names
    for source in [None, *range(states)]:
        counts = starts if source is None else moves[source]
        label = "P(start={})" if source is None else f"P({source}→{{}})"
        table = np.column_stack([draws[:, names.index(label.format(k))] for k in range(states)])
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)
        a, b = 1.5 + power * counts[0], 1.5 + power * counts[1]
        if states == 2:
            assert kstest(table[:, 0], truncated_beta(a, b, e)).pvalue > FALSE_ALARM
            continue
        room = table[:, 0] + table[:, 1]
        law, low = beta(a, b), e / room
        share = (law.cdf(table[:, 0] / room) - law.cdf(low)) / (law.cdf(1 - low) - law.cdf(low))
        assert kstest(share, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("ones", [0, 7, 30])
def test_finite_family_has_its_law(ones):
    family = M.FiniteFamily.bernoulli(0.1)
    records = np.array([1] * ones + [0] * (30 - ones))
    plan, draws = released(family, records, 30)
    points = np.arange(1, 10) / 10
    log_weights = plan.inverse_temperature * binom.logpmf(ones, 30, points)
    weights = np.exp(log_weights - log_weights.max())
    found = [np.isclose(draws[:, 0], point).sum() for point in points]
    assert sum(found) == DRAWS
    expected = DRAWS * weights / weights.sum()
    rare = expected < 5
    observed, wanted = (
        np.append(np.array(found)[~rare], np.array(found)[rare].sum()),
        np.append(expected[~rare], expected[rare].sum()),
    )
    if wanted[-1] < 5:  # one cell of all that is rare, joined to the last
        observed, wanted = np.append(observed[:-2], observed[-2:].sum()), np.append(wanted[:-2], wanted[-2:].sum())
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > FALSE_ALARM
