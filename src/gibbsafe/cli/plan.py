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
    from gibbsafe.study.advice import Advice

__all__ = ["describe"]


@app.command("plan")
def plan(
    study: Annotated[Path, typer.Argument(help="A study file (.toml), or a plan written earlier (JSON).")],
    *,
    out: Annotated[Path | None, typer.Option(help="Write the plan as JSON.")] = None,
    force: Force = False,
    as_json: Json = False,
    advice: Annotated[
        bool, typer.Option("--advice/--no-advice", help="Say what other columns, row norms, n and ε would buy.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Work out the coldest posterior that the budget allows, and what it buys. No data are read.

    For studies of linear models with a public n it also says which column costs most, what a smaller row norm would buy, and
    how n and ε trade.

    Examples:

    `gibbsafe plan study.toml`

    `gibbsafe plan study.toml --out plan.json --json`

    `gibbsafe plan study.toml --no-advice`
    """
    from gibbsafe._files import write_whole
    from gibbsafe.cli.inputs import load_plan
    from gibbsafe.planning.estimated import EstimatedClaim

    planned = load_plan(study)
    other = _advice(study) if advice and not quiet and study.suffix.lower() == ".toml" else None
    if out is not None:
        write_whole(out, planned.to_json().encode(), force=force, inputs=[study])
    if isinstance(planned, EstimatedClaim):
        _tell_estimated(planned, as_json=as_json, quiet=quiet)
    elif as_json:
        print_json(describe(planned) | ({} if other is None else {"advice": other.to_dict()}))
    elif not quiet:
        _show(planned)
        _show_advice(other)


def _advice(study: Path) -> Advice | None:
    """Return what other numbers would buy; None where nobody can say: other models, a private n, a kinked loss."""
    from gibbsafe.errors import GibbsafeError
    from gibbsafe.study import Study
    from gibbsafe.study.advice import advise

    try:
        return advise(Study.load(study))
    except GibbsafeError:
        return None


def _show_advice(advice: Advice | None) -> None:
    """Show what other numbers would buy, where that was asked for."""
    from gibbsafe.cli.tables import grid, show

    if advice is None:
        return
    here = f"Advice: noise of a prediction {advice.noise:.3g} (linear predictor), for even and independent columns"
    columns = [(name, str(width), f"{noise:.3g}") for name, width, noise in advice.columns]
    norms = [(f"{norm:g}", f"{noise:.3g}", f"{share:.0%}") for norm, noise, share in advice.row_norm]
    budgets = sorted({epsilon for _, epsilon, _ in advice.trade})
    trade = [
        (f"{n:,}", *(f"{noise:.3g}" for size, _, noise in advice.trade if size == n))
        for n in dict.fromkeys(n for n, _, _ in advice.trade)
    ]
    show(
        "\n" + here,
        grid("Without a column", ("without column", "parameters", "noise"), columns, numbers=(1, 2)),
        *([grid("A smaller row norm", ("row_norm", "noise", "even rows shortened"), norms, numbers=(0, 1, 2))] if norms else []),
        grid("Noise by n and ε", ("n", *(f"ε = {epsilon:g}" for epsilon in budgets)), trade, numbers=(0, 1, 2, 3)),
        *([" • " + "\n • ".join(advice.remarks)] if advice.remarks else []),
    )


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
