"""The page's part on utility: who wins in which cell, by how much, and why the estimate loses where it does."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median

from benchmarks.report.tables import listed, small, table

OPPONENTS = ("output perturbation", "objective perturbation", "gradient descent", "diffprivlib")
SIGNAL = 8.0
#: Our estimates: by default, with nothing kept for intervals, and in stages, the older way.
ESTIMATE, POINT, STAGES = "estimate", "estimate, all for the point", "stages"
#: The share of cells with enough signal in which an estimate should be at least level with the best opponent: those tuned on the
#: test set included (None), and those with public rules alone (False).
TARGETS = {(ESTIMATE, None): 0.85, (POINT, None): 0.90, (ESTIMATE, False): 0.95}
#: What the default estimate's excess over the fit may be of that in stages, median over these cells.
EXCESS_TARGET = 0.5
#: A gap in log-loss below the last digit that the tables show.
UNSEEN = 1e-4
#: From here on the model of docs/schedules.md puts the estimate's excess well above objective perturbation's.
STRONG = 100.0


# -- who wins --------------------------------------------------------------------------------------------------------


def private_opponents(cell, tuned=None):
    """Entries of everybody else's private methods that gave a log-loss; ``tuned``: only those tuned on the test set, or not."""
    tails = {None: ("", ", tuned"), True: (", tuned",), False: ("",)}[tuned]
    names = [name + tail for name in OPPONENTS for tail in tails]
    return {name: cell["methods"][name] for name in names if "log_loss" in cell["methods"].get(name, {})}


def best_opponent(cell, tuned=None):
    """Name and entry of the opponent with the least mean log-loss, None without any."""
    return min(private_opponents(cell, tuned).items(), key=lambda pair: pair[1]["log_loss"], default=None)


def gap(cell, tuned=None, method=ESTIMATE):
    """The estimate's mean log-loss less the best opponent's, and the standard error of that difference."""
    ours, (_, theirs) = cell["methods"][method], best_opponent(cell, tuned)
    error = math.hypot(ours["log_loss_error"] or 0.0, theirs["log_loss_error"] or 0.0)
    return ours["log_loss"] - theirs["log_loss"], error


def verdict(cell, tuned=None, method=ESTIMATE):
    """How the estimate stands beside the best opponent: better, level (within two standard errors of the difference), or
    worse."""
    difference, error = gap(cell, tuned, method)
    if difference <= 0:
        return "better"
    return "level" if difference <= 2 * error else "worse"


def complete(document):
    """Cells in which the estimate and some opponent were measured."""
    return [cell for cell in document["cells"] if "estimate" in cell["methods"] and private_opponents(cell)]


def strong(cells):
    """Cells with enough signal."""
    return [cell for cell in cells if cell["signal"] >= SIGNAL]


def counts(cells, tuned=None, method=ESTIMATE):
    """Number of cells by verdict."""
    found = Counter(verdict(cell, tuned, method) for cell in cells)
    return {word: found[word] for word in ("better", "level", "worse")}


def share_level(cells, tuned=None, method=ESTIMATE):
    """Share of the cells in which the estimate is at least level; cells without it, or without such opponents, do not count."""
    compared = [cell for cell in cells if method in cell["methods"] and private_opponents(cell, tuned)]
    return 1 - counts(compared, tuned, method)["worse"] / len(compared) if compared else math.nan


def excess(cell, method):
    """Mean log-loss above the non-private fit's."""
    return cell["methods"][method]["log_loss"] - cell["methods"]["non-private"]["log_loss"]


def excess_ratios(cells, method=ESTIMATE):
    """The estimate's excess over that of the estimate in stages, cell by cell, where the latter is above its own error."""
    compared = [cell for cell in cells if {method, STAGES, "non-private"} <= set(cell["methods"])]
    seen = [cell for cell in compared if excess(cell, STAGES) > (cell["methods"][STAGES]["log_loss_error"] or 0.0)]
    return [excess(cell, method) / excess(cell, STAGES) for cell in seen]


