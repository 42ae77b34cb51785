"""The certificate: what is claimed, by which theorem, under which premises, and how the draws were made."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import singledispatch
from types import MappingProxyType
from typing import Any

from gibbsafe._json import agrees
from gibbsafe._types import JSON, Document
from gibbsafe._version import __version__
from gibbsafe.domains.charges import entry_of
from gibbsafe.errors import CertificateError, PremiseError
from gibbsafe.models.base import GibbsModel, Model
from gibbsafe.models.capabilities import HoldsCode
from gibbsafe.models.families.family import Family
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.models.own.custom import Custom
from gibbsafe.planning import Plan
from gibbsafe.planning.facts import describe_prior
from gibbsafe.planning.files import stage_to_dict
from gibbsafe.planning.first_edition import ROUNDING, by_first_edition
from gibbsafe.privacy import Adjacency
from gibbsafe.release.describe import describe_certificate
from gibbsafe.samplers import SAMPLERS, noisy_scores, trajectory
from gibbsafe.theorems import Constants
from gibbsafe.theorems.constants import as_blocks

__all__ = ["Certificate", "certify"]

#: What a certificate says that does not follow from the plan.
OF_THE_RUN = {"randomness": ("secure", "seeded"), "storage": ("float64", "float32")}
#: What today's certificate and the first edition's must both state.
NUMBERS = ("adjacency", "n", "inverse_temperature", "purpose", "grid", "draws")


class Certificate(Document):
    """A read-only mapping of the certificate's fields; `print` shows it as text."""

    def __init__(self, fields: Document) -> None:
        self._fields = MappingProxyType(dict(fields))

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Any:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and dict(self._fields) == dict(other._fields)

    def __hash__(self) -> int:
        return hash(repr(dict(self._fields)))

    def to_dict(self) -> JSON:
        """Return plain data."""
        return dict(self._fields)

    def __repr__(self) -> str:
        return f"Certificate({dict(self._fields)!r})"

    def __str__(self) -> str:
        return describe_certificate(self)


def certify(plan: Plan, *, randomness: str, storage: str) -> Certificate:
    """State what a release under ``plan`` guarantees. Everything here follows from the plan, but for how it was run."""
    constants = plan.constants
    unit = "one record" if plan.rows_per_person == 1 else f"one person with at most {plan.rows_per_person} records"
    premises = [
        {"statement": premise.statement, "status": "checked" if premise.checked else "asserted"}
        for premise in plan.theorem.premises(constants, plan.adjacency)
    ]
    premises += [
        {"statement": "every record was clipped to the declared public domain", "status": "checked"},
        *_of_declaration(plan.model),
        *_of_the_user(plan.model),
        {"statement": "floating-point error of a draw is below the rounding grid", "status": "asserted"},
    ]
    return Certificate(
        {
            "claim": _claim(plan),
            "budget": {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta},
            "guarantee": plan.guarantee.to_dict(),
            "theorem": {"name": plan.theorem.name, "reference": plan.theorem.reference, "errata": list(plan.theorem.errata)},
            "premises": premises,
            "adjacency": plan.adjacency.value,
            "unit": unit,
            "n": plan.n if plan.adjacency == Adjacency.REPLACE_ONE else None,
            "constants": declared_constants(plan.model, constants, plan.adjacency),
            "inverse_temperature": plan.inverse_temperature,
            "prior": describe_prior(plan.model, plan.stages[-1]),
            "purpose": plan.purpose,
            "stages": [
                {
                    "inverse_temperature": each.inverse_temperature,
                    "scaled_precision": list(each.prior_precision),
                    "centre": "the draw of the stage before" if each.prior_centre is None else list(each.prior_centre),
                    "draws": each.draws,
                    "step": each.step,
                    "steps": each.steps,
                    "slack": each.slack,
                    "guarantee": claim.to_dict(),
                    **({} if each.scores is None else {"scores": asdict(each.scores)}),
                    **({} if each.chain is None else {"chain": stage_to_dict(each)["chain"]}),
                }
                for each, claim in zip(plan.stages, plan.stage_guarantees, strict=True)
            ],
            "sampler": {"name": plan.sampler, "proved": _proved(plan)},
            "slack": plan.slack,
            "grid": plan.grid,
            "draws": plan.draws,
            "randomness": randomness,
            "storage": storage,
            "version": __version__,
        }
    )


def _of_declaration(model: Model) -> list[JSON]:
    """Return where bounds and levels come from: chosen without looking at the data, or released under a charge of their own."""
    released = model.released_facts() if isinstance(model, LinearModel) else []
    exception = ", but for those released under a charge," if released else ""
    asserted = f"bounds, labels, prior and budget{exception} were chosen without looking at the data"
    return [
        {"statement": asserted, "status": "asserted"},
        *(
            {"statement": f"{fact.what} of {fact.name}: charge {fact.charge}", "status": entry_of(fact.charge)}
            for fact in released
        ),
    ]


