"""What the attacks need: both databases, an account with charges, and a way around the library."""

import os
import uuid

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import gibbsafe as gs

POSTGRES = os.environ.get("GIBBSAFE_TEST_POSTGRES")
needs_postgres = pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL server")
DATABASES = ["sqlite", pytest.param("postgresql", marks=needs_postgres)]


def around(url):
    """An engine that speaks to the database without the library."""
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    return POSTGRES if request.param == "postgresql" else f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def opened(url):
    def made(**options):
        budget = options.pop("budget", gs.Budget(1.0, 1e-6))
        return gs.ledger.open_account(url, f"attacked-{uuid.uuid4()}", budget, adjacency="replace-one", **options)

    return made


@pytest.fixture
def guarantee():
    """A quarter of the cap of the account above, a little rounded down: four fit."""
    return gs.privacy.GaussianDP(0.1177, adjacency="replace-one")


@pytest.fixture
def server():
    """A PostgreSQL database of its own, dropped at the end."""
    if not POSTGRES:
        pytest.skip("no PostgreSQL server")
    name = f"gibbsafe_{uuid.uuid4().hex}"
    outside = around(POSTGRES).execution_options(isolation_level="AUTOCOMMIT")
    with outside.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield POSTGRES.rsplit("/", 1)[0] + f"/{name}"
    with outside.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
