"""Contamination: Table 1 of Hu et al. (2026), the speed of its algorithm, worst-case draws, and other private means."""

from benchmarks import harness  # isort: skip - sets the number of threads before NumPy loads

import time

import numpy as np

from gibbsafe.contamination import (
    CentredAtTruth,
    LinearRegression,
    NormalMean,
    StudentT,
    TrimmedMean,
    epsilon_of,
    estimate_epsilon,
    sample_posterior,
)
from gibbsafe.contamination.epsilon.repeats import Task
from gibbsafe.contamination.epsilon.tuning import fitted_exponent
from gibbsafe.contamination.posterior.line import likelihood_sum
from gibbsafe.contamination.posterior.posterior import log_posterior
from gibbsafe.posteriors.bumps import BumpPosterior
from gibbsafe.reproduce import baselines
from gibbsafe.reproduce.hu import PAPER, SCALE, TRUTH, delta_of, paper_model, table1
from gibbsafe.reproduce.hu_figure1 import conversions
from gibbsafe.reproduce.hu_regressions import regressions as simulate_regressions
from gibbsafe.samplers import draw_exactly

PARTICLES = 10_000
#: Particles that are timed at most, and how many of them are evaluated at once, so that a block stays in the cache.
TIMED, TOGETHER = 400, 40
COLUMNS = 10
RANGE = (-300.0, 300.0)
STEPS, OFFSET = 10, 3.0


# -- Table 1 ---------------------------------------------------------------------------------------------------------


def with_gaps(rows):
    """The rows of Table 1 with every value's relative gap to the printed one, and the literal method's largest and median."""
    made = [row | {"gaps": {name: row[name] / row["paper"] - 1 for name in ("literal", "sound", "exact")}} for row in rows]
    literal = [abs(row["gaps"]["literal"]) for row in made]
    return {"rows": made, "largest_gap": max(literal), "median_gap": float(np.median(literal))}


def table(quick):
    """Table 1, and how far the literal method is from the printed values."""
    few = {"repeats": 50, "bound_repeats": 10, "exact_sets": 2, "sizes": (100, 1000, 10_000)}
    found = with_gaps(table1(**(few if quick else {"repeats": 1000, "bound_repeats": 300, "exact_sets": 60})))
    for row in found["rows"]:
        harness.log(" ".join(f"{name} {row[name]:.4g}" for name in ("n", "paper", "literal", "sound", "tight", "exact")))
    return found


# -- time ------------------------------------------------------------------------------------------------------------


def cases():
    """The models that are timed, by name, with their true parameters."""
    return {
        "one parameter": (paper_model(), np.array([TRUTH])),
        f"regression, d = {COLUMNS}": (
            LinearRegression(columns=COLUMNS, contamination=CentredAtTruth(StudentT(5.0))),
            0.5 * np.where(np.arange(COLUMNS) % 2 == 0, 1.0, -1.0),
        ),
    }


def evaluate_particles(model, records, truth, thetas):
    """Log posterior at every particle, by direct evaluation."""
    p = model.p(len(records))
    for start in range(0, len(thetas), TOGETHER):
        block = thetas[start : start + TOGETHER]
        if len(truth) == 1:
            likelihood_sum(model, records, p, block[:, 0])
        else:
            log_posterior(model, records, p, block)


def against_particles(model, truth, n, timed=TIMED):
    """Seconds for ε̂ of one data set, and what 10⁴ particles would take, scaled from the number that was timed."""
    rng = np.random.default_rng(5)
    records = model.contaminate(model.simulate(n, truth, rng), rng, truth=truth)
    thetas = truth + 0.01 * rng.standard_normal((timed, len(truth)))
    seconds, epsilon = harness.best_of(2, lambda: epsilon_of(model, records, delta_of(n), "paper", truth=truth))
    timed_seconds, _ = harness.best_of(2, lambda: evaluate_particles(model, records, truth, thetas))
    particle_seconds = timed_seconds * PARTICLES / timed
    return {
        "n": n,
        "seconds": seconds,
        "epsilon": epsilon,
        "particles_timed": timed,
        "particles_timed_seconds": timed_seconds,
        "particles": PARTICLES,
        "particle_seconds": particle_seconds,
        "ratio": particle_seconds / seconds,
    }


def speed(quick):
    """One data set against direct evaluation of 10⁴ particles, in the same run."""
    found = {name: against_particles(*case, 20_000 if quick else 500_000) for name, case in cases().items()}
    for name, row in found.items():
        harness.log(f"{name}: {row['seconds']:.2f} s, particles {row['particle_seconds']:.0f} s, ratio {row['ratio']:.0f}")
    return found


def growth_of(model, truth, method, sizes, repeats):
    """Seconds of one repeat (a data set simulated, contaminated and its ε̂) against n, and the fitted exponent."""
    rows = []
    for n in sizes:
        task = Task(model, n, truth, delta_of(n), method, "replace-one")
        seconds, _ = harness.spread_of(repeats, lambda task=task: task.one(np.random.SeedSequence(8)))
        rows.append({"n": n, **seconds})
    return {"method": method, "sizes": rows, "exponent": fitted_exponent(sizes, [row["median"] for row in rows])}


def growth(quick):
    """Time per repeat against n."""
    sizes = (3000, 10_000, 30_000) if quick else (5000, 50_000, 500_000)
    found = []
    for name, case in cases().items():
        for method in ("paper", "sound"):
            found.append({"case": name} | growth_of(*case, method, sizes, 3))
            harness.log(str(found[-1]))
    return found


# -- other private means ---------------------------------------------------------------------------------------------


