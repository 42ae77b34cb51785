"""Columns of a table as a study declares them: public bounds, levels, transforms and fallbacks, and how they become numbers.

Nothing here is inferred from data. A value inside the declared domain always has a code; a value outside it is refused, or goes
to the declared catch-all level or the declared value for missing entries.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import choice, fail, real
from gibbsafe.domains.charges import ReleasedFact, check_charge
from gibbsafe.domains.dates import days_since, origin_of, read_dates
from gibbsafe.domains.entries import as_floats, dictionary
from gibbsafe.domains.interval import Interval
from gibbsafe.domains.labels import Categories
from gibbsafe.domains.transforms import (
    CURVES,
    EXPANSIONS,
    bin_names,
    bins,
    check_degree,
    check_points,
    polynomials,
    spline,
    spline_width,
)
from gibbsafe.errors import DomainError

__all__ = ["Column", "check_names", "no_charges", "no_expansions", "no_features", "no_target", "only_numbers"]

Level: TypeAlias = str | int | float | bool

KINDS = ("number", "category", "label")
TRANSFORMS = (*CURVES, *EXPANSIONS)
SCALES = ("centred", "unit")


@dataclass(frozen=True)
class Column:
    """One declared column.

    Args:
        name: the column's name in the table.
        kind: ``"number"``, ``"category"`` (one-hot as a feature) or ``"label"`` (outcomes of a target, the positive one last).
        bounds: (low, high) of a number, in the table's units, before the transform.
        levels: the declared values of a category or label.
        transform: after clipping to the bounds. ``"log1p"`` takes log(1 + x), with bounds above −1; ``"signed-log"`` takes
            sign(x)·log(1 + |x|); ``"bins"`` makes a column of 0 and 1 per bin between declared ``edges``, ``"spline"`` cubic
            B-splines with declared inner ``knots``, ``"poly"`` polynomials that are orthogonal over declared ``nodes``: all as
            features of linear models.
        other: the level to which undeclared values go; without it they are refused.
        missing: the public value (a number, or a level) that stands for missing entries; without it they are refused.
        scale: how linear models map a number: ``"centred"`` to [−1, 1], ``"unit"`` to [0, 1].
        edges, knots, nodes: of bins, splines and polynomials, in increasing order inside the bounds.
        degree: the highest of polynomials, below the number of nodes.
        origin: of dates, which are read as days since then; bounds and missing may be dates, too.
        column: the table's column that is read, where the name is another: one column may be declared several times.
        charge: under which charge of a ledger the bounds or levels were released; None where they are public.

    >>> Column("income", bounds=(0, 99), transform="log1p").values([0.0, 1e9]).round(3)
    array([0.   , 4.605])
    >>> Column("ward", kind="category", levels=("a", "b", "?"), other="?").codes(["b", "z"])
    array([1, 2])
    """

    name: str
    kind: str = "number"
    bounds: tuple[float, float] | None = None
    levels: tuple[Level, ...] | None = None
    transform: str | None = None
    other: Level | None = None
    missing: Level | None = None
    scale: str = "centred"
    edges: tuple[float, ...] | None = None
    knots: tuple[float, ...] | None = None
    nodes: tuple[float, ...] | None = None
    degree: int | None = None
    origin: str | None = None
    column: str | None = None
    charge: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            fail("column name", self.name, "a text that is not empty")
        if self.column is not None and (not isinstance(self.column, str) or not self.column):
            fail(self._of("column"), self.column, "the name of a column of the table")
        if self.charge is not None:
            check_charge(self._of("charge"), self.charge)
        choice(self._of("kind"), self.kind, KINDS)
        choice(self._of("scale"), self.scale, SCALES)
        if self.kind == "number":
            self._check_number()
        else:
            self._check_levels()

    def _of(self, field: str) -> str:
        return f"column {self.name!r}, {field}"

    def _check_number(self) -> None:
        for field in ("levels", "other"):
            if getattr(self, field) is not None:
                fail(self._of(field), getattr(self, field), "left out for a number; levels make a category")
        if self.origin is not None:
            object.__setattr__(self, "origin", origin_of(self._of("origin"), self.origin))
        if self.bounds is not None:
            if not isinstance(self.bounds, tuple | list) or len(self.bounds) != 2:
                fail(self._of("bounds"), self.bounds, "a pair [low, high]")
            low, high = (real(self._of("bounds"), self._undated("bounds", end)) for end in self.bounds)
            if not low < high or not math.isfinite(high - low):
                fail(self._of("bounds"), [low, high], "a pair [low, high] with low < high and a finite difference")
            object.__setattr__(self, "bounds", (low, high))
        self._check_transform()
        if self.missing is not None:
            object.__setattr__(self, "missing", real(self._of("missing"), self._undated("missing", self.missing)))

    def _undated(self, field: str, value: Any) -> Any:
        """Return a date as days since the origin, where there is one."""
        return value if self.origin is None else days_since(self._of(field), value, self.origin)

    def _check_transform(self) -> None:
        transform = self.transform
        if transform is not None:
            choice(self._of("transform"), transform, TRANSFORMS)
            if transform == "log1p" and (self.bounds is None or self.bounds[0] <= -1):
                fail(self._of("transform"), transform, "with bounds above -1, so that log(1 + x) exists")
            if self.bounds is None:
                fail(self._of("transform"), transform, "with bounds = [low, high]")
        for owner, field in EXPANSIONS.items():
            points = getattr(self, field)
            if transform == owner:
                if points is None:
                    fail(self._of(field), None, f"declared for {transform}", f"write {field} = [...] inside the bounds")
                points = [self._undated(field, each) for each in points] if isinstance(points, tuple | list) else points
                listed = check_points(self._of(field), points, self._declared_bounds, ends=owner == "poly")
                object.__setattr__(self, field, listed)
            elif points is not None:
                fail(self._of(field), points, f"left out without transform = '{owner}'")
        if self.nodes is not None:
            check_degree(self._of("degree"), self.degree, self.nodes)
        elif self.degree is not None:
            fail(self._of("degree"), self.degree, "left out without transform = 'poly'")

    def _check_levels(self) -> None:
        for field in ("bounds", "transform", "edges", "knots", "nodes", "degree", "origin"):
            if getattr(self, field) is not None:
                fail(self._of(field), getattr(self, field), f"left out for a {self.kind}")
        if not isinstance(self.levels, tuple | list) or not self.levels:
            fail(self._of("levels"), self.levels, "a list of the values that may occur")
        for level in self.levels:
            if not isinstance(level, str | bool | numbers.Real) or (isinstance(level, float) and not math.isfinite(level)):
                fail(self._of("levels"), level, "texts, numbers or truth values")
        if len({type(level) is str for level in self.levels}) > 1:
            fail(self._of("levels"), list(self.levels), "all texts or all numbers")
        if len(set(self.levels)) != len(self.levels):
            fail(self._of("levels"), list(self.levels), "different values")
        object.__setattr__(self, "levels", tuple(self.levels))
        for field in ("other", "missing"):
            value = getattr(self, field)
            if value is not None and value not in self.levels:
                fail(self._of(field), value, f"one of the levels {list(self.levels)}")

    # -- shape ---------------------------------------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The table's column that is read."""
        return self.name if self.column is None else self.column

    @property
    def released(self) -> ReleasedFact | None:
        """Its bounds or levels, if they were released; None where they are public."""
        what = "bounds" if self.kind == "number" else "levels"
        return None if self.charge is None else ReleasedFact(what, self.name, self.source, self.charge)

    @property
    def plain(self) -> bool:
        """Whether it is one number: neither a category nor a number made into several."""
        return self.kind == "number" and self.transform not in EXPANSIONS

    @property
    def centred(self) -> bool:
        """Whether linear models map it to [−1, 1]: a number with that scale, and polynomials, which lie there."""
        return self.transform == "poly" or (self.plain and self.scale == "centred")

    @property
    def one_hot(self) -> bool:
        """Whether exactly one of its encoded columns is 1, and the others 0."""
        return self.kind != "number" or self.transform == "bins"

    @property
    def width(self) -> int:
        """How many columns of numbers it becomes as a feature of a linear model."""
        return len(self.encoded_names)

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Their names: the column's own, ``column=level`` or ``column=bin`` for every one, ``column~k`` for splines and poly."""
        if self.plain:
            return (self.name,)
        if self.transform in ("spline", "poly"):
            width = self.degree or spline_width(self.knots or ())
            return tuple(f"{self.name}~{k + 1}" for k in range(width))
        return tuple(f"{self.name}={each}" for each in (bin_names(self.edges or ()) if self.edges else self._levels))

    @property
    def _levels(self) -> tuple[Level, ...]:
        assert self.levels is not None
        return self.levels

    @property
    def _declared_bounds(self) -> tuple[float, float]:
        if self.bounds is None:
            fail(self._of("bounds"), None, "declared", "write bounds = [low, high], or levels = [...] for a category")
        return self.bounds

    @property
    def interval(self) -> Interval:
        """Bounds of every encoded column, after the transform; refused where none are declared."""
        if not self.plain:
            return Interval(-1.0 if self.transform == "poly" else 0.0, 1.0)
        return Interval(*(float(end) for end in self._transformed(np.array(self._declared_bounds))))

    def _transformed(self, values: Floats) -> Floats:
        return CURVES[self.transform][0](values) if self.transform in CURVES else values

    # -- values --------------------------------------------------------------------------------------------------

    def values(self, raw: object, on_invalid: str = "error") -> Floats:
        """Return a number's entries as float64: clipped to the bounds, transformed, missing ones replaced.

        Entries that are no numbers are refused, or with ``on_invalid="replace"`` count as missing.

        Missing entries without a declared value and infinities are outside the domain: refused, or with
        ``on_invalid="replace"`` left as they are for the model to replace.
        """
        numeric = self.numbers(raw, on_invalid)
        if self.missing is not None:
            numeric = np.where(np.isnan(numeric), float(self.missing), numeric)
        outside = ~np.isfinite(numeric)
        if on_invalid == "error" and outside.any():
            row = int(np.argmax(outside))
            raise DomainError(
                f"column {self.name!r}: an entry is missing or not finite; declare missing = a public value for the column "
                "in the study, or clean the table",
                private=f"row {row} is {numeric[row]}",
            )
        inside = numeric if self.bounds is None else np.clip(numeric, *self.bounds)
        return np.where(np.isfinite(numeric), self._transformed(inside), numeric)

    def numbers(self, raw: object, on_invalid: str = "error") -> Floats:
        """Return entries as float64, missing ones as NaN: numbers, or days since the origin of dates."""
        if self.origin is not None:
            return read_dates(raw, f"column {self.name!r}", self.origin, on_invalid)
        return as_floats(raw, self.name, on_invalid)

    def codes(self, raw: object, on_invalid: str = "error") -> npt.NDArray[np.intp]:
        """Return the position of each entry's level; undeclared ones go to ``other``, missing ones to ``missing``.

        Where neither is declared they are refused, or with ``on_invalid="replace"`` read as the first level.
        """
        distinct, positions = dictionary(raw)
        known = {level: index for index, level in enumerate(self._levels)}
        fallback = 0 if on_invalid == "replace" else -1
        unknown = fallback if self.other is None else known[self.other]
        absent = unknown if self.missing is None else known[self.missing]
        table = [_code(value, known, unknown, absent) for value in distinct]
        codes = np.array([*table, absent], dtype=np.intp)[positions]  # missing entries have the last position
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            value = distinct[positions[row]] if positions[row] < len(distinct) else None
            raise DomainError(
                f"column {self.name!r}: an entry is missing or no declared level; declare missing = or other = a level for the "
                "column in the study, or clean the table",
                private=f"row {row} is {'missing' if _is_missing(value, known) else repr(value)}",
            )
        return codes

    def design(self, raw: object, on_invalid: str = "error") -> Floats:
        """Return (n, width) numbers in the table's units: the number after its transform, splines, or 0/1 per level or bin."""
        if self.kind == "number":
            values = self.values(raw, on_invalid)
            return values[:, None] if self.plain else self._expanded(values)
        codes = self.codes(raw, on_invalid)
        hot = np.zeros((len(codes), self.width))
        hot[np.arange(len(codes)), codes] = 1.0
        return hot

    def _expanded(self, values: Floats) -> Floats:
        """Return bins, splines or polynomials; the row of an entry that is no number has none."""
        design = np.full((len(values), self.width), np.nan)
        read = np.isfinite(values)
        bounds = self._declared_bounds
        if self.edges:
            design[read] = bins(values[read], self.edges)
        elif self.nodes:
            design[read] = polynomials(values[read], self.nodes, self.degree or 1, bounds)
        else:
            design[read] = spline(values[read], self.knots or (), bounds)
        return design

    def categories(self) -> Categories:
        """Return levels and catch-all as a domain."""
        return Categories(self._levels, self.other)

    # -- files ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> JSON:
        """Return the declaration as plain data, defaults left out."""
        stated = {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name) != field.default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in stated.items()}

    @classmethod
    def from_dict(cls, data: Document) -> Column:
        """Rebuild a column from `to_dict`'s data; unknown keys are refused with the nearest known ones."""
        for key in data:
            choice(f"column {data.get('name')!r}, key", key, [field.name for field in fields(cls)])
        return cls(**data)


