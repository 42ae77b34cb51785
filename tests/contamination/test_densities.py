"""Contaminating densities are normalised, drawn exactly, and refused where their tails are too light."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import gibbsafe as gs
from gibbsafe.contamination.model.likelihoods import AsymmetricLaplace, CauchyNoise, LogisticLabel, NormalNoise

C = gs.contamination
DENSITIES = [
    C.StudentT(5.0, 1.0, 2.0),
    C.StudentT(1.5),
    C.Cauchy(-1.0, 3.0),
    C.Normal(0.5, 2.0),
    C.Envelope(-2.0, 5.0, 1.5),
    C.Truncated(C.StudentT(5.0, 0.0, 8.0), -10.0, 30.0),
    C.Truncated(C.CentredAtTruth(C.Cauchy(0.0, 2.0)), -10.0, 30.0),
    C.CentredAtTruth(C.StudentT(5.0)),
]


def integral(function, low=-math.inf, high=math.inf, middle=0.0):
    parts = ((low, middle), (middle, high))
    return sum(integrate.quad(function, *ends, limit=500, epsabs=1e-12)[0] for ends in parts)


@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: d.describe()[:30])
def test_density_integrates_to_one(density):
    ends = (density.low, density.high) if isinstance(density, C.Truncated) else (-math.inf, math.inf)
    assert integral(lambda x: float(np.exp(density.log_density(np.array(x), 2.0))), *ends, middle=1.0) == pytest.approx(
        1, abs=1e-7
    )


@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: d.describe()[:30])
def test_draws_follow_the_density(density):
    """Kolmogorov–Smirnov at a false-alarm rate of 1e-4 per density."""
    centre = np.full(4000, 2.0)
    draws = density.sample(np.random.default_rng(3), centre)
    grid = np.unique(np.concatenate([np.linspace(-60, 60, 24001), np.geomspace(60, 1e6, 4000), -np.geomspace(60, 1e6, 4000)]))
    values = np.exp(density.log_density(grid, 2.0))
    cumulative = np.concatenate([[0], np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(grid))])
    assert stats.kstest(draws, lambda x: np.interp(x, grid, cumulative / cumulative[-1])).pvalue > 1e-4


@pytest.mark.parametrize("likelihood", [NormalNoise(), CauchyNoise(), AsymmetricLaplace(0.3)], ids=lambda f: f.name)
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_likelihood_and_mixture_integrate_to_one(likelihood, scale):
    """The printed Cauchy and Student normalisers do not (E23, E24)."""
    g = C.Cauchy(1.0, 4.0)

    def mixture(x):
        f = float(np.exp(likelihood.log_f(np.array(x), np.array(0.7), scale)))
        return 0.6 * f + 0.4 * float(np.exp(g.log_density(np.array(x))))

    assert integral(mixture, middle=0.7) == pytest.approx(1, abs=1e-7)


def test_printed_student_normaliser_is_wrong():
    lam = 5.0
    printed = math.gamma(3) / (lam * math.sqrt(3 * math.pi) * math.gamma(2.5))
    mass = integral(lambda x: printed * (1 + x * x / lam) ** -3)
    assert mass == pytest.approx(1 / math.sqrt(3 * lam), rel=1e-9)


@pytest.mark.parametrize("likelihood", [NormalNoise(), CauchyNoise(), LogisticLabel()], ids=lambda f: f.name)
def test_derivative_ratios_match_differences(likelihood):
    x = np.array([0.0, 1.0, 1.0, 0.0]) if likelihood.labels else np.array([-2.0, 0.3, 1.7, 6.0])
    u, h = np.array([0.4, -0.6, 2.0, -1.1]), 0.02
    f = [np.exp(likelihood.log_f(x, u + k * h, 1.3)) for k in range(-3, 4)]
    ratios = likelihood.ratios(x, u, 1.3)
    first = (f[4] - f[2]) / (2 * h) - (f[5] - 2 * f[4] + 2 * f[2] - f[1]) / (12 * h)
    second = (f[4] - 2 * f[3] + f[2]) / h**2 - (f[5] - 4 * f[4] + 6 * f[3] - 4 * f[2] + f[1]) / (12 * h**2)
    third = (f[5] - 2 * f[4] + 2 * f[2] - f[1]) / (2 * h**3)
    fourth = (f[5] - 4 * f[4] + 6 * f[3] - 4 * f[2] + f[1]) / h**4
    for ratio, numeric, tolerance in zip(ratios, (first, second, third, fourth), (1e-6, 1e-5, 5e-3, 5e-3), strict=True):
        assert ratio * f[3] == pytest.approx(numeric, abs=tolerance)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: C.CauchyRegression(columns=2, contamination=C.StudentT(5.0)), "Assumption 4"),
        (lambda: C.CauchyRegression(columns=2, scale=None, contamination=C.StudentT(2.0)), "Assumption 4"),
        (lambda: C.NormalMean(scale=2.0, contamination=C.Normal(0.0, 1.0)), "Assumption 4"),
        (lambda: C.QuantileRegression(columns=1, contamination=C.Normal(0.0, 9.0)), "Assumption 4"),
        (lambda: C.LogisticRegression(columns=2, contamination=C.Cauchy()), "Assumption 4"),
        (lambda: C.NormalMean(rate=0.0, contamination=C.Cauchy()), r"in \(0, 1\)"),
        (lambda: C.NormalMean(rate=1.0), r"in \(0, 1\)"),
        (lambda: C.NormalMean(contamination="cauchy"), "a density"),
        (lambda: C.NormalMean(truncated=True), "space"),
        (lambda: C.NormalMean(contamination=C.Envelope(0.0, 1.0)), "parameter_bounds"),
        (lambda: C.Asserted(lambda x: -np.abs(x), lambda g, s: g.laplace(size=s)), "tails_asserted"),
        (lambda: C.StudentT(0.0), "degrees"),
        (lambda: C.Cauchy(0.0, -1.0), "scale"),
    ],
)
def test_bad_declarations_are_refused_in_one_line(build, words):
    with pytest.raises(gs.GibbsafeError, match=words) as refusal:
        build()
    assert "\n" not in str(refusal.value)


def test_a_heavy_density_of_ones_own_is_asserted_by_name():
    g = C.Asserted(lambda x: -np.abs(x) / 9 - math.log(18), lambda g, s: 9 * g.laplace(size=s), tails_asserted=True)
    model = C.NormalMean(prior_mean=0.0, contamination=g, rate=0.3)
    rng = np.random.default_rng(0)
    assert len(model.contaminate(rng.standard_normal(50), rng)) == 50


def test_contamination_replaces_the_declared_share():
    model = C.NormalMean(prior_mean=0.0, contamination=C.Cauchy(1e6, 1.0), rate=0.3)
    records = model.contaminate(np.zeros(20_000), np.random.default_rng(1))
    replaced = np.mean(records.x != 0)
    assert abs(replaced - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 20_000)
    assert C.default_rate(256) == 0.5


def test_only_reproduction_may_follow_the_truth():
    model = C.NormalMean(prior_mean=0.0, contamination=C.CentredAtTruth(C.StudentT(5.0)))
    with pytest.raises(gs.PremiseError, match="reproduction only"):
        model.contaminate(np.zeros(10), np.random.default_rng(0))


def test_amplification_is_for_proved_guarantees_only():
    replaced = gs.privacy.RecordReplacement(keep_probability=0.6, whole_record=True, rows_per_person=1)
    estimate = C.estimate_epsilon(C.LogisticRegression(columns=1), 50, repeats=5, quantile=0.5, truth=[0.0])
    with pytest.raises(gs.PremiseError):
        estimate.amplify(0.5)
    with pytest.raises(gs.PremiseError):
        gs.privacy.amplify(estimate, replaced)
    assert gs.privacy.amplify(gs.privacy.PureDP(1.0, adjacency="replace-one"), replaced).epsilon(0.0) < 1
