"""Directories and object stores: the same records as one file gives, in the order of paths, and only the declared columns."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import fs, ipc

import gibbsafe as gs
from gibbsafe.data import directories
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.directories import DirectoryTable, column_names, open_table
from gibbsafe.data.places import RemoteFile, locate
from gibbsafe.domains.column import Column

ROWS = 300
COLUMNS = (Column("age", bounds=(0, 100)), Column("ward", kind="category", levels=("a", "b", "?"), other="?"))
TARGET = Column("outcome", kind="label", levels=("no", "yes"))
KINDS = {"age": "number", "ward": "text", "outcome": "text"}


def make(rows=ROWS, seed=0):
    generator = np.random.default_rng(seed)
    drawn = {"age": generator.uniform(-20, 120, rows), "ward": np.sort(generator.choice(["a", "b"], rows))}
    return pa.table(drawn | {"outcome": generator.choice(["no", "yes"], rows), "secret": generator.uniform(size=rows)})


def write(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=37)
    else:
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=53)
    return path


def split(table, place, suffix, by=None):
    """Write a table as files of a directory, by a column's values in directories of their names; return it in their order."""
    if by is None:
        for k, start in enumerate((0, 120, 120, 290)):  # the second is empty
            write(table.slice(start, [120, 0, 170, 10][k]), place / f"part-{k}{suffix}")
        return table
    for value in sorted(set(table[by].to_pylist())):
        chosen = table.filter(pa.compute.equal(table[by], value)).drop_columns([by])
        write(chosen, place / f"{by}={value}" / f"part-0{suffix}")
    (place / "_SUCCESS").write_text("")
    return table


