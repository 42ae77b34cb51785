"""Everything that can be wrong with a study, a table, a disk or a ledger: one line, exit code 1, nothing half-written."""

import os
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gibbsafe as gs
from gibbsafe.errors import GibbsafeError
from gibbsafe.ledger import check

RELEASE = ("release", "study.toml", "--data", "table.csv")
AS_ROOT = os.getuid() == 0


@pytest.fixture
def intact(desk):
    """After the test the ledger is consistent, nothing was charged, and nothing was written beside what was there."""
    before = set(desk.iterdir())
    yield desk
    account = gs.ledger.account(f"{desk / 'ledger.db'}#clinic")
    assert check(account)["entries"] == 1
    new = {path.name for path in desk.iterdir()} - {path.name for path in before}
    assert {name for name in new if not name.startswith(("ledger.db-", "other"))} == set()


def change(old, new, path="study.toml"):
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


# -- studies ----------------------------------------------------------------------------------------------------------------

BAD_STUDIES = [
    ("[budget]", "[budget", "not a TOML file"),
    ("epsilon = 0.5", "epsilon = -1", "epsilon = -1"),
    ("epsilon = 0.5", 'epsilon = "much"', "epsilon"),
    ("epsilon = 0.5\n", "", "epsilon"),
    ("epsilon = 0.5", "epsilom = 0.5", "did you mean epsilon"),
    ("[budget]\nepsilon = 0.5\ndelta = 1e-6", "budget = 3", "a table"),
    ('adjacency = "replace-one"', 'adjacency = "replace_one"', "did you mean replace-one"),
    ('adjacency = "replace-one"', "", "adjacency"),
    ("draws = 2", "drwas = 2", "did you mean draws"),
    ("draws = 2", "draws = 0", "draws = 0"),
    ("draws = 2", 'draws = 2\npurpose = "guess"', "purpose"),
    ("n = 40", "n = 41", "not the n = 41 records"),
    ("n = 40", "n = 40.5", "n = 40.5"),
    ("n = 40\n", "", "n = None"),
    ('name = "LogisticRegression"', 'name = "LogisticRegresion"', "did you mean LogisticRegression"),
    ('name = "LogisticRegression"', "", "model"),
    ('name = "LogisticRegression"', 'name = "LogisticRegression"\nintercpt = true', "intercept"),
    ('name = "LogisticRegression"', 'name = "LogisticRegression"\nintercept = "no"', "intercept"),
    ('name = "LogisticRegression"', 'name = "GaussianMean"', "target"),
    ('name = "LogisticRegression"', 'name = "BernoulliLogit"', "columns"),
    ("bounds = [0, 100]", "bounds = [100, 0]", "low < high"),
    ("bounds = [0, 100]", "bounds = [0]", r"\[low, high\]"),
    ("bounds = [0, 100]", "", "bounds = None"),
    ("bounds = [0, 100]", "bound = [0, 100]", "did you mean bounds"),
    ("bounds = [0, 100]", 'bounds = [0, 100]\ntransform = "log"', "log1p"),
    ("bounds = [0, 100]", 'bounds = [-5, 100]\ntransform = "log1p"', "above -1"),
    ("bounds = [0, 100]", 'bounds = [0, 100]\nlevels = ["a"]', "left out"),
    ("bounds = [0, 100]", 'bounds = [0, 100]\nmissing = "x"', "missing"),
    ("bounds = [0, 100]", "bounds = [0, inf]", "finite"),
    ("[columns.age]", '[columns.""]', "column name"),
    ('levels = ["a", "b", "?"]', 'levels = ["a", "a"]', "different"),
    ('levels = ["a", "b", "?"]', 'levels = ["a", 1]', "all texts or all numbers"),
    ('other = "?"', 'other = "z"', "one of the levels"),
    ('labels = ["no", "yes"]', 'labels = ["no"]', "labels"),
    ('labels = ["no", "yes"]', "", "labels"),
    ('name = "outcome"', 'name = "age"', "not among the features"),
    ('name = "outcome"', "name = 7", "target.name"),
    ('account = "clinic"', 'acount = "clinic"', "did you mean account"),
    ('account = "clinic"', 'account = "nobody"', "has no account 'nobody'"),
    ('account = "clinic"', 'account = "clinic"\nurl = "mysql://host/db"', "sqlite:///path or postgresql"),
    ('account = "clinic"', 'account = "clinic"\nurl = "missing.db"', "does not exist"),
    ("[ledger]", '[persons]\ncolumn = "id"\n[ledger]', "rows_per_person"),
    ("[ledger]", '[persons]\ncolumn = "id"\nrows_per_person = 1\n[ledger]', "2 or above"),
    ("[ledger]", '[sampler]\nname = "magic"\n[ledger]', "sampler"),
    ("[ledger]", '[sampler]\ntheorem = "magic"\n[ledger]', "theorem"),
    ("[ledger]", '[csv]\ndelimiter = ";;"\n[ledger]', "one character"),
    ("[ledger]", '[csv]\nencoding = "klingon"\n[ledger]', "klingon"),
    ("n = 40", 'format = "gibbsafe/study/9"\nn = 40', "format"),
    ("n = 40", "row_norm = -1.0\nn = 40", "row_norm"),
    ("n = 40", 'scale = "huge"\nn = 40', "scale"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_STUDIES)
def test_bad_studies(intact, refused, old, new, message):
    import re

    change(old, new)
    assert re.search(message, refused(*RELEASE))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"\x00" * 100, b"[" * 5000])
