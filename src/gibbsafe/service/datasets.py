"""Data sets: registered by their owners with a public study, an account of their own and a policy."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection, insert, select, update

from gibbsafe._types import JSON
from gibbsafe._validate import positive, probability
from gibbsafe.data.places import is_url
from gibbsafe.errors import GibbsafeError, ParameterError
from gibbsafe.ledger import Account, Database, open_account, parse_reference
from gibbsafe.ledger.journal import canonical
from gibbsafe.privacy import Budget
from gibbsafe.service.authority import ANY, Actor, decide, reach
from gibbsafe.service.base import Base, said
from gibbsafe.service.queue import add_job
from gibbsafe.service.refusals import Refusal, no_such
from gibbsafe.service.store import DOWN
from gibbsafe.service.studies import choices, declared
from gibbsafe.service.tables import datasets, policies, users
from gibbsafe.service.views import Choices, Dataset, Policy

__all__ = ["Datasets"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,79}")
JOINED = select(datasets, policies, users.c.name.label("owner")).select_from(
    datasets.join(policies, policies.c.dataset_id == datasets.c.id).join(users, users.c.id == datasets.c.owner_id)
)


class Datasets(Base):
    """Registering data sets, describing them, pausing them, and saying what may be asked of them."""

    def register_dataset(
        self,
        actor: Actor,
        *,
        name: str,
        source: str,
        study: object,
        epsilon: float,
        delta: float,
        description: str = "",
        policy: Policy | None = None,
    ) -> Dataset:
        """Register a file with its public study, and open the account (ε, δ) that all its releases together keep to.

        The web's process never opens the file: a worker looks at it, and the data set is ready when it has.
        """
        decide(actor, "register dataset")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise Refusal(422, "name: must be letters, digits, blanks, dots, dashes or underscores, at most 80, a letter first")
        description, public = said("description", description, 4000, needed=False), declared(study)
        place, budget = self._place(source, actor), _budget(epsilon, delta)
        rules = _checked(Policy(budget.epsilon) if policy is None else policy)
        dataset_id = self.settings.new_id()
        values: JSON = {"id": dataset_id, "owner_id": actor.user_id, "name": name, "description": description, "source": place}
        values |= {
            "study": canonical(public),
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "account": f"{name} {dataset_id}",
        }
        values |= {"state": "new", "note": "", "paused": False, "created": self.now()}
        with self.store.writing() as connection:
            if connection.execute(select(datasets.c.id).where(datasets.c.name == name)).first() is not None:
                raise Refusal(409, "name: another data set has it already; choose another")
            if connection.execute(select(datasets.c.id).where(datasets.c.source == place)).first() is not None:
                raise Refusal(409, "source: is registered already: records have one account, or their budget would be none")
            connection.execute(insert(datasets).values(**values))
            connection.execute(insert(policies).values(dataset_id=dataset_id, **asdict(rules)))
            add_job(connection, self.settings, dataset_id, None, 0.0)
            self.note(connection, actor, "register dataset", name)
            self._open_account(values, budget, public, actor)
        return self.dataset(actor, dataset_id)

    def _open_account(self, values: dict[str, Any], budget: Budget, public: dict[str, Any], actor: Actor) -> None:
        """Open the account of a new data set; whoever registers again after a failure gets a new one."""
        persons = bool(public.get("persons"))
        try:
            open_account(
                self.settings.ledger, values["account"], budget, adjacency=public["adjacency"],
                unit="person" if persons else "record", who=actor.name, reason="registered at the desk",
                anchor=self.settings.anchor, dataset=values["id"],
            )  # fmt: skip
        except ParameterError as error:
            raise Refusal(422, f"account: {' '.join(str(error).split())}") from None
        except GibbsafeError as error:
            raise as_refusal(error) from None

    def _place(self, source: str, actor: Actor) -> str:
        """Return the place of a data set's file: inside folders and stores that are open for its owner, and nowhere else."""
        text = said("source", source, 1000)
        parts = urlsplit(text)
        if is_url(text) and parts.scheme != "file":
            return self._in_store(text, actor)
        if "://" in text and (parts.scheme != "file" or parts.netloc not in ("", "localhost")):
            raise Refusal(422, "source: must be a path on the worker's machine, its file:// URL, or a URL of a store")
        path = Path(unquote(parts.path) if parts.scheme == "file" else text)
        if not path.is_absolute() or ".." in path.parts or "\0" in text:
            raise Refusal(422, "source: must be an absolute path without '..'")
        folders = [folder.absolute() for folder in self.settings.data]
        if self.settings.own_folders:
            folders = [folder / actor.name for folder in folders if NAME.fullmatch(actor.name)]
        if not any(path.is_relative_to(folder) for folder in folders):
            raise Refusal(422, "source: lies in none of the folders that the operator opened for data")
        return str(path)

    def _in_store(self, url: str, actor: Actor) -> str:
        """Return the URL of an object: of a store that is open for its owner, without user, options or ways back."""
        if any(odd in url for odd in ("..", "@", "?", "#", "%", "\\", "\0", "//../")) or "//" in url.split("://", 1)[1]:
            raise Refusal(422, "source: must be a plain URL, without '..', user, options or escapes")
        stores = self.settings.stores
        if self.settings.own_folders:
            stores = tuple(f"{store}{actor.name}/" for store in stores if NAME.fullmatch(actor.name))
        if not any(url.startswith(store) and len(url) > len(store) for store in stores):
            raise Refusal(422, "source: lies in none of the object stores that the operator opened for data")
        return url

    # -- reading -------------------------------------------------------------------------------------------------

    def datasets(self, actor: Actor) -> tuple[Dataset, ...]:
        """Return the data sets that somebody may see, by name."""
        found = reach(actor, "read dataset")
        query = JOINED.order_by(datasets.c.name)
        query = query if ANY in found.values() else query.where(datasets.c.owner_id == actor.user_id)
        with self.store.reading() as connection:
            return tuple(_view(row, actor) for row in connection.execute(query))

    def dataset(self, actor: Actor, dataset_id: str) -> Dataset:
        """Return what is public of a data set; its place too, for its owner."""
        with self.store.reading() as connection:
            return _view(self.dataset_row(connection, actor, "read dataset", dataset_id), actor)

    def choices(self, actor: Actor, dataset_id: str) -> Choices:
        """Return what a wizard offers of a data set: columns, models, purposes."""
        return choices(self.dataset(actor, dataset_id).study)

    def dataset_row(self, connection: Connection, actor: Actor, operation: str, dataset_id: str, *, lock: bool = False) -> Any:
        """Return the row of a data set that somebody may do this to, locked against others if asked."""
        reach(actor, operation)
        if lock:
            connection.execute(select(datasets.c.id).where(datasets.c.id == dataset_id).with_for_update())
        row = connection.execute(JOINED.where(datasets.c.id == dataset_id)).first()
        decide(actor, operation, {"owner": None if row is None else row.owner_id})
        if row is None:
            raise no_such("dataset")
        return row

    def account_of(self, row: Any) -> Account:
        """Return the account of a data set: no request names one."""
        return Account(Database(parse_reference(f"{self.settings.ledger}#x")[0]), row.account, self.settings.anchor)

    # -- changing ------------------------------------------------------------------------------------------------

    def pause_dataset(self, actor: Actor, dataset_id: str, paused: bool) -> Dataset:
        """Stop everything about a data set, or go on: while it is paused nothing is submitted, approved or released."""
        with self.store.writing() as connection:
            row = self.dataset_row(connection, actor, "pause dataset", dataset_id, lock=True)
            connection.execute(update(datasets).where(datasets.c.id == dataset_id).values(paused=bool(paused)))
            self.note(connection, actor, "pause dataset" if paused else "resume dataset", row.name)
        return self.dataset(actor, dataset_id)

    def set_policy(self, actor: Actor, dataset_id: str, policy: Policy) -> Dataset:
        """Say what may be asked: of requests that are submitted or approved from now on."""
        rules = _checked(policy)
        with self.store.writing() as connection:
            row = self.dataset_row(connection, actor, "set policy", dataset_id, lock=True)
            connection.execute(update(policies).where(policies.c.dataset_id == dataset_id).values(**asdict(rules)))
            self.note(connection, actor, "set policy", f"{row.name}: {canonical(asdict(rules))}")
        return self.dataset(actor, dataset_id)