def plan(n=ROWS, **options):
    model = gs.models.LogisticRegression.from_columns(COLUMNS, TARGET, {})
    return gs.plan(model, gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one", **options)


def declared(source):
    return DeclaredTable(source, (TARGET,), COLUMNS)


def drawn(source, made=None, **options):
    return (made or plan()).release(source, generator=np.random.default_rng(1), **options).draws


class Account:
    charges = 0

    def charge(self, plan):
        self.charges += 1


def refused(source, words, **options):
    """The release is refused in one line with these words, shows no value, and charges nobody."""
    account = Account()
    with pytest.raises(gs.GibbsafeError, match=words) as found:
        plan().release(declared(source) if not callable(source) else declared(source()), ledger=account, **options)
    assert "\n" not in str(found.value)
    assert account.charges == 0
    return str(found.value)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("by", [None, "ward"])
def test_array_file_and_directory_give_the_same_bytes(suffix, by, tmp_path):
    table = make()
    expected = drawn(table)
    assert (drawn(declared(write(table, tmp_path / f"whole{suffix}"))) == expected).all()
    split(table, tmp_path / "parts", suffix, by)
    source = declared(tmp_path / "parts")
    assert source.count_rows() == ROWS
    assert (drawn(source) == expected).all()
    assert (drawn(source, memory=2**10) == expected).all()
    assert (drawn(declared(f"file://{tmp_path}/parts")) == expected).all()
    assert (drawn(source, on_invalid="replace") == expected).all()
    assert sorted(column_names(tmp_path / "parts")) == sorted(table.column_names)


def test_partitions_that_say_it_all_are_counted(tmp_path):
    split(make().select(["ward", "age"]), tmp_path, ".parquet", "ward")
    wards = pa.Table.from_batches(DirectoryTable(tmp_path, {"ward": "text"}).batches())
    assert wards["ward"].to_pylist() == make()["ward"].to_pylist()


def test_values_of_paths_are_read_as_declared(tmp_path):
    for name in ("year=2024", "year=__HIVE_DEFAULT_PARTITION__", "year=x%2Fy"):
        write(pa.table({"a": [1.0]}), tmp_path / name / "t.parquet")
    texts = DirectoryTable(tmp_path, {"year": "text", "a": "number"})
    assert pa.Table.from_batches(texts.batches())["year"].to_pylist() == ["2024", None, "x/y"]
    numbers = DirectoryTable(tmp_path, {"year": "number"})
    assert pa.Table.from_batches(numbers.batches("replace"))["year"].to_pylist() == [2024.0, None, None]
    with pytest.raises(gs.DomainError, match=r"year=…/t\.parquet: column 'year': the directory's value") as found:
        list(numbers.batches())
    assert "x" not in str(found.value).split("year=…")[1].replace("parquet", "")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_files_with_other_columns_are_refused_by_name(suffix, tmp_path):
    split(make(), tmp_path, suffix)
    write(make(10).rename_columns(["agee", "ward", "outcome", "secret"]), tmp_path / f"part-9{suffix}")
    refused(tmp_path, rf"part-9\{suffix}: column 'age' is there 0 times")


def test_columns_of_two_types_are_refused_where_entries_would_not_compare(tmp_path):
    split(make(), tmp_path, ".parquet")
    other = make(10)
    write(other.set_column(0, "age", pa.array(range(10), pa.int32())), tmp_path / "part-8.parquet")
    write(other.set_column(1, "ward", pa.nulls(10)), tmp_path / "part-85.parquet")
    table = pa.Table.from_batches([batch.cast(pa.schema([(n, pa.string()) for n in batch.schema.names]))
                                   for batch in open_table(tmp_path, KINDS).batches()])  # fmt: skip
    assert table.num_rows == ROWS + 20
    write(other.set_column(2, "outcome", pa.array(range(10))), tmp_path / "part-9.parquet")
    with pytest.raises(
        gs.DomainError, match=r"part-9\.parquet: column 'outcome' is of type int64, but of string in .*part-0\.parquet"
    ):
        list(open_table(tmp_path, KINDS).batches())


def test_a_person_in_two_files_is_one_person(tmp_path):
    model = gs.models.BernoulliLogit()
    made = gs.plan(model, gs.Budget(1.0, 1e-6), n=3, adjacency="replace-one", rows_per_person=2)
    for k in range(3):
        write(pa.table({"y": [1, 0, 1], "who": ["p", "q", f"r{k}"[:1]]}), tmp_path / f"{k}.parquet")
    table = DirectoryTable(tmp_path, {"y": "number", "who": "text"})
    assert made.release(
        DeclaredTable(table, (Column("y", kind="label", levels=(0, 1)),), (), ("who",)), persons="who"
    ).draws.shape


def test_foreign_files_are_refused_by_name(tmp_path):
    split(make(), tmp_path, ".parquet")
    (tmp_path / "_metadata").write_text("left out")
    (tmp_path / ".crc").write_text("left out")
    assert declared(tmp_path).count_rows() == ROWS
    for name, words in {
        "notes.docx": r"notes\.docx: unknown kind of table",
        "more.csv": r"more\.csv: another kind of table than|part-0\.parquet: another kind of table than .*more\.csv",
    }.items():
        (tmp_path / name).write_text("a\n1\n")
        refused(lambda: tmp_path, words)
        (tmp_path / name).unlink()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "latest.parquet").symlink_to(tmp_path / "part-0.parquet")
    refused(lambda: tmp_path, r"latest\.parquet: a link")
    (tmp_path / "sub" / "latest.parquet").unlink()
    os.mkfifo(tmp_path / "sub" / "pipe.parquet")
    refused(lambda: tmp_path, r"pipe\.parquet: no file")
    (tmp_path / "sub" / "pipe.parquet").unlink()
    (tmp_path / "sub").rmdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    refused(lambda: tmp_path, "loop: a link")


@pytest.mark.parametrize("name", ["_delta_log", ".hoodie"])
def test_directories_with_versions_of_rows_are_refused(name, tmp_path):
    split(make(), tmp_path, ".parquet")
    (tmp_path / name).mkdir()
    refused(lambda: tmp_path, "keeps versions of rows")


def test_a_directory_without_tables_is_refused(tmp_path):
    refused(lambda: tmp_path, "a directory without tables")
    (tmp_path / "ward=a").mkdir()
    refused(lambda: tmp_path, "a directory without tables")


