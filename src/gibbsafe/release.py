"""The release: the only step that reads records. Clip and encode, charge, sample, round, certify."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from gibbsafe._files import write_whole
from gibbsafe._json import canonical_bytes, read_json
from gibbsafe._validate import choice, count, fail
from gibbsafe.certificate import Certificate, certify, check_certificate
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.data.census import Unit
from gibbsafe.data.compression import merge_identical
from gibbsafe.data.sources import require_readable
from gibbsafe.data.stream import count_rows, encode_records
from gibbsafe.errors import CertificateError, DomainError, GibbsafeError, guarded, showing_values
from gibbsafe.models.model import Array, EncodingOptions, require_size
from gibbsafe.plan import Plan
from gibbsafe.privacy import Adjacency
from gibbsafe.progress import Report, sampling_bar
from gibbsafe.randomness import use
from gibbsafe.samplers import SAMPLERS, Diagnostics
from gibbsafe.signing import KeyList, check_receipt, check_signature, read_public, require_signed

if TYPE_CHECKING:
    from gibbsafe.intervals import Intervals
    from gibbsafe.queries import Answer, Query
    from gibbsafe.queries.synthetic import SyntheticRows

__all__ = ["Release", "release", "verify"]

FORMAT = "gibbsafe/release/1"
FIELDS = {"format", "plan", "certificate", "parameters", "draws", "sha256"}
#: What a release may have besides: the ledger's receipt, and a signature over all the rest.
OPTIONAL = {"charge", "signature"}


class Ledger(Protocol):
    """Whoever keeps the budget: charged before anything is sampled."""

    def charge(self, plan: Plan) -> object:
        """Record the plan's price, or raise `BudgetError`; what it returns is told of the release by ``settle``, if it can."""


class CuratorDiagnostics:
    """What the sampler saw. All of it depends on the data: for the curator's eyes, never saved, never pickled."""

    def __init__(self, values: object) -> None:
        self.values = values

    def __reduce__(self) -> NoReturn:
        raise GibbsafeError("curator diagnostics depend on the data and cannot be saved or pickled")

    def __repr__(self) -> str:
        return f"CuratorDiagnostics({self.values!r})"


