"""The page itself: plain sentences around the certificate's own numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._extras import has_extra
from gibbsafe.population import Overview, overview
from gibbsafe.privacy import Adjacency
from gibbsafe.report import figures
from gibbsafe.report.attack import attack_view
from gibbsafe.report.style import STYLE

if TYPE_CHECKING:
    from gibbsafe.release import Release

__all__ = ["facts", "page_of", "paragraph", "render", "section"]

#: Parameters in pictures and in the table: a network of thousands must not fill a page.
MOST_PICTURES = 12
MOST_INTERVALS = 24
MOST_ROWS = 60

#: How pictures come into a report.
PICTURES = "run pip install 'gibbsafe[plots]' and write the report again"
#: Nothing is loaded and nothing runs, whatever a release file says.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def render(release: Release, *, level: float = 0.9, name: str = "release.json") -> str:
    """Return one self-contained HTML page about a release."""
    shown = overview(release, level)
    chosen = _most_telling(shown)
    sections = [
        _header(release, name),
        _released(release),
        _claim(release),
        _attack(release),
        _premises(release),
        _posterior(shown, chosen),
        _free(),
        _verify(release, name),
        _details(release),
    ]
    return page_of(f"Release of {release.plan.model.name}", sections)


def page_of(title: str, sections: Sequence[str]) -> str:
    """Return a self-contained page of sections: nothing is loaded and nothing runs."""
    body, title = "\n".join(sections), escape(title)
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{STYLE}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body><main>\n{body}\n</main></body></html>\n'


# -- pieces of a page -----------------------------------------------------------------------------------------------------


def section(title: str, *parts: str) -> str:
    """Return a section with a heading."""
    return f"<section><h2>{escape(title)}</h2>\n" + "\n".join(parts) + "</section>"


def paragraph(text: str) -> str:
    """Return a paragraph of HTML."""
    return f"<p>{text}</p>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and values (HTML) as a table."""
    rows = "".join(f"<tr><th scope=row>{escape(name)}</th><td>{value}</td></tr>" for name, value in pairs)
    return f"<table>{rows}</table>"


def _figure(draw: Callable[[], str], caption: str, kind: str = "") -> str:
    """Return a picture; nothing where matplotlib is absent, for every number of a picture also stands in words or tables."""
    return f'<figure class="{kind}">{draw()}<figcaption>{caption}</figcaption></figure>' if has_extra("plots") else ""


def _one_in(probability: float) -> str:
    return (
        "never"
        if probability == 0
        else f"at most once in {round(1 / probability):,}"
        if probability < 0.5
        else f"{probability:g}"
    )


def _unit(release: Release) -> str:
    return str(release.certificate["unit"])


# -- sections -------------------------------------------------------------------------------------------------------------


def _header(release: Release, name: str) -> str:
    certificate, plan = release.certificate, release.plan
    claim = certificate["claim"]
    boxes = [
        (f"{claim['epsilon']:.4g}", "ε, the privacy loss"),
        (f"{claim['delta']:.3g}", "δ, the chance that it is more"),
        (f"{len(release.draws):,}", f"{_what(release)}{'s' * (len(release.draws) != 1)} of {plan.model.parameters:,} parameters"),
        (f"{attack_view(plan.guarantee).right_guesses:.1%}", "right guesses of the best attacker; a coin has 50 %"),
    ]
    cards = "".join(f"<div><b>{escape(value)}</b><span>{escape(text)}</span></div>" for value, text in boxes)
    alarm = ""
    if certificate["randomness"] != "secure":
        alarm = (
            '<p class="alarm"><b>Not for publication.</b> The draws come from a seeded generator, which is for tests only.</p>'
        )
    return (
        f"<header><h1>Private {'release' if release.answers is None else 'estimate'} of a {escape(_words(plan.model.name))}"
        f"{' posterior' * (release.answers is None)}</h1>"
        f"<p>{escape(name)}, written by gibbsafe {escape(certificate['version'])}</p></header>{alarm}"
        f'<div class="claim">{cards}</div>'
    )


def _words(name: str) -> str:
    """Return a class name as words.

    >>> _words("LogisticRegression")
    'logistic regression'
    """
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _released(release: Release) -> str:
    plan = release.plan
    names = release.parameters
    listed = ", ".join(map(escape, names[:8])) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
    what = "independent draws from the posterior" if plan.purpose == "posterior" else "draws that serve as a point estimate"
    number = f"{len(release.draws):,} {what}" if len(release.draws) != 1 else f"One draw from the posterior ({plan.purpose})"
    if release.answers is not None:
        number = f"An estimate, and the {len(release.answers.scores):,} noisy scores behind it,"
    known = plan.adjacency == Adjacency.REPLACE_ONE
    counted = "records" if plan.rows_per_person == 1 else f"persons of at most {plan.rows_per_person} records each"
    about = f"{plan.n:,} {counted}" if known and plan.n is not None else "a table whose number of records is itself private"
    return section(
        "What was released",
        paragraph(
            f"{number} of a {escape(_words(plan.model.name))} with {plan.model.parameters:,} parameters ({listed}), fitted to "
            f"{about}. Nothing else that depends on the data left the process: no counts, no fit statistics, no timings."
        ),
        paragraph(_how(release)),
    )