def _of_the_user(model: Model) -> list[JSON]:
    """Return what rests on the user's word about code of the user's."""
    sentences = model.declared_by_user if isinstance(model, HoldsCode) else ()
    return [{"statement": sentence, "status": "asserted"} for sentence in sentences]


@singledispatch
def declared_constants(model: Model, constants: Constants, adjacency: Adjacency) -> dict[str, object]:
    """Return the constants that a certificate states: of a family all that are declared, in the user's units."""
    raise PremiseError(f"{type(model).__name__}: a model of no kind that certificates are made for")


@declared_constants.register
def _(model: Family, constants: Constants, adjacency: Adjacency) -> dict[str, object]:
    stated = {name: value for name, value in asdict(constants).items() if value is not None}
    stated |= {name: list(value) for name, value in stated.items() if isinstance(value, tuple)}
    return stated | {"units": "the user's"}


@declared_constants.register
def _(model: Custom, constants: Constants, adjacency: Adjacency) -> dict[str, object]:
    return {
        "clip": model.clip,
        "lipschitz": constants.lipschitz,
        "smoothness": constants.smoothness,
        "information": list(model.information),
        "units": "the parameters' own" if model.coordinates.are_own else "the chain's coordinates, as the model declares them",
    }


@declared_constants.register
def _(model: GibbsModel, constants: Constants, adjacency: Adjacency) -> dict[str, object]:
    ratio = model.loss.self_concordance
    return {
        "lipschitz": [] if constants.lipschitz is None else list(as_blocks(constants.lipschitz)),
        "difference_lipschitz": list(constants.gap_blocks(adjacency)) if constants.lipschitz else [],
        "record_radius": constants.record_radius,
        "parameter_ball": model.ball,
        "smoothness": constants.smoothness,
        "self_concordance": ratio if math.isfinite(ratio) else None,
        "units": "scaled: encoded rows, intercept included, have norm at most 1",
    }


def _proved(plan: Plan) -> str:
    """Return what is proved of how the release is made."""
    if plan.mechanism == "noisy-scores":
        return noisy_scores.PROVED
    if plan.mechanism == trajectory.TRAJECTORY:
        return trajectory.PROVED
    sampler = SAMPLERS[plan.sampler]
    return sampler.proved_within_slack if plan.slack else sampler.proved


def _claim(plan: Plan) -> JSON:
    claim = {"epsilon": plan.budget.claim(plan.guarantee), "delta": plan.budget.delta}
    try:
        return claim | {"mu": plan.guarantee.gaussian().mu}
    except PremiseError:  # a price by another route than Gaussian DP
        return claim | {"mu": None}


def check_certificate(stated: Document, plan: Plan) -> Certificate:
    """Return the stated certificate if it says what the plan gives, field by field; raise `CertificateError` otherwise.

    One by the first edition is restated: its numbers must be the plan's, its claim no less than the price, its sentences are
    those of today's theorems.
    """
    for field, allowed in OF_THE_RUN.items():
        if stated.get(field) not in allowed:
            raise CertificateError(f"certificate: {field} = {stated.get(field)!r}, must be one of {', '.join(allowed)}")
    if not isinstance(stated.get("version"), str):
        raise CertificateError("certificate: version is missing")
    again = certify(plan, randomness=stated["randomness"], storage=stated["storage"]).to_dict()
    again["version"] = stated["version"]
    if by_first_edition(stated):
        _compare({name: stated.get(name) for name in NUMBERS}, {name: again[name] for name in NUMBERS})
        stated = _not_below(stated, again)
    _compare(stated, again)
    if stated["claim"]["epsilon"] > plan.budget.epsilon or stated["claim"]["delta"] > plan.budget.delta:
        raise CertificateError(f"certificate: states {stated['claim']}, more than its budget {plan.budget}")
    return Certificate(stated)


def _compare(stated: Document, again: Document) -> None:
    for field in sorted(set(again) | set(stated)):
        if field not in again or field not in stated or not agrees(stated[field], again[field]):
            found, derived = stated.get(field), again.get(field)
            raise CertificateError(f"certificate: {field} is stated as {found!r}, but the plan gives {derived!r}")


def _not_below(stated: Document, again: JSON) -> JSON:
    """Return the certificate as it is stated today, unless the first edition's claimed less than its draws cost."""
    for field in ("claim", "budget"):
        told = stated.get(field)
        epsilon, delta = (told.get("epsilon"), told.get("delta")) if isinstance(told, dict) else (None, None)
        least = again[field]["epsilon"]
        if type(epsilon) is not float or delta != again[field]["delta"] or not least <= epsilon * (1 + 2 * ROUNDING):
            raise CertificateError(f"certificate: the first edition's {field} is stated as {told!r}, but ε is {least!r}")
    return again
