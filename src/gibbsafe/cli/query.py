"""``gibbsafe query``: questions to a release, all of them free."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gibbsafe._text import cell, counted
from gibbsafe.cli.application import Force, Json, Quiet, app, print_json, say

if TYPE_CHECKING:
    from gibbsafe._types import JSON, Floats
    from gibbsafe.contamination import EstimatedRelease
    from gibbsafe.models.linear.predictor import LinearModel
    from gibbsafe.release import Release

#: Parameters shown on a screen; JSON has all of them.
MOST_SHOWN = 60


@app.command("query")
def query(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    *,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.9,
    of: Annotated[
        str | None, typer.Option(help="population: the true parameter; draws: what was released, as it is.", show_default=False)
    ] = None,
    predict: Annotated[Path | None, typer.Option(help="A table of new rows to predict.")] = None,
    simulate: Annotated[int | None, typer.Option(help="How many synthetic rows to draw.")] = None,
    features: Annotated[Path | None, typer.Option(help="For regressions: the rows to simulate responses for.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write predictions or synthetic rows as CSV.")] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer questions from the released draws: means and intervals, predictions, synthetic rows. Costs no privacy.

    Examples:

    `gibbsafe query release.json --level 0.95`

    `gibbsafe query release.json --of draws`

    `gibbsafe query release.json --predict new.csv --out predictions.csv`

    `gibbsafe query release.json --simulate 1000 --out synthetic.csv`
    """
    from gibbsafe._files import require_free, write_whole
    from gibbsafe.cli.inputs import load_release
    from gibbsafe.errors import GibbsafeError
    from gibbsafe.release import Release

    if predict is not None and simulate is not None:
        raise typer.BadParameter("--predict and --simulate exclude each other")
    inputs = [path for path in (release, predict, features) if path is not None]
    if out is not None:
        require_free(out, force=force, inputs=inputs)
    loaded = load_release(release)
    if not isinstance(loaded, Release):
        if predict is not None or simulate is not None:
            raise GibbsafeError("predict, simulate: not defined for an estimated release; ask for its draws")
        _summarise_estimated(loaded, level, as_json=as_json, quiet=quiet)
        return
    if predict is None and simulate is None:
        _summarise(loaded, level, of, as_json=as_json, quiet=quiet)
        return
    rows, note = _predictions(loaded, predict, level) if predict is not None else _synthetic(loaded, simulate, features)
    text = _as_csv(rows)
    if out is not None:
        write_whole(out, text.encode(), force=force, inputs=inputs)
    if as_json:
        print_json({"rows": rows, "note": note, "cost": "free: post-processing of the release"})
    elif not quiet:
        say(note, err=True)
        say(f"wrote {counted(len(rows), 'row')} to {out}" if out is not None else text, nl=out is not None)


def _summarise(loaded: Release, level: float, of: str | None, *, as_json: bool, quiet: bool) -> None:
    from gibbsafe.cli.tables import grid, show
    from gibbsafe.population import overview

    found = overview(loaded, level, of)
    if as_json:
        print_json(found.to_dict())
        return
    if quiet:
        return
    ends = (None, None) if found.intervals is None else (found.intervals.lower, found.intervals.upper)
    columns = [
        ("mean", found.mean, ".5g"),
        ("sd", found.sd, ".3g"),
        (f"{100 * level:g}% from", ends[0], ".5g"),
        ("to", ends[1], ".5g"),
        ("P(>0)", found.positive, ".3f"),
        ("by data", found.decided_by_data, ".0%"),
    ]
    shown = [(title, [format(float(value), form) for value in values]) for title, values, form in columns if values is not None]
    rows = list(zip(found.names, *(values for _, values in shown), strict=True))
    more = [] if len(rows) <= MOST_SHOWN else [f"... and {len(rows) - MOST_SHOWN} more parameters; --json has all"]
    headings = ("parameter", *(title for title, _ in shown))
    about = "the true parameter" if found.of == "population" else counted(len(loaded.draws), "draw")
    show(
        grid(about, headings, rows[:MOST_SHOWN], numbers=range(1, len(headings))),
        "\n".join([*more, *found.notes, "free, like every question to a release"]),
    )


def _summarise_estimated(loaded: EstimatedRelease, level: float, *, as_json: bool, quiet: bool) -> None:
    """Show means, and with several draws their central part; the estimate first."""
    from gibbsafe import queries
    from gibbsafe.cli.tables import grid, show

    means = loaded.answer(queries.mean())
    several = len(loaded.on_grid) > 1
    ends = loaded.answer(queries.credible_interval(level)) if several else None
    if as_json:
        spread = None if ends is None else ends.to_dict()["value"]
        listed = {name: float(means[name]) for name in loaded.parameters}
        print_json({"kind": loaded.certificate["kind"], "mean": listed, "credible": spread})
    elif not quiet:
        rows = [
            (name, f"{float(means[name]):.6g}", *(["", ""] if ends is None else [f"{end:.6g}" for end in ends[name]]))
            for name in loaded.parameters
        ]
        head = ("parameter", "mean", f"{level:.0%} of draws from", "to")
        show(
            grid(f"{len(loaded.on_grid)} draws: {loaded.certificate['kind']}", head, rows, numbers=(1, 2, 3)),
            str(loaded.plan.estimate),
        )


