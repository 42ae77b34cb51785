"""The page of an estimated release: it begins with what is not claimed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gibbsafe.release.describe import standard_deviations
from gibbsafe.report.page import facts, page_of, paragraph, section

if TYPE_CHECKING:
    from gibbsafe.contamination import EstimatedRelease

__all__ = ["render_estimated"]

#: Bars of the histogram of simulated ε̂.
BARS = 24


def render_estimated(release: EstimatedRelease, name: str = "release.json") -> str:
    """Return one self-contained HTML page about an estimated release."""
    certificate, plan = release.certificate, release.plan
    estimate, mixed = certificate["estimate"], certificate["contamination"]
    head = (
        f"<header><h1>{escape(certificate['kind'].capitalize())}</h1>"
        f"<p>{escape(name)}: {len(release.on_grid)} draw(s) of {escape(plan.model.name)} from contaminated records.</p></header>"
    )
    listed = [("not promised", certificate["not_promised"]), ("asserted", certificate["asserted"]), ("notes", estimate["notes"])]
    limits = "".join(
        f"<p class=soft>{escape(title)}</p><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
        for title, lines in listed
        if lines
    )
    claim = [
        ("estimate", f"ε̂ = {estimate['epsilon']:.4g} at δ = {estimate['delta']:.3g}, method {escape(estimate['method'])}"),
        ("failing fraction", f"{estimate['failure_probability']:.3g}, at confidence {estimate['confidence']:.4g}"),
        ("data model", escape(estimate["data_model"])),
        ("repeats", f"{estimate['repeats']} simulated data sets, seed {estimate['seed']}"),
        ("neighbours", f"{escape(certificate['adjacency'])}: {escape(certificate['unit'])}, n = {certificate['n']:,}"),
        ("contamination", f"rate {mixed['rate']:.4g}, {escape(mixed['density'])}"),
        ("sampler", escape(f"{certificate['sampler']['name']}: proved is {certificate['sampler']['proved']}")),
        ("randomness", escape(certificate["randomness"])),
    ]
    sections = [
        head,
        section("What is estimated", paragraph(escape(estimate["promise"])), facts(claim), _histogram(release)),
        section("What limits it", limits),
        section("What the release says", _table(release)),
        section(
            "Together with other releases",
            paragraph(
                "Nothing follows. Accounts of proved claims do not cover this release, and a journal lists it without a total. "
                "Asking questions of the draws reveals no more than the draws do."
            ),
        ),
        section("How to verify", f"<pre>gibbsafe verify {escape(name)}</pre>"),
    ]
    return page_of(f"Estimated release of {plan.model.name}", sections)


def _histogram(release: EstimatedRelease) -> str:
    """Return the ε̂ of the simulated data sets as bars, the reported one marked."""
    values, reported = np.array(release.plan.values), release.plan.estimate.epsilon
    counts, edges = np.histogram(values, BARS, range=(float(values.min()), max(float(values.max()), reported) + 1e-12))
    width = 600 / BARS
    bars = "".join(
        f'<rect x="{k * width:.1f}" y="{90 - 80 * c / max(counts.max(), 1):.1f}" width="{width - 1:.1f}" '
        f'height="{80 * c / max(counts.max(), 1):.1f}" fill="#7a9cc6"/>'
        for k, c in enumerate(counts)
    )
    place = 600 * (reported - edges[0]) / (edges[-1] - edges[0])
    mark = f'<line x1="{place:.1f}" x2="{place:.1f}" y1="0" y2="90" stroke="#b33" stroke-width="2"/>'
    ends = f'<text x="0" y="106" font-size="12">{edges[0]:.3g}</text><text x="560" y="106" font-size="12">{edges[-1]:.3g}</text>'
    svg = f'<svg viewBox="0 0 600 110" role="img" aria-label="simulated ε̂">{bars}{mark}{ends}</svg>'
    return f"<figure>{svg}<figcaption>ε̂ of the simulated data sets; the line is the one reported.</figcaption></figure>"


def _table(release: EstimatedRelease) -> str:
    columns = {"mean": [f"{mean:.5g}" for mean in release.draws.mean(axis=0)]}
    spread = standard_deviations(release.draws)
    if spread is not None:
        columns["sd of draws"] = [f"{sd:.3g}" for sd in spread]
    head = "".join(f"<th class=number>{heading}</th>" for heading in columns)
    rows = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(f'<td class=number>{value}</td>' for value in values)}</tr>"
        for name, *values in zip(release.parameters, *columns.values(), strict=True)
    )
    return f"<table><tr><th>parameter</th>{head}</tr>{rows}</table>"
