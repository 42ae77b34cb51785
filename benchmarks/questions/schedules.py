"""Schedules for estimates: where the constants of `gibbsafe.planning.schedules` come from, and a check on tables.

The constants come from a model without data: quadratic losses, for which every stage is Gaussian and the expected excess
loss of a schedule is a sum over directions. The check draws exactly through the stages on synthetic and public tables."""

from __future__ import annotations

from benchmarks import harness  # isort: skip - sets the number of threads before NumPy loads

import math

import numpy as np

import gibbsafe as gs
from benchmarks import datasets
from benchmarks.report.tables import table
from gibbsafe.data.options import EncodingOptions
from gibbsafe.planning.requests import Request
from gibbsafe.planning.schedules import estimate_schedule, exact_stage
from gibbsafe.privacy import Adjacency
from gibbsafe.privacy.profiles import gaussian_mu
from gibbsafe.samplers import SAMPLERS

IN_USE = "in use"
FOUR = (0.10, 0.15, 0.25, 0.50), (1.0, 0.6, 0.4, 0.25)
#: Shares of μ² and radii in units of D, as functions of the signal nμ/d. The twelve stages were chosen by hand on tables.
SCHEDULES = {
    "one stage": lambda signal: ((1.0,), (1.0,)),
    "four stages": lambda signal: (FOUR[0], tuple(r * min(1.0, math.sqrt(signal / 8)) for r in FOUR[1])),
    "twelve stages by hand": lambda signal: estimate_schedule(signal, stages=12, full=36.0, fall=2 / 3, growth=0.5),
    IN_USE: estimate_schedule,
}
#: One constant changed at a time.
CHANGES = {
    "stages": (8, 12, 24),
    "full": (36.0, 200.0, 400.0),
    "fall": (0.6, 2 / 3, 0.85),
    "growth": (0.0, 0.5, 1.0),
}
SIGNALS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


# -- the model -------------------------------------------------------------------------------------------------------


def problems():
    """Quadratic losses with rows of norm at most 1: (d, curvatures per record, coefficients).

    Every combination of d parameters, second moments of the rows that fall like k^(−α) and add up to less than 1, and
    linear predictors of three sizes with the logistic loss's mean curvature at that size; coefficients are one normal
    vector."""
    rng = np.random.default_rng(0)
    for d in (6, 21, 51, 101):
        for alpha in (0.0, 0.5, 1.0, 2.0):
            for filled in (1.0, 0.4):
                for predictor, curvature in ((1.0, 0.20), (2.0, 0.15), (4.0, 0.08)):
                    moments = np.arange(1, d + 1) ** -alpha
                    moments *= filled / moments.sum()
                    theta = rng.normal(size=d)
                    yield d, curvature * moments, theta * predictor / math.sqrt((moments * theta**2).sum())


def staged_excess(d, curvature, theta, signal, schedule):
    """Expected excess loss of the last draw: each stage keeps a = Λ/(h + Λ) of the error before and adds Gaussian noise."""
    reach = signal * d  # nμ
    error, variance = -theta, np.zeros(d)
    for share, radius in zip(*schedule(signal), strict=True):
        prior = 1 / (reach * math.sqrt(share) * radius)  # Λ/n at D = 3√d
        kept = prior / (curvature + prior)
        error = kept * error
        variance = kept**2 * variance + 4 / (reach**2 * share * prior * (curvature + prior))
    return 0.5 * float((curvature * (error**2 + variance)).sum())


def perturbed_excess(d, curvature, theta, signal):
    """The same for objective perturbation at the ridge that is best for this very problem, determinants free of charge."""
    ridge = np.geomspace(1e-6, 30, 60)[:, None]
    error, noise = theta * ridge / (curvature + ridge), 2 / (signal * d) / (curvature + ridge)
    return float(np.min(0.5 * (curvature * (error**2 + noise**2)).sum(axis=1)))


def ratios(schedule, signals=SIGNALS):
    """Geometric means over the problems of excess over objective perturbation's, one per signal."""
    return [
        math.exp(
            np.mean([math.log(staged_excess(*problem, s, schedule) / perturbed_excess(*problem, s)) for problem in problems()])
        )
        for s in signals
    ]


def changed(name, value):
    """The schedule in use with one constant changed."""
    return lambda signal: estimate_schedule(signal, **{name: value})


# -- the check -------------------------------------------------------------------------------------------------------


def tables(quick):
    """Tables with other seeds than those of the other benchmarks."""
    yield datasets.isotropic(1000, 5, seed=7)
    yield datasets.isotropic(1000, 20, seed=8)
    yield datasets.breast_cancer()
    yield datasets.digits()
    if not quick:
        yield datasets.isotropic(10_000, 20, seed=9)
        adult = datasets.adult_table()
        if adult is not None:
            yield adult


def estimate(request, blocks, schedule, generator):
    """Draw through the stages exactly; return the last draw (scaled units)."""
    model, mu = request.model, request.mu(1)
    signal = request.n * mu / model.parameters
    centre = np.zeros(model.parameters)
    for share, radius in zip(*schedule(signal), strict=True):
        stage = exact_stage(request, mu * math.sqrt(share), request.radius * radius, None, 1)
        centre = SAMPLERS["shell"].function(model.posterior(blocks, stage, centre), 1, generator, None)[0][0]
    return centre


