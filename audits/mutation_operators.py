"""The operators by which `audits/mutations.py` plants bugs, as edits of a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

#: A place, the operator's name, and the edit itself.
Variant = tuple[ast.AST, str, Callable[[], None]]

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
#: Names that are exchanged: minima with maxima, tails with each other, roundings to the wrong side.
_NAMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "fmin": "fmax", "fmax": "fmin",
    "betainc": "betaincc", "betaincc": "betainc", "up": "down", "ceiling": "exp", "any": "all", "all": "any",
}  # fmt: skip
_ADJACENCIES = {"REPLACE_ONE": "ADD_REMOVE", "ADD_REMOVE": "REPLACE_ONE"}


def variants(function: ast.AST) -> Iterator[Variant]:
    """Yield every bug that can be planted in a function, in the order of its text."""
    indices = {id(inner) for node in ast.walk(function) if isinstance(node, ast.Subscript) for inner in ast.walk(node.slice)}
    printed = {id(inner) for node in ast.walk(function) if isinstance(node, ast.JoinedStr) for inner in ast.walk(node)}
    stated = {
        id(inner)
        for node in ast.walk(function)
        if isinstance(node, ast.arguments | ast.AnnAssign)
        for inner in (ast.walk(node) if isinstance(node, ast.arguments) else ast.walk(node.annotation))
    }
    for node in ast.walk(function):
        if id(node) in printed | stated:
            continue
        if isinstance(node, ast.Constant) and id(node) not in indices:
            yield from _numbers(node)
        elif isinstance(node, ast.Compare):
            yield from _comparisons(node)
        elif isinstance(node, ast.Call):
            yield from _calls(node)
        elif isinstance(node, ast.BinOp) and id(node) not in indices:
            yield from _signs(node)
        elif isinstance(node, ast.Attribute) and node.attr in _ADJACENCIES:
            yield node, "adjacency", lambda node=node: setattr(node, "attr", _ADJACENCIES[node.attr])
        elif isinstance(node, ast.If) and _refuses(node):
            yield node, "check skipped", lambda node=node: setattr(node, "test", ast.Constant(False))


def _numbers(node: ast.Constant) -> Iterator[Variant]:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float) or node.value == 0:
        return
    whole = isinstance(node.value, int)
    for name, value in (("halved", node.value // 2 if whole else node.value / 2), ("doubled", node.value * 2)):
        yield node, f"{name}: {node.value!r}", lambda value=value: setattr(node, "value", value)


def _comparisons(node: ast.Compare) -> Iterator[Variant]:
    for place, operator in enumerate(node.ops):
        other = _COMPARISONS.get(type(operator))
        if other is not None:
            name = f"comparison: {type(operator).__name__}"
            yield node, name, lambda place=place, other=other: node.ops.__setitem__(place, other())


def _calls(node: ast.Call) -> Iterator[Variant]:
    called = node.func
    if isinstance(called, ast.Name) and called.id in _NAMES:
        if called.id in ("up", "ceiling"):
            yield node, f"rounding: {called.id}", lambda: _rounded(node)
        else:
            yield node, f"exchanged: {called.id}", lambda: setattr(called, "id", _NAMES[called.id])
    elif isinstance(called, ast.Attribute) and called.attr in _NAMES:
        yield node, f"exchanged: {called.attr}", lambda: setattr(called, "attr", _NAMES[called.attr])


def _rounded(node: ast.Call) -> None:
    """Replace up(x) by x·(1 − 1e-9), and ceiling(x) by 0.999999 of it: to the unsafe side."""
    inner = node.args[0] if ast.unparse(node.func) == "up" else ast.Call(node.func, list(node.args), [])
    factor = 1 - 1e-9 if ast.unparse(node.func) == "up" else 0.999999
    node.func, node.keywords = ast.Name("float", ast.Load()), []
    node.args = [ast.BinOp(inner, ast.Mult(), ast.Constant(factor))]


def _signs(node: ast.BinOp) -> Iterator[Variant]:
    if isinstance(node.op, ast.Add | ast.Sub) and not _text(node):
        name = f"sign: {type(node.op).__name__}"
        other = ast.Sub if isinstance(node.op, ast.Add) else ast.Add
        yield node, name, lambda: setattr(node, "op", other())


def _text(node: ast.BinOp) -> bool:
    return any(isinstance(each, ast.JoinedStr | ast.List | ast.Tuple) or isinstance(getattr(each, "value", None), str)
               for each in (node.left, node.right))  # fmt: skip


def _refuses(node: ast.If) -> bool:
    last = node.body[-1]
    called = last.value if isinstance(last, ast.Expr) else None
    fails = isinstance(called, ast.Call) and ast.unparse(called.func).split(".")[-1] in ("fail", "_fail")
    return isinstance(last, ast.Raise) or fails