def _what(release: Release) -> str:
    return "draw" if release.answers is None else "estimate"


def _how(release: Release) -> str:
    """Return in a few words where the privacy comes from."""
    if release.answers is not None:
        return (
            "A score is a sum over the records in which each can weigh only so much; normal noise was added to every score, and "
            "to the sums about rows and slopes beside them, before anything was done with them. The points at which scores were "
            "asked, the estimate and all that this page says of it were computed from the noisy answers alone."
        )
    return (
        f"The data entered the posterior at inverse temperature {release.certificate['inverse_temperature']:.4g}: its likelihood "
        "was raised to this power, which is what makes a draw private. The randomness of the draw is the privacy; no noise was "
        "added afterwards."
    )


def _claim(release: Release) -> str:
    plan, certificate = release.plan, release.certificate
    claim = certificate["claim"]
    factor = math.exp(min(claim["epsilon"], 700))
    unit = escape(_unit(release))
    change = f"replace {unit} by any other" if plan.adjacency == Adjacency.REPLACE_ONE else f"add or remove {unit}"
    words = (
        f"Take the data and {change}. Whatever someone looks for in this release, its "
        f"probability changes by a factor of at most e<sup>ε</sup> = {factor:.4g}, except with probability δ = "
        f"{claim['delta']:g} ({_one_in(claim['delta'])}). This holds for every data set, every such change, and every attacker, "
        "whatever else they know."
    )
    theorem = certificate["theorem"]
    errata = f"; corrected by errata {', '.join(theorem['errata'])}" if theorem["errata"] else ""
    mu = (
        ""
        if claim["mu"] is None
        else f"{claim['mu']:.6g}: telling two neighbouring data sets apart is as hard as N(0, 1) from N(μ, 1)"
    )
    pairs = [
        ("claim", f"ε = {claim['epsilon']:.6g} at δ = {claim['delta']:g}"),
        *([("Gaussian DP, μ", mu)] if mu else []),
        ("neighbours", f"{escape(certificate['adjacency'])}: {escape(_unit(release))}"),
        ("theorem", f"{escape(theorem['name'])}: {escape(theorem['reference'])}{escape(errata)}"),
        ("sampler", f"{escape(certificate['sampler']['name'])}: {escape(certificate['sampler']['proved'])}"),
    ]
    caption = "The claim is the whole curve: for every ε, δ is at most what it shows. The budget is one point of it."
    return section(
        "What is claimed", paragraph(words), facts(pairs), _figure(lambda: figures.privacy_curve(plan), caption, "medium")
    )


def _attack(release: Release) -> str:
    view = attack_view(release.plan.guarantee)
    rows = "".join(
        f"<tr><td class=number>{false:.1%}</td><td class=number>{true:.2%}</td></tr>" for false, true in view.true_positive_rates
    )
    table = f"<table><tr><th class=number>false alarms</th><th class=number>members found, at most</th></tr>{rows}</table>"
    words = (
        "Imagine an attacker who knows every record but one, and has to say whether that one is in the data. Guessing blindly "
        f"they are right half of the time; with this release, at most {view.right_guesses:.2%} of the time. The dashed line is "
        "the blind guess; the space above it is all that the release can give away."
    )
    svg = _figure(lambda: figures.attack_curve(release.plan), "The best attack that the claim leaves room for.", "small")
    return section("What an attacker gains", paragraph(words), f'<div class="pair">{svg}<div>{table}</div></div>')


def _premises(release: Release) -> str:
    rows = "".join(
        f'<tr><td><span class="tag {escape(premise["status"])}">{escape(premise["status"])}</span></td>'
        f"<td>{escape(premise['statement'])}</td></tr>"
        for premise in release.certificate["premises"]
    )
    words = (
        "The claim holds if these are true. <i>Checked</i> ones were enforced or computed by the program; <i>asserted</i> ones "
        "are the curator's word, or a property of the mathematics that no program can test. Ask about them before you sign."
    )
    return section("Premises", paragraph(words), f"<table>{rows}</table>")


def _most_telling(shown: Overview) -> list[int]:
    """Return positions of parameters, the clearest first: large beside the width of their intervals."""
    if len(shown.names) <= MOST_INTERVALS:
        return list(range(len(shown.names)))
    size = np.abs(shown.mean)
    if shown.intervals is not None:
        with np.errstate(over="ignore"):
            size = size / np.maximum((shown.intervals.upper - shown.intervals.lower) / 2, 1e-300)
    return [int(k) for k in np.argsort(-size, kind="stable")]


