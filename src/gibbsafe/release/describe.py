"""Certificates and draws as text that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._types import Document, Floats
from gibbsafe.planning.describe import table_of

if TYPE_CHECKING:
    from gibbsafe.release.releases import Release

__all__ = ["describe_certificate", "describe_draws", "describe_table", "standard_deviations"]


def describe_certificate(fields: Document) -> str:
    """Return the certificate as text."""
    claim, theorem, sampler = fields["claim"], fields["theorem"], fields["sampler"]
    mu = "" if claim["mu"] is None else f", μ = {claim['mu']:.6g} (Gaussian DP)"
    size = "" if fields["n"] is None else f", n = {fields['n']:,}"
    pairs = [
        ("claim", f"ε = {claim['epsilon']:.6g} at δ = {claim['delta']:g}{mu}"),
        ("neighbours", f"{fields['adjacency']}: {fields['unit']}{size}"),
        ("theorem", f"{theorem['name']}: {theorem['reference']}"),
        ("inverse temperature", ", ".join(f"{stage['inverse_temperature']:.6g}" for stage in fields["stages"])),
        ("sampler", f"{sampler['name']}: {sampler['proved']}"),
        ("draws", f"{fields['draws']}, slack {fields['slack']:g}, grid {fields['grid']:.3g}"),
        ("randomness", fields["randomness"] + ("" if fields["randomness"] == "secure" else ": for tests only, do not publish")),
        ("made by", f"gibbsafe {fields['version']}"),
    ]
    premises = "\n".join(f"  - {premise['statement']} ({premise['status']})" for premise in fields["premises"])
    return "\n".join(["Certificate", table_of(pairs), "Premises", premises])


def standard_deviations(draws: Floats) -> Floats | None:
    """Return the standard deviation of the draws per parameter, with n − 1 in the denominator; None for one draw.

    >>> standard_deviations(np.array([[1.0], [3.0]])).round(6)
    array([1.414214])
    """
    return None if len(draws) == 1 else np.asarray(draws.std(axis=0, ddof=1))


def describe_draws(release: Release) -> str:
    """Return mean, standard deviation and central 90 % of the draws per parameter."""
    spread = "spread of a tempered posterior: wider than the data's uncertainty"
    if release.walk is not None:
        spread = "iterates of chains, neighbours alike: see how far chains agree (to_arviz) before reading a spread into them"
    return describe_table(release.draws, release.parameters, spread)


def describe_table(draws: Floats, names: tuple[str, ...], note: str) -> str:
    """Return the same for draws and names, with a note on what several draws show."""
    width = max(9, *(len(name) for name in names))
    spread = standard_deviations(draws)
    head = f"{'parameter':<{width}} {'mean':>12}" + (f" {'sd':>10} {'5 %':>12} {'95 %':>12}" if spread is not None else "")
    lines = [head]
    for k, name in enumerate(names):
        column = draws[:, k]
        line = f"{name:<{width}} {column.mean():>12.5g}"
        if spread is not None:
            low, high = np.quantile(column, [0.05, 0.95])
            line += f" {spread[k]:>10.4g} {low:>12.5g} {high:>12.5g}"
        lines.append(line)
    told = note if spread is not None else "one draw shows no spread"
    return "\n".join([*lines, f"({len(draws)} draw{'s' * (len(draws) != 1)}; {told})"])