def check(data, epsilon, seeds):
    """Mean test log-loss of every schedule in one cell."""
    budget, blocks = gs.Budget(epsilon, 1e-6), data.model.encode((data.X, data.y), EncodingOptions())
    settings = {"n": data.n, "rows_per_person": 1, "radius": 3 * math.sqrt(data.d), "purpose": "estimate"}
    request = Request(data.model, budget, Adjacency.REPLACE_ONE, 1, **settings)
    losses = {}
    for label, schedule in SCHEDULES.items():
        draws = [estimate(request, blocks, schedule, np.random.default_rng(seed)) for seed in range(seeds)]
        mean, error = harness.mean_and_error(data.score(np.array(draws))[0])
        losses[label] = {"mean": mean, "error": error}
    signal = data.n * gaussian_mu(epsilon, 1e-6) / data.d
    return {"data": data.name, "epsilon": epsilon, "signal": signal, "seeds": seeds, "log_loss": losses}


# -- the page --------------------------------------------------------------------------------------------------------

PAGE = """# Schedules for estimates: where the constants come from

`purpose="estimate"` draws once from each of several posteriors, each centred at the draw before. A schedule says which share of
μ² a stage spends and how far its prior reaches, from the public signal s = nμ/d alone (`gibbsafe.planning.schedules`).
This page is written by `benchmarks/questions/schedules.py`.

## Without data

For a quadratic loss with curvature h per record, a stage with prior precision Λ per record and unit of β keeps the share
a = Λ/(h + Λ) of the error of its centre and adds Gaussian noise of variance 4/(f (nμ)² Λ (h + Λ)), f its share of μ². The
expected excess loss of a schedule is therefore a sum over directions, and schedules can be compared with no data at all.
Below: geometric means over {problems} problems (6 to 101 parameters; second moments of the rows that fall like k^(−α), α from
0 to 2; linear predictors of root mean square 1, 2 and 4) of the excess, divided by that of objective perturbation at the ridge
that is best for the very problem, which nobody knows. 1 would be as good as that.

{model}

The schedule in use has {stages} stages, shares that grow like k^(1/3), and radii from min(1, √(s/{full:.0f})) down to s^(−3/4).
One constant changed at a time:

{changes}

More stages gain a few hundredths each time their number doubles, and take time in proportion. A smaller first radius helps
problems with small coefficients and hurts those with large ones; √(s/{full:.0f}) is between what the three sizes of predictor
would like. Averaging the draws of the later stages does not help: the last stage already weighs them.

## On tables

Mean test log-loss over {seeds} releases per cell, by exact draws from every stage. No constant was chosen on these, though
the twelve stages, chosen by hand on tables like them, are where the search began.

{tables}

Fitting by the model helps most where signals are weak; on breast cancer at ε = 1 and 3, whose coefficients are far larger
than the model's, a wide first prior is better. `prior_radius` is the knob for whoever knows better.
"""


def page(document):
    model = table(
        ["nμ/d", *map(str, SIGNALS)],
        [[name, *(f"{value:.2f}" for value in document["model"][name])] for name in SCHEDULES],
    )
    changes = table(
        ["changed", "to", *map(str, SIGNALS)],
        [[row["constant"], f"{row['value']:.3g}", *(f"{value:.2f}" for value in row["ratios"])] for row in document["changes"]],
    )
    rows = []
    for row in document["cells"]:
        means = [row["log_loss"][name]["mean"] for name in SCHEDULES]
        shown = [f"**{mean:.4f}**" if mean == min(means) else f"{mean:.4f}" for mean in means]
        rows.append([row["data"], f"{row['epsilon']:g}", f"{row['signal']:.1f}", *shown])
    return PAGE.format(
        problems=document["problems"],
        model="\n".join(model),
        changes="\n".join(changes),
        stages=document["stages"],
        full=document["full_signal"],
        seeds=document["cells"][0]["seeds"],
        tables="\n".join(table(["data", "ε", "nμ/d", *SCHEDULES], rows)),
    )


def main():
    options = harness.arguments(__doc__)
    from gibbsafe.planning.schedules import FULL_SIGNAL, STAGES

    document = harness.head(options.quick) | {"problems": len(list(problems())), "stages": STAGES, "full_signal": FULL_SIGNAL}
    document["model"] = {name: ratios(schedule) for name, schedule in SCHEDULES.items()}
    document["changes"] = [
        {"constant": name, "value": value, "ratios": ratios(changed(name, value))}
        for name, values in CHANGES.items()
        for value in values
    ]
    document["cells"] = []
    for data in tables(options.quick):
        for epsilon in (0.1, 0.3, 1.0, 3.0):
            document["cells"].append(check(data, epsilon, options.seeds or (3 if options.quick else 20)))
            harness.log(str(document["cells"][-1]))
    harness.save("schedules_quick" if options.quick else "schedules", document)
    if not options.quick:
        (harness.ROOT / "docs" / "schedules.md").write_text(page(document))


if __name__ == "__main__":
    main()