def test_studies_that_are_no_text(intact, refused, content):
    Path("study.toml").write_bytes(content)
    assert "study.toml" in refused(*RELEASE)


# -- tables -----------------------------------------------------------------------------------------------------------------

BAD_TABLES = [
    (b"", "empty"),
    (b"age,ward,outcome\n", "not the n = 40 records"),
    (b"age,wards,outcome\n1,a,no\n", "column 'ward' is there 0 times"),
    (b"age,ward\n1,a\n", "outcome"),
    (b"age,age,ward,outcome\n1,1,a,no\n", "2 times"),
    (b"age,ward,outcome\nold,a,no\n", "age"),
    (b"age,ward,outcome\n1,a,no\n2,b\n", "not as many entries"),
    (b"age,ward,outcome\n1,a,maybe\n", "no declared level"),
    (b"age,ward,outcome\n,a,no\n", "missing or not finite"),
    (b"age,ward,outcome\ninf,a,no\n", "missing or not finite"),
    (b"age,ward,outcome\n1,\xff\xfe,no\n", "encoding"),
    (b"\xff\xfe,ward,outcome\n1,a,no\n", "encoding"),
    (b"PAR1 not a table", "column"),
    (b"age;ward;outcome\n1;a;no\n", "column 'age'"),
    (bytes(1000), "text table|column"),
]


@pytest.mark.parametrize(("content", "message"), BAD_TABLES)
def test_bad_tables(intact, refused, content, message):
    import re

    Path("table.csv").write_bytes(content)
    assert re.search(message, refused(*RELEASE))


def forty(separator=",", end="\n"):
    rows = [separator.join([str(20 + k), "ab"[k % 2], "no" if k % 2 else "yes"]) for k in range(40)]
    return end.join([separator.join(["age", "ward", "outcome"]), *rows]) + end


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + forty().encode(),
        forty(end="\r\n").encode(),
        forty().replace("\n20,a,", '\n20,"a\n line",').encode(),
        forty().replace("\n20,a,", "\n20,,").encode(),
        forty().replace("age,ward,outcome", '"age","ward","outcome"').encode(),
    ],
    ids=["byte-order mark", "CRLF", "quoted newline", "missing with a declared value", "quoted header"],
)
def test_odd_tables_that_are_fine(desk, run, content):
    Path("table.csv").write_bytes(content)
    assert run(*RELEASE, "-q") == (0, "", "")


def test_declared_csv_formats(desk, run):
    Path("table.csv").write_bytes(forty(";").replace("20;", "20,5;").replace("a;", "ä;").encode("latin-1"))
    change("[ledger]", '[csv]\ndelimiter = ";"\nencoding = "latin-1"\ndecimal = ","\n[ledger]')
    change('levels = ["a",', 'levels = ["ä",')
    assert run(*RELEASE, "-q") == (0, "", "")


def test_ten_thousand_columns(desk, run):
    names = [f"extra{k}" for k in range(10_000)]
    header, *rows = forty().splitlines()
    lines = [",".join([header, *names]), *(row + ",1" * 10_000 for row in rows)]
    Path("table.csv").write_text("\n".join(lines) + "\n")
    assert run(*RELEASE, "--memory", "5MB", "-q") == (0, "", "")
    assert run("init", "table.csv", "--out", "other.toml", "-q")[0] == 0


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "npy", "npz", "feather"])
@pytest.mark.parametrize(
    "content", [b"", b"age,ward,outcome\n1,a,no\n", b"PAR1" + b"x" * 50 + b"PAR1", b"ARROW1\0\0" + b"y" * 40]
)
def test_files_that_are_not_what_their_name_says(intact, refused, suffix, content):
    place = intact / f"other.{suffix}"
    place.write_bytes(content)
    assert f"other.{suffix}" in refused("release", "study.toml", "--data", place)


