"""``gibbsafe plan``: what a budget allows and buys, before any record is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import Force, Json, Quiet, app, print_json, say

if TYPE_CHECKING:
    from gibbsafe._types import JSON
    from gibbsafe.planning import Plan
    from gibbsafe.planning.estimated import EstimatedClaim

__all__ = ["describe"]


@app.command("plan")
def plan(
    study: Annotated[Path, typer.Argument(help="A study file (.toml), or a plan written earlier (JSON).")],
    out: Annotated[Path | None, typer.Option(help="Write the plan as JSON.")] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Work out the coldest posterior that the budget allows, and what it buys. No data are read.

    Examples:

    `gibbsafe plan study.toml`

    `gibbsafe plan study.toml --out plan.json --json`
    """
    from gibbsafe._files import write_whole
    from gibbsafe.cli.inputs import load_plan
    from gibbsafe.planning.estimated import EstimatedClaim

    planned = load_plan(study)
    if out is not None:
        write_whole(out, planned.to_json().encode(), force=force, inputs=[study])
    if isinstance(planned, EstimatedClaim):
        _tell_estimated(planned, as_json=as_json, quiet=quiet)
    elif as_json:
        print_json(describe(planned))
    elif not quiet:
        _show(planned)


def _tell_estimated(planned: EstimatedClaim, *, as_json: bool, quiet: bool) -> None:
    from gibbsafe.planning.estimated import KIND

    if as_json:
        print_json({"kind": KIND, "plan": planned.to_dict()})
    elif not quiet:
        say(str(planned))


def describe(planned: Plan) -> JSON:
    """Return the plan, what every theorem allows, what the budget buys, and the attacker's view."""
    from gibbsafe.report.attack import attack_view

    theorems = [
        {"name": row.theorem.name, "inverse_temperature": row.inverse_temperature, "why_not": row.failure}
        for row in planned.alternatives
    ]
    buys = planned.utility.to_dict() | {"interval_width": interval_width(planned)}
    return {"plan": planned.to_dict(), "theorems": theorems, "buys": buys, "attack": attack_view(planned.guarantee).to_dict()}


def interval_width(planned: Plan) -> dict[str, float] | None:
    """Return the width, per parameter in the user's units, of the central 90 % of a draw that is to be expected; None unknown.

    A draw's standard deviation in the typical case, times 2 × 1.645: an expectation from public numbers, not a promise.
    """
    import numpy as np

    spread = planned.utility.noise_sd
    if spread is None:
        return None
    model = planned.model
    unit = model.to_original(np.eye(model.parameters)) - model.to_original(np.zeros((1, model.parameters)))
    widths = 2 * 1.6448536269514722 * spread * np.abs(np.diag(unit))
    return dict(zip(model.parameter_names, widths.tolist(), strict=True))


def _show(planned: Plan) -> None:
    from gibbsafe.cli.tables import facts, grid, show
    from gibbsafe.planning.describe import describe_plan
    from gibbsafe.report.attack import attack_view

    claim = describe_plan(planned).split("\n\n")[0]
    theorems = [
        (
            row.theorem.name,
            f"{row.inverse_temperature:.6g}",
            "chosen" if row.theorem.name == planned.theorem.name else row.failure or "",
        )
        for row in planned.alternatives
        if row.inverse_temperature is not None
    ]
    others = [row.theorem.name for row in planned.alternatives if row.inverse_temperature is None]
    attack = attack_view(planned.guarantee)
    view = [("guesses right", f"at most {attack.right_guesses:.2%} of the time, where a coin is right 50 %")]
    view += [
        (f"at {rate:.1%} false alarms" if rate < 0.01 else f"at {rate:.0%} false alarms", f"finds at most {found:.2%} of members")
        for rate, found in attack.true_positive_rates
    ]
    show(
        claim,
        grid("Theorems that apply, under the same prior", ("theorem", "inverse temperature", ""), theorems, numbers=(1,)),
        *([f"{len(others)} others do not apply; --json says why: {', '.join(others)}"] if others else []),
        facts("What the budget buys", _buys(planned)),
        facts("What an attacker gains who knows everything but one record", view),
    )


def _buys(planned: Plan) -> list[tuple[str, str]]:
    from gibbsafe.privacy import Adjacency

    utility, known = planned.utility, planned.adjacency == Adjacency.REPLACE_ONE
    lines = []
    if utility.prior_sd is not None:
        lines.append(("prior noise", f"{utility.prior_sd:.4g} standard deviation per parameter (scaled units)"))
    if known and utility.noise_sd is not None:
        lines.append(("expected noise", f"{utility.noise_sd:.4g} (scaled units) {utility.typical_case}"))
        widths = sorted((interval_width(planned) or {}).items(), key=lambda item: item[1])
        shown = widths if len(widths) <= 6 else [widths[0], widths[-1]]
        listed = ", ".join(f"{name} {width:.3g}" for name, width in shown)
        of_many = "" if len(widths) <= 6 else f" (narrowest and widest of {len(widths)})"
        lines.append(("width of 90 % of a draw", listed + of_many))
    if known and utility.excess_risk is not None:
        lines.append(("expected accuracy", f"mean training loss at most {utility.excess_risk:.4g} above the best |θ| ≤ D"))
    return lines or [("", "nothing can be said without a public number of records")]