def _code(value: Any, known: Mapping[str | int | float, int], unknown: int, absent: int) -> int:
    return absent if _is_missing(value, known) else known.get(value, unknown)


def _is_missing(value: object, known: Mapping[str | int | float, int]) -> bool:
    """Whether an entry counts as missing: none, NaN, or an empty text that is not a declared level."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or (value == "" and "" not in known)


# -- what a model asks of a study's columns ------------------------------------------------------------------------------


def no_features(features: Sequence[Column], model: str) -> None:
    """Refuse feature columns for a model that reads its target only."""
    if features:
        fail("columns", [column.name for column in features], f"left out: {model} reads the [target] column alone")


def no_target(target: Column | None, model: str) -> None:
    """Refuse a target for a model of the columns themselves."""
    if target is not None:
        fail("target", target.name, f"left out: {model} has no response; declare it under [columns] if it is a variable")


def no_expansions(columns: Sequence[Column], model: str) -> None:
    """Refuse bins, splines and polynomials for what reads one number per column."""
    for column in columns:
        if column.kind == "number" and not column.plain:
            fail(f"column {column.name!r}, transform", column.transform, f"left out: {model} reads one number per column")


def no_charges(columns: Sequence[Column], model: str) -> None:
    """Refuse bounds and levels that were released, where a plan keeps no columns and could not name the charge."""
    for column in columns:
        if column.charge is not None:
            remedy = "its certificate could not name the charge"
            fail(f"column {column.name!r}, charge", column.charge[:40], f"left out: {model} keeps no columns", remedy)


def only_numbers(features: Sequence[Column]) -> Sequence[Column]:
    """Return the columns if there are some and all are numbers."""
    if not features:
        fail("columns", [], "at least one number with bounds")
    for column in features:
        if column.kind != "number":
            fail(f"column {column.name!r}, kind", column.kind, "a number with bounds for this model")
    return features


def check_names(names: Sequence[str] | None, dimension: int) -> tuple[str, ...] | None:
    """Return column names as a tuple, None if none are declared; refuse what does not name every column once."""
    if names is None:
        return None
    if len(names) != dimension or len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
        fail("feature_names", tuple(names), f"{dimension} different names")
    return tuple(names)
