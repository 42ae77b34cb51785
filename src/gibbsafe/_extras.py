"""What an installation may lack: one line with the command that brings it, before any work is done or budget charged."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from gibbsafe.errors import GibbsafeError

__all__ = ["EXTRAS", "Extra", "MissingExtraError", "has_extra", "require_extra"]


class MissingExtraError(GibbsafeError, ImportError):
    """Something was asked for that needs an optional package."""


@dataclass(frozen=True)
class Extra:
    """An extra of the distribution: the package that people know, and the modules that are imported."""

    package: str
    modules: tuple[str, ...]


#: Every extra by the name that pip knows (`gibbsafe[plots]`).
EXTRAS = {
    "accounting": Extra("dp-accounting", ("dp_accounting",)),
    "arviz": Extra("ArviZ", ("arviz",)),
    "dask": Extra("Dask", ("dask", "distributed")),
    "formula": Extra("formulaic", ("formulaic",)),
    "jax": Extra("JAX", ("jax",)),
    "numpyro": Extra("NumPyro", ("numpyro", "jax")),
    "plots": Extra("matplotlib", ("matplotlib",)),
    "postgres": Extra("psycopg", ("psycopg",)),
    "service": Extra("FastAPI", ("fastapi", "uvicorn", "alembic", "jinja2", "multipart", "authlib", "itsdangerous", "httpx")),
    "sklearn": Extra("scikit-learn", ("sklearn", "joblib")),
}


def has_extra(name: str) -> bool:
    """Whether the modules of an extra are there; none is imported to see it."""
    return all(find_spec(module) is not None for module in EXTRAS[name].modules)


def require_extra(name: str, purpose: str) -> None:
    """Refuse, in one line, what needs an extra that is not installed.

    >>> require_extra("plots", "a picture")
    """
    if not has_extra(name):
        raise MissingExtraError(
            f"{purpose}: needs {EXTRAS[name].package}, which is not installed; run: pip install 'gibbsafe[{name}]'"
        )