def test_truncated_parquet(intact, refused):
    table = pa.table({"age": np.arange(40.0), "ward": ["a"] * 40, "outcome": ["no"] * 40})
    pq.write_table(table, "other.parquet")
    whole = Path("other.parquet").read_bytes()
    for length in (4, len(whole) // 2, len(whole) - 1):
        Path("other.parquet").write_bytes(whole[:length])
        assert "other.parquet" in refused("release", "study.toml", "--data", "other.parquet")


def test_wrong_types_in_parquet(intact, refused):
    table = pa.table({"age": ["old"] * 40, "ward": ["a"] * 40, "outcome": ["no"] * 40})
    pq.write_table(table, "other.parquet")
    assert "not numeric" in refused("release", "study.toml", "--data", "other.parquet")
    numbers = pa.table({"age": np.arange(40.0), "ward": np.arange(40), "outcome": np.arange(40)})
    pq.write_table(numbers, "other.parquet")
    assert "outcome" in refused("release", "study.toml", "--data", "other.parquet")


def test_places_that_are_no_tables(intact, refused):
    Path("other").mkdir()
    assert "directory" in refused("release", "study.toml", "--data", "other")
    assert "does not exist" in refused("release", "study.toml", "--data", "nowhere.csv")
    Path("other.xlsx").write_bytes(b"PK")
    assert "unknown kind" in refused("release", "study.toml", "--data", "other.xlsx")
    assert "cannot be read" in refused("plan", "other.toml")
    assert "cannot be read" in refused("plan", "other")
    assert "cannot be read" in refused("verify", "other")


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_files_without_permission(intact, refused):
    Path("table.csv").chmod(0)
    assert "Permission denied" in refused(*RELEASE)


# -- where the release goes -------------------------------------------------------------------------------------------------


def test_places_that_cannot_be_written_are_refused_before_the_charge(intact, refused):
    assert "cannot be written" in refused(*RELEASE, "--out", "nowhere/release.json")
    assert "is an input" in refused(*RELEASE, "--out", "table.csv", "--force")
    Path("kept.json").write_text("kept")
    assert "exists already" in refused(*RELEASE, "--out", "kept.json")
    Path("kept.json").unlink()
    assert "exists already" in refused(*RELEASE, "--out", ".", "--force")
    assert "cannot be written" in refused(*RELEASE, "--out", "/proc/release.json")


def test_a_full_disk_keeps_the_charge_and_leaves_no_file(desk, refused, monkeypatch):
    def full(*_, **__):
        raise GibbsafeError("release.json: cannot be written (No space left on device)")

    monkeypatch.setattr("gibbsafe.release.releases.write_whole", full)
    assert "entry 1 of the ledger stays unreleased" in refused(*RELEASE)
    account = gs.ledger.account("ledger.db#clinic")
    assert account.status()["unreleased"] == 1
    assert check(account)["status"] == "consistent"
    assert not Path("release.json").exists()


def limited(size, *arguments):
    """Run a command that may write files of at most ``size`` bytes: what a full disk looks like from inside."""
    code = f"import sys; sys.argv = ['gibbsafe', *{list(arguments)!r}]\nfrom gibbsafe.cli import main\nmain()"

    def limit():
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return subprocess.run([sys.executable, "-c", code], preexec_fn=limit, capture_output=True, text=True, check=False)


def test_files_that_do_not_fit_are_not_left_in_part(desk):
    for size, arguments in (
        (2_000, RELEASE),
        (2_000, ("ledger", "open", "other.db#x", "--epsilon", "1", "--adjacency", "replace-one")),
    ):
        result = limited(size, *arguments)
        assert result.returncode == 1, result
        assert result.stderr.startswith("gibbsafe: ")
        assert result.stderr.count("\n") == 1
    assert not list(desk.glob("*release*"))
    assert not list(desk.glob(".release*"))
    assert not list(desk.glob("other.db*"))
    assert check(gs.ledger.account("ledger.db#clinic"))["status"] == "consistent"


# -- ledgers ----------------------------------------------------------------------------------------------------------------


def test_ledgers_that_are_none(desk, refused):
    Path("noise.db").write_bytes(os.urandom(4096))
    Path("folder.db").mkdir()
    Path("empty.db").touch()
    with sqlite3.connect("foreign.db") as foreign:
        foreign.execute("CREATE TABLE recipes (name TEXT)")
    foreign.close()
    before = Path("foreign.db").read_bytes()
    opening = ("--epsilon", 1, "--delta", 1e-6, "--adjacency", "replace-one")
    for name, message in (
        ("noise", "not a database"),
        ("folder", "directory"),
        ("empty", "not a ledger"),
        ("foreign", "not a ledger"),
    ):
        assert message in refused("ledger", "show", f"{name}.db#clinic")
        assert message in refused(*RELEASE, "--ledger", f"{name}.db#clinic")
        if name != "empty":
            refused("ledger", "open", f"{name}.db#clinic", *opening)
    assert "another program" in refused("ledger", "open", "foreign.db#clinic", *opening)
    assert Path("foreign.db").read_bytes() == before
    assert not Path("release.json").exists()


def test_a_corrupted_ledger(desk, refused, run):
    assert run(*RELEASE, "-q")[0] == 0
    content = bytearray(Path("ledger.db").read_bytes())
    content[100:4000] = os.urandom(3900)
    Path("ledger.db").write_bytes(bytes(content))
    assert "ledger.db" in refused("ledger", "show", "ledger.db#clinic")
    assert "ledger.db" in refused(*RELEASE, "--out", "second.json", "--key", "second")
    assert not Path("second.json").exists()


def test_a_locked_ledger(desk, refused, monkeypatch):
    monkeypatch.setattr("gibbsafe.ledger.database.PATIENCE", 0.2)
    other = sqlite3.connect("ledger.db")
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert "locked" in refused(*RELEASE)
    finally:
        other.rollback()
        other.close()
    assert not Path("release.json").exists()
    assert check(gs.ledger.account("ledger.db#clinic"))["entries"] == 1


def test_an_exhausted_account(desk, refused, run):
    keys = 0
    while run(*RELEASE, "--key", keys, "--out", f"{keys}.json", "-q")[0] == 0:
        keys += 1
    assert 1 < keys < 30
    message = refused(*RELEASE, "--key", "last", "--out", "last.json")
    assert "μ² = " in message
    assert "is left" in message
    assert not Path("last.json").exists()
    assert gs.ledger.account("ledger.db#clinic").status()["charges"] == keys


def test_a_database_that_is_down(intact, refused, monkeypatch):
    monkeypatch.setenv("LEDGER_URL", "postgresql://gibbsafe:secret@127.0.0.1:1/nothing")
    message = refused(*RELEASE, "--ledger", "env:LEDGER_URL#clinic")
    assert "secret" not in message
    assert "127.0.0.1" in message


def test_a_database_that_goes_down_between_charge_and_release(desk, refused, run, monkeypatch):
    from gibbsafe.ledger import Account

    def gone(*_):
        raise GibbsafeError("ledger: server closed the connection")

    with monkeypatch.context() as down:
        down.setattr(Account, "_settle", gone)
        message = refused(*RELEASE)
    assert "release.json is written and charged" in message
    gs.verify("release.json")
    assert gs.ledger.account("ledger.db#clinic").status()["unreleased"] == 1
    assert "was charged as entry 1" in refused(*RELEASE, "--out", "second.json")
    assert run("ledger", "mark", "ledger.db#clinic", "release.json", "-q")[0] == 0
    assert gs.ledger.account("ledger.db#clinic").status()["unreleased"] == 0
    assert "is released already" in refused("ledger", "mark", "ledger.db#clinic", "release.json")


def test_a_ledger_that_dies_before_the_charge_costs_nothing(desk, refused, monkeypatch):
    from gibbsafe.ledger import Account

    def gone(*_, **__):
        raise GibbsafeError("ledger: server closed the connection")

    with monkeypatch.context() as down:
        down.setattr(Account, "charge", gone)
        refused(*RELEASE)
    assert not Path("release.json").exists()
    assert check(gs.ledger.account("ledger.db#clinic"))["entries"] == 1


def test_two_releases_at_once_charge_once(desk):
    code = "import sys; sys.argv = ['gibbsafe', *sys.argv[1:]]\nfrom gibbsafe.cli import main\nmain()"
    both = [
        subprocess.Popen([sys.executable, "-c", code, *RELEASE, "--out", f"{name}.json", "-q"], stderr=subprocess.PIPE, text=True)
        for name in ("first", "second")
    ]
    errors = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1]
    assert "was charged as entry 1" in "".join(errors)
    assert len(list(desk.glob("*.json"))) == 1
    assert gs.ledger.account("ledger.db#clinic").status()["charges"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("release", "study.toml"),
        ("release", "study.toml", "--data"),
        ("no-such-command",),
        ("query",),
        ("init",),
        ("init", "table.csv", "--example"),
        ("ledger", "open", "x.db#a"),
        ("ledger", "open", "x.db#a", "--epsilon", "much", "--adjacency", "replace-one"),
    ],
)
def test_misuse_exits_with_two(desk, run, arguments):
    assert run(*arguments)[0] == 2