def _posterior(shown: Overview, chosen: Sequence[int]) -> str:
    pictured, drawn, tabled = chosen[:MOST_PICTURES], chosen[:MOST_INTERVALS], chosen[:MOST_ROWS]
    few = f"{len(pictured)} of {len(chosen):,} parameters" + (", the clearest ones." if len(chosen) > MOST_INTERVALS else ".")
    spread = len(shown.draws) >= figures.FOR_DENSITY
    picture = "how probable each value of one parameter is" if spread else "the draws of one parameter"
    about = "of the true parameter, given all that was released" if shown.of == "population" else "as they were released"
    left_out = len(chosen) - len(tabled)
    note = f" The {len(tabled)} clearest of {len(chosen):,} are listed; the file has all." if left_out else ""
    parts = [
        paragraph(f"Each picture shows {picture}, in the table's own units, {about}; the dot is their mean.")
        if has_extra("plots")
        else "",
        _figure(lambda: figures.marginals(shown, pictured), few),
        *(paragraph(f"{escape(line[0].upper() + line[1:])}.") for line in shown.notes),
    ]
    intervals = shown.intervals
    if intervals is not None:
        held = "the true value" if shown.of == "population" else "a draw"
        kind = " They are the public worst case, wider than needed." if intervals.conservative else ""
        parts += [
            paragraph(f"Intervals that aim to hold {held} with probability {intervals.level:.0%} each.{kind}{note}"),
            _figure(lambda: figures.forest(shown, intervals, drawn), "Means and intervals."),
        ]
    assumptions = () if intervals is None else tuple(line for line in intervals.assumptions if line not in shown.notes)
    listed = "".join(f"<li>{escape(line)}</li>" for line in assumptions)
    return section(
        "What the release says",
        *parts,
        _table(shown, tabled),
        f"<p class=soft>The intervals assume:</p><ul class=soft>{listed}</ul>" if listed else "",
    )


def _table(shown: Overview, chosen: Sequence[int]) -> str:
    """Return the table of parameters: what is not known has no column."""
    intervals = shown.intervals
    ends = (None, None) if intervals is None else (intervals.lower, intervals.upper)
    level = "" if intervals is None else f"{intervals.level:.0%} from"
    every = [
        ("mean", shown.mean, ".5g"),
        ("sd", shown.sd, ".3g"),
        (level, ends[0], ".5g"),
        ("to", ends[1], ".5g"),
        ("chance of being above 0", shown.positive, ".3f"),
        ("decided by the data", shown.decided_by_data, ".0%"),
    ]
    columns = [(title, values, form) for title, values, form in every if values is not None]
    head = "<th>parameter</th>" + "".join(f"<th class=number>{escape(title)}</th>" for title, _, _ in columns)
    rows = []
    for index in chosen:
        cells = "".join(f"<td class=number>{values[index]:{form}}</td>" for _, values, form in columns)
        rows.append(f"<tr><td>{escape(shown.names[index])}</td>{cells}</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _free() -> str:
    return section(
        "What is free, and what is not",
        "<ul><li><b>Free</b>: everything computed from this release alone, as often as you like, by anyone: means, intervals, "
        "predictions for new rows, synthetic rows, this report. It cannot weaken the claim.</li>"
        "<li><b>Not free</b>: going back to the data. A second release, a corrected one, or the same one drawn again is charged "
        "anew, and claims add up: the budget ledger keeps the sum under the cap that was fixed in advance.</li>"
        "<li><b>Not covered</b>: what others publish about the same people, and what this data set teaches about people who are "
        "not in it.</li></ul>",
    )


def _verify(release: Release, name: str) -> str:
    return section(
        "How to verify",
        paragraph("Without the data, anyone can recompute the hash, and the claim from the stated constants:"),
        f"<pre>gibbsafe verify {escape(name)}</pre>",
        facts([("sha256", f"<code>{escape(release.to_dict()['sha256'])}</code>")]),
        paragraph(
            "This detects accident and inconsistency, not forgery: whoever can write the file can also write a consistent one "
            "about draws that were made otherwise. Compare the hash with the one in the curator's ledger."
        ),
    )


def _details(release: Release) -> str:
    certificate, plan = release.certificate, release.plan
    prior = "; ".join(f"{name} {_short(value)}" for name, value in certificate["prior"].items())
    pairs = [
        ("model", escape(plan.model.name)),
        ("purpose", escape(plan.purpose)),
        ("stages", str(len(plan.stages))),
        ("inverse temperature", ", ".join(f"{stage['inverse_temperature']:.6g}" for stage in certificate["stages"])),
        ("prior", escape(prior)),
        ("grid of the draws", f"{certificate['grid']:.3g}, slack {certificate['slack']:g}"),
        ("randomness", escape(certificate["randomness"])),
        ("storage", escape(certificate["storage"])),
        *([] if has_extra("plots") else [("pictures", f"left out: {PICTURES}")]),
    ]
    return section("Technical details", facts(pairs))


def _short(value: object) -> str:
    """Return a value in a few characters: a long list by its range."""
    if isinstance(value, list | tuple):
        flat = np.asarray(value, dtype=object).ravel().tolist()
        if len(flat) > 4 and all(isinstance(entry, int | float) for entry in flat):
            return f"{min(flat):.5g} to {max(flat):.5g} ({len(flat)} values)"
        return ", ".join(_short(entry) for entry in flat[:6]) + (", …" if len(flat) > 6 else "")
    return f"{value:.6g}" if isinstance(value, float) else str(value)
