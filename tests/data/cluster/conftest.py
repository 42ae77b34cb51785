"""A cluster of two workers in this process, shared by a module's tests; they skip where Dask is not installed."""

import numpy as np
import pandas as pd
import pytest

import gibbsafe as gs

pytest.importorskip("distributed", reason="needs gibbsafe[dask]")

ROWS, WIDTH = 70_000, 3
NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=False, **options) as cluster, Client(cluster, set_as_default=False) as made:
        yield made


@pytest.fixture(scope="session")
def table():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(ROWS, WIDTH))
    return X, (generator.uniform(size=ROWS) < 0.3).astype(int)


@pytest.fixture(scope="session")
def frame(table):
    return pd.DataFrame(table[0], columns=NAMES).assign(y=table[1])


@pytest.fixture(scope="session")
def plan():
    model = gs.models.LogisticRegression(dimension=WIDTH, radius=2.0, feature_names=NAMES, target="y")
    return gs.plan(model, gs.Budget(1.0, 1e-6), n=ROWS, adjacency="replace-one", sampler="shell")


@pytest.fixture(scope="session")
def expected(plan, table):
    return plan.release(table, generator=np.random.default_rng(1)).draws


class Account:
    charges = 0

    def charge(self, plan):
        self.charges += 1


@pytest.fixture
def account():
    return Account()
