"""What the desk answers: frozen values, plain enough for JSON and for pages. Times are whole seconds since 1970, UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gibbsafe._types import JSON
from gibbsafe.service.authority import Actor

__all__ = [
    "Book", "Certificate", "Choice", "Choices", "ColumnChoice", "Dataset", "LogEntry", "NewToken", "Policy", "Prediction",
    "Preview", "Quote", "Request", "Session", "Spending", "Summary", "SyntheticTable", "Token", "User",
]  # fmt: skip


@dataclass(frozen=True)
class User:
    """A person: a name, roles, whether they may come in, and what a provider of identities calls them."""

    id: str
    name: str
    roles: tuple[str, ...]
    active: bool
    subject: str | None
    created: int


@dataclass(frozen=True)
class Token:
    """A token as lists show it: never its text. ``last_day`` is the day of its last use, like 2026-03-14."""

    id: str
    user_id: str
    label: str
    created: int
    expires: int
    revoked: bool
    last_day: str | None


@dataclass(frozen=True)
class NewToken:
    """A token just made: ``text`` is shown this once and kept nowhere."""

    text: str = field(repr=False)
    token: Token


@dataclass(frozen=True)
class Session:
    """A browser's session: its secret (the cookie), and the token that every form of its pages must bring back."""

    secret: str = field(repr=False)
    csrf: str = field(repr=False)
    expires: int
    actor: Actor


@dataclass(frozen=True)
class LogEntry:
    """One line of the administrative log."""

    number: int
    time: int
    who: str
    action: str
    about: str


@dataclass(frozen=True)
class Policy:
    """What an owner allows: ε of one request at most, the share of the budget that one analyst gets, and what needs no approval.

    ``automatic_epsilon`` is None where every request waits for its owner.
    """

    request_epsilon: float
    analyst_share: float = 1.0
    automatic_epsilon: float | None = None


@dataclass(frozen=True)
class Dataset:
    """A data set: what is public of it. ``source`` is its place, for its owner; None for everybody else.

    ``state`` is ``"new"`` until a worker has seen the file, then ``"ready"``, or ``"unreadable"`` with a ``note`` for the owner.
    """

    id: str
    name: str
    owner: str
    description: str
    study: JSON
    state: str
    paused: bool
    policy: Policy
    epsilon: float
    delta: float
    adjacency: str
    n: int | None
    created: int
    source: str | None = None
    note: str = ""


@dataclass(frozen=True)
class ColumnChoice:
    """A declared column that a request may name: ``kind`` is number, category or label."""

    name: str
    kind: str
    bounds: tuple[Any, ...] | None
    levels: tuple[Any, ...] | None
    declared: JSON


@dataclass(frozen=True)
class Choices:
    """What a wizard offers of a data set: columns, and per model which kinds of target it takes ('' for none)."""

    columns: tuple[ColumnChoice, ...]
    models: dict[str, tuple[str, ...]]
    purposes: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """What an analyst chose in a wizard. ``options`` are the model's, as a study writes them under [model]."""

    model: str
    columns: tuple[str, ...]
    target: str | None = None
    epsilon: float = 1.0
    delta: float = 0.0
    purpose: str = "posterior"
    draws: int = 1
    options: JSON = field(default_factory=dict)


@dataclass(frozen=True)
class Quote:
    """What one release would cost an account: its share of each cap (main, slack, failure), and how often it fits from now on."""

    shares: dict[str, float]
    fits: int
    one_more_epsilon: float
    delta: float


@dataclass(frozen=True)
class Preview:
    """What a study would release, from public numbers alone.

    Attributes:
        study: the document that `Desk.submit` takes.
        plan: as people read it, label and text.
        plan_sha256: of the plan that would be submitted.
        quote: its price in the data set's account.
        attack: the best attacker's view (`gibbsafe.report.attack`).
        rehearsal: made-up tables of this shape, released at this ε (`Rehearsal.to_dict`); None where the model has none.
        widths: per parameter the width of its 90 % interval in the rehearsal; empty without one.
        due: seconds from approval to the result, if the queue is empty.
        warnings: one line each.
    """

    study: JSON
    plan: tuple[tuple[str, ...], ...]
    plan_sha256: str
    epsilon: float
    delta: float
    quote: Quote
    attack: JSON
    rehearsal: JSON | None
    widths: dict[str, float]
    due: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """A request as its analyst, the data's owner and auditors see it.

    ``state``: pending, refused, withdrawn, approved (queued or under way, nobody is told which), released, failed.
    ``due`` is when a result appears, once it is approved; late ones slip by whole slots. ``note`` says why it failed.
    ``automatic`` says whether a policy approved it.
    """

    id: str
    dataset_id: str
    dataset: str
    analyst: str
    purpose: str
    study: JSON
    plan: tuple[tuple[str, ...], ...]
    plan_sha256: str
    epsilon: float
    delta: float
    state: str
    note: str
    created: int
    decided: int | None
    decided_by: str | None
    due: int | None
    shares: dict[str, float]


@dataclass(frozen=True)
class Spending:
    """One charge of a ledger: which entry, who, why, the plan's ε and δ, its share of the main cap, and what became of it."""

    number: int
    day: str
    who: str
    reason: str
    mechanism: str
    share: float
    state: str
    request_id: str | None


@dataclass(frozen=True)
class Book:
    """A data set's account, recomputed entry by entry when it was asked for.

    ``shares`` is of each cap, what is spent. ``one_more_epsilon`` is what one more release may cost at the account's δ; there is
    no spent ε. ``verified`` is False with the reason in ``problem`` where entries do not fit together.
    """

    dataset_id: str
    account: str
    epsilon: float
    delta: float
    currency: str
    adjacency: str
    shares: dict[str, float]
    one_more_epsilon: float
    spent_by: dict[str, float]
    spending: tuple[Spending, ...]
    entries: int
    head: str
    verified: bool
    problem: str = ""


@dataclass(frozen=True)
class Certificate:
    """What a release claims, by which theorem, under which premises; and who signed it."""

    request_id: str
    certificate: JSON
    signature: JSON | None
    charge_entry: int | None
    release_sha256: str


@dataclass(frozen=True)
class Summary:
    """The true parameter according to a release: mean, interval and share decided by the data per parameter."""

    level: float
    rows: tuple[JSON, ...]
    note: str = ""


@dataclass(frozen=True)
class Prediction:
    """Predictions for rows that somebody brought, with their interval where the release tells one."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class SyntheticTable:
    """Made-up rows like the data's, from the release alone."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
