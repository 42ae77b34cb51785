"""``gibbsafe release``: the only command that reads records. Charge, sample, write, settle."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import Anchor, Force, Json, Quiet, RefusedPurpose, app, print_json, say

if TYPE_CHECKING:
    from gibbsafe._types import JSON, Document
    from gibbsafe.ledger import Account, Charge
    from gibbsafe.planning import Plan
    from gibbsafe.release import Release
    from gibbsafe.study import Study


LedgerOption = Annotated[str | None, typer.Option(help="Account to charge, URL#account; by default the study's.")]
UntrustedOption = Annotated[
    bool, typer.Option("--untrusted-study", help="Charge before a record is decoded, replace invalid entries.")
]
ShowValuesOption = Annotated[
    bool, typer.Option("--show-values", help="Let refusals name values, rows and counts: for the curator only.")
]
WorkersOption = Annotated[int | None, typer.Option(help="Threads that share the work; by default all cores. Same result.")]
ClusterOption = Annotated[str | None, typer.Option(help="A Dask scheduler, tls://…, whose workers read and keep the records.")]
InsecureOption = Annotated[
    bool, typer.Option("--insecure-cluster", help="Take a cluster on whose connections somebody could listen.")
]


@app.command("release")
def release(
    study: Annotated[Path, typer.Argument(help="The study file (.toml).")],
    *,
    data: Annotated[str, typer.Option(help="The table: CSV, Parquet, Arrow, NumPy, a directory of them, or a URL of either.")],
    out: Annotated[Path, typer.Option(help="Where the release is written; an existing file is kept.")] = Path("release.json"),
    ledger: LedgerOption = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Charge nobody: you keep the budget by yourself.")] = False,
    key: Annotated[str | None, typer.Option(help="Name of the charge; by default the plan's hash.")] = None,
    reason: Annotated[str, typer.Option(help="Why, for the ledger's readers.")] = "",
    anchor: Anchor = None,
    dataset: Annotated[str | None, typer.Option(help="Id of the data set, if the account is bound to one.")] = None,
    sign: Annotated[Path | None, typer.Option(help="Sign the release with this private key.")] = None,
    memory: Annotated[str | None, typer.Option(help="Room for encoded rows, like 500MB; beyond it they wait on disk.")] = None,
    storage: Annotated[str | None, typer.Option(help="float64, or float32 for half the memory; by default as planned.")] = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    insecure_cluster: InsecureOption = False,
    untrusted_study: UntrustedOption = False,
    show_values: ShowValuesOption = False,
    clipping: Annotated[bool, typer.Option("--clipping", help="Count clipped values on stderr: for the curator only.")] = False,
    force: Force = False,
    purpose: RefusedPurpose = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read the table, charge the ledger, draw, and write the release with its certificate.

    The charge comes before the first random number and is never refunded: a crash or an interrupt leaves it unreleased.

    Examples:

    `gibbsafe release study.toml --data table.csv --out release.json --no-ledger`

    `gibbsafe release study.toml --data s3://bucket/visits --cluster tls://scheduler:8786 --ledger ledger.db#clinic`

    `gibbsafe release theirs.toml --data table.csv --untrusted-study --ledger ledger.db#clinic`
    """
    from gibbsafe._files import require_free
    from gibbsafe.cli.inputs import parse_size
    from gibbsafe.study import Study

    _refuse_misuse(ledger, no_ledger=no_ledger, untrusted=untrusted_study, shown=show_values or clipping)
    loaded = Study.load(study)
    planned, room = loaded.plan(), parse_size(memory)
    if untrusted_study:  # whoever wrote it chooses neither account, nor marks, nor the name of the data
        loaded = replace(loaded, account=None, anchor=None, dataset=None)
    account, signer, named = _account(loaded, ledger, no_ledger, anchor), _Signer(sign), dataset or loaded.dataset
    _refuse_account(account, named, as_json=as_json)
    require_free(out, force=force, inputs=[study, data, *([] if sign is None else [sign])])
    table = loaded.read(data)
    counts = _clipped(loaded, data) if clipping else ""
    deferred = _deferred(account, key=key, reason=reason, dataset=named, signer=signer.key_id)
    how: JSON = {"progress": False if quiet or as_json else None, "show_values": show_values, "untrusted": untrusted_study}
    how |= {"persons": loaded.person_column, "storage": storage, "memory": room, "workers": workers}
    how |= {"cluster": cluster, "insecure_cluster": insecure_cluster}
    released = signer.sign(planned.release(table, ledger=deferred, **how))
    _write(released, out, deferred, force=force)
    _tell(released, out, deferred, counts, as_json=as_json, quiet=quiet)


