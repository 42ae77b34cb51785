"""Tables in files: every format gives the same records, in pieces, and only the declared columns are read."""

import gzip
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather, ipc

import gibbsafe as gs
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.directories import column_names
from gibbsafe.data.files import FileTable
from gibbsafe.domains.column import Column

ROWS = 400
COLUMNS = (Column("age", bounds=(0, 100)), Column("ward", kind="category", levels=("a", "b", "?"), other="?"))
TARGET = Column("outcome", kind="label", levels=("no", "yes"))


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    return pa.table(
        {
            "age": generator.uniform(-20, 120, ROWS),
            "ward": generator.choice(["a", "b", "z"], ROWS),
            "outcome": generator.choice(["no", "yes"], ROWS),
            "secret": ["never read"] * ROWS,
        }
    )


def write(table, path):
    suffix = path.name.split(".", 1)[1]
    if suffix == "csv":
        arrow_csv.write_csv(table, path)
    elif suffix == "csv.gz":
        with gzip.open(path, "wb") as file:
            arrow_csv.write_csv(table, file)
    elif suffix == "tsv":
        arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(delimiter="\t"))
    elif suffix == "parquet":
        pq.write_table(table, path, row_group_size=37)
    elif suffix == "feather":
        feather.write_feather(table, path)
    elif suffix == "arrow":
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=53)
    elif suffix == "arrows":
        with ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=53)
    elif suffix == "npz":
        np.savez(path, **{name: np.array(table[name].to_pylist()) for name in table.column_names})
    else:
        columns = {name: np.array(table[name].to_pylist()) for name in table.column_names}
        record = np.empty(len(table), dtype=[(name, values.dtype) for name, values in columns.items()])
        for name, values in columns.items():
            record[name] = values
        np.save(path, record)


FORMATS = ["csv", "csv.gz", "tsv", "parquet", "feather", "arrow", "arrows", "npz", "npy"]


def plan(n=ROWS, **options):
    model = gs.models.LogisticRegression.from_columns(COLUMNS, TARGET, {})
    return gs.plan(model, gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one", **options)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_release_of_the_table_in_memory(suffix, table, tmp_path):
    path = tmp_path / f"table.{suffix}"
    write(table, path)
    made = plan(draws=2)
    expected = made.release(table, generator=np.random.default_rng(1)).draws
    source = DeclaredTable(path, (TARGET,), COLUMNS)
    assert (made.release(source, generator=np.random.default_rng(1)).draws == expected).all()
    spilled = made.release(source, generator=np.random.default_rng(1), memory=2**10)
    assert (spilled.draws == expected).all()
    assert column_names(path) == table.column_names


def test_a_matrix_is_read_in_the_order_of_the_study(tmp_path):
    np.save(tmp_path / "m.npy", np.arange(6.0).reshape(3, 2))
    (batch,) = FileTable(tmp_path / "m.npy", {"a": "number", "b": "number"}).batches()
    assert batch.to_pydict() == {"a": [0.0, 2.0, 4.0], "b": [1.0, 3.0, 5.0]}
    with pytest.raises(gs.DomainError, match="3 columns are declared"):
        list(FileTable(tmp_path / "m.npy", dict.fromkeys("abc", "number")).batches())


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(gs.DomainError, match=r"o\.npy"):
        list(FileTable(tmp_path / "o.npy", {"a": "number"}).batches())


@pytest.mark.parametrize("suffix", FORMATS[:-2])
def test_no_rows_at_all_are_a_data_set_under_add_remove(suffix, table, tmp_path):
    path = tmp_path / f"table.{suffix}"
    write(table.slice(0, 0), path)
    model = gs.models.LogisticRegression.from_columns(COLUMNS, TARGET, {})
    made = gs.plan(model, gs.Budget(1.0, 1e-6), n=None, adjacency="add-remove")
    assert made.release(DeclaredTable(path, (TARGET,), COLUMNS)).draws.shape == (1, 5)


def test_columns_of_other_names_are_never_read(tmp_path):
    (tmp_path / "t.csv").write_text("age,ward,outcome,broken\n" + "30,a,no,'\n" * 4)
    assert plan(4).release(DeclaredTable(tmp_path / "t.csv", (TARGET,), COLUMNS)).draws.shape == (1, 5)


def test_late_surprises_name_their_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("gibbsafe.data.stream.MOST_ROWS", 50)
    lines = ["age,ward,outcome"] + ["30,a,no"] * 70 + ["30,a,perhaps"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(gs.DomainError, match="no declared level"):
        plan(71).release(DeclaredTable(tmp_path / "t.csv", (TARGET,), COLUMNS))
    with pytest.raises(gs.DomainError, match="row 70 is 'perhaps'"):
        plan(71).release(DeclaredTable(tmp_path / "t.csv", (TARGET,), COLUMNS), show_values=True)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_arrow_files_that_point_outside_themselves_are_refused(tmp_path, kind):
    """Each byte changed in turn, in a process of its own: PyArrow alone reads foreign memory, and dies of it."""
    table = pa.table({"y": pa.array(["no", "yes", "no"]).cast(kind)})
    with ipc.new_stream(tmp_path / "t.arrows", table.schema) as sink:
        sink.write_table(table)
    script = """
import sys
from pathlib import Path
from gibbsafe.data.files import FileTable
from gibbsafe.errors import DomainError
path, seen = Path(sys.argv[1]), set()
content = path.read_bytes()
for k in range(len(content)):
    path.write_bytes(content[:k] + bytes([content[k] ^ 0x60]) + content[k + 1 :])
    try:
        seen |= {str(batch.column("y").to_pylist()) for batch in FileTable(path, {"y": "text"}).batches("replace")}
    except DomainError as error:
        seen.add("refused")
print(len(seen), "refused" in seen)
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "t.arrows"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.endswith("True\n")
    assert int(done.stdout.split()[0]) > 5
