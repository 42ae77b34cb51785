"""Formulas: ``died ~ age*ward + spline(age, knots=[40, 60])`` becomes declared columns and interactions.

formulaic's *parser* alone is used, which sees the text and no table. Its materialiser looks at data (one replaced row moves the
first row's ``center(x)``), so whatever a function would learn from a column is refused, and levels, bounds, edges and knots are
the declared ones.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from gibbsafe._extras import require_extra
from gibbsafe._validate import fail
from gibbsafe.domains.column import Column
from gibbsafe.errors import ParameterError

__all__ = ["Terms", "read_formula"]

#: Functions of a formula: the transform each stands for, and the argument that declares its points.
FUNCTIONS = {
    "log1p": ("log1p", None),
    "signed_log": ("signed-log", None),
    "bins": ("bins", "edges"),
    "spline": ("spline", "knots"),
}
#: Functions that other packages read off the data.
LOOK_AT_DATA = ("center", "scale", "standardize", "poly", "bs", "cr", "cs", "cc", "ns", "lag", "hashed", "rank", "cut", "qcut")
ALLOWED = "C(x), log1p(x), signed_log(x), bins(x, edges=[...]) and spline(x, knots=[...])"


@dataclass(frozen=True)
class Terms:
    """What a formula says: features, interactions of them by name, and whether there is an intercept."""

    columns: tuple[Column, ...]
    interactions: tuple[str, ...]
    intercept: bool


def read_formula(text: object, columns: Sequence[Column], target: Column | None) -> Terms:
    """Return the terms of a formula on declared columns, or refuse in one line whatever is not declared or depends on data."""
    if not isinstance(text, str) or not text.strip():
        fail("formula", text, "a text like 'died ~ age*ward'")
    require_extra("formula", "formula")
    response, terms = _parsed(text)
    if target is None or response != target.name:
        fail("formula, response", response, f"the target ({None if target is None else target.name})")
    known = {column.name: column for column in columns}
    features: dict[str, Column] = {}
    products: list[tuple[str, list[str]]] = []
    intercept = False
    for factors in terms:
        if factors == ["1"]:
            intercept = True
            continue
        read = [_column_of(factor, known) for factor in factors]
        if len(read) == 1:
            features[read[0].name] = read[0]
        else:
            products.append((":".join(factors), [column.name for column in read]))
    for written, names in products:
        if missing := [name for name in names if name not in features]:
            alone = f"interactions of columns that are terms themselves: add {' + '.join(missing)}, or write {'*'.join(names)}"
            fail("formula", written, alone)
    if not features:
        fail("formula", text, "of at least one column")
    return Terms(tuple(features.values()), tuple(":".join(names) for _, names in products), intercept)


def _parsed(text: str) -> tuple[str, list[list[str]]]:
    """Return the response and the terms, each a list of factors, by formulaic's parser."""
    from formulaic.errors import FormulaicError
    from formulaic.parser import DefaultFormulaParser

    try:
        parsed: Any = DefaultFormulaParser().get_terms(text)
        left, right = list(parsed.lhs), list(parsed.rhs)
    except (FormulaicError, AttributeError, TypeError, ValueError, SyntaxError, RecursionError) as error:
        why = "no response" if isinstance(error, AttributeError) else " ".join(str(error).split())[:160] or type(error).__name__
        raise ParameterError(f"formula = {text[:80]!r}: must be 'response ~ terms' ({why})") from None
    if len(left) != 1 or len(left[0].factors) != 1 or any(not hasattr(term, "factors") for term in right):
        fail("formula", text[:80], "of one response and one list of terms")
    return str(left[0].factors[0].expr), [[str(factor.expr) for factor in term.factors] for term in right]


def _column_of(factor: str, known: Mapping[str, Column]) -> Column:
    """Return the declared column that a factor stands for."""
    if factor in known:
        return known[factor]
    try:
        tree = ast.parse(factor, mode="eval").body
    except (SyntaxError, ValueError):
        _undeclared(factor, known)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        _undeclared(factor, known)
    function = tree.func.id
    if function in LOOK_AT_DATA:
        raise ParameterError(f"formula, {factor}: {function} looks at the data, which is not private; declared are {ALLOWED}")
    if function != "C" and function not in FUNCTIONS:
        raise ParameterError(f"formula, {factor}: not a function of formulas here; declared are {ALLOWED}")
    if len(tree.args) != 1 or not isinstance(tree.args[0], ast.Name):
        raise ParameterError(f"formula, {factor}: must be of one declared column; write {ALLOWED}")
    column = known.get(tree.args[0].id) or _undeclared(tree.args[0].id, known)
    return _category(factor, tree, column) if function == "C" else _transformed(factor, tree, column, function)


def _undeclared(name: str, known: Mapping[str, Column]) -> NoReturn:
    listed = ", ".join(known) or "none"
    raise ParameterError(f"formula, {name}: not a declared column ({listed}); write [columns.NAME] with bounds or levels")


def _category(factor: str, tree: ast.Call, column: Column) -> Column:
    if column.kind == "number" or tree.keywords:
        raise ParameterError(f"formula, {factor}: levels of {column.name} are not declared; write levels = [...] in the study")
    return column


def _transformed(factor: str, tree: ast.Call, column: Column, function: str) -> Column:
    """Return a number with the transform that a function names; its points must be written out."""
    transform, points = FUNCTIONS[function]
    if column.kind != "number" or column.transform is not None:
        what = "a category" if column.kind != "number" else f"transformed by {column.transform} already"
        raise ParameterError(f"formula, {factor}: {column.name} is {what}; transform a plain number")
    given = {keyword.arg: keyword.value for keyword in tree.keywords}
    if set(given) != ({points} if points else set()):
        needed = f"with {points}=[...] written out" if points else "without options"
        raise ParameterError(f"formula, {factor}: must be {needed}, since nothing is read from data")
    named: dict[str, Any] = {}
    if points:
        try:
            named[points] = ast.literal_eval(given[points])
        except ValueError:
            raise ParameterError(f"formula, {factor}: {points} must be numbers that are written out") from None
    return replace(column, name=f"{function}({column.name})", column=column.source, transform=transform, **named)
