"""Files of estimated plans and releases, and all that can be checked of them without data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._json import agrees
from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import choice, count, real
from gibbsafe.contamination.epsilon.estimate import OF_THE_PRIOR, notes_of, simulated_model
from gibbsafe.contamination.model.declare import model_from_table
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.contamination.release.certificate import EstimatedCertificate, check_certificate
from gibbsafe.contamination.release.plans import FORMAT as PLAN_FORMAT
from gibbsafe.contamination.release.plans import METHODS, EstimatedPlan
from gibbsafe.contamination.release.tables import Table
from gibbsafe.errors import CertificateError, GibbsafeError, PremiseError
from gibbsafe.privacy import Adjacency, EstimatedBudget
from gibbsafe.release.files import ESTIMATED_FORMAT as FORMAT
from gibbsafe.release.files import FIELDS, OPTIONAL, digest
from gibbsafe.release.signing import check_receipt, check_signature

__all__ = ["FORMAT", "check_estimated", "plan_from_dict"]

PLAN_FIELDS = {
    "format", "model", "budget", "n", "adjacency", "draws", "method", "chosen", "truth", "data_model", "notes", "method_name",
    "seed", "values", "table", "grid", "estimate",
}  # fmt: skip
#: How many of the repeats are simulated once more, and how closely they must come out, whatever the machine.
SIMULATED_AGAIN, TOLERANCE = 2, 1e-3
#: Most repeats that a file may state.
MOST_VALUES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Described(ContaminatedModel):
    """A model of somebody's own functions, as a file knows it: in words, and no more."""

    name = "own"
    words: str = ""
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._settle(None)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """As the file names them."""
        return self.names

    @property
    def density_name(self) -> str:
        """As the model's words say."""
        return self.words.rpartition("contamination: ")[2]

    def p(self, n: int) -> float:
        """Return the rate that the file states."""
        return self.rate or 0.0

    def describe(self) -> str:
        """Return the words of the file."""
        return self.words

    def read(self, data: object) -> tuple[Floats, Floats]:
        """Refuse: nobody knows the functions."""
        raise PremiseError("model: functions of somebody's own, which a file does not hold; make the plan anew")


def _described(table: Document) -> Described:
    if set(table) != {"own", "parameters", "rate"} or not isinstance(table["own"], str):
        raise CertificateError("plan: a model of its own has the fields own, parameters and rate")
    rate = None if table["rate"] == 0 else real("rate", table["rate"])
    return Described(words=table["own"], names=tuple(str(name) for name in table["parameters"]), rate=rate)


