"""Stages as plain data, as they stand in plan files."""

from __future__ import annotations

from dataclasses import asdict

from gibbsafe._types import JSON, Document
from gibbsafe._validate import count, non_negative, open_probability, positive, real
from gibbsafe.errors import CertificateError
from gibbsafe.posteriors.stage import ChainRule, ScoreRule, Stage

__all__ = ["FORMATS", "format_of", "stage_from_dict", "stage_to_dict"]

#: Plans that draw, that ask scores, and that release trajectories.
FORMATS = ("gibbsafe/plan/1", "gibbsafe/plan/2", "gibbsafe/plan/3")


def format_of(stages: tuple[Stage, ...]) -> str:
    """Return the format of a plan with these stages: the first that can hold them."""
    draws, scores, chains = FORMATS
    if any(stage.chain is not None for stage in stages):
        return chains
    return scores if any(stage.scores is not None for stage in stages) else draws


def stage_to_dict(stage: Stage) -> JSON:
    """Return a stage as JSON would give it back: lists for tuples."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(stage).items()}
    chain = None if stage.chain is None else asdict(stage.chain) | {"start": list(stage.chain.start)}
    plain |= {"chain": chain}
    return {name: value for name, value in plain.items() if value is not None or name not in ("scores", "chain")}


def stage_from_dict(data: Document) -> Stage:
    """Rebuild a stage from plain data, every field checked."""
    odd = set(data) ^ set(Stage.__dataclass_fields__)
    if odd - {"scores", "chain"}:
        raise CertificateError(f"stage fields {sorted(odd)}: missing or unknown")
    centre = data["prior_centre"]
    return Stage(
        positive("inverse_temperature", data["inverse_temperature"]),
        tuple(positive("prior_precision", x) for x in data["prior_precision"]),
        None if centre is None else tuple(real("prior_centre", x) for x in centre),
        count("draws", data["draws"]),
        None if data["step"] is None else positive("step", data["step"]),
        None if data["steps"] is None else count("steps", data["steps"]),
        None if data["slack"] is None else open_probability("slack", data["slack"]),
        _rule_from_dict(data["scores"]) if "scores" in data else None,
        _chain_from_dict(data["chain"]) if "chain" in data else None,
    )


def _chain_from_dict(data: Document) -> ChainRule:
    """Rebuild the rule of a trajectory; that it is the one that public numbers give, the plan checks."""
    odd = set(data) ^ set(ChainRule.__dataclass_fields__)
    if odd:
        raise CertificateError(f"chain fields {sorted(odd)}: missing or unknown")
    start = tuple(real("start", each) for each in data["start"])
    return ChainRule(count("chains", data["chains"]), count("kept", data["kept"]), positive("power", data["power"]), start)


def _rule_from_dict(data: Document) -> ScoreRule:
    """Rebuild a rule of noisy scores; that it is the one that public numbers give, the plan checks."""
    odd = set(data) ^ set(ScoreRule.__dataclass_fields__)
    if odd - {"width"}:  # which older files have not
        raise CertificateError(f"scores fields {sorted(odd)}: missing or unknown")
    return ScoreRule(
        None if data["clip"] is None else real("clip", data["clip"]),
        count("rows", data["rows"]),
        positive("ridge", data["ridge"]),
        positive("slope", data["slope"]),
        count("scores", data["scores"]),
        non_negative("moment", data["moment"]),
        non_negative("facts", data["facts"]),
        non_negative("point", data["point"]),
        data["preconditioned"] is True,
        None if data["kernel"] is None else positive("kernel", data["kernel"]),
        positive("of_budget", data["of_budget"]),
        None if data.get("width") is None else positive("width", data["width"]),
    )