def test_a_column_in_the_file_and_in_its_directory_is_refused(tmp_path):
    write(make(), tmp_path / "ward=a" / "t.parquet")
    refused(lambda: tmp_path, r"ward=…/t\.parquet: column 'ward' is there 2 times")
    write(make(), tmp_path / "ward=a" / "ward=b" / "t.parquet")
    refused(lambda: tmp_path, "column 'ward' is there 2 times")


def test_no_rows_in_any_file_are_a_data_set_under_add_remove(tmp_path):
    split(make().slice(0, 0), tmp_path, ".parquet")
    model = gs.models.LogisticRegression.from_columns(COLUMNS, TARGET, {})
    made = gs.plan(model, gs.Budget(1.0, 1e-6), n=None, adjacency="add-remove")
    assert made.release(declared(tmp_path)).draws.shape == (1, 5)


def test_damage_names_the_file_and_quotes_nothing(tmp_path):
    split(make(), tmp_path, ".csv")
    (tmp_path / "part-5.csv").write_text("age,ward,outcome\n41999,a\n")
    assert "41999" not in refused(tmp_path, r"part-5\.csv: a row has not as many entries")
    (tmp_path / "part-5.csv").write_text("age,ward,outcome\nx41999,a,no\n")
    assert "41999" not in refused(tmp_path, r"part-5\.csv: column 'age': an entry cannot be read")


def test_names_of_directories_and_strange_names_stay_out_of_messages(tmp_path):
    write(make().drop_columns(["ward"]), tmp_path / "ward=psychiatry" / "t.parquet")
    source = declared(tmp_path)
    (tmp_path / "ward=psychiatry" / "t.parquet").unlink()
    with pytest.raises(gs.DomainError, match=r"ward=…/t\.parquet: cannot be read \(No such file") as found:
        list(source.batches())
    assert "psychiatry" not in str(found.value)
    (tmp_path / "a\nb.doc").write_text("")
    refused(lambda: tmp_path, r"a\?b\.doc: unknown kind of table")


# -- object stores --------------------------------------------------------------------------------------------------------


class Store(fs.FileSystemHandler):
    """A file system elsewhere, on top of this machine's: counts bytes, and may forbid."""

    def __init__(self, base, forbidden=()):
        self.inner, self.forbidden, self.read = fs.SubTreeFileSystem(str(base), fs.LocalFileSystem()), forbidden, 0

    def _allow(self, what):
        if what in self.forbidden:
            raise PermissionError("AWS Error ACCESS_DENIED with key AKIA")

    def get_file_info(self, paths):
        self._allow("stat")
        return self.inner.get_file_info(paths)

    def get_file_info_selector(self, selector):
        self._allow("list")
        return self.inner.get_file_info(selector)

    def open_input_file(self, path):
        self._allow("open")
        return pa.PythonFile(Counted(self.inner.open_input_file(path), self), mode="r")

    open_input_stream = open_input_file

    def get_type_name(self):
        return "elsewhere"

    def normalize_path(self, path):
        return path

    def unsupported(self, *arguments, **options):
        raise NotImplementedError

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = delete_file = unsupported
    move = copy_file = open_output_stream = open_append_stream = unsupported

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    __hash__ = object.__hash__


