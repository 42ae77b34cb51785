"""Models of one's own: a Laplace location and a Student regression, against exact posteriors on a grid."""

import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.contamination.epsilon.instance_own import OwnInstance
from gibbsafe.contamination.epsilon.repeats import epsilon_of
from gibbsafe.contamination.model.likelihoods import log_mixture

C = gs.contamination
G = C.Cauchy(0.0, 10.0)
STUDENT = math.lgamma(2.5) - math.lgamma(2.0) - 0.5 * math.log(4 * math.pi)


def laplace_log_f(x, w, theta):
    return -np.abs(x - theta[:, 0]) - math.log(2)


def laplace_sample(theta, w, rng):
    return theta[0] + rng.laplace(size=len(w))


def student_log_f(x, w, theta):
    return STUDENT - 2.5 * np.log1p((x - w @ theta.T) ** 2 / 4)


def student_sample(theta, w, rng):
    return w @ theta + rng.standard_t(4, size=len(w))


def laplace(**options):
    return C.OwnModel(log_f=laplace_log_f, sample=laplace_sample, count=1, contamination=G, rate=0.3, title="Laplace", **options)


def student(**options):
    return C.OwnModel(
        log_f=student_log_f, sample=student_sample, count=2, columns=2, contamination=G, rate=0.3, title="Student", **options
    )


#: |∂ log f/∂u| ≤ 5/4 for Student's t with 4 degrees, and |(θ − θ′)ᵀw| ≤ 2 |θ − θ′|_∞.
CASES = {"laplace": (laplace, 1.0, [1.0]), "student": (student, 2.5, [1.0, -0.5])}


def worst_hockey_stick(model, records, epsilon, points=121):
    """Return sup over a few extreme pairs (x, z) of ∫(π(·|D ∪ x) − e^ε π(·|D ∪ z))₊, on a grid of parameters."""
    d, kept = model.count, records.without_last()
    centre = np.median(records.x) if d == 1 else np.linalg.lstsq(records.w, np.clip(records.x, -9, 9), rcond=None)[0]
    axes = [np.linspace(-1.0, 1.0, points if d == 1 else 61) * (1.2 if d == 1 else 1.6) + c for c in np.atleast_1d(centre)]
    theta = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    log_posterior = model.log_prior(theta)
    for start in range(0, len(kept), 50):
        x, w, log_g = (each[start : start + 50] for each in (kept.x, kept.w, kept.log_g))
        log_posterior = log_posterior + log_mixture(model.log_f(x[:, None], w, theta), log_g[:, None], 0.3).sum(axis=0)
    laws = []
    for w in [[1.0]] if d == 1 else [[1.0, 1.0], [1.0, -1.0]]:
        for x in np.array([-60.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 60.0]):
            row = np.array([x])
            log_k = log_mixture(model.log_f(row[:, None], np.array([w]), theta), G.log_density(row)[:, None], 0.3)[0]
            law = np.exp(log_posterior + log_k - (log_posterior + log_k).max())
            laws.append(law / law.sum())
    return max(float(np.clip(a - math.exp(epsilon) * b, 0, None).sum()) for a in laws for b in laws)


@pytest.mark.parametrize("case", CASES)
def test_the_sound_bound_holds_for_posteriors_on_a_grid_and_a_false_declaration_does_not(case):
    make, lipschitz, truth = CASES[case]
    delta, caught = 1e-3, False
    for seed in range(3):
        model = make(lipschitz=lipschitz)
        rng = np.random.default_rng(seed)
        records = model.contaminate(model.simulate(60, np.array(truth), rng), rng)
        epsilon = epsilon_of(model, records, delta, generator=rng)
        assert worst_hockey_stick(model, records, epsilon) <= delta
        false = epsilon_of(make(lipschitz=lipschitz / 40), records, delta, generator=np.random.default_rng(1))
        caught |= worst_hockey_stick(model, records, false) > delta
    assert caught


@pytest.mark.parametrize("case", CASES)
def test_searched_values_are_labelled_and_stay_below_the_bound(case):
    make, lipschitz, truth = CASES[case]
    run = {"repeats": 3, "quantile": 0.5, "confidence": 0.8, "truth": truth}
    bounded = C.estimate_epsilon(make(lipschitz=lipschitz), 150, method="sound", **run)
    searched = C.estimate_epsilon(make(asserted=(4,)), 150, method="sound", **run)
    tight = C.estimate_epsilon(make(lipschitz=lipschitz), 150, method="tight", **run)
    assert (bounded.method, searched.method, tight.method) == ("sound", "searched", "searched")
    assert 0 < tight.epsilon <= bounded.epsilon
    assert 0 < searched.epsilon <= bounded.epsilon
    assert any(note.startswith("searched, not bounded") for note in searched.notes)
    assert not any("searched" in note for note in bounded.notes)
    assert any("Assumption 4 asserted" in note for note in searched.notes)