# -- tables ----------------------------------------------------------------------------------------------------------


def short(name):
    return name.replace(" perturbation", "").replace("gradient descent", "descent").removesuffix(", tuned")


def number(entry, least):
    """A log-loss, bold where it is the row's least; refused, or a dash where it was not run."""
    if "log_loss" not in entry:
        return "refused" if entry else "–"
    value = entry["log_loss"]
    text = f"{value:.4f}" if value < 2 else f"{value:.1f}"
    return f"**{text}**" if value == least else text


def least_private(cell):
    return min(entry["log_loss"] for name, entry in cell["methods"].items() if name != "non-private" and "log_loss" in entry)


def named(pair, least):
    return "–" if pair is None else f"{number(pair[1], least)} {short(pair[0])}"


def place(cell):
    return cell["data"], f"{cell['epsilon']:g}"


def loss_table(cells):
    """Ours beside the best opponents."""
    ours = ("non-private", "draw", STAGES, ESTIMATE, POINT)
    rows = []
    for cell in cells:
        least = least_private(cell)
        shown = [number(cell["methods"].get(name, {}), least) for name in ours]
        best = [named(best_opponent(cell, tuned), least) for tuned in (False, True)]
        rows.append((*place(cell), f"{cell['signal']:.1f}", *shown, *best, verdict(cell)))
    return table(("data", "ε", "nμ/d", *ours, "best by a public rule", "best tuned on the test set", "estimate is"), rows)


def opponents_table(cells):
    """Every opponent by its public rule / tuned on the test set."""
    rows = []
    for cell in cells:
        methods, least = cell["methods"], least_private(cell)
        pairs = [[number(methods.get(name + tail, {}), least) for tail in ("", ", tuned")] for name in OPPONENTS]
        rows.append((*place(cell), number(methods.get("corollary 8", {}), least), *(" / ".join(pair) for pair in pairs)))
    return table(("data", "ε", "corollary 8", *map(short, OPPONENTS)), rows)


def percent(entry):
    if "accuracy" not in entry:
        return "–"
    error = entry["accuracy_error"]
    return f"{100 * entry['accuracy']:.1f} %" + (f" ± {100 * error:.1f}" if error else "")


def accuracy_table(cells):
    ours = ("non-private", "draw", ESTIMATE)
    rows = []
    for cell in cells:
        name, best = max(private_opponents(cell).items(), key=lambda pair: pair[1]["accuracy"])
        shown = [percent(cell["methods"].get(each, {})) for each in ours]
        rows.append((*place(cell), *shown, f"{percent(best)} ({name})"))
    return table(("data", "ε", *ours, "best opponent"), rows)


# -- where the estimate loses, and why -------------------------------------------------------------------------------


def pure_noise_is_shorter(cell):
    """Whether 2d/ε, the length of pure-ε noise, is below 2√d/μ, that of Gaussian noise; and diffprivlib is ahead."""
    mu = cell["signal"] * cell["d"] / cell["n"]
    return best_opponent(cell)[0].startswith("diffprivlib") and math.sqrt(cell["d"]) < cell["epsilon"] / mu


def descends_farther(cell):
    """Whether tuned gradient descent is ahead with more passes × step size than its public rule allows itself."""
    name, best = best_opponent(cell)
    rule = cell["methods"].get("gradient descent", {})
    return name == "gradient descent, tuned" and best["passes"] * best["rate"] > rule.get("passes", 0) * rule.get("rate", 0)


