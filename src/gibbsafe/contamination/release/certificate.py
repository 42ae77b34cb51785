"""What a release of an estimated plan says of itself: estimated random DP, not proved, and all that this leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gibbsafe._json import agrees
from gibbsafe._types import JSON, Document
from gibbsafe._version import __version__
from gibbsafe.errors import CertificateError
from gibbsafe.planning.describe import table_of
from gibbsafe.planning.estimated import KIND
from gibbsafe.release.certificate import OF_THE_RUN, Certificate

if TYPE_CHECKING:
    from gibbsafe.contamination.release.plans import EstimatedPlan

__all__ = ["EstimatedCertificate", "certify", "check_certificate"]

NOT_PROMISED = (
    "differential privacy: nothing is promised of any particular data set or record",
    "anything in the failing fraction of data sets, which is not delta",
    "anything if the records do not come from the data model",
    "anything of this release together with another one: estimates do not compose, and no account has a total of them",
)
ASSERTED = (
    "the records come from the data model that was simulated",
    "model, contaminating density, prior, rate and budget were chosen without looking at the data",
    "the sampler drew from the posterior of the contaminated records",
)


class EstimatedCertificate(Certificate):
    """A certificate of an estimate. It has no field `claim`: whoever looks for a proved one finds none."""

    def __str__(self) -> str:
        return describe(self)


def certify(plan: EstimatedPlan, *, randomness: str) -> EstimatedCertificate:
    """State what a release under an estimated plan says. Everything follows from the plan, but for its randomness."""
    estimate = plan.estimate
    return EstimatedCertificate(
        {
            "kind": KIND,
            "estimate": estimate.to_dict(),
            "budget": plan.budget_to_dict(),
            "adjacency": plan.adjacency.value,
            "unit": "one record",
            "n": plan.n,
            "contamination": {"rate": plan.model.p(plan.n), "density": plan.model.density_name, "chosen": plan.chosen},
            "not_promised": list(NOT_PROMISED),
            "asserted": list(ASSERTED),
            "sampler": {"name": plan.sampler, "proved": "nothing of how far a draw's law is from the posterior"},
            "draws": plan.draws,
            "grid": plan.grid,
            "randomness": randomness,
            "version": __version__,
        }
    )


def check_certificate(stated: Document, plan: EstimatedPlan) -> EstimatedCertificate:
    """Return the stated certificate if it says what the plan gives, field by field."""
    if stated.get("randomness") not in OF_THE_RUN["randomness"]:
        raise CertificateError(f"certificate: randomness = {stated.get('randomness')!r}, must be secure or seeded")
    if not isinstance(stated.get("version"), str):
        raise CertificateError("certificate: version is missing")
    again: JSON = certify(plan, randomness=stated["randomness"]).to_dict() | {"version": stated["version"]}
    for field in sorted(set(again) | set(stated)):
        if not agrees(stated.get(field), again.get(field)):
            raise CertificateError(f"certificate: {field} is not what the plan gives")
    return EstimatedCertificate(stated)


def describe(fields: Document) -> str:
    """Return the certificate as text."""
    estimate, mixed = fields["estimate"], fields["contamination"]
    failing, confidence = f"{estimate['failure_probability']:.3g}", f"{estimate['confidence']:.4g}"
    seeded = "" if fields["randomness"] == "secure" else ": for tests only, do not publish"
    chosen = ", chosen by simulation" if mixed["chosen"] else ""
    pairs = [
        ("estimate", f"ε̂ = {estimate['epsilon']:.4g} at δ = {estimate['delta']:.3g}, by method {estimate['method']}"),
        ("holds for", f"all but {failing} of the data sets, at confidence {confidence}"),
        ("data model", estimate["data_model"]),
        ("repeats", f"{estimate['repeats']} simulated data sets, seed {estimate['seed']}"),
        ("neighbours", f"{fields['adjacency']}: {fields['unit']}, n = {fields['n']:,}"),
        ("contamination", f"rate {mixed['rate']:.4g}{chosen}; {mixed['density']}"),
        ("sampler", f"{fields['sampler']['name']}: proved is {fields['sampler']['proved']}"),
        ("draws", f"{fields['draws']}, grid {fields['grid']:.3g}"),
        ("randomness", fields["randomness"] + seeded),
        ("made by", f"gibbsafe {fields['version']}"),
    ]
    lists = [("Not promised", fields["not_promised"]), ("Asserted", fields["asserted"]), ("Notes", estimate["notes"])]
    told = [f"{title}\n" + "\n".join(f"  - {line}" for line in lines) for title, lines in lists if lines]
    return "\n".join([f"Certificate: {fields['kind'].upper()}", table_of(pairs), *told])