def _refuse_account(account: Account | None, dataset: str | None, *, as_json: bool) -> None:
    """Refuse an account of other data, or one whose marks would go where the release's document goes."""
    from gibbsafe.cli.ledger import refuse_two_documents

    if account is not None:
        refuse_two_documents(account.anchor_place(), as_json)
        account.refuse_other_data(dataset)


def _deferred(account: Account | None, **about: object) -> DeferredCharge | None:
    return None if account is None else DeferredCharge(account, about)


def _refuse_misuse(ledger: str | None, *, no_ledger: bool, untrusted: bool, shown: bool) -> None:
    if ledger is not None and no_ledger:
        raise typer.BadParameter("--ledger and --no-ledger exclude each other")
    if untrusted and shown:
        raise typer.BadParameter("--untrusted-study excludes --show-values and --clipping: they show what depends on records")
    if untrusted and ledger is None:
        raise typer.BadParameter("--untrusted-study needs --ledger: whoever wrote the study must not choose the account")


class _Signer:
    """Whoever signs the release: a private key, or nobody."""

    def __init__(self, path: Path | None) -> None:
        from gibbsafe.release.signing import key_id, read_private

        self._private = None if path is None else read_private(path)
        self.key_id = None if self._private is None else key_id(self._private.public_key())

    def sign(self, release: Release) -> Release:
        from gibbsafe.release.signing import sign

        return release if self._private is None else sign(release, self._private)


@dataclass
class DeferredCharge:
    """Charges an account at once, and settles when the release is on disk."""

    account: Account
    about: Document
    charged: Charge | None = field(default=None)

    def charge(self, plan: Plan) -> Receipt:
        """Charge the plan; what is returned has a receipt for the file, and nothing to settle yet."""
        self.charged = self.account.charge(plan, **self.about)
        return Receipt(self.charged.receipt)


@dataclass(frozen=True)
class Receipt:
    """What a release says of its charge."""

    receipt: Document | None


def _account(study: Study, reference: str | None, no_ledger: bool, anchor: str | None) -> Account | None:
    from gibbsafe import ledger
    from gibbsafe.errors import BudgetError

    wanted = None if no_ledger else reference or study.account
    if wanted is None and not no_ledger:
        raise BudgetError("ledger: no account is named; write [ledger] into the study, pass --ledger URL#account, or --no-ledger")
    return None if wanted is None else ledger.account(wanted, anchor or study.anchor)


def _write(released: Release, out: Path, deferred: DeferredCharge | None, *, force: bool) -> None:
    """Write the release, then settle: an entry says released only if the file is there."""
    from gibbsafe.errors import GibbsafeError

    number = None if deferred is None or deferred.charged is None else deferred.charged.number
    try:
        released.save(out, force=force)
    except GibbsafeError as error:
        spent = "" if number is None else f"; entry {number} of the ledger stays unreleased, its budget is spent"
        raise GibbsafeError(f"{error}{spent}") from error
    if deferred is None or deferred.charged is None:
        return
    try:
        deferred.charged.settle(released)
    except GibbsafeError as error:
        raise GibbsafeError(
            f"{out} is written and charged, but entry {number} could not be marked released ({error}); "
            f"run 'gibbsafe ledger mark {deferred.account} {out}' later"
        ) from error


def _tell(released: Release, out: Path, deferred: DeferredCharge | None, counts: str, *, as_json: bool, quiet: bool) -> None:
    """Say what was done, now that nothing can be refused any more."""
    if counts:
        say(counts, err=True)
    entry = None if deferred is None or deferred.charged is None else deferred.charged.number
    if as_json:
        charged: JSON | None = None if deferred is None else {"account": str(deferred.account), "entry": entry}
        stated = released.certificate
        said = {"claim": dict(stated["claim"])} if "claim" in stated else {"kind": stated["kind"], "estimate": stated["estimate"]}
        document = {"release": str(out), **said, "charge": charged}
        print_json(document | {"parameters": list(released.parameters), "draws": len(released.draws)})
    elif not quiet:
        say(f"{released.summary()}\n\n{released.certificate}\n")
        paid = "charged to nobody" if deferred is None else f"charged to {deferred.account} as entry {entry}"
        say(f"wrote {out}, {paid}")


def _clipped(study: Study, data: str) -> str:
    """Return what the declared domain changes, for the curator."""
    from gibbsafe.data.clipping import count_clipped

    head = "for the curator only, these counts depend on the data and are not private:"
    return "\n".join([head, *(f"  {name}: {text}" for name, text in count_clipped(study.read(data)).items())])
