"""Carrying out an estimated plan, and what comes of it: draws whose certificate says that nothing is proved."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gibbsafe._files import write_whole
from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import fail
from gibbsafe.contamination.posterior.sampling import sample_posterior
from gibbsafe.contamination.release.certificate import EstimatedCertificate, certify
from gibbsafe.contamination.release.files import FORMAT, check_estimated
from gibbsafe.contamination.release.plans import EstimatedPlan
from gibbsafe.contamination.release.tables import read_records
from gibbsafe.data.census import Unit
from gibbsafe.data.sources import require_readable
from gibbsafe.errors import GibbsafeError, guarded, showing_values
from gibbsafe.privacy import Adjacency
from gibbsafe.queries.query import answer
from gibbsafe.randomness import use
from gibbsafe.release.describe import describe_table
from gibbsafe.release.draw import Guarded, Ledger, Receipted, Settled
from gibbsafe.release.files import read_release, sealed
from gibbsafe.release.signing import require_signer

if TYPE_CHECKING:
    from gibbsafe.queries import Answer, Query

__all__ = ["EstimatedRelease", "release_estimated"]


@dataclass(frozen=True, eq=False)
class EstimatedRelease:
    """Draws of a contaminated posterior, and a certificate of an *estimate*. No `Release`: nothing of it is proved.

    ``on_grid`` are the draws as they were rounded; `draws` are in the table's own units.
    """

    plan: EstimatedPlan
    certificate: EstimatedCertificate
    on_grid: Floats
    charge: Document | None = field(default=None, repr=False)
    signature: Document | None = field(default=None, repr=False)

    @property
    def draws(self) -> Floats:
        """The draws (rows) in the user's units."""
        return self.on_grid if self.plan.table is None else self.plan.table.to_original(self.on_grid)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the columns of `draws`."""
        return self.plan.parameters

    def answer(self, query: Query, *, questions: int = 1, failure: float = 0.05) -> Answer:
        """Answer a question of `gibbsafe.queries` from the draws."""
        return answer(self, query, None, questions, failure)

    def sample_of(self, of: str | None) -> tuple[str, Floats]:
        """Return the draws: an estimated release has no others."""
        if of == "population":
            fail("of", of, "'draws' for an estimated release: of the true parameter it promises nothing")
        return "draws", self.draws

    def summary(self) -> str:
        """Return a table of the draws: mean, standard deviation and central 90 % per parameter."""
        return describe_table(self.draws, self.parameters, "draws of the contaminated posterior")

    def to_dict(self) -> JSON:
        """Return the release file's content, hash included."""
        content = {
            "format": FORMAT,
            "plan": self.plan.to_dict(),
            "certificate": self.certificate.to_dict(),
            "parameters": list(self.parameters),
            "draws": self.on_grid.tolist(),
        }
        return sealed(content, self.charge, self.signature)

    def save(self, path: Path | str, *, force: bool = False) -> None:
        """Write the release as JSON, whole or not at all; an existing file is kept unless ``force`` says otherwise."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(path, text.encode(), force=force)

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        public_key: Path | str | None = None,
        key_list: Path | str | None = None,
        simulate: bool = False,
    ) -> EstimatedRelease:
        """Read a release file and check it; with ``simulate`` also by some repeats once more, as `gibbsafe.verify` does."""
        content = read_release(path)
        require_signer(content, public_key, key_list)
        return cls(*check_estimated(content, simulate=simulate))

    def __repr__(self) -> str:
        rows, columns = self.on_grid.shape
        return f"<EstimatedRelease of {rows} draw{'s' * (rows != 1)} of {columns} parameters, {self.plan.estimate}>"


def release_estimated(
    plan: EstimatedPlan,
    data: object,
    *,
    ledger: Ledger | None = None,
    generator: np.random.Generator | None = None,
    show_values: bool = False,
    **options: Any,
) -> EstimatedRelease:
    """Carry out an estimated plan: read the records, note the release in a journal, contaminate, draw, round, certify.

    Args:
        plan: made by `gibbsafe.plan` with an `EstimatedBudget`.
        data: x, or (x, w) with the constant 1 first, or a table with the plan's columns.
        ledger: a journal account (`gibbsafe.ledger.open_journal`), or None. Accounts of proved claims refuse it.
        generator: a seeded generator for tests, which marks the certificate; None for secure randomness.
        show_values: let refusals name counts of the data: for the curator's eyes only.
        options: none else; what only proved releases know is refused by name.
    """
    for name, value in options.items():
        if value not in (None, False, "float64", "error") and not callable(value):
            raise GibbsafeError(f"{name} = {value!r}: not for an estimated release; leave it out")
    require_readable(data)
    random, randomness = use(generator)
    if randomness == "seeded" and isinstance(ledger, Guarded):
        ledger.refuse_seeded()
    with showing_values(show_values):
        records = guarded(lambda: read_records(plan.model, plan.table, data), "data: cannot be read")
        Unit(1, plan.n if plan.adjacency == Adjacency.REPLACE_ONE else None).check(len(records[0]))
        charge = None if ledger is None else ledger.charge(plan)  # type: ignore[arg-type]
        on_grid = guarded(lambda: _draw(plan, records, random), "sampling: failed, a note in the journal stands", trusted=())
    receipt = charge.receipt if isinstance(charge, Receipted) else None
    released = EstimatedRelease(plan, certify(plan, randomness=randomness), on_grid, receipt)
    if isinstance(charge, Settled):
        charge.settle(released)  # type: ignore[arg-type]
    return released


def _draw(plan: EstimatedPlan, clean: tuple[Floats, Floats], generator: np.random.Generator) -> Floats:
    contaminated = plan.model.contaminate(clean, generator)
    made = sample_posterior(plan.model, contaminated, plan.draws, method=plan.sampler, generator=generator)
    on_grid = np.round(made.draws / plan.grid) * plan.grid
    on_grid.flags.writeable = False
    return on_grid