def _predictions(loaded: Release, path: Path, level: float) -> tuple[list[JSON], str]:
    """Return a prediction per new row; with the probability of the positive label, and the interval, where there are any."""
    from gibbsafe.models.capabilities import PredictsOutcomes, PredictsProbabilities

    model = loaded.plan.model
    rows: list[JSON] = []
    classes = isinstance(model, PredictsProbabilities)
    several = loaded.tells_population and isinstance(model, PredictsOutcomes)
    for batch in _new_rows(loaded, path):
        columns = {"prediction": loaded.predict(batch).tolist()}
        if classes:
            columns["probability"] = loaded.predict_proba(batch)[:, 1].tolist()
        if several:
            found = loaded.predict_proba(batch, level) if classes else loaded.predict(batch, level)
            columns |= {name: _positive(getattr(found, name)).tolist() for name in ("lower", "upper")}
        rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    ends = f"; lower and upper hold {100 * level:g}% of what the true parameter may predict" if several else ""
    source = "the estimate" if loaded.tells_population else f"{counted(len(loaded.draws), 'draw')}, averaged"
    return rows, f"{counted(len(rows), 'prediction')} by {source}; new rows are clipped as training rows are{ends}"


def _positive(values: Floats) -> Floats:
    """Return the column of the positive class, or the values themselves."""
    return values if values.ndim == 1 else values[:, 1]


def _model_of_rows(loaded: Release) -> LinearModel:
    """Return the model, one whose records have features."""
    from gibbsafe.errors import GibbsafeError
    from gibbsafe.models.linear.predictor import LinearModel

    if not isinstance(loaded.plan.model, LinearModel):
        raise GibbsafeError(f"predict: not defined for the model {loaded.plan.model.name}")
    return loaded.plan.model


def _new_rows(loaded: Release, path: Path) -> Iterator[Any]:
    """Yield pieces of a table of new rows in the form that the model predicts from."""
    import numpy as np
    import pyarrow as pa

    from gibbsafe.data.declared import DeclaredTable
    from gibbsafe.data.directories import open_table
    from gibbsafe.errors import GibbsafeError

    model = _model_of_rows(loaded)
    columns, names = model.columns, model.feature_names
    if columns is None and names is None:
        raise GibbsafeError("feature_names: not declared by the model, so columns of a table cannot be found")
    if columns is not None:
        for batch in DeclaredTable(path, (), columns).batches():
            yield pa.Table.from_batches([batch])
        return
    for batch in open_table(path, dict.fromkeys(names or (), "number")).batches():
        yield np.column_stack([batch.column(name).to_numpy(zero_copy_only=False) for name in names or ()])


def _synthetic(loaded: Release, rows: int | None, features: Path | None) -> tuple[list[JSON], str]:
    import numpy as np
    import pyarrow as pa

    from gibbsafe.domains.encoding import Design

    given = None
    if features is not None:
        pieces = list(_new_rows(loaded, features))
        if isinstance(pieces[0], pa.Table):
            whole, domain = pa.concat_tables(pieces), _model_of_rows(loaded).domain
            assert isinstance(domain, Design)
            given = domain.read({name: whole.column(name) for name in whole.column_names})
        else:
            given = np.concatenate(pieces)
    synthetic = loaded.simulate(rows or 0, given)
    table = np.asarray(synthetic.rows)
    names = _synthetic_names(loaded, 1 if table.ndim == 1 else table.shape[1])
    listed = table.reshape(len(table), -1).tolist()
    return [dict(zip(names, row, strict=True)) for row in listed], synthetic.note


def _synthetic_names(loaded: Release, width: int) -> list[str]:
    """Name synthetic columns as the table's: its features, its target, or plain numbers."""
    from gibbsafe.models import BayesianNetwork

    declared = loaded.plan.model.to_dict()
    features = [column["name"] for column in declared.get("columns") or ()] or list(declared.get("feature_names") or ())
    features = features or list(declared.get("time_names") or ())
    if isinstance(loaded.plan.model, BayesianNetwork):
        features = list(loaded.plan.model.states)
    target = declared.get("target")
    for names in ([target] if target else [], features, [*features, target] if target else []):
        if len(names) == width:
            return [str(name) for name in names]
    return [f"x{k}" for k in range(width)]


def _as_csv(rows: list[JSON]) -> str:
    text = io.StringIO()
    if rows:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([cell(name) for name in rows[0]])
        writer.writerows([cell(value) for value in row.values()] for row in rows)
    return text.getvalue()
