"""The tables of the benchmarks: public or synthetic, scaled by public numbers only."""

from __future__ import annotations

from benchmarks import harness  # isort: skip - sets the number of threads before NumPy loads

import math
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import gibbsafe as gs
from benchmarks.harness import adult, iso


@dataclass(frozen=True)
class Table:
    """Training and test records with the model that declares their public bounds."""

    name: str
    model: gs.models.LogisticRegression
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n(self):
        return len(self.y)

    @property
    def d(self):
        return self.model.parameters

    @cached_property
    def rows(self):
        """Scaled training rows with the intercept, norm at most 1."""
        return self.model.encode_features(self.X)

    @cached_property
    def signed(self):
        """The same times ±1 by label."""
        return self.rows * np.where(self.y == 1, 1.0, -1.0)[:, None]

    @cached_property
    def signed_test(self):
        return self.model.encode_features(self.X_test) * np.where(self.y_test == 1, 1.0, -1.0)[:, None]

    def score(self, thetas):
        """Test log-loss and accuracy of every row of ``thetas`` (scaled units)."""
        margins = self.signed_test @ np.atleast_2d(thetas).T
        return np.logaddexp(0, -margins).mean(axis=0), (margins > 0).mean(axis=0)


def isotropic(n, d, seed=0):
    """See `harness.iso`; its radius √d is public."""
    model = gs.models.LogisticRegression(dimension=d, radius=math.sqrt(d))
    power = math.log10(n)
    label = f"1e{power:.0f}" if power == round(power) else f"{n:,}"
    return Table(f"iso {label} × {d}", model, *iso(n, d, seed))


def adult_table():
    """UCI Adult by its public encoding, or None where the files are absent."""
    found = adult()
    if found is None:
        return None
    *arrays, radius = found
    return Table("Adult", gs.models.LogisticRegression(dimension=arrays[0].shape[1], radius=radius), *arrays)


def listed():
    """What tables.toml declares, by name."""
    return {entry["name"]: entry for entry in tomllib.loads((harness.HERE / "tables.toml").read_text())["tables"]}


def packaged(name):
    """A reported table of tables.toml by its declared columns, or None where its package is absent. The others stay unopened."""
    entry = listed()[name]
    if not entry["reported"]:
        raise ValueError(f"{name}: this table stays unopened; tables.toml names those that are reported")
    found = find_spec(entry["package"])
    if found is None:
        return None
    import pandas

    target, columns = entry["target"], entry["columns"]
    names = [target["name"], *(column["name"] for column in columns)]
    frame = pandas.read_csv(Path(found.origin).parent / entry["file"], usecols=names).dropna(subset=names)
    X = np.column_stack([encoded for column in columns for encoded in encode(column, frame[column["name"]].to_numpy())])
    y = (frame[target["name"]].to_numpy() > target["above"]).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, n = X[order], y[order], len(y) * 4 // 5
    model = gs.models.LogisticRegression(dimension=X.shape[1], radius=math.sqrt(len(columns)))
    return Table(name, model, X[:n], y[:n], X[n:], y[n:])


def encode(column, values):
    """One column as declared: scaled to [0, 1] by its bounds, or a column of 0 and 1 per level."""
    if "levels" in column:
        return [(values == level).astype(float) for level in column["levels"]]
    low, high = column["bounds"]
    return [(np.clip(values.astype(float), low, high) - low) / (high - low)]


def breast_cancer():
    """Thirty features between 0 and round public upper bounds; 455 training rows."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    means = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1]
    errors = [3, 5, 25, 550, 0.03, 0.15, 0.4, 0.06, 0.08, 0.03]
    worst = [40, 50, 260, 4300, 0.23, 1.1, 1.3, 0.3, 0.7, 0.21]
    model = gs.models.LogisticRegression(dimension=30, bounds=[(0, high) for high in means + errors + worst])
    return Table("breast cancer", model, X[:455], y[:455], X[455:], y[455:])


def digits():
    """Is the digit five or more? 64 pixels over 16, rows clipped to norm 4; 1,437 training rows."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X, y = X / 16, (y >= 5).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = gs.models.LogisticRegression(dimension=64, radius=4.0)
    return Table("digits", model, X[:1437], y[:1437], X[1437:], y[1437:])
