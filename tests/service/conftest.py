"""A filled desk, built once; tests that change it work on a copy."""

import shutil
from functools import lru_cache

import pytest


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """A desk with data sets, requests and releases: for reading only."""
    pytest.importorskip("fastapi")
    pytest.importorskip("alembic")
    from .world import build, fill

    world = fill(build(tmp_path_factory.mktemp("desk")))
    world.keep()
    world.desk.calculations.report = lru_cache(world.desk.calculations.report)  # a picture is drawn once
    return world


@pytest.fixture
def world(filled):
    """The same desk, which a test may change: it is put back afterwards."""
    time = filled.clock.time
    yield filled
    filled.clock.time = time
    filled.restore()


@pytest.fixture(scope="session")
def application(filled):
    """The application of the filled desk."""
    from gibbsafe.service.application import create_app

    return create_app(filled.settings, filled.desk)


@pytest.fixture
def client(application):
    """A client of the application's API."""
    from starlette.testclient import TestClient

    with TestClient(application, raise_server_exceptions=False) as made:
        yield made


@pytest.fixture
def empty(tmp_path):
    """A desk with people and nothing else."""
    pytest.importorskip("fastapi")
    pytest.importorskip("alembic")
    from .world import build

    made = build(tmp_path / "desk")
    yield made
    shutil.rmtree(tmp_path / "desk", ignore_errors=True)
