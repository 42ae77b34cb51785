"""Formulas: ``died ~ age*ward + spline(age, knots=[40, 60])`` becomes declared columns and interactions.

formulaic's *parser* alone is used, which sees the text and no table. Its materialiser looks at data (one replaced row moves the
first row's ``center(x)``), so whatever a function would learn from a column is refused, and levels, bounds, edges and knots are
the declared ones.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from gibbsafe._extras import require_extra
from gibbsafe._validate import fail
from gibbsafe.domains.column import Column
from gibbsafe.errors import ParameterError

__all__ = ["Terms", "read_formula"]

#: Functions of a formula: the transform each stands for, and the arguments that declare it.
FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "log1p": ("log1p", ()),
    "signed_log": ("signed-log", ()),
    "bins": ("bins", ("edges",)),
    "spline": ("spline", ("knots",)),
    "poly": ("poly", ("degree", "nodes")),
}
#: How arguments look.
WRITTEN = {"edges": "[...]", "knots": "[...]", "nodes": "[...]", "degree": "2"}
#: Functions that other packages read off the data.
LOOK_AT_DATA = ("center", "scale", "standardize", "bs", "cr", "cs", "cc", "ns", "lag", "hashed", "rank", "cut", "qcut")
#: Longest formula, and most terms that it may be multiplied out into.
LONGEST, MOST_TERMS = 10_000, 10_000
ALLOWED = "C(x), log1p(x), signed_log(x), bins(x, edges=[...]), spline(x, knots=[...]) and poly(x, degree=2, nodes=[...])"


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
    meant: dict[str, Column] = {}
    features: list[str] = []
    products: list[list[str]] = []
    for factors in (term for term in terms if term != ["1"]):
        names = []
        for factor in factors:
            column = _column_of(factor, known)
            if meant.setdefault(column.name, column) != column:
                fail(
                    "formula",
                    factor,
                    f"the same {column.name} everywhere",
                    "declare the other one under [columns] by its own name",
                )
            names.append(column.name)
        if len(names) == 1:
            features += names
        else:
            products.append(names)
    for names in products:
        if missing := [name for name in names if name not in features]:
            alone = f"interactions of columns that are terms themselves: add {' + '.join(missing)}, or write {'*'.join(names)}"
            fail("formula", ":".join(names), alone)
    if not features:
        fail("formula", text, "of at least one column")
    return Terms(tuple(meant[name] for name in features), tuple(":".join(names) for names in products), ["1"] in terms)


def _parsed(text: str) -> tuple[str, list[list[str]]]:
    """Return the response and the terms, each a list of factors, by formulaic's parser."""
    from formulaic.errors import FormulaicError
    from formulaic.parser import DefaultFormulaParser

    if len(text) > LONGEST:
        raise ParameterError(f"formula = {text[:80]!r}...: must have at most {LONGEST:,} characters")
    parser = DefaultFormulaParser()
    try:
        size = _size(parser.get_ast(text))
        parsed: Any = parser.get_terms(text) if size <= MOST_TERMS else None
        left, right = ([], []) if parsed is None else (list(parsed.lhs), list(parsed.rhs))
    except (FormulaicError, AttributeError, TypeError, ValueError, SyntaxError, RecursionError) as error:
        # The parser marks places with colours, which are no words.
        words = "".join(
            letter for letter in re.sub(r"\x1b\[[\d;]*m|[⧛⧚]", "", str(error)) if letter.isprintable() or letter == "\n"
        )
        why = "no response" if isinstance(error, AttributeError) else " ".join(words.split())[:160] or type(error).__name__
        raise ParameterError(f"formula = {text[:80]!r}: must be 'response ~ terms' ({why})") from None
    if size > MOST_TERMS:
        raise ParameterError(f"formula = {text[:80]!r}: may become more than {MOST_TERMS:,} terms; write those that are meant")
    if len(left) != 1 or len(left[0].factors) != 1 or any(not hasattr(term, "factors") for term in right):
        fail("formula", text[:80], "of one response and one list of terms")
    return str(left[0].factors[0].expr), [[str(factor.expr) for factor in term.factors] for term in right]


def _size(node: Any) -> float:
    """Return an upper bound on the terms that a parsed formula becomes when it is multiplied out, before it is."""
    if not hasattr(node, "operator"):
        return 1.0
    symbol, parts = str(node.operator.symbol), [_size(part) for part in node.args]
    if symbol in ("**", "^"):
        power = str(node.args[1])
        return (parts[0] + 1) ** min(int(power), 99) if power.isdigit() and parts[0] > 1 else parts[0] + 1
    if symbol in ("~", "+", "-", "|"):
        return sum(parts)
    return math.prod(part + 1 for part in parts)


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
    named = _name(tree.args[0]) if tree.args else None
    if function == "poly" and len(tree.args) == 2:  # poly(x, 2, nodes=[...])
        tree.keywords.append(ast.keyword("degree", tree.args.pop()))
    if named is None or len(tree.args) != 1:
        raise ParameterError(f"formula, {factor}: must be of one declared column; write {ALLOWED}")
    column = known.get(named) or _undeclared(named, known)
    return _category(factor, tree, column) if function == "C" else _transformed(factor, tree, column, function)


def _name(argument: ast.expr) -> str | None:
    """Return the column that an argument names, also in quotes, for names that are not plain."""
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value
    return argument.id if isinstance(argument, ast.Name) else None


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
    if set(given) != set(points) or len(tree.keywords) != len(points):
        needed = f"with {', '.join(f'{each}={WRITTEN[each]}' for each in points)} written out" if points else "without options"
        raise ParameterError(f"formula, {factor}: must be {needed}, since nothing is read from data")
    named: dict[str, Any] = {}
    for each in points:
        try:
            named[each] = ast.literal_eval(given[each])
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise ParameterError(f"formula, {factor}: {each} must be numbers that are written out") from None
    return replace(column, name=f"{function}({column.name})", column=column.source, transform=transform, **named)
