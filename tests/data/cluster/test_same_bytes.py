"""A cluster gives the release of an array, bit for bit: however partitions are cut, whoever holds them, also after a loss."""

import os
import signal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

dask = pytest.importorskip("dask", reason="needs gibbsafe[dask]")
pytest.importorskip("distributed", reason="needs gibbsafe[dask]")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import gibbsafe as gs  # noqa: E402
from gibbsafe.data.blocks import Blocks  # noqa: E402
from gibbsafe.data.census import PersonCap, Unit  # noqa: E402
from gibbsafe.data.cluster.blocks import ClusterBlocks  # noqa: E402
from gibbsafe.data.cluster.crews import crew_of  # noqa: E402
from gibbsafe.data.cluster.encoding import encode_on_cluster  # noqa: E402
from gibbsafe.data.cluster.tables import ClusterTable  # noqa: E402
from gibbsafe.data.declared import DeclaredTable  # noqa: E402
from gibbsafe.data.options import EncodingOptions  # noqa: E402
from gibbsafe.data.stream import encode_records  # noqa: E402
from gibbsafe.domains.column import Column  # noqa: E402

from ...own_gaussian import gaussian  # noqa: E402

COLUMNS = tuple(Column(name, bounds=(-3, 3)) for name in "abc")
TARGET = Column("y", kind="label", levels=(0, 1))


def seeded():
    return np.random.default_rng(1)


@pytest.mark.parametrize("chunks", [(9_001, 2), (70_000, 3), (1 << 15, 3)])
def test_arrays_in_any_chunks(chunks, client, plan, table, expected):
    data = da.from_array(table[0], chunks=chunks), da.from_array(table[1], chunks=12_345)
    assert (plan.release(data, cluster=client, generator=seeded()).draws == expected).all()


def test_an_estimate_of_few_records(client, table):
    model = gs.models.LogisticRegression(dimension=3, radius=2.0)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=2_000, adjacency="replace-one", purpose="estimate")
    X, y = table[0][:2_000], table[1][:2_000]
    data = da.from_array(X, chunks=(700, 3)), da.from_array(y, chunks=700)
    expected = plan.release((X, y), generator=seeded()).draws
    assert (plan.release(data, cluster=client, generator=seeded()).draws == expected).all()


def test_a_likelihood_of_ones_own(client):
    plan = gs.plan(gaussian(steps=5), gs.Budget(5.0, 1e-6), n=2_000, adjacency="replace-one")
    records = seeded().normal([1.0, -2.0], 1.0, (2_000, 2))
    expected = plan.release((records,), generator=seeded()).walk
    data = (da.from_array(records, chunks=(700, 2)),)
    assert np.array_equal(plan.release(data, cluster=client, generator=seeded()).walk, expected)


def test_frames_in_any_partitions_an_empty_one_among_them(client, plan, frame, expected):
    parts = [frame.iloc[:20_000], frame.iloc[:0], frame.iloc[20_000:20_001], frame.iloc[20_001:]]
    data = dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0])
    assert (plan.release(data, cluster=client, generator=seeded()).draws == expected).all()


def test_rows_that_repeat_are_merged_as_in_memory(client):
    generator = np.random.default_rng(2)
    X, y = generator.integers(0, 3, (40_000, 2)).astype(float), generator.integers(0, 2, 40_000)
    model = gs.models.LogisticRegression(dimension=2, radius=2.0)
    made = gs.plan(model, gs.Budget(1.0, 1e-6), n=len(y), adjacency="replace-one", sampler="shell")
    data = da.from_array(X, chunks=(7_000, 2)), da.from_array(y, chunks=7_000)
    for storage in ("float64", "float32"):
        expected = made.release((X, y), generator=seeded(), storage=storage).draws
        assert (made.release(data, cluster=client, generator=seeded(), storage=storage).draws == expected).all()


def blocks_of(data, client, unit, persons=None, model=None, memory=None, on_invalid="error"):
    model = model or gs.models.LogisticRegression(dimension=3, radius=2.0, feature_names=("a", "b", "c"), target="y")
    with crew_of(client) as crew:
        options = EncodingOptions(on_invalid)
        return encode_on_cluster(model, ClusterTable(data, crew), options, unit=unit, persons=persons, memory=memory)


def rows_and_targets(blocks):
    rows = np.arange(blocks.n_rows)
    return blocks.take(rows)


@pytest.mark.parametrize("memory", [None, 1])
def test_records_are_looked_up_by_their_number(client, frame, memory):
    made = blocks_of(dd.from_pandas(frame, npartitions=3), client, Unit(), memory=memory)
    records = np.array([69_999, 0, 32_768, 32_767, 5, 5])
    here = encode_records(gs.models.LogisticRegression(dimension=3, radius=2.0), (frame[["a", "b", "c"]].to_numpy(), frame["y"]),
                          EncodingOptions(), unit=Unit())  # fmt: skip
    assert isinstance(made, ClusterBlocks)
    assert (made.take(records)[0] == here.rows[records]).all()