def as_refusal(error: GibbsafeError) -> Refusal:
    """Return what whoever asks hears of the ledger: that it does not answer, or what it refused."""
    return Refusal(503, DOWN) if str(error).startswith("ledger ") else Refusal(409, " ".join(str(error).split())[:500])


def _budget(epsilon: float, delta: float) -> Budget:
    try:
        budget = Budget(epsilon, delta)
    except GibbsafeError as error:
        raise Refusal(422, str(error)) from None
    if budget.epsilon > 100:
        raise Refusal(422, "epsilon: above 100 an account protects nobody; choose less")
    return budget


def _checked(policy: Policy) -> Policy:
    """Return a policy whose numbers can be what they are called."""
    try:
        automatic = None if policy.automatic_epsilon is None else positive("automatic_epsilon", policy.automatic_epsilon)
        share = probability("analyst_share", policy.analyst_share) if policy.analyst_share != 1 else 1.0
        return Policy(positive("request_epsilon", policy.request_epsilon), share, automatic)
    except GibbsafeError as error:
        raise Refusal(422, str(error)) from None


def _view(row: Any, actor: Actor) -> Dataset:
    study, own = json.loads(row.study), row.owner_id == actor.user_id and actor.has("owner")
    policy = Policy(row.request_epsilon, row.analyst_share, row.automatic_epsilon)
    return Dataset(
        row.id, row.name, row.owner, row.description, study, row.state, row.paused, policy, row.epsilon, row.delta,
        str(study.get("adjacency")), study.get("n"), row.created, row.source if own else None, row.note if own else "",
    )  # fmt: skip
