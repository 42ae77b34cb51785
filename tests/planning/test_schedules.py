"""Stages and Langevin schedules: priced in full, from public numbers only, and better than one draw where they should be."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.models import LogisticRegression
from gibbsafe.planning.schedules import FULL_SIGNAL, STAGES, estimate_schedule
from gibbsafe.privacy.profiles import gaussian_mu
from gibbsafe.samplers import GibbsPosterior, langevin

BUDGET = gs.Budget(1.0, 1e-6)


def make(dimension=3, n=5000, budget=BUDGET, **options):
    options = {"adjacency": "replace-one", "purpose": "estimate"} | options
    if options["purpose"] == "estimate":
        options = {"mechanism": "stages"} | options
    return gs.plan(LogisticRegression(dimension=dimension), budget, n=n, **options)


def seeded(seed=0):
    return np.random.default_rng(seed)


def data(n, d, seed=0):
    rng = seeded(seed)
    X = rng.normal(size=(n, d)) / math.sqrt(d) / 2
    coefficients = np.linspace(4, -4, d)
    return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-X @ coefficients))).astype(int), coefficients


@settings(max_examples=25)
@given(
    epsilon=st.floats(0.05, 10),
    delta=st.floats(1e-10, 1e-3),
    draws=st.integers(1, 5),
    n=st.integers(1, 10**6),
    sampler=st.sampled_from(["auto", "langevin"]),
    cap=st.integers(1, 3),
)
def test_no_schedule_is_over_budget(epsilon, delta, draws, n, sampler, cap):
    plan = make(n=n, budget=gs.Budget(epsilon, delta), draws=draws, sampler=sampler, rows_per_person=cap)
    assert plan.guarantee.delta(epsilon) <= delta
    assert plan.guarantee.epsilon(delta) >= epsilon * (1 - 1e-4)
    assert gs.Plan.from_json(plan.to_json()) == plan
    total = math.sqrt(sum(claim.gaussian().mu ** 2 for claim in plan.stage_guarantees))
    assert total == pytest.approx(gaussian_mu(epsilon, delta), rel=1e-6)


def test_stages_follow_the_public_signal():
    strong, weak = make(n=100_000), make(n=50)
    assert strong.stages[0].prior_centre == (0.0,) * 4
    assert all(stage.prior_centre is None for stage in strong.stages[1:])
    precisions = [stage.prior_precision[0] for stage in strong.stages]
    assert precisions == sorted(precisions)
    shares = [claim.mu**2 / strong.guarantee.gaussian().mu ** 2 for claim in strong.stage_guarantees]
    assert shares == pytest.approx(estimate_schedule(100_000 * gaussian_mu(1.0, 1e-6) / 4)[0], rel=1e-6)
    signal = 50 * gaussian_mu(1.0, 1e-6) / 4
    shrink = weak.stages[0].prior_precision[0] / strong.stages[0].prior_precision[0]
    assert shrink == pytest.approx(FULL_SIGNAL / signal, rel=1e-6)  # precision goes with the inverse square of the radius
    unknown, guessed = (make(n=n, adjacency="add-remove") for n in (None, 100_000))
    # A guess of n is public: it moves the radii and changes no guarantee.
    assert unknown.guarantee.epsilon(1e-6) == pytest.approx(guessed.guarantee.epsilon(1e-6), rel=1e-9)
    assert unknown.stages[-1].prior_precision < guessed.stages[-1].prior_precision
    assert make(n=50, adjacency="add-remove").guarantee.epsilon(1e-6) == pytest.approx(1.0)


@given(signal=st.floats(1e-3, 1e9))
def test_shares_add_up_and_radii_never_grow(signal):
    shares, radii = estimate_schedule(signal)
    assert sum(shares) == pytest.approx(1.0, rel=1e-12)
    assert shares == sorted(shares)
    assert radii == sorted(radii, reverse=True)
    assert 0 < radii[-1] <= radii[0] <= 1


def test_final_draws_share_the_last_stage():
    plan = make(n=100_000, draws=4)
    assert [stage.draws for stage in plan.stages] == [1] * (STAGES - 1) + [4]
    assert plan.release(data(100_000, 3)[:2], generator=seeded()).draws.shape == (4, 4)


def test_estimates_beat_single_draws_where_the_signal_is_strong():
    X, y, truth = data(10_000, 3)
    errors = {}
    for purpose in ("posterior", "estimate"):
        plan = make(n=len(y), purpose=purpose)
        released = [plan.release((X, y), generator=seeded(k)).draws[0, :3] for k in range(6)]
        errors[purpose] = np.mean([np.linalg.norm(draw - truth) for draw in released])
    assert errors["estimate"] < errors["posterior"]


def test_all_stages_are_in_the_certificate_and_any_change_is_refused(tmp_path):
    X, y, _ = data(5000, 3)
    made = make().release((X, y), generator=seeded())
    stages = made.certificate["stages"]
    assert len(stages) == STAGES
    assert stages[1]["centre"] == "the draw of the stage before"
    made.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json") == made.certificate
    from gibbsafe.release.files import digest as _digest

    document = json.loads((tmp_path / "r.json").read_text())
    for change in ({"inverse_temperature": 9.0}, {"draws": 2}, {"prior_centre": [0.0] * 4}, {"step": 0.1}):
        changed = json.loads(json.dumps(document))
        changed["plan"]["stages"][1] |= change
        changed["sha256"] = _digest({name: value for name, value in changed.items() if name != "sha256"})
        (tmp_path / "r.json").write_text(json.dumps(changed))
        with pytest.raises(gs.CertificateError):
            gs.verify(tmp_path / "r.json")
    dropped = json.loads(json.dumps(document))
    del dropped["plan"]["stages"][0]
    dropped["sha256"] = _digest({name: value for name, value in dropped.items() if name != "sha256"})
    (tmp_path / "r.json").write_text(json.dumps(dropped))
    with pytest.raises(gs.CertificateError):
        gs.verify(tmp_path / "r.json")


def test_stages_read_well():
    text = str(make(n=100_000))
    for words in ("1 estimate of", "stage 1", f"stage {STAGES}", "around the draw before", "around the public centre"):
        assert words in text
    assert "Langevin steps" in str(make(sampler="langevin", purpose="posterior"))


# -- Langevin ----------------------------------------------------------------------------------------------------------


def test_samplers_are_chosen_from_public_quantities():
    """Exact where that is proved quick for every data set, rounds otherwise, Langevin only by name."""
    posterior = {"purpose": "posterior"}
    assert make(dimension=1, **posterior).sampler == "shell"
    assert {make(dimension=d, **posterior).sampler for d in (5, 20, 70)} == {"proximal"}
    assert make(dimension=20, sampler="shell", **posterior).sampler == "shell"
    assert make(dimension=20, theorem="gaussian-dp", **posterior).sampler == "shell"
    assert make(dimension=20, theorem="langevin-last-iterate", **posterior).sampler == "langevin"
    unknown = {"n": None, "adjacency": "add-remove", **posterior}
    assert make(dimension=1, **unknown).sampler == "shell"
    assert make(dimension=20, **unknown).theorem.name == "proximal-last-iterate"
    assert make(dimension=100, **unknown).theorem.name == "approximate-sampling"  # too many rounds for any number of records


def test_a_wide_prior_makes_the_exact_draw_slow_and_a_narrow_one_quick():
    wide, narrow = (
        gs.plan(LogisticRegression(dimension=20), BUDGET, n=5000, adjacency="replace-one", prior=m) for m in (0.1, 400.0)
    )
    assert (wide.sampler, narrow.sampler) == ("proximal", "shell")
    assert narrow.work.seconds < 60


def test_rounds_refuse_priors_that_they_cannot_carry():
    far = gs.models.GaussianPrior(1.0, (1e13,) + (0.0,) * 20)
    with pytest.raises(gs.PremiseError, match="prior centre"):
        gs.plan(LogisticRegression(dimension=20), BUDGET, n=100, adjacency="replace-one", prior=far)
    model = gs.models.LinearRegression(dimension=20, response_bounds=(-1, 1), intercept=False)
    uneven = gs.models.GaussianPrior((0.01,) + (100.0,) * 19)
    with pytest.raises(gs.PremiseError, match="one precision"):
        gs.plan(model, BUDGET, n=100, adjacency="replace-one", prior=uneven)


def test_a_slack_is_part_of_the_price():
    plan = make(dimension=20, purpose="posterior", theorem="approximate-sampling", draws=3)
    assert plan.sampler == "proximal"
    assert plan.slack == pytest.approx(3 * plan.stages[0].slack)
    assert plan.slack * (1 + math.e) <= 0.011e-6
    assert plan.guarantee.delta(1.0) <= 1e-6
    assert gs.Plan.from_json(plan.to_json()) == plan
    exact = make(dimension=20, purpose="posterior", sampler="shell", draws=3)
    assert 0.99 * exact.inverse_temperature < plan.inverse_temperature < exact.inverse_temperature
    estimate = make(dimension=20, theorem="approximate-sampling")
    assert estimate.guarantee.delta(1.0) <= 1e-6
    assert estimate.slack > 0


def test_langevin_draws_of_many_chains_are_one_product_and_reproducible():
    X, y, _ = data(500, 3)
    plan = make(n=500, purpose="posterior", sampler="langevin", draws=7)
    first, second = (plan.release((X, y), generator=seeded(4)).draws for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (7, 4)


def test_langevin_law_approaches_the_posterior_for_small_steps():
    """One dimension, 4,000 chains: Kolmogorov–Smirnov against quadrature, false-alarm rate 1e-4."""
    from scipy.stats import kstest

    from gibbsafe.data import Blocks
    from gibbsafe.losses.logistic import LogisticLoss

    rows = seeded(2).uniform(-1, 1, (40, 1))
    posterior = GibbsPosterior(Blocks(rows), LogisticLoss(), 0.8, np.array([0.5]), np.array([0.3]))
    step = 0.01
    steps = math.ceil(8 / (step * 0.5))
    draws, _ = langevin.sample(posterior, 4000, seeded(3), None, step=step, steps=steps)
    grid = np.linspace(-15, 15, 20_001)
    heights = -posterior.values(grid[:, None])
    cumulative = np.cumsum(np.exp(heights - heights.max()))
    cumulative /= cumulative[-1]
    assert kstest(draws[:, 0], lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-4


def test_langevin_on_a_quadratic_has_its_closed_form():
    """Prior only: θ_t is Gaussian with mean c and variance 2h Σ (1 − hm)^{2k}; 1e5 chains, six standard errors."""
    from gibbsafe.data import Blocks
    from gibbsafe.losses.logistic import LogisticLoss

    posterior = GibbsPosterior(Blocks(np.zeros((0, 1))), LogisticLoss(), 1.0, np.array([2.0]), np.array([1.5]))
    h, t = 0.2, 5
    draws, _ = langevin.sample(posterior, 100_000, seeded(5), None, step=h, steps=t)
    variance = 2 * h * sum((1 - h * 2.0) ** (2 * k) for k in range(t))
    assert draws.mean() == pytest.approx(1.5, abs=6 * math.sqrt(variance / 1e5))
    assert draws.var() == pytest.approx(variance, rel=6 * math.sqrt(2 / 1e5))


def test_projection_keeps_chains_in_the_ball():
    points = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(langevin.project(points, 1.0), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_array_equal(langevin.project(points, None), points)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sampler": "langevin", "adjacency": "add-remove"}, gs.PremiseError, "public number of records"),
        ({"theorem": "log-sobolev"}, gs.PremiseError, "composes by Gaussian DP"),
        ({"theorem": "gaussian-dp", "sampler": "langevin"}, gs.PremiseError, "use langevin-last-iterate"),
        ({"prior": 1.0}, gs.ParameterError, "left out here"),
        ({"inverse_temperature": 0.1}, gs.ParameterError, "left out here"),
        ({"purpose": "estimates"}, gs.ParameterError, "did you mean estimate"),
    ],
)
def test_bad_schedules(options, error, words):
    with pytest.raises(error, match=words):
        make(**options)
