"""Every benchmark's function runs on tiny sizes, without peers, and gives what the page reads."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.posteriors.bumps import BumpPosterior
from gibbsafe.samplers import draw_exactly

ROOT = Path(__file__).parents[2]


def tiny(n=300, d=2):
    from benchmarks import datasets

    return datasets.isotropic(n, d)


def test_every_method_of_utility_gives_a_finite_loss():
    from benchmarks.questions import utility

    table, effort = tiny(), utility.Effort(2, 2, 30)
    for method in utility.METHODS:
        if not method.startswith("diffprivlib"):
            found = utility.measure(table, 1.0, effort, method)
            assert math.isfinite(found["log_loss"])
            assert 0 <= found["accuracy"] <= 1
    assert "refused" in utility.measure(table, 3.0, effort, "corollary 8")


def test_cells_are_saved_one_by_one_and_kept_when_others_are_run_again():
    from benchmarks import harness
    from benchmarks.questions import utility

    table, effort = tiny(), utility.Effort(2, 2, 30)
    utility.run("utility", True, [(table, effort)], ["non-private", "diffprivlib"], epsilons=(1.0,))
    utility.run("utility", True, [(table, effort)], ["output perturbation"], epsilons=(1.0, 3.0))
    cells = harness.load("utility")["cells"]
    assert [sorted(cell["methods"]) for cell in cells] == [["non-private", "output perturbation"], ["output perturbation"]]
    assert cells[0]["signal"] == pytest.approx(300 * 0.23670438 / 3, rel=1e-6)


def test_tables_of_packages_are_declared_without_looking():
    """Five stay unopened; a label's threshold or a real response, and bounds or levels of every column, are declared."""
    from benchmarks import datasets

    tables = datasets.listed()
    assert [table["reported"] for table in tables.values()].count(True) == 3
    assert len(tables) == 8
    for name, table in tables.items():
        assert all(("bounds" in column) != ("levels" in column) for column in table["columns"])
        assert table["documented_rows"] >= 1000
        if not table["reported"]:
            with pytest.raises(ValueError, match="unopened"):
                datasets.packaged(name)
    assert [each.tolist() for each in datasets.encode({"levels": ["a", "b"]}, np.array(["b", "c"]))] == [[0.0, 0.0], [1.0, 0.0]]
    assert datasets.encode({"bounds": [0, 4]}, np.array([1, 9]))[0].tolist() == [0.25, 1.0]


def test_tightness_shares_are_at_most_one():
    from benchmarks.questions import tightness

    name = "pseudo-Huber regression, one coefficient"
    found = tightness.cell(name, 1.0, 1e-6, 1, tightness.worst(name, 1.0, 1e-6))
    assert found["allowed"]["gaussian-dp"] <= found["exact"]["at_most"]
    assert found["papers"] == found["allowed"]["log-sobolev-simple"]


def test_means_and_regressions_have_errors_for_every_method():
    from benchmarks.questions import means

    cells = [means.bounded_mean(200, 2, 1.0, 2), means.unbounded_mean(200, 1.0, 2), means.regression(300, 2, 1.0, 2, False)]
    for cell in cells:
        assert all(math.isfinite(entry["mean"]) for entry in cell["methods"].values())
    assert {"SoftQuantileRegression", "SoftQuantileRegression, stages"} < set(cells[2]["methods"])
    again = means.kept(
        {"task": "mean", "n": 1, "d": 1, "epsilon": 1.0, "methods": {"ours": 2}},
        [{"task": "mean", "n": 1, "d": 1, "epsilon": 1.0, "methods": {"ours": 1, "a peer": 3}}],
    )
    assert again["methods"] == {"ours": 2, "a peer": 3}
    exact = cells[0]["methods"]
    assert exact["GaussianMean"]["mean"] == pytest.approx(exact["Gaussian mechanism"]["mean"], rel=0.2)


def test_speed_without_chains():
    from benchmarks.questions import speed

    found = speed.cell(500, 3, speed.Effort(further_draws=20, exact_runs=1), chains=False)
    assert found["exact"]["first_s"] > found["exact"]["next_s"] > 0
    assert "numpyro" not in found