@dataclass(frozen=True, eq=False)
class Release:
    """Posterior draws in the user's units, and the certificate of what they reveal. All questions to it are free."""

    plan: Plan
    certificate: Certificate
    draws: Array
    _diagnostics: CuratorDiagnostics | None = field(default=None, repr=False)
    #: Which entry of which ledger paid for it (`gibbsafe.ledger.account.Charge`), and who signed it (`gibbsafe.sign`).
    charge: Mapping[str, Any] | None = field(default=None, repr=False)
    signature: Mapping[str, Any] | None = field(default=None, repr=False)

    # -- questions -----------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the columns of `draws`."""
        return self.plan.model.parameter_names

    @property
    def curator_diagnostics(self) -> CuratorDiagnostics:
        """Mode, acceptance and timings of the run that made this release: only in the process that made it."""
        if self._diagnostics is None:
            raise GibbsafeError("curator_diagnostics: exist only in the process that sampled; a file never has them")
        return self._diagnostics

    def predict_proba(self, features: Any) -> Array:
        """Return class probabilities for new rows, averaged over the draws; rows are encoded and clipped as in training."""
        return self._capable("predict_proba")(features, self.draws)  # type: ignore[no-any-return]

    def predict(self, features: Any) -> npt.NDArray[Any]:
        """Return predictions for new rows, encoded and clipped as in training."""
        return self._capable("predict")(features, self.draws)  # type: ignore[no-any-return]

    def _capable(self, method: str) -> Any:
        if not hasattr(self.plan.model, method):
            raise GibbsafeError(f"{method}: not defined for the model {self.plan.model.name}")
        return getattr(self.plan.model, method)

    def answer(self, query: Query, *, questions: int = 1, failure: float = 0.05) -> Answer:
        """Answer a question of `gibbsafe.queries`: free, being a function of the draws.

        Where a bound on the error is known it holds for ``questions`` such questions at once, but with probability ``failure``.
        """
        from gibbsafe.queries.query import answer

        return answer(self, query, questions, failure)

    def interval(self, level: float = 0.9, *, radius: float | None = None, dispersion: float | None = None) -> Intervals:
        """Return an interval for every true parameter that allows for data noise, draw noise and the prior's pull.

        Free: it uses the draws and public numbers only. With few draws it is the public worst case, and says so.

        Args:
            level: the coverage aimed at, for each parameter by itself.
            radius: D, how far the truth can be from the prior's centre in scaled units (default: the plan's prior radius).
            dispersion: how many times as noisy records are as the likelihood declares (1; a variance for squared losses).
        """
        from gibbsafe.intervals import intervals

        return intervals(self, level, radius=radius, dispersion=dispersion)

    def simulate(self, rows: int, features: Any = None, generator: np.random.Generator | None = None) -> SyntheticRows:
        """Return synthetic rows, spread evenly over the draws: free, with a note on what they are not.

        Args:
            rows: how many.
            features: for regressions, the rows to simulate responses for.
            generator: a seeded generator for a repeatable table.
        """
        from gibbsafe.queries.synthetic import simulate

        return simulate(self, rows, features, generator)

    def summary(self) -> str:
        """Return a table of the draws: mean, standard deviation and central 90 % per parameter."""
        from gibbsafe.describe import describe_draws

        return describe_draws(self)

    def to_arviz(self) -> Any:
        """Return the draws as an ArviZ `InferenceData` with one chain (needs the extra ``gibbsafe[arviz]``)."""
        try:
            import arviz
        except ImportError as error:
            raise GibbsafeError("arviz is not installed: install gibbsafe[arviz]") from error
        return arviz.from_dict(posterior={name: self.draws[None, :, k] for k, name in enumerate(self.parameters)})

    # -- files ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the release file's content, hash included."""
        content = {
            "format": FORMAT,
            "plan": self.plan.to_dict(),
            "certificate": self.certificate.to_dict(),
            "parameters": list(self.parameters),
            "draws": self.draws.tolist(),
        }
        content |= {} if self.charge is None else {"charge": dict(self.charge)}
        content |= {"sha256": _digest(content)}
        return content if self.signature is None else content | {"signature": dict(self.signature)}

    def save(self, path: Path | str, *, force: bool = False) -> None:
        """Write the release as JSON, whole or not at all; an existing file is kept unless ``force`` says otherwise."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(path, text.encode(), force=force)

    @classmethod
    def load(cls, path: Path | str, *, public_key: Path | str | None = None, key_list: Path | str | None = None) -> Release:
        """Read a release file and check all that `verify` checks."""
        return _verified(_read(path), public_key, key_list)

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self.to_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restored = _check_release(state["content"])
        for name in ("plan", "certificate", "draws", "charge", "signature"):
            object.__setattr__(self, name, getattr(restored, name))
        object.__setattr__(self, "_diagnostics", None)

    def __repr__(self) -> str:
        rows, columns = self.draws.shape
        return f"<Release of {rows} draw{'s' * (rows != 1)} of {columns} parameters, {self.plan.guarantee}>"


def release(
    plan: Plan,
    data: Any,
    *,
    ledger: Ledger | None = None,
    persons: Any = None,
    on_invalid: str = "error",
    storage: str = "float64",
    generator: np.random.Generator | None = None,
    progress: bool | Report | None = None,
    memory: int | None = None,
    show_values: bool = False,
    untrusted: bool = False,
) -> Release:
    """Carry out a plan on data.

    Args:
        plan: made by `gibbsafe.plan`.
        data: a pair (X, y), or a table with named columns that speaks the Arrow C stream.
        ledger: the account to charge before sampling, or None.
        persons: one identifier per row (or the name of a table's column), needed if the plan caps rows per person.
        on_invalid: ``"error"`` refuses NaN, infinities and unknown labels; ``"replace"`` puts public values in their place.
        storage: ``"float64"`` or ``"float32"``, how encoded rows are kept; products are always taken in float64.
        generator: a seeded generator for tests, which marks the certificate; None for secure randomness.
        progress: True, False, or a function to call; by default a bar if stderr is a terminal.
        memory: how many bytes encoded rows of a table may take; beyond it they are kept in a file without a name.
        show_values: let refusals name values, rows and counts of the data: for the curator's eyes only.
        untrusted: whoever wrote the plan is not trusted with refusals (docs/trust.md): invalid entries are always replaced, and
            the ledger is charged before any record is decoded. A wrong number of records is refused before the charge, by
            counting alone; whatever fails later keeps the charge.

    Guarantees:
        Refusals depend on the plan, the form of the input and values outside the declared domain only, and no message shows
        anything of the records. Whatever lies inside is released: the sampler runs until it accepts. The charge comes before the
        first random number; missing packages and options that fit nothing are found before it.
    """
    if untrusted and (ledger is None or show_values):
        name, why = ("ledger", "an account to charge") if ledger is None else ("show_values", "False")
        fail(name, ledger if ledger is None else show_values, f"{why} with untrusted=True")
    options = EncodingOptions(
        "replace" if untrusted else choice("on_invalid", on_invalid, ("error", "replace")),
        choice("storage", storage, ("float64", "float32")),
    )
    require_readable(data)
    if memory is not None:
        count("memory", memory)
    unit = Unit(plan.rows_per_person, plan.n if plan.adjacency == Adjacency.REPLACE_ONE else None)
    if unit.of_persons and persons is None:
        raise DomainError("persons: rows_per_person is declared, so pass an identifier per row (persons=...)")
    random, randomness = use(generator)
    if randomness == "seeded" and ledger is not None and hasattr(ledger, "refuse_seeded"):
        ledger.refuse_seeded()

    def encoded() -> RowBlocks:
        blocks = encode_records(plan.model, data, options, unit=unit, persons=persons, memory=memory)
        return merge_identical(blocks) if plan.model.counts_weights else blocks

    with showing_values(show_values):
        if untrusted:
            guarded(lambda: _check_count(data, unit), "data: cannot be counted")
            charge = None if ledger is None else ledger.charge(plan)
            blocks = guarded(encoded, "data: cannot be read")
        else:
            blocks = guarded(encoded, "data: cannot be read")
            charge = None if ledger is None else ledger.charge(plan)
        with sampling_bar(progress, sum(stage.draws for stage in plan.stages)) as report:
            on_grid, diagnostics = guarded(
                lambda: _draw_stages(plan, blocks, random, report), "sampling: failed, a charge stands", trusted=()
            )
    draws = plan.model.to_original(on_grid)
    draws.flags.writeable = False
    certificate = certify(plan, randomness=randomness, storage=storage)
    made = Release(plan, certificate, draws, CuratorDiagnostics(diagnostics), getattr(charge, "receipt", None))
    if hasattr(charge, "settle"):
        charge.settle(made)
    return made


def _check_count(data: Any, unit: Unit) -> None:
    """Refuse a number of records that is not the plan's, from lengths and metadata alone; persons are counted by their rows."""
    found = None if unit.n is None or unit.of_persons else count_rows(data)
    if found is not None:
        unit.check(found)


def _draw_stages(
    plan: Plan, blocks: Any, generator: np.random.Generator, report: Report | None
) -> tuple[Array, tuple[Diagnostics, ...]]:
    """Draw from every stage in turn, each centred at the draw before where the plan says so; round to the grid."""
    sampler, seen = SAMPLERS[plan.sampler], []
    on_grid = np.zeros((1, plan.model.parameters))
    for stage in plan.stages:
        centre = on_grid[-1] if stage.prior_centre is None else np.array(stage.prior_centre)
        posterior = plan.model.posterior(blocks, stage, centre)
        scaled, diagnostics = sampler.function(posterior, stage.draws, generator, report, **sampler.options(stage))
        on_grid = np.round(scaled / plan.grid) * plan.grid
        seen.append(diagnostics)
    return on_grid, tuple(seen)


# -- verification ----------------------------------------------------------------------------------------------------


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_bytes(content)).hexdigest()


