"""The tables of the first version."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Integer, String, Text, UniqueConstraint

revision = "first"
down_revision = None


def _id(name: str = "id") -> Column[str]:
    return Column(name, String(64), primary_key=True)


def _of(name: str, table: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, String(64), ForeignKey(f"{table}.id"), nullable=nullable, index=True)


def _text(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def _time(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _short(name: str, length: int, *, nullable: bool = False) -> Column[str]:
    return Column(name, String(length), nullable=nullable)


def upgrade() -> None:
    """Make every table."""
    _people()
    _data()
    _work()


def _people() -> None:
    op.create_table(
        "desk_users", _id(), Column("name", String(100), nullable=False, unique=True), _short("roles", 100),
        Column("active", Boolean, nullable=False), Column("subject", String(300), unique=True), _time("created"),
    )  # fmt: skip
    op.create_table(
        "desk_tokens", _id(), _of("user_id", "desk_users"), _short("label", 100),
        Column("sha256", String(64), nullable=False, unique=True), _time("created"), _time("expires"),
        Column("revoked", Boolean, nullable=False), _short("last_day", 10, nullable=True),
    )  # fmt: skip
    op.create_table(
        "desk_sessions", _id("sha256"), _of("user_id", "desk_users"), _of("token_id", "desk_tokens", nullable=True),
        _time("created"), _time("expires"),
    )  # fmt: skip
    op.create_table(
        "desk_log", Column("number", Integer, primary_key=True, autoincrement=True), _time("time"), _short("who", 100),
        _short("action", 40), _short("about", 200),
    )  # fmt: skip


def _data() -> None:
    op.create_table(
        "desk_datasets", _id(), _of("owner_id", "desk_users"), Column("name", String(100), nullable=False, unique=True),
        *_text("description", "source", "study"), Column("epsilon", Float, nullable=False),
        Column("delta", Float, nullable=False),
        _short("account", 200), _short("state", 20), *_text("note"), Column("paused", Boolean, nullable=False),
        _short("fingerprint", 64, nullable=True), _time("created"),
    )  # fmt: skip
    op.create_table(
        "desk_policies", Column("dataset_id", String(64), ForeignKey("desk_datasets.id"), primary_key=True),
        Column("request_epsilon", Float, nullable=False), Column("analyst_share", Float, nullable=False),
        Column("automatic_epsilon", Float),
    )  # fmt: skip


def _work() -> None:
    op.create_table(
        "desk_requests", _id(), _of("dataset_id", "desk_datasets"), _of("analyst_id", "desk_users"),
        *_text("purpose", "study", "plan"), _short("plan_sha256", 64), *_text("price", "about"), _short("state", 20),
        *_text("note"), _short("key", 100), _time("created"), _time("decided", nullable=True),
        _short("decided_by", 100, nullable=True), UniqueConstraint("analyst_id", "key", name="desk_one_request_per_key"),
    )  # fmt: skip
    op.create_table(
        "desk_jobs", _id(), _of("dataset_id", "desk_datasets"), _of("request_id", "desk_requests", nullable=True),
        _short("kind", 20), Column("state", String(20), nullable=False, index=True), _time("start"), _time("due"),
        _short("worker", 64, nullable=True), _time("sign_of_life", nullable=True), _time("shown", nullable=True),
        *_text("note"), UniqueConstraint("request_id", name="desk_one_job_per_request"),
    )  # fmt: skip
    op.create_table(
        "desk_results", Column("request_id", String(64), ForeignKey("desk_requests.id"), primary_key=True), *_text("release")
    )