def plan_from_dict(data: Document) -> EstimatedPlan:
    """Rebuild an estimated plan; its order statistic is recomputed from the stated values, and one above budget is refused."""
    if not isinstance(data, Mapping) or data.get("format") != PLAN_FORMAT:
        found = data.get("format") if isinstance(data, Mapping) else type(data).__name__
        raise CertificateError(f"format = {found!r}: not an estimated plan of this version ({PLAN_FORMAT})")
    if set(data) != PLAN_FIELDS:
        raise CertificateError(f"plan fields {', '.join(sorted(set(data) ^ PLAN_FIELDS))}: missing or unknown")
    try:
        planned = _rebuilt(data)
        _check_words(planned)
        planned.budget.claim(planned.estimate)
        written = planned.to_dict()
    except CertificateError:
        raise
    except (GibbsafeError, TypeError, KeyError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise CertificateError(f"plan: {' '.join(str(error).split())[:300]}") from error
    for name in data:
        if not agrees(data[name], written[name]):
            raise CertificateError(f"plan: {name} is not what the plan's own values give")
    return planned


def _rebuilt(data: Document) -> EstimatedPlan:
    values = data["values"]
    if not isinstance(values, list) or not 0 < len(values) <= MOST_VALUES or not all(type(each) is float for each in values):
        raise CertificateError("plan: values are not a list of numbers")
    model = _described(data["model"]) if "own" in data["model"] else model_from_table(data["model"])[0]
    return EstimatedPlan(
        model=model,
        budget=EstimatedBudget(**data["budget"]),
        n=count("n", data["n"], least=2),
        adjacency=Adjacency.of(data["adjacency"]),
        draws=count("draws", data["draws"]),
        method=choice("method", data["method"], METHODS),
        chosen=data["chosen"] is True,
        truth=None if data["truth"] is None else np.array([real("truth", each) for each in data["truth"]]),
        data_model=data["data_model"],
        notes=tuple(data["notes"]),
        method_name=data["method_name"],
        seed=count("seed", data["seed"], least=0),
        values=tuple(real("values", each) for each in values),
        table=None if data["table"] is None else Table.from_dict(data["table"]),
    )


def _check_words(plan: EstimatedPlan) -> None:
    """Refuse words about the simulation that are not those of the plan's own model; of somebody's functions none are known."""
    model = plan.model
    if isinstance(model, Described):
        return
    begin, rest = simulated_model(model, plan.n), plan.data_model
    places = [OF_THE_PRIOR] if plan.truth is None else ["true parameters [", "true parameters ", "the worst of "]
    if not (rest.startswith(begin) and rest.removeprefix(begin).startswith(tuple(places))):
        raise CertificateError("plan: data_model is not what the plan's model says")
    if plan.method_name != model.method_name(plan.method):
        raise CertificateError("plan: method_name is not that of its method")
    if plan.notes != notes_of(model, plan.method, None, plan.budget.delta, plan.draws):
        raise CertificateError("plan: notes are not those of its method")


def check_estimated(
    content: object, *, simulate: bool = False
) -> tuple[EstimatedPlan, EstimatedCertificate, Floats, JSON | None, JSON | None]:
    """Return plan, certificate, draws, receipt and signature of a release file, if all is what its own plan gives.

    With ``simulate`` the first repeats are simulated once more and compared, where the file holds the model.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CertificateError(f"format: not an estimated release of this version ({FORMAT})")
    if set(content) - OPTIONAL != FIELDS:
        raise CertificateError(f"release fields {', '.join(sorted((set(content) - OPTIONAL) ^ FIELDS))}: missing or unknown")
    try:
        whole = digest({name: value for name, value in content.items() if name not in ("sha256", "signature")})
    except ValueError as error:
        raise CertificateError(f"release: {error}") from error
    if whole != content["sha256"]:
        raise CertificateError("sha256: the content is not what was hashed; the file was altered or damaged")
    plan = plan_from_dict(content["plan"])
    if not isinstance(content["certificate"], dict):
        raise CertificateError("certificate: not a table of fields")
    certificate = check_certificate(content["certificate"], plan)
    draws = _check_draws(plan, content["parameters"], content["draws"])
    if simulate and not isinstance(plan.model, Described):
        _simulate_again(plan)
    charge, signature = check_receipt(content.get("charge")), check_signature(content.get("signature"))
    return plan, certificate, draws, charge, signature  # type: ignore[return-value]


def _check_draws(plan: EstimatedPlan, names: object, rows: Any) -> Floats:
    if names != list(plan.parameters):
        raise CertificateError("parameters: not the names that the plan gives them")
    width = len(plan.parameters)
    listed = isinstance(rows, list) and all(isinstance(row, list) and len(row) == width for row in rows)
    if not listed or len(rows) != plan.draws or not all(type(each) is float for row in rows for each in row):
        raise CertificateError(f"draws: not {plan.draws} rows of {width} numbers each")
    draws = np.array(rows, dtype=np.float64)
    if not np.array_equal(np.round(draws / plan.grid) * plan.grid, draws):
        raise CertificateError("draws: not on the plan's rounding grid")
    draws.flags.writeable = False
    return draws


def _simulate_again(plan: EstimatedPlan) -> None:
    """Simulate the first repeats once more: a file whose values are not those of its own model is refused."""
    many = min(SIMULATED_AGAIN, len(plan.values))
    try:
        again = plan.again(many)
    except (GibbsafeError, ArithmeticError, ValueError, MemoryError) as error:
        raise CertificateError(f"values: cannot be simulated again ({' '.join(str(error).split())[:200]})") from error
    if not np.allclose(again, plan.values[:many], rtol=TOLERANCE, atol=1e-9):
        raise CertificateError("values: the simulation, run once more, gives others")
