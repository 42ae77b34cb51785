"""The page's section on models of one's own."""

from __future__ import annotations

from benchmarks.report.tables import table

OPPONENTS = ("DP-SGD", "DP variational inference")


def behind(row):
    """By how many standard errors of the paired difference ours loses to the best opponent; below 0 it wins."""
    best = min((row[name] for name in OPPONENTS), key=lambda each: each["log_loss"])
    return best["ours_less_theirs"] / best["standard_error"]


def own_models(results):
    rows = [
        (
            f"{row['epsilon']:g}",
            f"{row['ours']:.4f}",
            f"{row['of_draws']:.4f}",
            *(
                f"{row[name]['log_loss']:.4f} ({row[name]['ours_less_theirs']:+.4f} ± {row[name]['standard_error']:.4f})"
                for name in OPPONENTS
            ),
            f"{row['largest_r_hat']:.2f}",
            f"{row['seconds']:.0f} s",
            f"{held['covered']:.3f} ± {held['standard_error']:.3f} ({held['width']:.2f})",
        )
        for row, held in zip(results["rows"], results["coverage"]["rows"], strict=True)
    ]
    coverage = results["coverage"]
    return [
        "## Models of one's own",
        "",
        f"A NumPyro Poisson model with 16 groups by `from_numpyro` with its defaults, {results['n']:,} records,",
        f"δ = {results['delta']:g}: held-out log-loss, and that of opponents whose every setting was tuned on the test sets",
        "(36 settings on the first two of them, the best four on all). In",
        f"brackets ours less theirs, of the same data set, over {results['data_sets']} data sets. The non-private fit has",
        f"{results['non_private']:.4f}. Ours predicts by `release.population()`, what its summary shows; beside it the chain's",
        "own draws, which a power on the likelihood spreads. R̂ is the largest of any parameter and data set: chains of a small",
        "budget are short, and intervals are not taken from their draws. Last, how often 90 % intervals of the population hold",
        f"the truth, over {coverage['data_sets']} other data sets of {coverage['n']:,} records from the prior, all parameters",
        "together, and in brackets their median width beside the prior's.",
        "",
        *table(("ε", "ours", "its draws", *OPPONENTS, "largest R̂", "a release", "90 % intervals cover"), rows),
        "",
    ]