#: Reasons that a cell's own numbers bear out: the label, whether it applies, and what it means.
REASONS = (
    (
        "weak signal",
        lambda cell: cell["signal"] < SIGNAL,
        f"nμ/d is below {SIGNAL:g}: the prior decides more than the data. How near 0 to stay is known to whoever looks at the "
        "test set, and to nobody else.",
    ),
    (
        "below the fit",
        lambda cell: best_opponent(cell)[1]["log_loss"] < cell["methods"]["non-private"]["log_loss"],
        "the opponent's mean is below the non-private fit's own: on this test set some other point happens to predict better, "
        "and tuning finds it. The estimate heads for the fit.",
    ),
    (
        "long fit",
        lambda cell: cell.get("fit_norm", 0.0) > cell.get("radius", math.inf),
        "the non-private fit lies outside the ball of the default radius 3√d. `prior_radius` is the knob for whoever knows "
        "better from public sources.",
    ),
    (
        "farther descent",
        descends_farther,
        "tuned gradient descent takes more passes × step size than its public rule, so that it can travel farther from 0. That "
        "this pays is learnt from the test set.",
    ),
    (
        "strong signal",
        lambda cell: cell["signal"] >= STRONG,
        f"nμ/d is above {STRONG:g}: everybody is close to the fit, and sixteen stages centred at one another's noisy draws leave "
        "about twice the excess of one perturbed objective ([schedules.md](schedules.md) has the factor by signal). A radius "
        "that suits even tables would fail uneven ones, and which of them is at hand is not public.",
    ),
    (
        "pure ε",
        pure_noise_is_shorter,
        "with fewer than (ε/μ)² parameters pure-ε noise, of length about 2d/ε, is shorter than Gaussian noise, about 2√d/μ; "
        "diffprivlib has the former, our stages have the latter.",
    ),
    (
        "tuned ridge",
        lambda cell: "chosen" in best_opponent(cell)[1],
        "the opponent's ridge is the best on the test set.",
    ),
)


def labels(cell):
    """The reasons that apply; "open" where none does."""
    return [label for label, applies, _ in REASONS if applies(cell)] or ["open"]


def losses(cells):
    """Where the estimate is worse than the best opponent: by how much, and why."""
    lost = sorted((cell for cell in cells if verdict(cell) == "worse"), key=lambda cell: -cell["signal"])
    if not lost:
        return []
    rows = []
    for cell in lost:
        name, best = best_opponent(cell)
        difference, error = gap(cell)
        means = (
            f"{cell['methods']['estimate']['log_loss']:.4f}",
            f"{best['log_loss']:.4f} {name}",
            f"{difference:.1e}" if difference < UNSEEN else f"{difference:.4f}",
        )
        ratio = f"{difference / error:.1f}" if error else "–"
        rows.append((*place(cell), f"{cell['signal']:.1f}", *means, ratio, ", ".join(labels(cell))))
    seen = {label for cell in lost for label in labels(cell)}
    return [
        "### Where the estimate loses",
        "",
        *table(("data", "ε", "nμ/d", "estimate", "best opponent", "gap", "in standard errors", "why"), rows),
        "",
        "The reasons, each given where the cell's own numbers bear it out:",
        "",
        *(f"- *{label}*: {text}" for label, _, text in REASONS if label in seen),
        *(["- *open*: none of these; we have no explanation."] if "open" in seen else []),
        "",
    ]


# -- the section -----------------------------------------------------------------------------------------------------


def seeds(cells):
    """How many releases stand behind the means, exceptions named."""
    found = Counter()
    for cell in cells:
        for name, entry in cell["methods"].items():
            if name != "non-private" and "seeds" in entry:
                found[name, entry["seeds"]] += 1
    usual = max(number for _, number in found)
    fewer = [
        f"{number} for {name} in {times} cell{'s' * (times > 1)}" for (name, number), times in found.items() if number < usual
    ]
    return f"{usual} releases per method and cell" + (f" (fewer: {'; '.join(fewer)})" if fewer else "")


def outcome(cells):
    """The counts, and whether the targets are met."""
    chosen = strong(cells)
    every = counts(cells)
    last = f"Over all {len(cells)} cells: better {every['better']}, level {every['level']}, worse {every['worse']}."
    return [*(targets(chosen) if chosen else []), last]


AGAINST = {None: "all, tuned on the test set or not", False: "with public rules"}


