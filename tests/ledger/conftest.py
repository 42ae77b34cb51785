"""The same tests on a SQLite file and, where a server is (GIBBSAFE_TEST_POSTGRES), on PostgreSQL."""

import os
import uuid

import pytest

import gibbsafe as gs

POSTGRES = os.environ.get("GIBBSAFE_TEST_POSTGRES")
DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL server"))]


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    return POSTGRES if request.param == "postgresql" else f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def open_account(url):
    def opened(budget=None, *, name=None, adjacency="replace-one", **options):
        chosen = gs.Budget(1.0, 1e-6) if budget is None else budget
        return gs.ledger.open_account(url, name or f"test-{uuid.uuid4()}", chosen, adjacency=adjacency, **options)

    return opened


@pytest.fixture(scope="session")
def plan():
    """A plan that costs a tenth of the usual account's μ²."""
    model = gs.models.BernoulliLogit()
    return gs.plan(model, gs.Budget(0.3, 1e-6), n=20, adjacency="replace-one")