def test_draws_and_their_section():
    from benchmarks.questions import draws
    from benchmarks.report import draws as report_draws

    sizes = {"iso": (60, 3), "one-hot": (600, 5), "separable": (60, 3), "heavy-tailed": (60, 3), "narrow hinge": (60, 3)}
    assert set(sizes) == set(draws.SIZES) == set(draws.QUICK)
    cells = [draws.cell(kind, n, p, quick=True, limit=60.0, parts=["routes"]) for kind, (n, p) in sizes.items()]
    assert all(cell["routes"]["default"]["first_s"] > 0 for cell in cells)
    assert cells[1]["routes"]["default"]["rows_per_pass"] <= 8
    cells[0]["routes"]["default"] |= {"stated_s": 1.0, "stated_passes": 10.0}
    cells[0]["nutpie"] = {"first_s": 1.0, "effective": 10.0, "next_s": 0.1}
    cells[2]["nutpie"] = {"stopped_s": 600.0}
    lines = report_draws.draws({"cells": cells, "budget": {"epsilon": 1.0, "delta": 1e-6}})
    assert lines[0] == "## Time to a draw"
    assert sum(line.startswith("| iso | 60 | 3 | 60 | ") and line.endswith("| 1 s, 100 ms |") for line in lines) == 1
    assert sum("stopped after 600 s" in line for line in lines) == 1
    assert any("said 1 s" in line for line in lines)


def test_a_draw_that_does_not_end_is_stopped():
    from benchmarks.questions import draws

    def forever():
        while True:
            pass

    assert draws.timed(0.1, forever) == (None, None)


def test_scale_measures_a_process_of_its_own(tmp_path):
    from benchmarks.questions import scale
    from benchmarks.report import speed as speed_report

    found = scale.measure(2000, tmp_path, ("estimate",))["estimate"]
    assert 0 < found["reading_s"] < found["seconds"]
    assert 10 < found["anonymous_mib"] <= found["peak_mib"]
    assert not list(tmp_path.glob("*.parquet"))
    done = [found | {"n": n, "seconds": n * 1e-6} for n in (100_000, 1_000_000)]
    again = scale.run((100_000, 1_000_000), "made", {"sizes": done, "estimates": done}, save=lambda *_: None)
    assert again["of_estimates"]["last_exponent"] == pytest.approx(1.0)
    assert any("of an estimate: 1.00, 1.00" in line for line in speed_report.scale(again))
    assert scale.exponent([10, 100, 1000], [1.0, 10.0, 100.0]) == pytest.approx(1.0)


def test_costs_of_an_estimate():
    from benchmarks.questions import estimates

    found = estimates.run(tiny(), tiny(200), epsilons=(1.0,), releases=2, seeds=2, longest=60, size=300)
    assert found["adult"][0]["passes_median"] > 1
    assert [found[f"adult{way}"][0]["mechanism"] for way in ("_point", "_stages")] == ["noisy-scores", "stages"]
    assert found["against_sklearn"]["estimate_over_fit"] > 0
    assert {"gradient_descent_public_rate", "gradient_descent_tuned_on_test"} < set(found)
    assert "skipped" in estimates.run(None, tiny(200), epsilons=(1.0,), releases=2, parts=("costs",))["adult"]


def test_kernels_and_growth():
    from benchmarks.questions import main_line

    found = main_line.kernels(2000, 4, 1)
    assert found["gradient_over_sum"] > 0
    assert len(main_line.growth((300, 600), 2)["seconds_per_draw"]) == 2


def test_heavy_tails_at_a_tiny_size():
    from benchmarks.questions import heavy_tails

    found = heavy_tails.run(300, 1)
    assert (found["n"], found["d"], found["data_sets"], found["outliers"]) == (300, 5, 1, 50)
    assert len(found["rows"]) == 6
    for row in found["rows"]:
        assert row["ratio"] == row["private"] / row["plain"]
        assert row["largest"] >= row["private"] > 0


@pytest.mark.parametrize("name", ["PrivateHuberRegressor()", "PrivateQuantileRegressor()"])
def test_privacy_costs_robust_estimators_at_most_as_much_again_as_sampling_does(name):
    """Seeds are fixed; the committed results have the ratio over twenty data sets."""
    from benchmarks.questions import heavy_tails

    assert heavy_tails.measure("uniform on [−1, 1]⁵", name, 100_000, 2)["ratio"] < 2


def test_network_counts_and_release():
    from benchmarks.questions import network_statistics

    found = network_statistics.run(2000, repeats=1)
    assert found["counting"]["ratio"] > 0
    assert found["release"]["rows"] == 2000


def test_out_of_core_measures_the_memory_of_the_release_alone():
    from benchmarks.questions import out_of_core

    held = np.ones(40_000_000)  # 320 MB here must not count there
    found = out_of_core.run(0.001, 3, "10MB", "LogisticRegression", 600.0)
    assert found["rows"] == 41_666
    assert 30 < found["resident_megabytes"] < held.nbytes / 1e6
    assert found["seconds"] > 0