def targets(chosen):
    """Shares of the cells with enough signal beside their targets, and the excess beside that in stages."""
    rows = []
    for (method, tuned), target in TARGETS.items():
        compared = [cell for cell in chosen if method in cell["methods"] and private_opponents(cell, tuned)]
        if compared:
            found, share = counts(compared, tuned, method), share_level(compared, tuned, method)
            numbers = (str(found["better"]), str(found["level"]), str(found["worse"]), f"{100 * share:.0f} %")
            met = "is met" if share >= target else "is not met"
            rows.append((method, AGAINST[tuned], *numbers, f"{100 * target:.0f} % {met}"))
    lines = [
        f"**Where nμ/d ≥ {SIGNAL:g}** ({len(chosen)} cells), beside the best opponent of each cell:",
        "",
        *table(("our estimate", "opponents", "better", "level", "worse", "at least level", "target"), rows),
        "",
    ]
    unseen = sum(verdict(cell) == "worse" and gap(cell)[0] < UNSEEN for cell in chosen)
    lines.append(f"{unseen} of the default's losses are by less than {small(UNSEEN)}, the last digit shown.")
    for method in (ESTIMATE, POINT):
        ratios = sorted(excess_ratios(chosen, method))
        if ratios:
            middle = median(ratios)
            met = "is met" if middle <= EXCESS_TARGET else "is not met"
            said = f" The target of {EXCESS_TARGET:g} {met}." if method == ESTIMATE else ""
            words = f"Excess over the non-private fit, *{method}* over that in stages: median {middle:.2f} of {len(ratios)} cells"
            lines.append(f"{words} ({ratios[0]:.2f} to {ratios[-1]:.2f}).{said}")
    return [*lines, ""]


def details(summary, lines):
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>", ""]


READING = (
    "How to read the counts: the best opponent is picked after the fact from eight noisy means, which favours the opponents.",
    'Calling two standard errors "level" favours us. The schedule\'s constants come from a model of quadratic losses without',
    "data ([schedules.md](schedules.md)); earlier schedules had been compared on some of these tables, so the tables are not",
    "wholly fresh to its authors.",
)


def utility(document):
    """The section's lines."""
    cells = complete(document)
    if not cells:
        return []
    stages = listed({cell["methods"][STAGES]["stages"] for cell in cells if STAGES in cell["methods"]} or {1})
    return [
        "## Utility at equal (ε, δ)",
        "",
        f"Mean test log-loss at δ = {small(document['delta'])}, replace-one, public scaling only; {seeds(cells)}. nμ/d is",
        "the signal: n records, d parameters, μ the Gaussian-DP parameter of (ε, δ). *Tuned* opponents take the ridge, or",
        "step size and number of passes, that did best on the **test set** with a few seeds: that is not private, and is",
        f"their best case. *stages* is the estimate in {stages} stages, *all for the point* one that keeps nothing for",
        "intervals. An estimate is *better* if its mean is below the best opponent's, tuned ones included, *level* if it is",
        "above by at most two standard errors of the difference, *worse* otherwise.",
        "Bold is the best private value of the cell; a dash is a method that was not run there. *iso n × d* is synthetic:",
        "isotropic normal rows clipped to norm √d, logistic labels.",
        "",
        *loss_table(cells),
        "",
        *outcome(cells),
        "",
        *READING,
        "",
        "![Excess log-loss against ε](figures/utility.png)",
        "",
        "Log-loss beyond the non-private fit's, on logarithmic axes; triangles on the axis are means at or below it.",
        "",
        *losses(cells),
        "### Every opponent",
        "",
        "Log-loss by a public rule / tuned on the test set. diffprivlib guarantees pure ε, a stronger promise; objective",
        "perturbation is Gaussian with the accounting of `benchmarks/peers/baselines.py`; gradient descent averages the second",
        "half of its iterates; Corollary 8 is one draw by the paper's rule and holds up to ε = 1.",
        "",
        *details("All methods in all cells", opponents_table(cells)),
        *details("Accuracy in the same runs, beside the opponent whose accuracy is best", accuracy_table(cells)),
    ]
