"""Every kind of case, registered by importing its file."""

from __future__ import annotations

from . import (
    calculus_cases,
    constant_cases,
    family_cases,
    linear_cases,
    mechanism_cases,
    outcome_cases,
    score_cases,
    theorem_cases,
)
from .suite import KINDS, Case, run

__all__ = ["KINDS", "Case", "run"]

_FILES = (calculus_cases, constant_cases, family_cases, linear_cases, mechanism_cases, outcome_cases, score_cases, theorem_cases)