def test_a_quick_run_leaves_the_full_results_alone(monkeypatch):
    from benchmarks import harness
    from benchmarks.questions import network_statistics

    monkeypatch.setattr(network_statistics, "run", lambda rows: {"rows": rows})
    monkeypatch.setattr("sys.argv", ["network_statistics.py", "--quick"])
    network_statistics.main()
    assert harness.load("network_statistics") is None
    assert harness.load("network_statistics_quick")["rows"] == 100_000


def test_costs_of_draws_of_a_family():
    from benchmarks.questions import families

    one, many = families.price(1), families.price(100)
    assert many["paper"] == pytest.approx(100 * one["paper"])
    assert many["epsilon"] == min(many["routes"].values()) < many["paper"]


@pytest.fixture
def tiny_contamination():
    from benchmarks.questions import contamination

    sizes = (2500, 5000)
    return {
        "table": contamination.with_gaps(contamination.table1(repeats=20, bound_repeats=3, exact_sets=1, sizes=(100,))),
        "speed": {name: contamination.against_particles(*case, 2500, timed=50) for name, case in contamination.cases().items()},
        "growth": [{"case": k} | contamination.growth_of(*v, "paper", sizes, 2) for k, v in contamination.cases().items()],
        "means": {
            "range": (-300.0, 300.0),
            "coinpress_steps": 10,
            "rank_offset": 3.0,
            "rows": [contamination.means_at(1000, 9, 2)],
        },
        "worst_case": [contamination.worst_case_at(600.0, 200, 80, np.random.default_rng(0))],
    }


def test_contamination_and_its_section(tiny_contamination):
    from benchmarks.report import contamination as report_contamination

    row = tiny_contamination["table"]["rows"][0]
    assert row["gaps"]["literal"] == row["literal"] / 2.85 - 1
    assert tiny_contamination["table"]["largest_gap"] == abs(row["gaps"]["literal"])
    for entry in tiny_contamination["speed"].values():
        assert entry["particle_seconds"] == pytest.approx(entry["particles_timed_seconds"] * 10_000 / 50)
    found = tiny_contamination["means"]["rows"][0]["methods"]
    assert found["mean without privacy"]["mean"] < found["CoinPress, paper"]["mean"] + 5 * found["CoinPress, paper"]["error"]
    lines = report_contamination.contamination(tiny_contamination)
    assert lines[0] == "## Contamination"
    assert sum(line.startswith("| 100 | 2.85 | ") for line in lines) == 1
    assert any("for 50 | " in line and "for 10,000 | " in line for line in lines)
    assert sum("**" in line for line in lines) == 1  # the best private mean


def test_what_a_welsch_draw_costs():
    """The page's formula on 40 data sets of 20,000 records, within five standard errors."""
    from benchmarks.questions import contamination
    from benchmarks.report import contamination as report_contamination

    rng, n, epsilon = np.random.default_rng(0), 20_000, 0.5
    draws = [
        draw_exactly(BumpPosterior(8 * rng.standard_normal(n), epsilon / 2, 8.0, -300.0, 300.0), 20, rng)[:, 0] for _ in range(40)
    ]
    mean, error = contamination.in_units(n, draws)
    assert abs(mean - report_contamination.welsch_limit(epsilon)) < 5 * error


@pytest.mark.parametrize("name", ["four stages", "in use"])
def test_excess_of_stages_is_what_drawing_them_gives(name):
    """Gaussian posteriors of quadratic losses drawn stage by stage at the library's prices, within five standard errors."""
    from benchmarks.questions import schedules

    d, n, signal, runs = 3, 500, 12.0, 20_000
    curvature, theta = np.array([0.1, 0.05, 0.01]), np.array([2.0, -1.0, 3.0])
    mu, gap, rng = signal * d / n, 2.0, np.random.default_rng(4)
    centre = np.zeros((runs, d))
    for share, radius in zip(*schedules.SCHEDULES[name](signal), strict=True):
        per_beta = 1.5 * math.sqrt(d) * gap / (mu * math.sqrt(share) * 3 * math.sqrt(d) * radius)
        beta = mu**2 * share * per_beta / gap**2
        precision = n * curvature + per_beta
        mode = (n * curvature * theta + per_beta * centre) / precision
        centre = mode + rng.normal(size=(runs, d)) / np.sqrt(beta * precision)
    excess = 0.5 * (curvature * (centre - theta) ** 2).sum(axis=1)
    expected = schedules.staged_excess(d, curvature, theta, signal, schedules.SCHEDULES[name])
    assert abs(excess.mean() - expected) < 5 * excess.std() / math.sqrt(runs)


