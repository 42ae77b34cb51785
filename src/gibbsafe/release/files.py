"""Release files: what they hold, and all that can be checked of them without data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gibbsafe._json import canonical_bytes, read_json
from gibbsafe._types import JSON, Document, Floats
from gibbsafe.errors import CertificateError
from gibbsafe.models.base import require_size
from gibbsafe.planning import Plan
from gibbsafe.release.certificate import Certificate, check_certificate
from gibbsafe.release.signing import check_receipt, check_signature
from gibbsafe.release.trajectories import trajectory_from_list
from gibbsafe.release.transcripts import transcript_from_dict
from gibbsafe.samplers.noisy_scores import Answers
from gibbsafe.samplers.trajectory import TRAJECTORY

__all__ = ["FORMAT", "Checked", "check_release", "digest", "is_estimated", "read_release", "sealed"]

#: Releases of draws, of an estimate with the transcript of its scores, and of a trajectory with its answers.
FORMAT, SCORES_FORMAT, CHAIN_FORMAT = "gibbsafe/release/1", "gibbsafe/release/2", "gibbsafe/release/3"
#: Releases of which nothing is proved (`gibbsafe.contamination`).
ESTIMATED_FORMAT = "gibbsafe/estimated-release/1"
FIELDS = {"format", "plan", "certificate", "parameters", "draws", "sha256"}
#: What a release may have besides: the ledger's receipt, and a signature over all the rest.
OPTIONAL = {"charge", "signature"}


def digest(content: Document) -> str:
    """Return the hash of a release file's content."""
    return hashlib.sha256(canonical_bytes(content)).hexdigest()


def sealed(content: JSON, charge: Document | None, signature: Document | None) -> JSON:
    """Return a release file's content with the ledger's receipt, the hash of all that, and a signature."""
    content = content if charge is None else content | {"charge": dict(charge)}
    content |= {"sha256": digest(content)}
    return content if signature is None else content | {"signature": dict(signature)}


def read_release(path: Path | str) -> Any:
    """Return the content of a release file, unchecked."""
    return read_json(path, "not a whole release file")


@dataclass(frozen=True, eq=False)
class Checked:
    """What a release file says, once it has been checked."""

    plan: Plan
    certificate: Certificate
    draws: Floats
    charge: Document | None
    signature: Document | None
    answers: Answers | None = None
    walk: Floats | None = None


def is_estimated(content: object) -> bool:
    """Whether a release is of an estimated plan: another format, and another type."""
    return isinstance(content, dict) and content.get("format") == ESTIMATED_FORMAT


def check_release(content: object) -> Checked:
    """Return what a release file says if hash, claim and draws are those of its own plan; raise `CertificateError` otherwise."""
    if is_estimated(content):
        raise CertificateError(
            "format: an estimated release, nothing of it is proved; use gs.contamination.EstimatedRelease.load"
        )
    if not isinstance(content, dict) or content.get("format") not in (FORMAT, SCORES_FORMAT, CHAIN_FORMAT):
        found = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise CertificateError(f"format = {found!r}: not a release of this version ({FORMAT}, {SCORES_FORMAT} or {CHAIN_FORMAT})")
    asks, walks = content["format"] == SCORES_FORMAT, content["format"] == CHAIN_FORMAT
    fields = FIELDS | {"transcript"} if asks else FIELDS | {"trajectory"} if walks else FIELDS
    if set(content) - OPTIONAL != fields:
        raise CertificateError(f"release fields {', '.join(sorted((set(content) - OPTIONAL) ^ fields))}: missing or unknown")
    body = {name: value for name, value in content.items() if name not in ("sha256", "signature")}
    try:
        if digest(body) != content["sha256"]:
            raise CertificateError("sha256: the content is not what was hashed; the file was altered or damaged")
    except ValueError as error:
        raise CertificateError(f"release: {error}") from error
    _check_size(content)
    plan = Plan.from_dict(content["plan"])
    certificate = check_certificate(content["certificate"], plan)
    charge, signature = check_receipt(content.get("charge")), check_signature(content.get("signature"))
    if asks != (plan.score_stage is not None):
        raise CertificateError("transcript: of plans that ask noisy scores, and of nothing else")
    if walks != (plan.mechanism == TRAJECTORY):
        raise CertificateError("trajectory: of plans that release one, and of nothing else")
    answers = transcript_from_dict(content["transcript"], plan) if asks else None
    draws = _check_draws(plan, content)
    walk = trajectory_from_list(content["trajectory"], plan, draws) if walks else None
    return Checked(plan, certificate, draws, charge, signature, answers, walk)


def _check_size(content: Document) -> None:
    """Refuse what is no table of numbers, and a plan of more parameters than the file has, before anything else is made of it."""
    names, rows, plan = content["parameters"], content["draws"], content["plan"]
    if not isinstance(names, list) or not isinstance(rows, list) or not isinstance(plan, dict):
        raise CertificateError("release: plan, parameters or draws are not what they are called")
    for row in rows:
        if not isinstance(row, list) or len(row) != len(names) or not all(type(x) is float or type(x) is int for x in row):
            raise CertificateError(f"draws: not rows of {len(names)} numbers each")
    if not isinstance(content["certificate"], dict) or not isinstance(plan.get("model"), dict):
        raise CertificateError("release: certificate or model is not a table of fields")
    require_size(plan["model"], len(names))


def _check_draws(plan: Plan, content: Document) -> Floats:
    if plan.model.parameters != len(content["parameters"]):
        raise CertificateError(f"parameters: {len(content['parameters'])} names, but the plan has {plan.model.parameters}")
    names = plan.model.parameter_names
    if content["parameters"] != list(names):
        raise CertificateError("parameters: not the names that the plan gives them")
    try:
        draws = np.array(content["draws"], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise CertificateError(f"draws: not a table of numbers ({error})") from error
    if draws.shape != (plan.draws, len(names)) or not np.isfinite(draws).all():
        raise CertificateError(f"draws: shape {draws.shape}, but the plan releases {plan.draws} draws of {len(names)} parameters")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows fits no grid
        steps = plan.model.from_original(draws) / plan.grid
        # An affine map there and back: rounding is a share of its terms.
        fits = np.abs(steps - np.round(steps)) <= 1e-3 + 2.0**-48 * plan.model.units.reach(draws) / plan.grid
    if not fits.all():
        raise CertificateError("draws: not on the plan's rounding grid")
    reason = plan.model.outside(draws, plan.grid)
    if reason is not None:
        raise CertificateError(f"draws: {reason}")
    draws.flags.writeable = False
    return draws
