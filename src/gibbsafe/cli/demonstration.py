"""The demonstration behind ``make demo``: who comes back to a hospital, fitted with and without privacy, on one screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gibbsafe._extras import EXTRAS, has_extra
from gibbsafe._types import JSON, Floats, Indices
from gibbsafe.cli.example import BOUNDS, INTERCEPT, SLOPES, patients
from gibbsafe.models import LogisticRegression
from gibbsafe.planning import plan
from gibbsafe.privacy import Budget
from gibbsafe.release import Release, verify
from gibbsafe.report.attack import attack_view
from gibbsafe.theorems import Comparison, Constants, compare

__all__ = ["Fit", "ordinary_fit", "run", "theorem_comparison"]

ROWS, NEW_ROWS = 20_000, 20_000
DELTA = 1e-6
LEVEL = 0.9
#: The budgets that the picture goes through, beside the one that was asked for.
EPSILONS = (10.0, 3.0, 1.0, 0.3, 0.1)
#: The 95 % point of a normal law: 90 % intervals are so many standard errors to either side.
NORMAL_95 = 1.6448536269514722


@dataclass(frozen=True, eq=False)
class Fit:
    """An estimate of every parameter, with an interval that holds it."""

    name: str
    values: Floats
    lower: Floats
    upper: Floats


def theorem_comparison() -> tuple[Comparison, str]:
    """Compare all theorems on a logistic regression: 20 features in the unit ball, an intercept, prior precision 10."""
    logistic = Constants(
        lipschitz=(1.0, 1.0),  # features, intercept: together √2, not 1 (erratum E3)
        prior_precision=(10.0, 10.0),
        convex=True,
        smoothness=0.5,
        prior_smoothness=10.0,
        n=10_000,
        dimension=21,
        slack=1e-9,
        steps=2_000,
    )
    comparison = compare(logistic, Budget(epsilon=1.0, delta=DELTA), "replace-one")
    best = comparison.row("gaussian-dp").inverse_temperature
    paper = comparison.row("log-sobolev-simple").inverse_temperature
    assert best is not None
    assert paper is not None
    headline = f"The exact posterior may be {best / paper:.2f} times as cold as the papers' rule (Corollary 8) allows."
    return comparison, headline


def ordinary_fit(features: Floats, outcomes: Indices) -> Fit:
    """Return the fit of greatest likelihood with its usual 90 % intervals: for comparison only, it is not private."""
    rows = np.column_stack([features, np.ones(len(features))])
    theta = np.zeros(rows.shape[1])
    for _ in range(25):  # Newton's method
        chances = 1 / (1 + np.exp(-rows @ theta))
        information = rows.T @ (rows * (chances * (1 - chances))[:, None])
        theta = theta + np.linalg.solve(information, rows.T @ (outcomes - chances))
    half = NORMAL_95 * np.sqrt(np.diag(np.linalg.inv(information)))
    return Fit("ordinary fit", theta, theta - half, theta + half)


def private_fit(epsilon: float, features: Floats, outcomes: Indices) -> tuple[Release, Fit]:
    """Plan, release, and return the release with its intervals."""
    model = LogisticRegression(dimension=len(BOUNDS), bounds=tuple(BOUNDS.values()), feature_names=tuple(BOUNDS), labels=(0, 1))
    planned = plan(
        model, Budget(epsilon, DELTA), n=len(outcomes), adjacency="replace-one", purpose="estimate", mechanism="noisy-scores"
    )
    release = planned.release((features, outcomes), progress=False)
    found = release.population()
    intervals = found.interval(LEVEL)
    return release, Fit(f"ε = {epsilon:g}", found.mean, intervals.lower, intervals.upper)


def run(folder: Path, say: Callable[[str], None], *, epsilon: float = 1.0, details: bool = False, force: bool = False) -> JSON:
    """Fit with and without privacy, verify and predict; write ``release.json`` and ``demo.png`` into ``folder``."""
    features, outcomes = patients(ROWS)
    ordinary = ordinary_fit(features, outcomes)
    release, private = private_fit(epsilon, features, outcomes)
    path = folder / "release.json"
    release.save(path, force=force)
    certificate = verify(path)
    new, truth = patients(NEW_ROWS, seed=1)
    right = {
        "private": float(np.mean(release.predict(new) == truth)),
        "no": float(np.mean(truth == 0)),
        "ordinary": float(np.mean((new @ ordinary.values[:-1] + ordinary.values[-1] > 0) == truth)),
    }
    comparison, headline = theorem_comparison()
    if details:
        say(f"What the theorems allow, for 20 features and an intercept\n\n{comparison}\n\n{headline}\n")
        say(f"The plan, made without reading a record\n\n{release.plan}\n")
        say(f"The certificate, recomputed from {path}\n\n{certificate}\n")
    say(_screen(release, ordinary, private, right))
    picture = folder / "demo.png" if has_extra("plots") else None
    if picture is not None:
        others = [private if each == epsilon else private_fit(each, features, outcomes)[1] for each in _around(epsilon)]
        draw_picture([ordinary, *others], picture, force=force)
    say(_written(path, picture, details=details))
    return {
        "release": str(path),
        "picture": None if picture is None else str(picture),
        "accuracy": right["private"],
        "non_private_accuracy": right["ordinary"],
        "estimates": dict(zip(release.parameters, private.values.tolist(), strict=True)),
        "non_private_estimates": dict(zip(release.parameters, ordinary.values.tolist(), strict=True)),
        "claim": dict(certificate["claim"]),
        "headline": headline,
    }


def _around(epsilon: float) -> list[float]:
    """Return the budgets of the picture, the largest first."""
    return sorted({*EPSILONS, epsilon}, reverse=True)


def _screen(release: Release, ordinary: Fit, private: Fit, right: dict[str, float]) -> str:
    """Return what fits on one screen."""
    claim = release.certificate["claim"]
    truth = [*SLOPES.values(), INTERCEPT]
    head = f"{'':<11}{'made with':>10}   {'ordinary fit':<29}   private fit, {private.name}"
    lines = [
        f"  {name:<9}{true:>10.4g}   {_interval(ordinary, k):<29}   {_interval(private, k)}"
        for k, (name, true) in enumerate(zip(release.parameters, truth, strict=True))
    ]
    guesses = attack_view(release.plan.guarantee).right_guesses
    rates = f"{right['ordinary']:<29.1%}   {right['private']:.1%} of new patients (always no: {right['no']:.1%})"
    whoever = "whoever sees it, and knows all other patients"
    return "\n".join(
        [
            f"{ROWS:,} made-up patients: who comes back within 30 days? Log-odds per year of age, day, earlier stay:",
            "",
            head,
            *lines,
            f"  {'right':<9}{'':>10}     {rates}",
            "",
            "In brackets: 90 % intervals.",
            f"The private fit claims ε = {claim['epsilon']:.3g} at δ = {claim['delta']:g}: {whoever},",
            f"guesses whether one of them was in the table right {guesses:.1%} of the time at most; a coin, 50 %.",
            "",
        ]
    )


def _interval(fit: Fit, k: int) -> str:
    return f"{fit.values[k]:>8.4f} ({fit.lower[k]:.4f} to {fit.upper[k]:.4f})"


def _written(path: Path, picture: Path | None, *, details: bool) -> str:
    """Return what was written, and what else there is to see."""
    drawn = f"{picture}: the same as ε falls; with private data every one of these fits would be charged"
    absent = f"no picture: {EXTRAS['plots'].package} is not installed; run: pip install 'gibbsafe[plots]'"
    lines = [f"wrote {path}, verified from the file", absent if picture is None else f"wrote {drawn}"]
    more = f"next: gibbsafe report {path}; gibbsafe demo --force --details shows plan, certificate and theorems"
    return "\n".join(lines if details else [*lines, more])


def draw_picture(fits: list[Fit], path: Path, *, force: bool = False) -> None:
    """Draw every fit with its interval, one panel per parameter: the ordinary one on top, the private ones as ε falls."""
    from gibbsafe._plotting import panels

    truth = [*SLOPES.values(), INTERCEPT]
    names = [f"{name}, per {unit}" for name, unit in zip(BOUNDS, ("year", "day", "stay"), strict=True)] + ["intercept"]
    places = np.arange(len(fits))
    colours = ["#a63603", *["#2171b5"] * (len(fits) - 1)]
    with panels(path, 1, len(names), width=11.0, height=3.4, force=force) as axes:
        for k, axis in enumerate(axes[0]):
            low, high = _limits(fits, k, truth[k])
            axis.axvline(truth[k], color="#636363", linewidth=0.8, linestyle=":", zorder=0)
            for place, fit, colour in zip(places, fits, colours, strict=True):
                ends = [max(fit.lower[k], low), min(fit.upper[k], high)]
                axis.plot(ends, [place, place], color=colour, linewidth=3, alpha=0.45)
                axis.plot(np.clip(fit.values[k], low, high), place, "o", color=colour, markersize=6)
            axis.set_xlim(low, high)
            axis.set_ylim(len(fits) - 0.5, -0.5)
            axis.set_yticks(places, [fit.name for fit in fits] if k == 0 else [])
            axis.set_title(names[k], loc="left", fontsize=10)
            axis.locator_params(axis="x", nbins=4)
        title = f"{ROWS:,} made-up patients: private and ordinary fits, 90 % intervals (dotted: what the data were made with)"
        axes[0, 0].figure.suptitle(title, fontsize=10, x=0.01, ha="left")


def _limits(fits: list[Fit], k: int, truth: float) -> tuple[float, float]:
    """Return the range of a panel: three times as wide as the points and the ordinary interval; longer intervals leave it."""
    seen = [truth, fits[0].lower[k], fits[0].upper[k], *(fit.values[k] for fit in fits)]
    low, high = min(seen), max(seen)
    return low - (high - low), high + (high - low)
