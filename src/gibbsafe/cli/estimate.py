"""``gibbsafe estimate``: privacy estimated by simulation, as a study's ``[contamination]`` table says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gibbsafe.cli.application import Json, app, print_json, say
from gibbsafe.errors import GibbsafeError

if TYPE_CHECKING:
    from gibbsafe._types import JSON
    from gibbsafe.contamination import ContaminatedModel
    from gibbsafe.privacy import EstimatedPrivacy

#: Said wherever an estimate of private records is shown.
CURATOR = "for the curator only: this number depends on the private records, and is not private"


def _declared(path: Path) -> tuple[ContaminatedModel, JSON, Any]:
    """Return the model, the options of the estimate and the study where it releases, of a study file."""
    from gibbsafe.contamination.model.declare import model_from_table
    from gibbsafe.contamination.release.plans import usual_repeats
    from gibbsafe.study import Study
    from gibbsafe.study.declaration import is_estimated, read_toml

    content = read_toml(path)
    if not is_estimated(content):
        table = content.get("contamination")
        if not isinstance(table, dict):
            raise GibbsafeError(f"{path}: has no [contamination] table; it names the model, n, truth and repeats")
        return *model_from_table(table), None
    study: Any = Study.load(path)
    model, stated = study.declared()
    budget = study.budget
    asked: JSON = {"n": study.n, "delta": budget.delta, "quantile": budget.quantile, "confidence": budget.confidence}
    return (
        model,
        {
            "truth": "prior",
            "repeats": usual_repeats(budget),
            **stated,
            **asked,
            "adjacency": study.adjacency,
            "draws": study.draws,
        },
        study,
    )


@app.command("estimate")
def estimate(
    study: Annotated[Path, typer.Argument(help=r"A study file with a \[contamination] table.")],
    *,
    workers: Annotated[int | None, typer.Option(help="Processes; the numbers do not depend on how many.")] = None,
    choose: Annotated[str | None, typer.Option(help="p or n: search for the least that reaches --epsilon.")] = None,
    epsilon: Annotated[float | None, typer.Option(help=r"Target of --choose; by default the study's \[budget].")] = None,
    data: Annotated[str | None, typer.Option(help="The private table itself instead of simulated ones; needs --curator.")] = None,
    curator: Annotated[bool, typer.Option("--curator", help="You are the curator, and the result stays with you.")] = False,
    as_json: Json = False,
) -> None:
    """Estimate ε by simulation (Algorithm 1 of Hu et al. 2026). It is not a differential-privacy guarantee.

    No data are read, unless --data asks for the estimate of one private table, which is for the curator's eyes only.

    Examples:

    `gibbsafe estimate study.toml --json`

    `gibbsafe estimate study.toml --choose p --epsilon 0.5`

    `gibbsafe estimate study.toml --data table.csv --curator`
    """
    if (data is not None) != curator:
        raise typer.BadParameter("--data and --curator go together: an estimate of private records is for the curator only")
    if choose not in (None, "p", "n"):
        raise typer.BadParameter("--choose takes p (the contamination rate) or n (the number of records)")
    if choose is not None and data is not None:
        raise typer.BadParameter("--choose simulates, and excludes --data: what is chosen by private records is not public")
    model, options, released = _declared(study)
    options |= {"progress": False if as_json else None} | ({} if workers is None else {"workers": workers})
    chosen: JSON = {}
    if choose is not None:
        chosen, result = _chosen(model, options, choose, _target(epsilon, released, study))
    elif epsilon is not None:
        raise typer.BadParameter("--epsilon is the target of --choose")
    else:
        result = _estimated(model, options, data, released, study)
    _show(result, chosen, as_json=as_json)


def _target(epsilon: float | None, released: Any, path: Path) -> float:
    if epsilon is None and released is None:
        raise GibbsafeError(f"{path}: --choose needs a target; pass --epsilon")
    return float(released.budget.epsilon if epsilon is None else epsilon)


def _chosen(model: ContaminatedModel, options: JSON, what: str, target: float) -> tuple[JSON, EstimatedPrivacy]:
    """Search for a rate or a number of records, and estimate with it anew."""
    from dataclasses import replace

    from gibbsafe.contamination import confirmed_n, confirmed_rate

    size = options.pop("n", None)
    if what == "n":
        number, found = confirmed_n(model, target, **options)
        return {"n": number}, found.estimate
    if size is None:
        raise GibbsafeError("n: the number of records is missing, and --choose p needs it")
    rate, found = confirmed_rate(replace(model, rate=None), size, target, **options)
    return {"p": rate}, found.estimate


def _estimated(model: ContaminatedModel, options: JSON, data: str | None, released: Any, path: Path) -> EstimatedPrivacy:
    from gibbsafe.contamination import estimate_epsilon
    from gibbsafe.contamination.release.tables import read_records

    if data is None:
        return estimate_epsilon(model, **options)
    if released is None:
        raise GibbsafeError(f"{path}: declares no columns; a study with an estimated [budget] and a [target] does")
    options = {name: value for name, value in options.items() if name not in ("truth", "n")}
    return estimate_epsilon(model, data=read_records(model, released.table, released.read(data)), **options)


def _show(result: EstimatedPrivacy, chosen: JSON, *, as_json: bool) -> None:
    if as_json:
        marked = {"curator_only": CURATOR} if result.sensitive else {}
        print_json({**marked, **({"chosen": chosen} if chosen else {}), **result.to_dict(curator=result.sensitive)})
        return
    if result.sensitive:
        say(CURATOR)
    for name, value in chosen.items():
        say(f"chosen: {name} = {value:.6g}, and estimated anew with data sets that the search never saw")
    say(str(result))
    say(result.promise)
    for note in result.notes:
        say(f"note: {note}")