class Counted:
    """A file that tells its store how many bytes it gave away."""

    def __init__(self, file, store):
        self.file, self.store = file, store

    def read_buffer(self, count=-1):
        return pa.py_buffer(self.read(count))

    def read(self, count=-1):
        content = self.file.read(None if count < 0 else count)
        self.store.read += len(content)
        return content

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Give a function that makes a directory a bucket, whose URL is s3://bucket."""

    def bucket(base=tmp_path, **options):
        made = Store(base, **options)
        place = RemoteFile(fs.PyFileSystem(made), "", "s3://bucket")
        monkeypatch.setattr(directories, "locate", lambda source: place)
        return made

    return bucket


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_an_object_store_gives_the_same_bytes(suffix, tmp_path, store):
    split(make(), tmp_path, suffix, "ward")
    store()
    assert (drawn(declared("s3://bucket")) == drawn(make())).all()
    assert (drawn(declared("s3://bucket"), on_invalid="replace") == drawn(make())).all()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_only_declared_columns_leave_the_store(suffix, tmp_path, store):
    narrow = make(20_000)
    wide = narrow
    for k in range(30):
        wide = wide.append_column(f"s{k}", pa.array(np.random.default_rng(k).uniform(size=20_000)))
    write(narrow, tmp_path / "narrow" / f"t{suffix}")
    write(wide, tmp_path / "wide" / f"t{suffix}")
    bytes_read = {}
    for name in ("narrow", "wide"):
        counted = store(tmp_path / name)
        list(open_table("s3://bucket", KINDS).batches())
        bytes_read[name] = counted.read
    size = (tmp_path / "wide" / f"t{suffix}").stat().st_size
    assert bytes_read["wide"] < size / 2
    assert bytes_read["narrow"] > 20_000 * 8  # the counter counts


@pytest.mark.parametrize("forbidden", ["stat", "list", "open"])
def test_an_object_store_without_permission_is_refused_in_one_line(forbidden, tmp_path, store):
    split(make(), tmp_path, ".parquet")
    store(forbidden=(forbidden,))
    said = refused(lambda: "s3://bucket", r"s3://bucket.*: cannot be read \(permission denied")
    assert "AKIA" not in said


def test_a_directory_that_may_not_be_listed_is_refused(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    split(make(), tmp_path / "parts", ".parquet")
    (tmp_path / "parts").chmod(0)
    refused(lambda: tmp_path / "parts", "Permission denied")
    (tmp_path / "parts").chmod(0o700)


@pytest.mark.parametrize("url", ["ftp://me:secret@host/x", "nothing://x", "s3://me:secret@/"])
def test_urls_that_nobody_opens_are_refused_without_their_passwords(url):
    with pytest.raises(gs.DomainError, match=r"no file system|cannot be read") as found:
        locate(url)
    assert "secret" not in str(found.value)


def test_numpy_files_are_read_on_this_machine_only(tmp_path, store):
    np.save(tmp_path / "m.npy", np.zeros((3, 3)))
    store()
    refused(lambda: "s3://bucket", r"s3://bucket/m\.npy: NumPy files are read on this machine only")


# -- the command line -----------------------------------------------------------------------------------------------------

STUDY = """
n = 300
adjacency = "replace-one"
[budget]
epsilon = 1.0
delta = 1e-6
[model]
name = "LogisticRegression"
[columns.age]
bounds = [0, 100]
[columns.ward]
type = "category"
levels = ["a", "b"]
[target]
name = "outcome"
labels = ["no", "yes"]
"""


def test_the_command_line_reads_directories_and_urls(tmp_path, run):
    split(make(), tmp_path / "parts", ".parquet", "ward")
    (tmp_path / "study.toml").write_text(STUDY)
    for k, (source, code) in enumerate([(tmp_path / "parts", 0), (f"file://{tmp_path}/parts", 0), (tmp_path / "none", 1)]):
        out = tmp_path / f"{k}.json"
        ended, _, said = run("release", tmp_path / "study.toml", "--no-ledger", "--quiet", "--data", source, "--out", out)
        assert (ended, out.exists(), said.count("\n")) == (code, code == 0, code), said


def test_a_bar_shows_rows_read(tmp_path, capsys, monkeypatch):
    split(make(), tmp_path, ".csv")
    source = declared(tmp_path)
    assert 200 <= source.expected_rows() <= 400
    monkeypatch.setenv("FORCE_COLOR", "1")
    plan().release(source, progress=True, generator=np.random.default_rng(0))
    said = capsys.readouterr().err
    assert "reading rows" in said
    assert f"{ROWS}/{source.expected_rows()}" in said