def test_the_search_finds_what_a_finer_grid_finds():
    """sup log d of a Laplace location by brute force over 20,001 records."""
    model = laplace(asserted=(4,))
    at = OwnInstance(model, None, 0.3, np.array([1.0]), np.random.default_rng(0))
    up, down = at.spread(0.2)
    x = np.linspace(-30, 30, 20001)
    values = at.log_d(x, np.ones((len(x), 1)), np.array([[0.8], [1.2]]))
    assert up == pytest.approx(values.max(), rel=2e-3)
    assert down == pytest.approx(values.min(), rel=2e-3)


def test_a_declared_spread_is_used_and_a_likelihood_of_ours_fits():
    mean = {"contamination": C.Cauchy(0.0, 5.0), "rate": 0.3}
    own = C.OwnModel.with_likelihood(C.CauchyNoise(), **mean, spread_bound=lambda c, r, p: (r, -r))  # |∂ log f/∂u| ≤ 1
    run = {"repeats": 3, "quantile": 0.5, "confidence": 0.8, "truth": [1.0]}
    declared = C.estimate_epsilon(own, 150, **run)
    ours = C.estimate_epsilon(C.ContaminatedCauchyRegression(**mean), 150, **run)
    assert declared.method == "sound"
    assert ours.epsilon <= declared.epsilon <= 4 * ours.epsilon


def test_the_printed_algorithm_runs_and_strict_adjacency_costs_less():
    run = {"repeats": 3, "quantile": 0.5, "truth": [1.0], "confidence": 0.8}
    paper = C.estimate_epsilon(laplace(asserted=(4,)), 150, method="paper", particles=500, accept_invalid=True, **run)
    assert paper.epsilon > 0
    replaced, added = (
        C.estimate_epsilon(laplace(lipschitz=1.0), 150, adjacency=each, **run).epsilon for each in ("replace-one", "add-remove")
    )
    assert added < replaced


BAD = [
    ({"count": 0}, "count"),
    ({"contamination": None}, "contamination"),
    ({"lipschitz": None}, "Assumption 4"),
    ({"lipschitz": -1.0}, "lipschitz"),
    ({"asserted": (6,)}, "asserted"),
    ({"names": ("a", "b")}, "names"),
    ({"log_f": lambda x, w, theta: laplace_log_f(x, w, theta) + 1}, "integrates to 2.7"),
    ({"log_f": lambda x, w, theta: np.zeros(3)}, "shape"),
    ({"log_f": lambda x, w, theta: w @ np.ones((7, 2))}, "log_f: fails"),
    ({"log_prior_of": lambda theta: theta}, "log_prior_of"),
]


@pytest.mark.parametrize(("changed", "message"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_a_bad_declaration_is_refused_in_one_line(changed, message):
    stated = {"log_f": laplace_log_f, "sample": laplace_sample, "count": 1, "contamination": G, "lipschitz": 1.0}
    with pytest.raises(gs.GibbsafeError, match=message) as refusal:
        C.OwnModel(**{**stated, **changed})
    assert "\n" not in str(refusal.value)


def test_what_a_model_of_ones_own_cannot_do_is_refused():
    model = laplace(lipschitz=1.0)
    with pytest.raises(gs.PremiseError, match="not for a model of your own"):
        C.estimate_epsilon(model, 100, method="exact", truth=[0.0])
    with pytest.raises(gs.PremiseError, match="sample_prior"):
        laplace(lipschitz=1.0, log_prior_of=lambda theta: -np.abs(theta[:, 0])).draw_prior(np.random.default_rng(0))
    hidden = laplace(lipschitz=1.0, log_prior_of=lambda theta: -np.abs(theta[:, 0]))
    with pytest.raises(gs.ParameterError, match="workers"):
        C.estimate_epsilon(hidden, 100, repeats=4, quantile=0.5, confidence=0.8, truth=[0.0], workers=2)


def test_a_model_of_ones_own_is_released_and_its_file_says_what_it_cannot_hold(tmp_path):
    model = laplace(lipschitz=1.0, names=("centre",))
    plan = gs.plan(model, gs.EstimatedBudget(4.0, 1e-2, failure=0.3, confidence=0.7), n=150, truth=[1.0], repeats=6)
    rng = np.random.default_rng(4)
    released = plan.release(1 + rng.laplace(size=150), generator=rng)
    assert released.parameters == ("centre",)
    assert abs(released.draws[0, 0] - 1) < 1.0
    released.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json")["estimate"]["method"] == "sound"
    loaded = C.EstimatedRelease.load(tmp_path / "r.json")
    assert np.array_equal(loaded.draws, released.draws)
    with pytest.raises(gs.PremiseError, match="which a file does not hold"):
        loaded.plan.release(np.zeros(150))
