"""The ledger's two tables: accounts with their sums, and a journal of entries that is only ever appended to."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, MetaData, String, Table, Text, UniqueConstraint

__all__ = ["FORMAT", "accounts", "anchors", "anchors_metadata", "entries", "metadata"]

FORMAT = "gibbsafe/ledger/1"

metadata = MetaData()

#: Caps and sums are whole units of 2⁻²⁰⁰ as text: exact in every database.
accounts = Table(
    "gibbsafe_accounts",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("format", String(40), nullable=False),
    Column("opening", Text, nullable=False),
    *(Column(f"spent_{part}", Text, nullable=False) for part in ("main", "slack", "failure")),
    Column("entries", Integer, nullable=False),
    Column("head", String(64), nullable=False),
)

#: ``body`` is the text that was hashed; ``plan`` is bound to it by its own hash. Release entries have no key.
entries = Table(
    "gibbsafe_entries",
    metadata,
    Column("account", String(200), ForeignKey("gibbsafe_accounts.name"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("key", String(200)),
    Column("body", Text, nullable=False),
    Column("plan", Text),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    UniqueConstraint("account", "key", name="gibbsafe_one_charge_per_key"),
)

anchors_metadata = MetaData()

#: Marks of ledgers that live in another database (`gibbsafe.ledger.anchor`).
anchors = Table(
    "gibbsafe_anchors",
    anchors_metadata,
    Column("account", String(200), primary_key=True),
    Column("ledger", String(64), primary_key=True),
    Column("entries", Integer, primary_key=True),
    Column("head", String(64), primary_key=True),
)
