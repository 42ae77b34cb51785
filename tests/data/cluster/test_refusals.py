"""What is wrong with a cluster or its partitions is one line; what is found before the charge costs nothing."""

import json
import socket

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="needs gibbsafe[dask]")
pytest.importorskip("distributed", reason="needs gibbsafe[dask]")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import gibbsafe as gs  # noqa: E402
from gibbsafe.data.census import Unit  # noqa: E402
from gibbsafe.data.cluster import crews, tasks  # noqa: E402
from gibbsafe.data.cluster.blocks import ClusterBlocks  # noqa: E402
from gibbsafe.data.cluster.crews import Crew, crew_of, is_private  # noqa: E402
from gibbsafe.data.cluster.encoding import encode_on_cluster  # noqa: E402
from gibbsafe.data.cluster.tables import ClusterTable  # noqa: E402
from gibbsafe.data.options import EncodingOptions  # noqa: E402
from gibbsafe.data.stream import encode_records  # noqa: E402

from ...examples import EXAMPLES, records  # noqa: E402

SECRET = 41_999.0


def refused(plan, data, words, account, charged=0, **options):
    with pytest.raises(gs.GibbsafeError, match=words) as found:
        plan.release(data, ledger=account, generator=np.random.default_rng(0), **options)
    said = str(found.value)
    assert "\n" not in said
    assert str(SECRET) not in said
    assert account.charges == charged
    return said


def in_parts(frame, *parts):
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0], verify_meta=False)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_model_s_records_are_encoded_as_here(name, client):
    model, data = EXAMPLES[name].model, records(EXAMPLES[name].model, 90)
    here = encode_records(model, data, EncodingOptions(), unit=Unit())
    parts = data if isinstance(data, tuple) else (data,)
    spread = tuple(da.from_array(np.asarray(part), chunks=(40, *np.shape(part)[1:])) for part in parts)
    with crew_of(client) as crew:
        table = ClusterTable(spread if isinstance(data, tuple) else spread[0], crew)
        made = encode_on_cluster(model, table, EncodingOptions(), unit=Unit())
    rows, targets = made.take(np.arange(90))
    assert (rows == here.rows).all()
    assert (targets is None) == (here.targets is None)
    assert targets is None or (targets == here.targets).all()


# -- partitions -------------------------------------------------------------------------------------------------------------


def test_partitions_with_other_columns(client, plan, frame, account):
    refused(plan, in_parts(frame, frame.iloc[:100], frame.iloc[100:].rename(columns={"b": "bb"})),
            "partition 1: column 'b': found 0 times", account, cluster=client)  # fmt: skip


def test_partitions_with_values_outside_the_domain_name_none(client, plan, frame, account):
    broken = frame.iloc[100:].assign(y=SECRET)
    data = in_parts(frame, frame.iloc[:100], broken)
    refused(plan, data, "partition 1: ", account, cluster=client)
    with pytest.raises(gs.GibbsafeError, match=r"41999"):
        plan.release(data, cluster=client, show_values=True)


