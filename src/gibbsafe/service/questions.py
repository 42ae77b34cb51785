"""Questions to what was released: files, reports, summaries, predictions, synthetic rows. All free: no data are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import select

from gibbsafe._types import JSON
from gibbsafe.errors import GibbsafeError
from gibbsafe.release import Release
from gibbsafe.service.answers import predicted, summarised, synthesised
from gibbsafe.service.authority import Actor
from gibbsafe.service.previews import Previews
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.tables import results
from gibbsafe.service.views import Certificate, Prediction, Summary, SyntheticTable

__all__ = ["Questions"]

NOT_YET = "release: there is none yet; look at the request for its time"
#: What models and queries raise on rows that they do not understand.
UNFIT = (GibbsafeError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


@lru_cache(maxsize=32)
def _release(text: str) -> Release:
    return Release.from_dict(json.loads(text))


class Questions(Previews):
    """What analysts do with a release."""

    def release_file(self, actor: Actor, request_id: str) -> str:
        """Return release.json: signed, for `gibbsafe verify --public-key`."""
        return self._released(actor, "read release", request_id)

    def certificate(self, actor: Actor, request_id: str) -> Certificate:
        """Return what a release claims and who signed it, without a draw."""
        content = json.loads(self._released(actor, "read certificate", request_id))
        charge = content.get("charge")
        entry = None if charge is None else int(charge["entry"])
        return Certificate(request_id, content["certificate"], content.get("signature"), entry, content["sha256"])

    def report(self, actor: Actor, request_id: str) -> str:
        """Return the report of a release: one HTML page that needs nothing else."""
        return self.calculations.report(self._released(actor, "read release", request_id))

    def public_key(self) -> str:
        """Return the public key that verifies signatures of this desk; verifiers should have it by another way as well."""
        try:
            return self.settings.public_key.read_text()
        except OSError:
            raise Refusal(503, "key: the desk's public key cannot be read; tell the operator") from None

    # -- questions -----------------------------------------------------------------------------------------------

    def summary(self, actor: Actor, request_id: str, level: float = 0.9) -> Summary:
        """Return what is known of every true parameter; where a release tells nothing of it, of its draws."""
        if not 0 < level < 1:
            raise Refusal(422, "level: must lie between 0 and 1")
        release = _release(self._released(actor, "ask release", request_id))
        try:
            return summarised(release, level)
        except UNFIT as error:
            raise Refusal(422, f"summary: {_reason(error)}") from None

    def predict(self, actor: Actor, request_id: str, rows: Sequence[JSON]) -> Prediction:
        """Return predictions for rows that somebody brought: column names and values, clipped as the data's were."""
        release = _release(self._released(actor, "ask release", request_id))
        table = self._columns(rows)
        try:
            return predicted(release, table)
        except UNFIT as error:
            raise Refusal(422, f"rows: {_reason(error)}") from None

    def synthetic(self, actor: Actor, request_id: str, rows: int, features: Sequence[JSON] | None = None) -> SyntheticTable:
        """Return made-up rows from the release: whole records, or responses to features that somebody brought."""
        release = _release(self._released(actor, "ask release", request_id))
        if not 1 <= rows <= self.settings.largest_rows:
            raise Refusal(422, f"rows: must be from 1 to {self.settings.largest_rows:,}")
        given = None if features is None else self._columns(features)
        try:
            return synthesised(release, rows, given)
        except UNFIT as error:
            raise Refusal(422, f"synthetic: {_reason(error)}") from None

    def _columns(self, rows: Sequence[JSON]) -> dict[str, Any]:
        """Return rows of names and values as columns."""
        if not rows or len(rows) > self.settings.largest_rows:
            raise Refusal(422, f"rows: must be from 1 to {self.settings.largest_rows:,}")
        names = list(rows[0])
        if any(set(row) != set(names) for row in rows):
            raise Refusal(422, "rows: all must have the same columns")
        return {name: [row[name] for row in rows] for name in names}

    def _released(self, actor: Actor, operation: str, request_id: str) -> str:
        """Return the text of a release once its time has come."""
        with self.store.reading() as connection:
            row = self.request_row(connection, actor, operation, request_id)
            if self._request_view(row).state != "released":
                raise Refusal(409, NOT_YET)
            return str(connection.execute(select(results.c.release).where(results.c.request_id == request_id)).scalar_one())


def _reason(error: Exception) -> str:
    """Return why rows do not fit; they are whoever's who brought them, so that nothing private can be in it."""
    if isinstance(error, GibbsafeError):
        return " ".join(str(error).split())[:300]
    return "do not fit the release's columns; bring every feature by name, numbers as numbers"