@pytest.mark.parametrize("cap", [2, 3])
@pytest.mark.parametrize("on_invalid", ["error", "replace"])
def test_persons_keep_their_first_rows_over_all_partitions(client, cap, on_invalid):
    generator = np.random.default_rng(3)
    who = generator.integers(0, 900, 3_000).astype(object)
    if on_invalid == "replace":
        who[generator.integers(0, 3_000, 40)] = None
    frame = pd.DataFrame({"a": generator.normal(size=3_000), "b": 0.0, "c": 0.5, "y": 0, "who": who})
    kept = PersonCap(cap, on_invalid).keep(who)
    n = len({each for each in who if each is not None})
    data = dd.from_delayed([dask.delayed(frame.iloc[k : k + 700]) for k in range(0, 3_000, 700)], meta=frame.iloc[:0])
    made = blocks_of(data, client, Unit(cap, n), "who", on_invalid=on_invalid)
    here = encode_records(gs.models.LogisticRegression(dimension=3, radius=2.0), (frame[["a", "b", "c"]].to_numpy(), frame["y"]),
                          EncodingOptions(), unit=Unit())  # fmt: skip
    assert made.n_rows == kept.sum()
    assert (rows_and_targets(made)[0] == here.rows[kept]).all()
    with pytest.raises(gs.DomainError, match="not the n = 7 persons"):
        blocks_of(data, client, Unit(cap, 7), "who", on_invalid=on_invalid)


def test_persons_beside_arrays(client):
    X, who = np.random.default_rng(0).normal(size=(1_000, 3)), np.repeat(np.arange(250), 4)
    y = np.zeros(1_000, dtype=int)
    data = da.from_array(X, chunks=(300, 3)), da.from_array(y, chunks=300)
    made = blocks_of(data, client, Unit(2, 250), da.from_array(who, chunks=300))
    assert made.n_rows == 500


def test_a_study_s_file_and_directory(client, frame, expected, tmp_path):
    made = gs.plan(
        gs.models.LogisticRegression.from_columns(COLUMNS, TARGET, {}), gs.Budget(1.0, 1e-6), n=len(frame),
        adjacency="replace-one", sampler="shell",
    )  # fmt: skip
    table = pa.Table.from_pandas(frame, preserve_index=False)
    here = made.release(DeclaredTable(table, (TARGET,), COLUMNS), generator=seeded()).draws
    pq.write_table(table, tmp_path / "whole.parquet", row_group_size=11_111)
    for k in range(4):
        pq.write_table(table.slice(20_000 * k, 20_000), tmp_path / f"part-{k}.parquet")
    (tmp_path / "parts").mkdir()
    for path in tmp_path.glob("part-*"):
        path.rename(tmp_path / "parts" / path.name)
    wide = dd.from_pandas(frame.assign(secret=1.0), npartitions=3)
    for source in (tmp_path / "whole.parquet", tmp_path / "parts", wide):
        data = DeclaredTable(source, (TARGET,), COLUMNS)
        assert (made.release(data, cluster=client, generator=seeded()).draws == here).all()


def test_models_without_targets_and_of_codes(client):
    generator = np.random.default_rng(4)
    X = generator.normal(size=(50_000, 2))
    mean = gs.plan(gs.models.GaussianMean(dimension=2, radius=1.0), gs.Budget(1.0, 1e-6), n=50_000, adjacency="replace-one")
    here = mean.release(X, generator=seeded()).draws
    assert (mean.release(da.from_array(X, chunks=(8_000, 1)), cluster=client, generator=seeded()).draws == here).all()
    y = generator.integers(0, 2, 900)
    bernoulli = gs.plan(gs.models.BetaBernoulli(alpha=1.0, beta=1.0), gs.Budget(1.0, 1e-6), n=900, adjacency="replace-one")
    here = bernoulli.release(y, generator=seeded()).draws
    assert (bernoulli.release(da.from_array(y, chunks=99), cluster=client, generator=seeded()).draws == here).all()


def test_no_rows_at_all_under_add_remove(client, frame):
    made = gs.plan(
        gs.models.LogisticRegression(dimension=3, radius=2.0, feature_names=("a", "b", "c"), target="y"),
        gs.Budget(1.0, 1e-6), n=None, adjacency="add-remove",
    )  # fmt: skip
    data = dd.from_delayed([dask.delayed(frame.iloc[:0])] * 2, meta=frame.iloc[:0])
    here = made.release(frame.iloc[:0], generator=seeded()).draws
    assert (made.release(data, cluster=client, generator=seeded()).draws == here).all()


def test_the_client_at_work_is_taken(client, plan, frame, expected):
    data = dd.from_pandas(frame, npartitions=2)
    with client.as_current():
        assert (plan.release(data, generator=seeded()).draws == expected).all()
    with pytest.raises(gs.GibbsafeError, match="need a client; start one"):
        plan.release(data)


def test_a_worker_that_is_killed_changes_nothing(plan, frame, expected, monkeypatch):
    """By address, in processes of their own; one is ended by force in the middle of the passes."""
    passes, reduce = [], ClusterBlocks.reduce
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:

        def counted(blocks, *arguments):
            passes.append(1)
            if len(passes) == 3:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            return reduce(blocks, *arguments)

        monkeypatch.setattr(ClusterBlocks, "reduce", counted)
        data = dd.from_pandas(frame, npartitions=4)
        found = plan.release(data, cluster=cluster.scheduler_address, generator=seeded()).draws
    assert len(passes) > 4
    assert (found == expected).all()


def test_what_travels_is_small(client, plan, frame, monkeypatch):
    """No pass sends back more than a few sums for every run."""
    import pickle

    sizes, made = [], blocks_of(dd.from_pandas(frame, npartitions=4), client, Unit())
    results = type(made.crew).results

    def measured(crew, futures):
        found = results(crew, futures)
        sizes.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr(type(made.crew), "results", measured)
    plan.model.posterior(made, plan.stages[0], np.zeros(plan.model.parameters)).gradient(np.zeros(plan.model.parameters))
    assert len(sizes) == 1  # one round trip
    assert sizes[0] < 2_000
    assert isinstance(made.merged(), ClusterBlocks | Blocks)