def test_schedules_on_a_table_and_their_page():
    from benchmarks.questions import schedules

    cell = schedules.check(tiny(), 1.0, 2)
    assert set(cell["log_loss"]) == set(schedules.SCHEDULES)
    assert all(math.isfinite(entry["mean"]) for entry in cell["log_loss"].values())
    ratios = [1.25] * len(schedules.SIGNALS)
    document = {"problems": 96, "stages": 16, "full_signal": 100.0, "cells": [cell]}
    document["model"] = dict.fromkeys(schedules.SCHEDULES, ratios)
    document["changes"] = [{"constant": "fall", "value": 0.6, "ratios": ratios}]
    written = schedules.page(document)
    assert "| in use | 1.25 |" in written
    assert f"**{min(entry['mean'] for entry in cell['log_loss'].values()):.4f}**" in written


def test_peers_answer(monkeypatch):
    from benchmarks.peers import environment as peers

    assert not peers.available()
    monkeypatch.setattr(peers, "PYTHON", ROOT / ".venv-peers" / "bin" / "python")
    if not peers.available():
        pytest.skip("no .venv-peers: `make bench` makes it")
    X = np.random.default_rng(0).uniform(-1, 1, (500, 1))
    found = peers.ask("diffprivlib_mean", {"X": X}, fits=[(50.0, 0), (50.0, 1)], bounds=[-1.0, 1.0])["mean"]
    assert found.shape == (2, 1)
    assert np.abs(found - X.mean()).max() < 0.01


def test_spread_and_standard_error():
    from benchmarks import harness

    spread, result = harness.spread_of(3, lambda: 7)
    assert result == 7
    assert spread["least"] <= spread["median"] <= spread["greatest"]
    values = np.array([1.0, 2.0, 3.0])
    assert harness.mean_and_error(values) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert harness.mean_and_error([4.0]) == (4.0, None)


def test_tables_have_errors_and_intervals_that_cover():
    """Intervals of 90 % over 8 cells of 60 releases: at least 0.9 but for 4 standard errors (false alarm below 1e-4)."""
    from benchmarks.questions import tables

    assert np.bincount(tables.data_of(100, 8, "sparse")).sum() == 100
    for adjacency in ("replace-one", "add-remove"):
        found = tables.cell(200, 8, "sparse", 1.0, adjacency, 60)
        assert set(found["methods"]) == {"ContingencyTable"}  # peers are skipped by name where they are not
        assert found["covered"] > 0.9 - 4 * 0.3 / math.sqrt(8 * 60)
        noise = 2 if adjacency == "replace-one" else 1
        assert found["methods"]["ContingencyTable"]["mean"] < noise + 4 * noise * 1.5 / math.sqrt(8 * 60)


def test_gains_on_real_tables_keep_two_thirds_at_three():
    """At ε = 3 and nμ/d ≥ 32 at least two thirds of the gain are kept; a table without its package is skipped by name."""
    from benchmarks.questions import gains

    read = {name: table.read() for name, table in gains.TABLES.items()}
    missing = [f"{name}: no {gains.TABLES[name].package}" for name, data in read.items() if data is None]
    for name, data in read.items():
        if data is not None:
            cell = gains.measure(name, data, (3.0,), 1)["cells"][0]
            assert cell["signal"] >= gains.SIGNAL
            assert cell["share"] >= gains.SHARE
    if missing:
        pytest.skip("; ".join(missing))


def test_gains_without_noise_to_speak_of_are_the_fits_own(monkeypatch):
    """Synthetic counts and times at ε = 30: a share near 1, and losses in their order."""
    from benchmarks.questions import gains

    random = np.random.default_rng(0)
    X = random.uniform(0, 1, (3000, 6))
    counted = random.negative_binomial(8, 8 / (8 + np.exp(2 * X[:, 0])))
    monkeypatch.setitem(gains.TABLES, "made", gains.table("none", "-", dict.fromkeys("abcdef", (0, 1)), ("y",), **COUNTED))
    assert gains.TABLES["made"].read() is None
    found = gains.measure("made", (X, counted.astype(float)), (30.0,), 1)
    assert found["plain"] < found["intercept"]
    assert 0.9 < found["cells"][0]["share"] < 1.05


