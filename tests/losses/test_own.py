"""A loss of one's own, log-cosh: the tests of built-in losses run on it (formulas.py); here what is special about it."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstwobign

import gibbsafe as gs
from gibbsafe.models.base import OWN_MODELS

from .log_cosh import log_cosh

BUDGET = gs.Budget(20.0, 1e-3)


def model(loss=None, **options):
    given = {"dimension": 2, "response_bounds": (-20, 20)} | options
    return gs.models.LinearModel.with_loss(loss or log_cosh(), **given)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, (800, 2))
    return X, 1 + X @ [2.0, -1.0] + rng.standard_t(3, 800)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_it_is_drawn_exactly_and_verified_without_its_code(data, tmp_path, full, adjacency):
    plan = gs.plan(model(log_cosh(full=full)), BUDGET, n=800, adjacency=adjacency, sampler="shell", draws=3)
    made = plan.release(data, generator=np.random.default_rng(1), progress=False)
    np.testing.assert_allclose(made.draws.mean(axis=0), [2.0, -1.0, 1.0], atol=0.6)
    made.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json") == made.certificate
    back = gs.Plan.from_json(plan.to_json())
    assert back == plan
    assert back.guarantee == plan.guarantee
    with pytest.raises(gs.PremiseError, match="a file holds its constants, not its code"):
        back.release(data)


def test_draws_match_quadrature():
    """Kolmogorov–Smirnov, one parameter, 4,000 draws by the shell sampler; false alarm 1e-4."""
    one = model(dimension=1, intercept=False)
    X, y = np.linspace(-1, 1, 12)[:, None], np.sin(np.arange(12.0))
    plan = gs.plan(one, BUDGET, n=12, adjacency="replace-one", sampler="shell")
    draws = np.sort(gs.audit.mechanism_of(plan, np.random.default_rng(2))((X, y), 4000)[:, 0])
    beta, m = plan.inverse_temperature, plan.stages[0].prior_precision[0]

    def density(t):
        return math.exp(-beta * np.log(np.cosh(y - X[:, 0] * t)).sum() - m * t * t / 2)

    whole = quad(density, -60, 60, limit=400, points=[-5, 0, 5])[0]
    grid = np.linspace(draws[0], draws[-1], 60)
    exact = [quad(density, -60, t, limit=400, points=[-5] if t > -5 else None)[0] / whole for t in grid]
    gap = np.abs(np.searchsorted(draws, grid) / 4000 - exact).max()
    assert gap * math.sqrt(4000) < kstwobign.isf(1e-4)


def test_a_search_is_carried_into_plan_and_certificate(data):
    plain = model()
    assert "no search for a counterexample was made" in str(gs.plan(plain, BUDGET, n=800, adjacency="replace-one"))
    outcome = gs.audit.refute(plain, effort=3, seed=3)
    carried = plain.with_record(outcome)
    text = f"declared by the user, not refuted in {outcome.evaluations:,} evaluations (seed 3)"
    plan = gs.plan(carried, BUDGET, n=800, adjacency="replace-one", sampler="langevin")
    assert text in str(plan)
    assert text in str(plan.release(data, progress=False).certificate)
    assert gs.models.model_from_dict(json.loads(json.dumps(carried.to_dict()))) == carried
    with pytest.raises(gs.PremiseError, match="another declaration"):
        model(dimension=3).with_record(outcome)


@pytest.mark.parametrize(
    ("wrong", "constant"),
    [({"lipschitz": 0.8}, "lipschitz"), ({"smoothness": 0.8}, "smoothness"), ({"self_concordance": 1.5}, "self_concordance")],
)
def test_a_wrong_constant_is_refuted_and_not_carried(wrong, constant):
    outcome = gs.audit.refute(model(log_cosh(full=False, **wrong)), effort=3)
    assert outcome.refuted
    assert constant in outcome.counterexample.constant
    with pytest.raises(gs.PremiseError, match="refuted by"):
        model(log_cosh(full=False, **wrong)).with_record(outcome)


def test_a_wrong_derivative_is_refuted():
    assert gs.audit.refute(model(log_cosh(full=False, slope=lambda u, y: 0.9 * np.tanh(u - y))), effort=3).refuted


def test_jax_makes_the_derivatives():
    pytest.importorskip("jax")
    import jax.numpy as jnp

    made = gs.models.own_loss(
        lambda u, y: jnp.logaddexp(u - y, y - u) - jnp.log(2.0), lipschitz=1, smoothness=1, self_concordance=2, name="log-cosh"
    )
    u, y = np.linspace(-4, 4, 8), np.full(8, 0.3)
    for what in ("value", "slope", "curvature", "third"):
        np.testing.assert_allclose(getattr(made, what)(u, y), getattr(log_cosh(), what)(u, y), atol=1e-12)


def test_estimates_by_noisy_scores_as_well(data, tmp_path):
    plan = gs.plan(model(), BUDGET, n=800, adjacency="add-remove", purpose="estimate")
    made = plan.release(data, progress=False, generator=np.random.default_rng(0))
    np.testing.assert_allclose(made.draws[0], [2.0, -1.0, 1.0], atol=0.6)
    made.save(tmp_path / "e.json")
    gs.verify(tmp_path / "e.json")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"lipschitz": -1}, "lipschitz"),
        ({"self_concordance": math.inf}, "self_concordance"),
        ({"name": ""}, "loss name"),
        ({"slope": None}, "derivatives"),
        ({"quartic_deficit": 2.0}, "all or not at all"),
        ({"value": lambda u, y: 1.0}, "elementwise"),
        ({"value": lambda u, y: u * np.nan}, "not finite"),
        ({"value": lambda u, y: np.random.default_rng().normal(size=u.shape)}, "pure"),
        ({"value": lambda u, y: u["x"]}, "fails on arrays"),
    ],
)
def test_bad_losses_are_refused_in_one_line(options, told):
    with pytest.raises(gs.GibbsafeError, match=told) as refusal:
        log_cosh(full=False, **options)
    assert "\n" not in str(refusal.value)


def test_bad_declarations_are_refused():
    with pytest.raises(gs.GibbsafeError, match="made by gibbsafe"):
        gs.models.LinearModel.with_loss("logistic", dimension=2, response_bounds=(0, 1))
    with pytest.raises(gs.GibbsafeError, match="narrow response_bounds"):
        model(response_bounds=(-1e300, 1e300))
    with pytest.raises(gs.GibbsafeError, match="record"):
        model().with_record("trust me")
    assert "OwnLossRegression" in OWN_MODELS
    assert "OwnLossRegression" not in gs.models.MODELS