def test_identifiers_of_two_types(client, frame, account):
    model = gs.models.LogisticRegression(dimension=3, radius=2.0, feature_names=("a", "b", "c"), target="y")
    made = gs.plan(model, gs.Budget(1.0, 1e-6), n=50, adjacency="replace-one", rows_per_person=2)
    few = frame.iloc[:100].assign(who=np.arange(100) // 2)
    data = in_parts(few, few.iloc[:50], few.iloc[50:].assign(who=few["who"].astype(str)))
    refused(made, data, "partition 1: column 'who' is of type .*string, but of int64 in partition 0", account, cluster=client,
            persons="who")  # fmt: skip
    refused(made, few, "a cluster takes Dask arrays or frames", account, cluster=client, persons="who")
    assert made.release(dd.from_pandas(few, npartitions=3), cluster=client, persons="who").draws.shape == (1, 4)


def test_another_number_of_records(client, plan, frame, account):
    refused(plan, dd.from_pandas(frame.iloc[:500], npartitions=2), "not the n = 70000 records", account, cluster=client)
    options = {"cluster": client, "untrusted": True}
    refused(plan, dd.from_pandas(frame.iloc[:500], npartitions=2), "not the n = 70000 records", account, **options)


def test_untrusted_studies_pay_before_a_record_is_encoded(client, plan, frame, account, monkeypatch):
    broken = frame.assign(a=np.where(np.arange(len(frame)) == 7, np.inf, frame["a"]))
    assert plan.release(dd.from_pandas(broken, npartitions=2), cluster=client, untrusted=True, ledger=account).draws.shape == (
        1,
        4,
    )
    assert account.charges == 1


def test_arrays_that_do_not_fit_together(client, plan, table, account):
    X, y = table
    refused(
        plan, (da.from_array(X, chunks=(9_000, 3)), da.from_array(y[:-1], chunks=9_000)), "data: |X, y", account, cluster=client
    )
    refused(plan, (da.from_array(X, chunks=(9_000, 3)), y), "a cluster takes Dask arrays", account, cluster=client)


def test_a_source_that_changes_while_it_is_read_again(client):
    made = tasks.Encoded(np.zeros((3, 1)), None)
    with pytest.raises(gs.GibbsafeError, match="other records than before"):
        tasks.cut(0, 2, 4, made)


def test_a_partition_that_cannot_be_loaded(client, plan, frame, account):
    def fail():
        raise OSError(f"disk of {SECRET}")

    data = dd.from_delayed([dask.delayed(frame.iloc[:10]), dask.delayed(fail)()], meta=frame.iloc[:0], verify_meta=False)
    refused(plan, data, r"data: cannot be read \(OSError\)", account, cluster=client)


def test_a_partition_that_is_a_text_is_no_file_s_name(client, plan, frame, account):
    data = dd.from_delayed([dask.delayed(frame.iloc[:10]), dask.delayed(str(SECRET))], meta=frame.iloc[:0], verify_meta=False)
    refused(plan, data, "partition 1: .*text", account, cluster=client)
    refused(plan, data, "must be the address of a scheduler", account, cluster=5)


# -- clusters ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["tcp://10.0.0.7:8786", "tcp://scheduler:8786", "ucx://10.0.0.7:1", "ws://10.0.0.7:1"])
def test_schedulers_that_anybody_could_listen_to_are_refused_unasked(address, plan, frame, account):
    assert not is_private(address)
    refused(plan, dd.from_pandas(frame, npartitions=1), "not encrypted, and what travels is raw data", account, cluster=address)


def test_workers_that_anybody_could_listen_to_are_refused(client, plan, frame, account, monkeypatch):
    monkeypatch.setattr(Crew, "threads", property(lambda crew: {"tcp://10.0.0.8:4000": 1}))
    refused(plan, dd.from_pandas(frame, npartitions=1), r"cluster tcp://10\.0\.0\.8:4000: not encrypted", account, cluster=client)


def test_a_scheduler_that_does_not_answer(plan, frame, account, monkeypatch):
    monkeypatch.setattr(crews, "ANSWER", 0.5)
    data = dd.from_pandas(frame, npartitions=1)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        address = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        refused(plan, data, "no scheduler answers within", account, cluster=address)
    refused(plan, data, "no scheduler answers within", account, cluster=address)
    refused(plan, data, "not an address", account, cluster="localhost:8786")
    refused(plan, data, "cannot be reached|no scheduler answers", account, cluster="tls://127.0.0.1:9")


def test_a_worker_of_another_version_is_refused(client, plan, frame, account, monkeypatch):
    here = tasks.fingerprint()
    monkeypatch.setattr(crews, "fingerprint", lambda: "gibbsafe 0.1")
    refused(
        plan,
        dd.from_pandas(frame, npartitions=1),
        f"has (gibbsafe 0.1|{here}), not gibbsafe 0.1|install",
        account,
        cluster=client,
    )
    late = tasks.attempt(tasks.Order("gibbsafe 0.0", "x"), len, "abc")
    assert isinstance(late, tasks.Failure)
    assert "a worker has" in late.words


def test_a_worker_without_the_library_is_refused(client, plan, frame, account, monkeypatch):
    monkeypatch.setattr(client, "run", lambda *arguments, **options: {"tcp://w": ModuleNotFoundError("gibbsafe")})
    refused(plan, dd.from_pandas(frame, npartitions=1), "has no gibbsafe that it can import", account, cluster=client)


@pytest.fixture
def own():
    """A cluster that the test may ruin."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=False, **options) as cluster, Client(cluster, set_as_default=False) as client:
        yield cluster, client


def ruin_at(monkeypatch, number, ruin):
    """Do something before a pass."""
    passes, reduce = [], ClusterBlocks.reduce

    def counted(blocks, *arguments):
        passes.append(1)
        if len(passes) == number:
            ruin()
        return reduce(blocks, *arguments)

    monkeypatch.setattr(ClusterBlocks, "reduce", counted)


def test_a_cluster_that_loses_all_workers_midway_keeps_the_charge(own, plan, frame, account, monkeypatch):
    cluster, client = own
    monkeypatch.setattr(crews, "PATIENCE", 1.0)
    ruin_at(monkeypatch, 2, lambda: cluster.scale(0))
    refused(
        plan,
        dd.from_pandas(frame, npartitions=2),
        "no workers for 1 s; whatever was charged stands",
        account,
        charged=1,
        cluster=client,
    )


def test_a_scheduler_that_dies_midway_keeps_the_charge(own, plan, frame, account, monkeypatch):
    cluster, client = own
    ruin_at(monkeypatch, 2, cluster.close)
    refused(
        plan, dd.from_pandas(frame, npartitions=2), "scheduler .*whatever was charged stands", account, charged=1, cluster=client
    )


# -- the command line -------------------------------------------------------------------------------------------------------

STUDY = """
n = 500
adjacency = "replace-one"
[budget]
epsilon = 1.0
delta = 1e-6
[model]
name = "BernoulliLogit"
[target]
name = "y"
labels = [0, 1]
"""


@pytest.fixture
def desk(tmp_path, frame, monkeypatch):
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "parts").mkdir()
    frame.iloc[:300].to_parquet(tmp_path / "parts" / "0.parquet")
    frame.iloc[300:500].to_parquet(tmp_path / "parts" / "1.parquet")
    gs.ledger.open_account(f"sqlite:///{tmp_path / 'ledger.db'}", "a", gs.Budget(2.0, 1e-5), adjacency="replace-one")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_line_reaches_a_cluster_by_address(desk, run):
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", protocol="tcp", processes=False,
                      host="127.0.0.1") as cluster:  # fmt: skip
        told = ("release", "study.toml", "--data", "parts", "--ledger", "ledger.db#a", "--json", "--cluster")
        code, out, err = run(*told, cluster.scheduler_address)
        assert (code, err) == (0, "")
        assert json.loads(out)["charge"]["entry"] == 1
    code, out, err = run(*told, "tcp://203.0.113.5:8786")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert not list(desk.glob("*.json"))[1:]


def test_dask_is_asked_for_by_name_where_it_is_absent(monkeypatch, plan, frame, account):
    monkeypatch.setattr("gibbsafe._extras.has_extra", lambda name: False)
    refused(plan, frame, r"pip install 'gibbsafe\[dask\]'", account, cluster="tls://scheduler:8786")
