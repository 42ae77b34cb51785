"""Contamination: Table 1 of Hu et al. (2026), the speed of its algorithm, worst-case draws, and other private means."""

import argparse
import datetime
import json
import math
import time

import harness
import numpy as np

from gibbsafe.contamination import (
    CentredAtTruth,
    LinearRegression,
    NormalMean,
    StudentT,
    TrimmedMean,
    epsilon_of,
)
from gibbsafe.contamination.line import likelihood_sum
from gibbsafe.contamination.posterior import log_posterior
from gibbsafe.reproduce import baselines
from gibbsafe.reproduce.hu import PAPER, SCALE, TRUTH, delta_of, paper_model, table1
from gibbsafe.reproduce.hu_figures import conversions, figure2
from gibbsafe.samplers.bumps import BumpPosterior

PARTICLES = 10_000


def table(quick):
    """Table 1, and how far the literal method is from the printed values."""
    few = {"repeats": 100, "bound_repeats": 20, "exact_sets": 10}
    rows = table1(**(few if quick else {"repeats": 1000, "bound_repeats": 300, "exact_sets": 60}))
    gaps = [abs(row["literal"] / row["paper"] - 1) for row in rows]
    for row in rows:
        harness.log(" ".join(f"{name} {row[name]:.4g}" for name in ("n", "paper", "literal", "sound", "tight", "exact")))
    return {"rows": rows, "largest_gap": max(gaps), "median_gap": float(np.median(gaps))}


def _scaled(work, n, block=40):
    """Seconds that the 10⁴ particles would take, from a block of them timed whole."""
    seconds, _ = harness.best_of(2, lambda: work(block))
    return seconds * PARTICLES / block, block


def speed(quick):
    """One data set against direct evaluation of 10⁴ particles, in the same run; the particles' time is scaled from a block."""
    n = 50_000 if quick else 500_000
    rng = np.random.default_rng(5)
    mean, truth = paper_model(), np.array([TRUTH])
    records = mean.contaminate(mean.simulate(n, truth, rng), rng, truth=truth)
    p = mean.p(n)
    d = 10
    linear = LinearRegression(columns=d, contamination=CentredAtTruth(StudentT(5.0)))
    linear_truth = 0.5 * np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    rows = linear.contaminate(linear.simulate(n, linear_truth, rng), rng, truth=linear_truth)
    cases = {
        "one parameter": (
            lambda: epsilon_of(mean, records, delta_of(n), "paper", truth=truth),
            lambda block: likelihood_sum(mean, records, p, TRUTH + 0.01 * rng.standard_normal(block)),
        ),
        "regression, d = 10": (
            lambda: epsilon_of(linear, rows, delta_of(n), "paper", truth=linear_truth),
            lambda block: log_posterior(linear, rows, p, linear_truth + 0.01 * rng.standard_normal((block, d))),
        ),
    }
    result = {}
    for name, (ours, direct) in cases.items():
        seconds, epsilon = harness.best_of(2, ours)
        particles, block = _scaled(direct, n)
        result[name] = {
            "n": n,
            "seconds": seconds,
            "epsilon": epsilon,
            "particles": PARTICLES,
            "particle_seconds": particles,
            "particles_timed": block,
            "ratio": particles / seconds,
        }
        harness.log(
            f"{name}: {seconds:.2f} s, particles {particles:.0f} s (scaled from {block}), ratio {particles / seconds:.0f}"
        )
    return result


def worst_case(quick):
    """n·variance/σ² of Welsch draws at ε = 1, beside Laplace on the clipped mean and the trimmed contaminated likelihood."""
    n, sets = 1000, 400 if quick else 4000
    rng = np.random.default_rng(6)
    result = []
    for width in (600.0, 6000.0):
        low, high = -width / 2, width / 2
        errors = {"welsch": [], "laplace": [], "trimmed": []}
        trimmed = TrimmedMean(bounds=(low, high), scale=SCALE, rate=0.12)
        beta = trimmed.calibrate(1.0)
        for index in range(sets):
            x = TRUTH + SCALE * rng.standard_normal(n)
            errors["welsch"].append(BumpPosterior(x, 0.5, SCALE, low, high).draw(1, rng)[0, 0] - TRUTH)
            errors["laplace"].append(baselines.laplace_mean(baselines.SortedRecords(x), low, high, 1.0, rng).value - TRUTH)
            if index < sets // 40:
                errors["trimmed"].append(float(trimmed.sample(x, beta, 1, rng, points=1501)[0]) - TRUTH)
        row = {"width": width, "n": n, "data_sets": sets}
        for name, values in errors.items():
            row[name] = n * float(np.mean(np.square(values))) / SCALE**2
            row[f"{name}_standard_error"] = row[name] * math.sqrt(2 / len(values))
        harness.log(str(row))
        result.append(row)
    return result


def coinpress(quick):
    """Mean squared error of CoinPress with 10 steps, in units of σ²/n, at the budgets of Table 1 by the paper's conversion."""
    rng = np.random.default_rng(7)
    result = []
    for n, epsilon in PAPER.items():
        if n < 1000:
            continue
        rho = conversions(epsilon, delta_of(n))["paper"]
        errors = []
        for _ in range(100 if quick else 300):
            records = baselines.SortedRecords(TRUTH + SCALE * rng.standard_normal(n))
            errors += [baselines.coinpress(records, 10, rho, rng, scale=SCALE).value - TRUTH for _ in range(10)]
        result.append({"n": n, "rho": rho, "mse_ratio": float(np.mean(np.square(errors))) * n / SCALE**2})
        harness.log(str(result[-1]))
    return result


def public_density(quick):
    """ε̂ with a public g of the prior's shape, beside the paper's g at the truth (n = 1,000)."""
    from gibbsafe.contamination import estimate_epsilon

    repeats = 60 if quick else 300
    made = {}
    for name, model in (("truth-centred", paper_model()), ("public", NormalMean(scale=SCALE, prior_mean=40.0, prior_scale=40.0))):
        made[name] = estimate_epsilon(model, 1000, repeats=repeats, quantile=0.95, method="sound", truth=TRUTH).epsilon
    return made


def regressions(quick):
    """Algorithm 1 for the paper's regressions, and the exponents with which it falls."""
    return figure2(sizes=(3000, 10_000) if quick else (5000, 50_000), repeats=4 if quick else 15)


PARTS = (speed, worst_case, coinpress, public_density, table, regressions)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats")
    names = [part.__name__ for part in PARTS]
    parser.add_argument("--parts", nargs="*", default=names, help="only these; the others' results stay")
    arguments = parser.parse_args()
    quick = arguments.quick
    name = "contamination_quick" if quick else "contamination"
    path = harness.RESULTS / f"{name}.json"
    document = json.loads(path.read_text()) if path.exists() else {}
    document |= {
        "date": datetime.date.today().isoformat(),
        "quick": quick,
        "machine": harness.machine(),
        "versions": harness.versions(),
    }
    for part in PARTS:
        if part.__name__ in arguments.parts:
            start = time.perf_counter()
            document[part.__name__] = part(quick)
            harness.log(f"{part.__name__}: {time.perf_counter() - start:.0f} s")
            harness.save(name, document)


if __name__ == "__main__":
    main()
