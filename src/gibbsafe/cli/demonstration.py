"""The demonstration behind ``make demo``: a private logistic regression from nothing to a verified release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gibbsafe._types import JSON
from gibbsafe.errors import GibbsafeError
from gibbsafe.models import LogisticRegression
from gibbsafe.planning import plan
from gibbsafe.privacy import Budget
from gibbsafe.release import Release, verify
from gibbsafe.theorems import Comparison, Constants, compare

__all__ = ["BOUNDS", "run", "theorem_comparison"]

#: Three measurements of a cell nucleus: column of the data, and public bounds as a pathologist would write them down unseen.
BOUNDS = {"radius": (5, 30), "texture": (5, 40), "concave points": (0, 0.25)}
COLUMNS = [0, 1, 7]
PRIOR_RADIUS = 20.0  # coefficients of real data sets are often of this size in scaled units


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
    comparison = compare(logistic, Budget(epsilon=1.0, delta=1e-6), "replace-one")
    best = comparison.row("gaussian-dp").inverse_temperature
    paper = comparison.row("log-sobolev-simple").inverse_temperature
    assert best is not None
    assert paper is not None
    headline = f"The exact posterior may be {best / paper:.2f} times as cold as the papers' rule (Corollary 8) allows."
    return comparison, headline


def breast_cancer() -> tuple[Any, Any, Any, Any]:
    """Return training and test rows of scikit-learn's breast-cancer data (label 1: benign)."""
    try:
        from sklearn.datasets import load_breast_cancer
        from sklearn.model_selection import train_test_split
    except ImportError as error:
        raise GibbsafeError("scikit-learn is not installed: install gibbsafe[sklearn] for the demonstration") from error
    X, y = load_breast_cancer(return_X_y=True)
    return tuple(train_test_split(X[:, COLUMNS], y, test_size=0.2, random_state=0, stratify=y))


def run(folder: Path, say: Callable[[str], None], *, epsilon: float = 1.0, draws: int = 5, force: bool = False) -> JSON:
    """Plan, release, verify and predict at ε = 1, δ = 1e-6; write ``release.json`` and ``demo.png`` into ``folder``."""
    comparison, headline = theorem_comparison()
    say(f"1. What the theorems allow, for 20 features and an intercept\n\n{comparison}\n\n{headline}\n")
    train, test, labels, truth = breast_cancer()
    model = LogisticRegression(dimension=len(BOUNDS), bounds=tuple(BOUNDS.values()), feature_names=tuple(BOUNDS), labels=(0, 1))
    planned = plan(model, Budget(epsilon, 1e-6), n=len(labels), adjacency="replace-one", draws=draws, prior_radius=PRIOR_RADIUS)
    say(f"2. A plan for the breast-cancer data, made without reading it\n\n{planned}\n")
    release = planned.release((train, labels))
    path = folder / "release.json"
    release.save(path, force=force)
    say(f"3. The release, written to {path} and verified from the file\n\n{verify(path)}\n\n{release.summary()}\n")
    accuracy = float(np.mean(release.predict(test) == truth))
    likelihood = release.predict_proba(test)[np.arange(len(truth)), truth]
    log_loss = float(-np.log(likelihood).mean())
    majority = float(max(truth.mean(), 1 - truth.mean()))
    fit = non_private_fit(model, train, labels)
    private_free = float(np.mean(model.predict(test, fit[None]) == truth))
    say(
        f"4. Held-out rows: accuracy {accuracy:.3f}, log-loss {log_loss:.3f} "
        f"(non-private fit {private_free:.3f}; always the larger class {majority:.3f})\n"
    )
    picture = folder / "demo.png"
    draw_picture(release, fit, picture, force=force)
    say(f"5. The released draws against the non-private fit: {picture}")
    return {
        "release": str(path),
        "picture": str(picture),
        "accuracy": accuracy,
        "log_loss": log_loss,
        "non_private_accuracy": private_free,
        "claim": dict(release.certificate["claim"]),
        "headline": headline,
    }


def non_private_fit(model: LogisticRegression, features: object, labels: object) -> Any:
    """Return the ordinary fit on the same clipped rows, in the user's units: for comparison only, it is not private."""
    from sklearn.linear_model import LogisticRegression as Ordinary

    rows = model.encode_features(features)
    fitted = Ordinary(fit_intercept=False, C=10.0, max_iter=1000).fit(rows, labels)
    return model.to_original(fitted.coef_)[0]


def draw_picture(release: Release, fit: Any, path: Path, *, force: bool = False) -> None:
    """Draw the released coefficients (in units of the encoded columns, so that they compare) against the ordinary fit."""
    from gibbsafe._plotting import figure

    model = release.plan.model
    draws, ordinary = model.from_original(release.draws), model.from_original(fit[None])[0]
    positions = np.arange(len(release.parameters))
    claim = release.certificate["claim"]
    with figure(path, "coefficient, scaled units", "", width=7.0, height=3.6, force=force) as axes:
        for k in positions:
            axes.plot(draws[:, k], np.full(len(draws), k), "|", color="#3182bd", alpha=0.6, markersize=12)
        axes.plot(draws.mean(axis=0), positions, "o", color="#08519c", label="mean of the released draws")
        axes.plot([], [], "|", color="#3182bd", markersize=12, label="released draws")
        axes.plot(ordinary, positions, "x", color="#a63603", markersize=8, label="ordinary fit (not private)")
        axes.axvline(0, color="black", linewidth=0.6)
        axes.set_yticks(positions, release.parameters)
        axes.invert_yaxis()
        axes.set_title(f"{len(draws)} private draws at ε = {claim['epsilon']:.3g}, δ = {claim['delta']:g}", loc="left")
        axes.legend(frameon=False, fontsize=8)