def _read(path: Path | str) -> Any:
    return read_json(path, "not a whole release file")


def _check_release(content: Any) -> Release:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise CertificateError(f"format = {found!r}: not a release of this version ({FORMAT})")
    if set(content) - OPTIONAL != FIELDS:
        raise CertificateError(f"release fields {', '.join(sorted((set(content) - OPTIONAL) ^ FIELDS))}: missing or unknown")
    body = {name: value for name, value in content.items() if name not in ("sha256", "signature")}
    try:
        if _digest(body) != content["sha256"]:
            raise CertificateError("sha256: the content is not what was hashed; the file was altered or damaged")
    except ValueError as error:
        raise CertificateError(f"release: {error}") from error
    _check_size(content)
    plan = Plan.from_dict(content["plan"])
    certificate = check_certificate(content["certificate"], plan)
    charge, signature = check_receipt(content.get("charge")), check_signature(content.get("signature"))
    return Release(plan, certificate, _check_draws(plan, content), None, charge, signature)


def _check_size(content: Mapping[str, Any]) -> None:
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


def _check_draws(plan: Plan, content: Mapping[str, Any]) -> Array:
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
        fits = np.abs(steps - np.round(steps)) <= 1e-3 + 2.0**-48 * plan.model.reach(draws) / plan.grid
    if not fits.all():
        raise CertificateError("draws: not on the plan's rounding grid")
    reason = plan.model.outside(draws, plan.grid)
    if reason is not None:
        raise CertificateError(f"draws: {reason}")
    draws.flags.writeable = False
    return draws


def verify(
    source: Path | str | Release, *, public_key: Path | str | None = None, key_list: Path | str | None = None
) -> Certificate:
    """Recompute hash and claim of a release without data; return its certificate or raise `CertificateError`.

    It detects accident and inconsistency: a torn or altered file, a claim that the stated constants do not give. Forgery it
    detects by a signature only: with ``public_key`` the release must be signed by that key, or by one that ``key_list``, signed
    by that key, names and has not revoked. Whoever holds no key can still write a consistent file, but no signed one.
    """
    content = json.loads(json.dumps(source.to_dict())) if isinstance(source, Release) else _read(source)
    return _verified(content, public_key, key_list).certificate


def _verified(content: Any, public_key: Path | str | None, key_list: Path | str | None) -> Release:
    """Return the release that a file's content is, if it holds and, where a key is named, is signed by it."""
    if public_key is not None or key_list is not None:
        if public_key is None:
            raise CertificateError("key_list: needs the public key that signed it")
        trusted = read_public(public_key)
        if not isinstance(content, dict):
            raise CertificateError("release: not a release of this version")
        require_signed(content, trusted, None if key_list is None else KeyList.load(key_list, trusted))
    return _check_release(content)
