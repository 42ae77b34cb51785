"""The skeletons that CONTRIBUTING.md says to copy: each registers, is planned with, releases, and is taken away again."""

import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstwobign

import gibbsafe as gs
from gibbsafe.models import MODELS, model_from_dict
from gibbsafe.samplers import SAMPLERS
from gibbsafe.theorems import THEOREMS

FOLDER = Path(__file__).parents[1] / "docs" / "skeletons"
BUDGET = gs.Budget(1.0, 1e-6)


@pytest.fixture
def skeleton():
    """Return a function that loads a skeleton; what it registers is gone afterwards."""
    before = [(registry, dict(registry)) for registry in (MODELS, THEOREMS, SAMPLERS)]

    def load(name):
        spec = importlib.util.spec_from_file_location(f"skeleton_{name}", FOLDER / f"{name}.py")
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    for registry, entries in before:
        registry.clear()
        registry.update(entries)


def released(plan, data, tmp_path):
    """Release, save, verify; return the release."""
    made = plan.release(data, generator=np.random.default_rng(1), progress=False)
    made.save(tmp_path / "release.json", force=True)
    assert gs.verify(tmp_path / "release.json") == made.certificate
    assert gs.Plan.from_json(plan.to_json()) == plan
    return made


def declared(model):
    """Assert that a model's declaration comes back from a file, and that nothing refutes what it declares."""
    assert model_from_dict(json.loads(json.dumps(model.to_dict()))) == model
    outcome = gs.audit.refute(model, effort=10)
    assert not outcome.refuted, str(outcome)


def test_there_is_one_for_each_door():
    assert {path.stem for path in FOLDER.glob("*.py")} == {"model", "family", "theorem", "sampler"}


def test_model(skeleton, tmp_path):
    module = skeleton("model")
    model = module.MedianRegression(dimension=2, width=0.5)
    declared(model)
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, (2000, 2))
    y = 1 + X @ [2.0, -1.0] + rng.standard_t(2, 2000)
    for sampler in ("shell", "proximal", "langevin"):
        plan = gs.plan(model, gs.Budget(50.0, 1e-3), n=2000, adjacency="replace-one", sampler=sampler)
        assert np.isfinite(released(plan, (X, y), tmp_path).draws).all()
    exact = gs.plan(model, gs.Budget(50.0, 1e-3), n=2000, adjacency="replace-one", sampler="shell")
    np.testing.assert_allclose(released(exact, (X, y), tmp_path).draws[0], [2.0, -1.0, 1.0], atol=0.5)


def test_loss_of_the_model(skeleton):
    """Against the form it is written in, and its constants on a grid."""
    loss = skeleton("model").MedianLoss(0.3)
    u, y = np.linspace(-9, 9, 20_001), np.full(20_001, 0.4)
    x = y - u
    np.testing.assert_allclose(loss.value(u, y), x / 2 + 0.3 * np.logaddexp(0, -x / 0.3), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.gradient(loss.value(u, y), u)[1:-1], loss.slope(u, y)[1:-1], atol=1e-5)
    assert 0.99 * loss.lipschitz < np.abs(loss.slope(u, y)).max() <= loss.lipschitz
    assert 0.99 * loss.smoothness < loss.curvature(u, y).max() <= loss.smoothness * (1 + 1e-12)
    assert (np.abs(loss.third(u, y)) <= loss.self_concordance * loss.curvature(u, y) * (1 + 1e-12)).all()


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_family(skeleton, tmp_path, adjacency):
    model = skeleton("family").PoissonRate(trim=(0.5, 4.0), cap=6)
    declared(model)
    data = np.minimum(np.random.default_rng(0).poisson(2.0, 3000), 6)
    plan = gs.plan(model, gs.Budget(20.0, 1e-6), n=3000, adjacency=adjacency, draws=2)
    assert plan.theorem.name == "bounded-range"
    np.testing.assert_allclose(released(plan, data, tmp_path).draws, data.mean(), atol=0.2)
    worst = gs.audit.worst_neighbours(gs.plan(model, BUDGET, n=3, adjacency=adjacency), effort=10)
    assert 0.3 < worst.curve.epsilon(1e-6) <= 1.0


def test_theorem(skeleton, tmp_path):
    theorem = skeleton("theorem").RangeAsPureDP()
    claim = gs.theorems.get(theorem.name).guarantee(
        {"difference_range": 2.0}, inverse_temperature=0.25, adjacency="replace-one", draws=3
    )
    assert claim.epsilon(0.0) == pytest.approx(1.5, rel=1e-12)
    model = gs.models.BetaBernoulli(trim=(0.3, 0.9))
    plan = gs.plan(model, BUDGET, n=40, adjacency="replace-one", theorem=theorem.name)
    assert plan.guarantee.epsilon(1e-6) == pytest.approx(1.0, rel=1e-9)
    made = released(plan, np.arange(40) % 2, tmp_path)
    assert made.certificate["theorem"]["name"] == theorem.name
    worst = gs.audit.worst_neighbours(plan, effort=20)
    assert worst.curve.violation(plan.guarantee) is None


def test_sampler(skeleton, tmp_path):
    sampler = skeleton("sampler").TANGENT_REJECTION
    SAMPLERS[sampler.name] = sampler
    model = gs.models.LogisticRegression(dimension=1, intercept=False)
    X, y = np.linspace(-1, 1, 12)[:, None], np.arange(12) % 2
    plan = gs.plan(model, gs.Budget(5.0, 1e-3), n=12, adjacency="replace-one", sampler=sampler.name)
    made = released(plan, (X, y), tmp_path)
    assert made.certificate["sampler"]["name"] == sampler.name
    runs = gs.audit.mechanism_of(plan, np.random.default_rng(2))((X, y), 4000)[:, 0]
    exact = gs.plan(model, gs.Budget(5.0, 1e-3), n=12, adjacency="replace-one", sampler="inverse-cdf")
    others = gs.audit.mechanism_of(exact, np.random.default_rng(3))((X, y), 4000)[:, 0]
    both = np.sort(np.concatenate([runs, others]))
    gap = np.abs(np.searchsorted(np.sort(runs), both, "right") - np.searchsorted(np.sort(others), both, "right")).max() / 4000
    assert gap * math.sqrt(2000) < kstwobign.isf(1e-4)


def test_nothing_stays_registered(skeleton):
    names = [set(registry) for registry in (MODELS, THEOREMS, SAMPLERS)]
    assert "MedianRegression" not in names[0]
    assert "PoissonRate" not in names[0]
    assert "range-as-pure-dp" not in names[1]
    assert "tangent-rejection" not in names[2]