def test_threads_and_the_bytes_of_every_way():
    pytest.importorskip("distributed", reason="needs gibbsafe[dask]")
    from benchmarks.questions import workers

    found = workers.threads(5_000, 3)
    assert found["gradient_ratio"] > 0
    assert found["release_ratio"] > 0
    from benchmarks.report import promises
    from benchmarks.report import workers as report

    cluster = {"n": 10_000_000, "features": 20, "workers": 2, "cluster_s": 9.0, "threads_s": 8.0, "ratio": 1.125, "round_ms": 9.0,
               "memory": {"peak_mib": 900.0, "before_mib": 100.0, "encoded_mib_a_worker": 800.0}, "same": True,
               "killed": {"seconds": 12.0, "passes": 230, "same": True}}  # fmt: skip
    written = {"threads": found, "cluster": cluster, "same_bytes": {"n": 10, "estimate": {"file": "a"}, "same": True}}
    assert any("two threads 8 s" in line for line in report.workers(written))
    assert [promise.holds({"workers": written}) for promise in promises.PROMISES if promise.source == "workers"] == [
        False, False, True, True, True,
    ]  # fmt: skip
    assert workers.digest(np.zeros(2)) == workers.digest(np.zeros((1, 2))) != workers.digest(np.ones(2))


def test_costs_are_found_again_and_their_section_written():
    from benchmarks.questions import costs

    truth = {"round": 0.01, "task": 0.001, "number": 2e-9}
    entries = [{"n": n, "tasks": t, "workers": w} for n in (10**5, 10**6) for t in (2, 12) for w in (1, 2)]
    for entry in entries:
        entry["seconds"] = costs.predicted(truth, entry)
    assert costs.fit(entries) == pytest.approx(truth, rel=1e-6)
    slow = costs.predicted(truth, entries[-1], 0.1, 3.0)
    assert slow == pytest.approx(0.01 + 0.012 + 2e-9 * 21e6 / 2 * 3 + 6 * 0.1)
    far = [costs.extrapolated(truth, n, 200) for n in costs.SIZES]
    assert [each["most"] for each in far] == ["sums", "sums", "disk"]
    checked = [entries[-1] | {"late": 0.1, "slow": 3.0, "predicted": slow}]
    written = {"costs": truth, "assumed": costs.ASSUMED, "fitted": entries, "checked": checked, "extrapolated": far, "worst": 0.1,
               "passes": 200, "date": "today", "machine": {"cores": 2}, "features": 20}  # fmt: skip
    assert "an estimate of 200 passes" in costs.section(written)


COUNTED = {"kind": gs.models.CountRegression, "cap": 12, "dispersion": 8.0}


def test_opponents_of_own_models_give_finite_losses():
    from benchmarks.questions import own_models

    _, _, counts, rows = own_models.records(0, 300)
    for opponent in own_models.OPPONENTS.values():
        found = opponent(rows, counts, 1.0, (4, 1.0, 0.5), np.random.default_rng(0))
        assert math.isfinite(own_models.log_loss(found, rows, counts))
    assert math.isfinite(own_models.log_loss(own_models._fit(rows, counts), rows, counts))


TESTS = {
    "contamination": test_contamination_and_its_section,
    "costs": test_costs_are_found_again_and_their_section_written,
    "draws": test_draws_and_their_section,
    "estimates": test_costs_of_an_estimate,
    "families": test_costs_of_draws_of_a_family,
    "gains": test_gains_without_noise_to_speak_of_are_the_fits_own,
    "heavy_tails": test_heavy_tails_at_a_tiny_size,
    "main_line": test_kernels_and_growth,
    "means": test_means_and_regressions_have_errors_for_every_method,
    "network_statistics": test_network_counts_and_release,
    "out_of_core": test_out_of_core_measures_the_memory_of_the_release_alone,
    "scale": test_scale_measures_a_process_of_its_own,
    "schedules": test_schedules_on_a_table_and_their_page,
    "speed": test_speed_without_chains,
    "tables": test_tables_have_errors_and_intervals_that_cover,
    "own_models": test_opponents_of_own_models_give_finite_losses,
    "tightness": test_tightness_shares_are_at_most_one,
    "utility": test_every_method_of_utility_gives_a_finite_loss,
    "workers": test_threads_and_the_bytes_of_every_way,
}


def test_every_benchmark_that_make_runs_has_a_test():
    makefile = (ROOT / "Makefile").read_text()
    listed = re.search(r"^BENCHMARKS := (.+)$", makefile, re.MULTILINE).group(1).split()
    named = re.findall(r"benchmarks\.questions\.(\w+)", makefile)
    assert {*listed, *named} == {path.stem for path in (ROOT / "benchmarks" / "questions").glob("*.py")} == set(TESTS)
