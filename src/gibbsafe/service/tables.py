"""The service's tables. Times are whole seconds since 1970; studies, plans and releases are texts as they were hashed."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Integer, MetaData, String, Table, Text, UniqueConstraint

__all__ = ["datasets", "jobs", "log", "metadata", "policies", "requests", "results", "sessions", "tokens", "users"]

metadata = MetaData()


def _id(name: str = "id") -> Column[str]:
    return Column(name, String(64), primary_key=True)


def _of(name: str, table: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, String(64), ForeignKey(f"{table}.id"), nullable=nullable, index=True)


users = Table(
    "desk_users",
    metadata,
    _id(),
    Column("name", String(100), nullable=False, unique=True),
    Column("roles", String(100), nullable=False),
    Column("active", Boolean, nullable=False),
    Column("subject", String(300), unique=True),
    Column("created", BigInteger, nullable=False),
)

#: A token's text is shown once; only its SHA-256 is kept.
tokens = Table(
    "desk_tokens",
    metadata,
    _id(),
    _of("user_id", "desk_users"),
    Column("label", String(100), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Column("last_day", String(10)),
)

sessions = Table(
    "desk_sessions",
    metadata,
    _id("sha256"),
    _of("user_id", "desk_users"),
    _of("token_id", "desk_tokens", nullable=True),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)

#: ``fingerprint`` is a keyed hash of the file, whose key is the worker's; it is shown to nobody.
datasets = Table(
    "desk_datasets",
    metadata,
    _id(),
    _of("owner_id", "desk_users"),
    Column("name", String(100), nullable=False, unique=True),
    Column("description", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("study", Text, nullable=False),
    Column("epsilon", Float, nullable=False),
    Column("delta", Float, nullable=False),
    Column("account", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("note", Text, nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("fingerprint", String(64)),
    Column("created", BigInteger, nullable=False),
)

policies = Table(
    "desk_policies",
    metadata,
    Column("dataset_id", String(64), ForeignKey("desk_datasets.id"), primary_key=True),
    Column("request_epsilon", Float, nullable=False),
    Column("analyst_share", Float, nullable=False),
    Column("automatic_epsilon", Float),
)

#: ``price`` is in the ledger's whole units; ``about`` is the plan as people read it.
#: ``key`` makes a second submission of the same thing the first one again.
requests = Table(
    "desk_requests",
    metadata,
    _id(),
    _of("dataset_id", "desk_datasets"),
    _of("analyst_id", "desk_users"),
    Column("purpose", Text, nullable=False),
    Column("study", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("plan_sha256", String(64), nullable=False),
    Column("price", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("note", Text, nullable=False),
    Column("key", String(100), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("decided", BigInteger),
    Column("decided_by", String(100)),
    UniqueConstraint("analyst_id", "key", name="desk_one_request_per_key"),
)

#: One job per request, and one per data set that looks at its file. ``start`` and ``due`` are fixed when the job is made.
jobs = Table(
    "desk_jobs",
    metadata,
    _id(),
    _of("dataset_id", "desk_datasets"),
    _of("request_id", "desk_requests", nullable=True),
    Column("kind", String(20), nullable=False),
    Column("state", String(20), nullable=False, index=True),
    Column("start", BigInteger, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("worker", String(64)),
    Column("sign_of_life", BigInteger),
    Column("shown", BigInteger),
    Column("note", Text, nullable=False),
    UniqueConstraint("request_id", name="desk_one_job_per_request"),
)

results = Table(
    "desk_results",
    metadata,
    Column("request_id", String(64), ForeignKey("desk_requests.id"), primary_key=True),
    Column("release", Text, nullable=False),
)

log = Table(
    "desk_log",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("time", BigInteger, nullable=False),
    Column("who", String(100), nullable=False),
    Column("action", String(40), nullable=False),
    Column("about", String(200), nullable=False),
)
