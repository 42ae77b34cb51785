"""Every benchmark's function runs on tiny sizes, without peers, and gives what the page reads."""

import math

import numpy as np
import pytest


def tiny(n=300, d=2):
    import datasets

    return datasets.isotropic(n, d)


def test_every_method_of_utility_gives_a_finite_loss():
    import utility

    table, effort = tiny(), utility.Effort(2, 2, 30)
    for method in utility.METHODS:
        if not method.startswith("diffprivlib"):
            found = utility.measure(table, 1.0, effort, method)
            assert math.isfinite(found["log_loss"])
            assert 0 <= found["accuracy"] <= 1
    assert "refused" in utility.measure(table, 3.0, effort, "corollary 8")


def test_cells_are_saved_one_by_one_and_kept_when_others_are_run_again():
    import harness
    import utility

    table, effort = tiny(), utility.Effort(2, 2, 30)
    utility.run("utility", True, [(table, effort)], ["non-private", "diffprivlib"], epsilons=(1.0,))
    utility.run("utility", True, [(table, effort)], ["output perturbation"], epsilons=(1.0, 3.0))
    cells = harness.load("utility")["cells"]
    assert [sorted(cell["methods"]) for cell in cells] == [["non-private", "output perturbation"], ["output perturbation"]]
    assert cells[0]["signal"] == pytest.approx(300 * 0.23670438 / 3, rel=1e-6)


def test_tightness_shares_are_at_most_one():
    import tightness

    found = tightness.cell("pseudo-Huber regression, one coefficient", 1.0, 1e-6, 1)
    assert found["allowed"]["gaussian-dp"] <= found["exact"]["at_most"]
    assert found["papers"] == found["allowed"]["log-sobolev-simple"]


def test_means_and_regressions_have_errors_for_every_method():
    import means

    cells = [means.bounded_mean(200, 2, 1.0, 2), means.unbounded_mean(200, 1.0, 2), means.regression(300, 2, 1.0, 2, False)]
    for cell in cells:
        assert all(math.isfinite(entry["mean"]) for entry in cell["methods"].values())
    exact = cells[0]["methods"]
    assert exact["GaussianMean"]["mean"] == pytest.approx(exact["Gaussian mechanism"]["mean"], rel=0.2)


def test_speed_without_chains(monkeypatch):
    import speed

    monkeypatch.setattr(speed, "LARGEST_FOR_NUTS", 0)
    found = speed.cell(500, 3, 20, 10, 10)
    assert found["exact"]["first_s"] > found["exact"]["next_s"] > 0
    assert "numpyro" not in found


def test_scale_measures_a_process_of_its_own(tmp_path):
    import scale

    found = scale.measure(2000, tmp_path)
    assert found["seconds"] > 0
    assert found["peak_mib"] > 10
    assert not list(tmp_path.glob("*.parquet"))
    assert scale.exponent([10, 100, 1000], [1.0, 10.0, 100.0]) == pytest.approx(1.0)


def test_costs_of_an_estimate():
    import estimates

    found = estimates.run(tiny(), tiny(200), epsilons=(1.0,), releases=2, seeds=2, longest=60)
    assert found["adult"][0]["passes_median"] > 1
    assert {"gradient_descent_public_rate", "gradient_descent_tuned_on_test"} < set(found)
    assert "skipped" in estimates.run(None, tiny(200), epsilons=(1.0,), releases=2)["adult"]


def test_kernels_and_growth():
    import main_line

    found = main_line.kernels(2000, 4, 1)
    assert found["gradient_over_sum"] > 0
    assert len(main_line.growth((300, 600), 2)["seconds_per_draw"]) == 2


def test_spread_and_standard_error():
    import harness

    spread, result = harness.spread_of(3, lambda: 7)
    assert result == 7
    assert spread["least"] <= spread["median"] <= spread["greatest"]
    values = np.array([1.0, 2.0, 3.0])
    assert harness.mean_and_error(values) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert harness.mean_and_error([4.0]) == (4.0, None)