def in_units(n, errors):
    """Return n·MSE/σ² and its standard error; rows of errors are data sets, columns draws from the same one."""
    per_set = np.square(np.asarray(errors).reshape(len(errors), -1)).mean(axis=1)
    return harness.mean_and_error(n / SCALE**2 * per_set)


def worst_case_at(width, n, sets, rng):
    """n·MSE/σ² at ε = 1 on bounds of one width; the trimmed likelihood, which is slow, on a fortieth of the data sets."""
    low, high = -width / 2, width / 2
    errors = {"welsch": [], "laplace": [], "trimmed": []}
    trimmed = TrimmedMean(bounds=(low, high), scale=SCALE, rate=0.12)
    beta = trimmed.calibrate(1.0)
    for index in range(sets):
        x = TRUTH + SCALE * rng.standard_normal(n)
        errors["welsch"].append(draw_exactly(BumpPosterior(x, 0.5, SCALE, low, high), 1, rng)[0, 0] - TRUTH)
        errors["laplace"].append(baselines.laplace_mean(baselines.SortedRecords(x), low, high, 1.0, rng).value - TRUTH)
        if index < sets // 40:
            errors["trimmed"].append(float(trimmed.sample(x, beta, 1, rng, points=1501)[0]) - TRUTH)
    row = {"width": width, "n": n, "data_sets": sets, "trimmed_data_sets": len(errors["trimmed"])}
    for name, values in errors.items():
        row[name], row[f"{name}_standard_error"] = in_units(n, values)
    harness.log(str(row))
    return row


def worst_case(quick):
    """Welsch draws at ε = 1, beside Laplace on the clipped mean and the trimmed contaminated likelihood."""
    rng = np.random.default_rng(6)
    return [worst_case_at(width, 1000, 200 if quick else 4000, rng) for width in (600.0, 6000.0)]


def private_means(x, epsilon, draws, rng):
    """Errors of every private mean at one budget of Table 1, ``draws`` on the same records."""
    n, records, truth = len(x), baselines.SortedRecords(x), np.array([TRUTH])
    model = paper_model()
    contaminated = model.contaminate((x, np.ones((n, 1))), rng, truth=truth)
    made = {
        "mean without privacy": [float(x.mean())],
        "contaminated posterior": sample_posterior(model, contaminated, draws, generator=rng).draws[:, 0],
        "Welsch": draw_exactly(BumpPosterior(x, epsilon / 2, SCALE, *RANGE), draws, rng)[:, 0],
    }
    for name, rho in conversions(epsilon, delta_of(n)).items():
        made[f"CoinPress, {name}"] = [
            baselines.coinpress(records, STEPS, rho, rng, radius=RANGE[1], scale=SCALE).value for _ in range(draws)
        ]
        made[f"clipped mean, {name}"] = [
            baselines.clipped_mean_after_quantiles(records, rho, rng, low=RANGE[0], high=RANGE[1], offset=OFFSET).value
            for _ in range(draws)
        ]
    return {name: np.asarray(values) - TRUTH for name, values in made.items()}


def means_at(n, sets, draws):
    """n·MSE/σ² of every private mean at the budget of one row of Table 1."""
    rng = np.random.default_rng([7, n])
    made = [private_means(TRUTH + SCALE * rng.standard_normal(n), PAPER[n], draws, rng) for _ in range(sets)]
    methods = {}
    for name in made[0]:
        mean, error = in_units(n, [errors[name] for errors in made])
        methods[name] = {"mean": mean, "error": error}
    budget = {"epsilon": PAPER[n], "delta": delta_of(n), "rho": conversions(PAPER[n], delta_of(n))}
    return {"n": n, **budget, "data_sets": sets, "draws": draws, "contamination_rate": paper_model().p(n), "methods": methods}


def means(quick):
    """Mean squared errors at the budgets of Table 1, by the paper's conversion to ρ and by the theorem's (E25)."""
    rows = []
    for n in (1000, 5000) if quick else PAPER:
        rows.append(means_at(n, 30 if quick else 300, 5))
        harness.log(str(rows[-1]))
    return {"range": RANGE, "coinpress_steps": STEPS, "rank_offset": OFFSET, "rows": rows}


# -- more of Algorithm 1 ---------------------------------------------------------------------------------------------


def public_density(quick):
    """ε̂ with a public g of the prior's shape, beside the paper's g at the truth."""
    settings = {"repeats": 60 if quick else 300, "quantile": 0.95, "method": "sound"}
    models = {"truth-centred": paper_model(), "public": NormalMean(scale=SCALE, prior_mean=40.0, prior_scale=40.0)}
    made = {name: estimate_epsilon(model, 1000, truth=TRUTH, **settings).epsilon for name, model in models.items()}
    return {"n": 1000, **settings, "epsilon": made}


def regressions(quick):
    """Algorithm 1 for the paper's regressions, and the exponents with which it falls."""
    return simulate_regressions(
        sizes=(3000, 6000) if quick else (5000, 50_000), dimensions=(5,) if quick else (5, 10), repeats=2 if quick else 15
    )


PARTS = (speed, growth, worst_case, means, public_density, table, regressions)


def main():
    options = harness.arguments(__doc__)
    name = "contamination_quick" if options.quick else "contamination"
    document = harness.resume(name, options.quick)
    for part in PARTS:
        if not options.only or part.__name__ in options.only:
            start = time.perf_counter()
            document[part.__name__] = part(options.quick)
            harness.log(f"{part.__name__}: {time.perf_counter() - start:.0f} s")
            harness.save(name, document)


if __name__ == "__main__":
    main()
