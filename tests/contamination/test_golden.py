"""Golden values of the contamination paper, each by the public functions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from gibbsafe.contamination import NormalMean, StudentT, fisher_information, prior_mass_far, prior_mass_near
from gibbsafe.contamination.epsilon.instance_line import LineInstance, literal_epsilon
from gibbsafe.contamination.epsilon.suprema import spread
from gibbsafe.contamination.posterior.line import line_posterior

GOLDEN = json.loads((Path(__file__).parent.parent / "golden.json").read_text())


def test_student_density():
    case = GOLDEN["hu_t5"]
    value = float(np.exp(StudentT(5.0, 0.0, case["inputs"]["s"]).log_density(np.array(case["inputs"]["x"]))))
    assert value == pytest.approx(case["output"]["g"], rel=case["rtol"])


def test_fisher_information():
    case = GOLDEN["hu_fisher_0"]
    model = NormalMean(prior_mean=0.0, contamination=StudentT(5.0, 0.0, case["inputs"]["s"]))
    value = float(fisher_information(model, 0.0, case["inputs"]["p"])[0, 0])
    assert value == pytest.approx(case["output"]["I"], rel=case["rtol"])


def test_prior_mass():
    case = GOLDEN["hu_lemma7"]
    d, t, r = (case["inputs"][name] for name in ("d", "theta_norm", "r"))
    near = prior_mass_near(d, r, t)
    assert near == pytest.approx(case["output"]["bound1"], rel=case["rtol"])
    for radius in (0.3, 0.8, 2.0, 5.0):
        exact = stats.ncx2.cdf(radius**2, d, t**2)
        assert prior_mass_near(d, radius, t) <= exact
        assert radius <= t or prior_mass_far(d, radius, t) <= exact


def small_case():
    model = NormalMean(
        scale=1.0, prior_mean=0.0, prior_scale=3.0, contamination=StudentT(5.0, 0.0, 3.0), rate=0.2, space=(-5.0, 5.0)
    )
    return model, model.records(np.zeros(3), np.ones((3, 1)))


def test_algorithm_one_with_exact_integrals():
    case = GOLDEN["hu_alg1"]
    model, records = small_case()
    line = line_posterior(model, records, 0.2)
    phi = LineInstance.of(model, line, 0.2, 0.0, None).radius(0.01, worst=False)
    smaller = LineInstance.of(model, line.without(model, records, 0.2), 0.2, 0.0, None)
    up, down = spread(smaller.at, phi)
    top, bottom = smaller.mean_range(phi)
    found = {
        "phi": phi,
        "sup_d": math.exp(up),
        "inf_d": math.exp(down),
        "alpha": math.exp(top),
        "beta": math.exp(bottom),
        "eps_hat": literal_epsilon(
            model, records, line, 0.2, np.zeros(1), delta=0.01, particles=None, generator=np.random.default_rng(0)
        ),
        "sound_delta": smaller.worst_outside(phi),
    }
    for name, value in case["output"].items():
        assert found[name] == pytest.approx(value, rel=case["rtol"]), name
