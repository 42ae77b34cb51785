"""The page's part on utility: who wins in which cell, by how much, and why."""

from __future__ import annotations

import math

OURS = ("draw", "estimate", "corollary 8")
OPPONENTS = ("output perturbation", "objective perturbation", "gradient descent", "diffprivlib")
SIGNAL = 8.0


def private_opponents(cell):
    """Log-loss entries of everybody else's private methods, the test-tuned ones included."""
    names = [name + tail for name in OPPONENTS for tail in ("", ", tuned")]
    return {name: cell["methods"][name] for name in names if "log_loss" in cell["methods"].get(name, {})}


def best_opponent(cell):
    """Name and entry of the opponent with the least mean log-loss."""
    return min(private_opponents(cell).items(), key=lambda pair: pair[1]["log_loss"])


def verdict(cell):
    """How the estimate stands beside the best opponent: better, level (within two standard errors of the difference), or
    worse."""
    ours, (_, theirs) = cell["methods"]["estimate"], best_opponent(cell)
    gap = ours["log_loss"] - theirs["log_loss"]
    error = math.hypot(ours["log_loss_error"] or 0.0, theirs["log_loss_error"] or 0.0)
    if gap <= 0:
        return "better"
    return "level" if gap <= 2 * error else "worse"


def complete(document):
    """Cells in which the estimate and some opponent were measured."""
    return [cell for cell in document["cells"] if "estimate" in cell["methods"] and private_opponents(cell)]


def counts(cells):
    """Number of cells by verdict."""
    found = [verdict(cell) for cell in cells]
    return {word: found.count(word) for word in ("better", "level", "worse")}


def number(entry, least):
    if "log_loss" not in entry:
        return "refused" if entry else "–"
    value = entry["log_loss"]
    text = f"{value:.4f}" if value < 2 else f"{value:.1f}"
    return f"**{text}**" if value == least else text


def loss_table(cells):
    columns = (*OURS, *(name + tail for tail in ("", ", tuned") for name in OPPONENTS))
    short = [name.replace(" perturbation", "").replace("gradient descent", "descent") for name in columns]
    lines = [
        "| data | ε | nμ/d | non-private | " + " | ".join(short) + " | estimate is | its seeds |",
        "|" + "---|" * (len(columns) + 6),
    ]
    for cell in cells:
        entries = [cell["methods"].get(name, {}) for name in columns]
        least = min(entry["log_loss"] for entry in entries if "log_loss" in entry)
        reference = cell["methods"]["non-private"]["log_loss"]
        shown = " | ".join(number(entry, least) for entry in entries)
        lines.append(
            f"| {cell['data']} | {cell['epsilon']:g} | {cell['signal']:.1f} | {reference:.4f} | {shown} | {verdict(cell)} | "
            f"{cell['methods']['estimate']['seeds']} |"
        )
    return lines


def accuracy_table(cells):
    lines = ["| data | ε | draw | estimate | best opponent | non-private |", "|---|---|---|---|---|---|"]

    def percent(entry):
        if "accuracy" not in entry:
            return "–"
        error = entry["accuracy_error"]
        return f"{100 * entry['accuracy']:.1f} %" + (f" ± {100 * error:.1f}" if error else "")

    for cell in cells:
        methods = cell["methods"]
        best = max(private_opponents(cell).items(), key=lambda pair: pair[1]["accuracy"])
        shown = [percent(methods.get(name, {})) for name in ("draw", "estimate")] + [f"{percent(best[1])} ({best[0]})"]
        lines.append(f"| {cell['data']} | {cell['epsilon']:g} | " + " | ".join(shown) + f" | {percent(methods['non-private'])} |")
    return lines


WHY = """Why the estimate loses where it does:

- *Few parameters* (5 features). Pure-ε noise has length about 2d/ε, Gaussian noise about √d · 2/μ, with μ well below ε at
  δ = 1e-6: with few parameters diffprivlib's noise is the shorter one, and no schedule of Gaussian-DP stages can undo that.
- *Large coefficients and few records* (breast cancer, digits). Their fits are far longer than the default radius 3√d expects; the
  step size or ridge that suits them is known to whoever looks at the test set, and to nobody else. `prior_radius` is the knob.
- *Weak signals* (nμ/d below 8). Tuned opponents learn from the test set to stay near 0, where nothing is lost; the estimate does
  not know that it should.
- *Strong signals.* Every good method is close to the non-private fit, some below it by luck of the test set. In the limit of
  many stages the estimate's noise is that of objective perturbation, (2/μ)(H + Λ)⁻¹, and cannot fall below it: for
  well-conditioned tables "level" is the best that is possible.

How to read the counts: the best opponent is picked after the fact from eight noisy means, which favours the opponents. Calling
two standard errors "level" favours us, the more so in rows with few seeds. The schedule's constants were chosen on these same
public and synthetic tables, their test sets included, which favours us too: on fresh tables the share may be lower. A dash is a
method that was not run in that cell."""


def utility(document):
    """The section's lines."""
    cells = complete(document)
    strong = [cell for cell in cells if cell["signal"] >= SIGNAL]
    all_counts, strong_counts = counts(cells), counts(strong)
    rule = [cell for cell in strong if _beats_rules(cell)]
    stages = sorted({cell["methods"]["estimate"]["stages"] for cell in cells})
    good = strong_counts["better"] + strong_counts["level"]
    seeds = sorted({cell["methods"]["estimate"]["seeds"] for cell in cells})
    return [
        "## Utility at equal (ε, δ)",
        "",
        f"Mean test log-loss at δ = {document['delta']:g}, replace-one, over independent releases",
        f"({' or '.join(map(str, seeds))} seeds); public scaling",
        "only. *Tuned* opponents take the ridge, or step size and number of passes, that is best on the **test set**:",
        "that is not",
        "private, and is their best case. diffprivlib guarantees pure ε, a stronger promise; objective perturbation is",
        "Gaussian with the",
        "accounting of `benchmarks/baselines.py`; gradient descent averages the second half of its iterates; Corollary",
        "8 is one draw",
        f"by the paper's rule; the estimate runs {' or '.join(map(str, stages))} stages. Corollary 8 holds up to ε = 1.",
        "Bold is the best private value. *Level* means within two standard errors",
        "of the difference from the best opponent, tuned ones included.",
        "",
        *loss_table(cells),
        "",
        f"Where nμ/d ≥ {SIGNAL:g} ({len(strong)} cells) the estimate is better than the best opponent in",
        f"{strong_counts['better']}, level in",
        f"{strong_counts['level']} and worse in {strong_counts['worse']}: at least level in",
        f"{100 * good / max(len(strong), 1):.0f} %. Against opponents that may not look at the test",
        f"set it is better or level in {len(rule)} of {len(strong)}. Over all {len(cells)} cells: better",
        f"{all_counts['better']}, level {all_counts['level']}, worse {all_counts['worse']}.",
        "",
        "![Log-loss against ε](figures/utility.png)",
        "",
        WHY,
        "",
        "Accuracy in the same runs, beside the opponent whose accuracy is best:",
        "",
        *accuracy_table(cells),
        "",
    ]


def _beats_rules(cell):
    """Whether the estimate is at least level with the best opponent that is not tuned on the test set."""
    rules = {name: entry for name, entry in private_opponents(cell).items() if not name.endswith("tuned")}
    restricted = {"methods": {"estimate": cell["methods"]["estimate"], **rules}}
    return verdict(restricted) != "worse"
