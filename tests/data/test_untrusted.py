"""Whoever writes a study, trusted or not, learns nothing of the records from refusals; untrusted, it pays before it asks."""

import re
import traceback
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gibbsafe as gs
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.files import CsvFormat, FileTable
from gibbsafe.study import Study

SALARIES = [41_000 + 137 * k for k in range(25)]
HEAD = 'n = 25\nadjacency = "replace-one"\n[budget]\nepsilon = 0.1\ndelta = 1e-6\n'
TARGET = '[target]\nname = "y"\nlabels = ["no", "yes"]\n'
ATTACK = HEAD + '[model]\nname = "LogisticRegression"\n[columns.salary]\ntype = "category"\nlevels = [{levels}]\n' + TARGET
HONEST = HEAD + '[model]\nname = "LogisticRegression"\n[columns.salary]\nbounds = [0, 100000]\n' + TARGET


class Account:
    """Counts charges."""

    def __init__(self):
        self.charges = 0

    def charge(self, plan):
        self.charges += 1


def salaries(names=("salary", "y")):
    return pa.table({names[0]: SALARIES, names[1]: ["no", "yes"] * 12 + ["no"]})


def write(path, table=None):
    table = table or salaries()
    if path.suffix == ".csv":
        lines = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
        path.write_text("\n".join(lines) + "\n")
    else:
        pq.write_table(table, path)
    return path


def told(error):
    """Return all that a log of the error could print."""
    return "".join(traceback.format_exception(error)) + repr(error) + "".join(map(str, error.args))


def leaks(text):
    """Return true values, and numbers of rows, that a text contains."""
    said = re.sub(r'File ".*?", line \d+|/\S+|0x\w+', "", text)
    return [value for value in SALARIES if str(value) in said] + re.findall(r"rows? \d+", said)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_wrong_levels_read_no_value(suffix, tmp_path):
    """The attack: one numeric column declared as a category, 25 runs, each with the levels that earlier ones gave away."""
    data, account, known = write(tmp_path / f"table{suffix}"), Account(), []
    for _ in range(25):
        study = Study.from_dict(_toml(ATTACK.format(levels=", ".join(map(str, known or [0])))))
        with pytest.raises(gs.DomainError) as refusal:
            study.release(data, ledger=account, progress=False)
        found = leaks(told(refusal.value))
        assert not found
        known += [value for value in SALARIES if value in found]
    assert account.charges == 0
    with pytest.raises(gs.DomainError, match="41000"):
        study.release(data, ledger=account, show_values=True)


def _toml(text):
    import tomllib

    return tomllib.loads(text)


CSV_ATTACKS = {
    "text as a number": ("y", "bounds = [0, 1]"),
    "a number as a truth value": ("salary", "type = 'category'\nlevels = [true, false]"),
}


@pytest.mark.parametrize("name", CSV_ATTACKS)
def test_raw_cells_are_not_quoted(name, tmp_path):
    column, declared = CSV_ATTACKS[name]
    text = HEAD + f'[model]\nname = "LogisticRegression"\n[columns.{column}]\n{declared}\n' + TARGET.replace('"y"', '"other"')
    table = salaries().append_column("other", pa.array(["no", "yes"] * 12 + ["no"]))
    with pytest.raises(gs.DomainError) as refusal:
        Study.from_dict(_toml(text)).release(write(tmp_path / "t.csv", table))
    assert not leaks(told(refusal.value))
    assert "'no'" not in str(refusal.value)


def test_a_file_without_a_header_does_not_offer_its_first_record(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("41000,no\n41137,yes\n")
    with pytest.raises(gs.DomainError, match="is there 0 times") as refusal:
        list(FileTable(path, {"4100": "number"}).batches())
    assert "41000" not in told(refusal.value)


def test_broken_rows_are_not_described(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("salary,y\n41000,no\n41137,yes,41274\n")
    with pytest.raises(gs.DomainError) as refusal:
        Study.from_dict(_toml(HONEST)).release(path)
    assert not leaks(told(refusal.value))
    assert not re.search(r"\b[23]\b", str(refusal.value).replace(str(path), ""))


@pytest.mark.parametrize("wrong", [pa.array([[1]] * 25), pa.array([{"a": 41_000}] * 25), pa.array([b"\xff41000"] * 25)])
def test_whatever_else_goes_wrong_is_named_by_its_kind_alone(wrong):
    table = salaries().set_column(0, "salary", wrong)
    with pytest.raises(gs.DomainError) as refusal:
        Study.from_dict(_toml(HONEST)).release(table)
    assert not leaks(told(refusal.value))


def test_estimators_do_not_quote_entries():
    from gibbsafe.estimators import PrivateHuberRegressor

    for X, y in (
        ([["41000"], ["forty-one"]], [0, 1]),
        (np.zeros((25, 2)), np.zeros(24)),
        (np.zeros((25, 2)), np.zeros((25, 3))),
        ([[1.0], [2.0, 3.0]], [0, 1]),
    ):
        with pytest.raises(gs.DomainError) as refusal:
            PrivateHuberRegressor(radius=1.0).fit(X, y)
        assert not re.search(r"forty|41000|2[45]", str(refusal.value))


# -- untrusted studies -------------------------------------------------------------------------------------------------------


HOSTILE = {
    "texts among numbers": (b"salary,y\n" + b"".join(b"x%d,no\n" % k for k in range(25)), HONEST),
    "missing": (b"salary,y\n" + b",\n" * 25, HONEST),
    "not finite": (b"salary,y\n" + b"nan,no\ninf,yes\n-inf,no\n1e999,no\n5e-324,no\n" * 5, HONEST),
    "no UTF-8": (b"salary,y\n" + b"\xff\xfe,\xc3\x28\n" * 25, HONEST),
    "undeclared labels": (b"salary,y\n" + b"1,perhaps\n" * 25, HONEST),
    "rows of other lengths": (b"salary,y\n" + b"1\n2,no,3,4\n3,yes\n4,\n5,no\n" * 5, HONEST),
    "huge cells": (b"salary,y\n" + (b"9" * 300_000 + b",no\n") * 25, HONEST),
    "quotes": (b"salary,y\n" + b'"4\n1","no\r\nyes"\n' * 25, HONEST),
    "null bytes": (b"salary,y\n" + b"\0,\0\n" * 25, HONEST),
    "wrong levels": (b"salary,y\n" + b"41000,no\n" * 25, ATTACK.format(levels="0, 1")),
    "truth values": (b"salary,y\n" + b"41000,no\n" * 25, ATTACK.format(levels="true, false")),
    "texts as levels": (b"salary,y\n" + b"\xff,no\n" * 25, ATTACK.format(levels="'a', 'b'")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_depends_on_values_is_refused(name, tmp_path):
    content, study = HOSTILE[name]
    path, account = tmp_path / "t.csv", Account()
    path.write_bytes(content)
    made = Study.from_dict(_toml(study)).release(path, ledger=account, untrusted=True, progress=False)
    assert np.isfinite(made.draws).all()
    assert account.charges == 1


def tables():
    """Yield columns of every type, hostile entries among them, in the place of a number and of a category."""
    yield "invalid UTF-8", pa.Array.from_buffers(pa.string(), 2, [None, *pa.array([b"\xff\xfe", b"a"]).buffers()[1:]])
    yield "texts", pa.array(["x", None])
    yield "a dictionary", pa.array(["x", None]).dictionary_encode()
    yield "lists", pa.array([[1], None])
    yield "structures", pa.array([{"a": 1}, None])
    yield "bytes", pa.array([b"\xff", None])
    yield "truth values", pa.array([True, None])
    yield "large numbers", pa.array([2**63 - 1, -(2**63)])
    yield "decimals", pa.array(["1e30", "1"]).cast(pa.decimal256(60, 0))
    yield "times", pa.array([1, None], type=pa.timestamp("s"))
    yield "nothing", pa.nulls(2)


@pytest.mark.parametrize("suffix", ["table", ".parquet"])
@pytest.mark.parametrize(("kind", "column"), [pytest.param(*case, id=case[0]) for case in tables()])
def test_columns_of_any_type_are_read(kind, column, suffix, tmp_path):
    table = pa.table({"salary": column, "y": column})
    if suffix == ".parquet":
        try:
            pq.write_table(table, tmp_path / "t.parquet")
        except pa.ArrowNotImplementedError:
            pytest.skip("no Parquet type for it")
    source = table if suffix == "table" else tmp_path / "t.parquet"
    for text in (HONEST, ATTACK.format(levels="0, 1"), ATTACK.format(levels="'a', 'b'")):
        account = Account()
        study = Study.from_dict(_toml(text.replace("n = 25", "n = 2")))
        made = study.release(source, ledger=account, untrusted=True, progress=False)
        assert np.isfinite(made.draws).all()
        assert account.charges == 1


@pytest.mark.parametrize("name", ["PseudoHuberRegression", "Categorical", "ExponentialRate", "BetaBernoulli", "GaussianMean"])
def test_arrays_of_anything_are_read(name):
    entries = np.array(["x", None, 10**400, b"\xff", float("nan"), object(), [1], "2.5"], dtype=object)
    declared = {
        "PseudoHuberRegression": ({"dimension": 1, "radius": 1.0, "width": 1.0}, (entries[:, None], entries)),
        "Categorical": ({"states": ("x", "y"), "smallest_probability": 0.1}, entries),
        "ExponentialRate": ({"bound": 1.0, "trim": (0.5, 2.0)}, entries),
        "BetaBernoulli": ({"trim": (0.2, 0.8), "trials": 3}, entries),
        "GaussianMean": ({"dimension": 1, "radius": 1.0}, entries[:, None]),
    }
    options, data = declared[name]
    plan = gs.plan(gs.models.MODELS[name](**options), gs.Budget(1.0, 1e-6), n=8, adjacency="replace-one")
    assert np.isfinite(plan.release(data, ledger=Account(), untrusted=True, progress=False).draws).all()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow", ".npz", "table", "declared"])
def test_a_wrong_number_of_rows_is_refused_before_the_charge_without_a_record_decoded(suffix, tmp_path, monkeypatch):
    account, study = Account(), Study.from_dict(_toml(HONEST.replace("n = 25", "n = 24")))
    source = salaries()
    if suffix.startswith("."):
        source = _written(tmp_path / f"t{suffix}")

    def decoded(*_, **__):
        raise AssertionError("a record was decoded")

    monkeypatch.setattr("gibbsafe.data.files.FileTable.batches", decoded)
    monkeypatch.setattr(DeclaredTable, "batches", decoded)
    with pytest.raises(gs.DomainError, match="not the n = 24 records") as refusal:
        study.release(source, ledger=account, untrusted=True)
    assert "25" not in str(refusal.value)
    assert account.charges == 0


def _written(path):
    import gzip

    from pyarrow import feather

    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(write(path.parent / "plain.csv").read_bytes()))
    elif path.suffix == ".arrow":
        feather.write_feather(salaries(), path)
    elif path.suffix == ".npz":
        np.savez(path, **_arrays())
    else:
        write(path)
    return path


def _arrays():
    return {name: np.array(column) for name, column in salaries().to_pydict().items()}


def test_the_charge_comes_before_the_first_record(tmp_path, monkeypatch):
    account = Account()
    study = Study.from_dict(_toml(HONEST))

    def broken(*_, **__):
        assert account.charges == 1
        raise OverflowError("41000 is too much")

    monkeypatch.setattr(DeclaredTable, "batches", broken)
    with pytest.raises(gs.DomainError, match=r"cannot be read \(OverflowError\)") as refusal:
        study.release(write(tmp_path / "t.csv"), ledger=account, untrusted=True)
    assert not leaks(told(refusal.value))
    assert account.charges == 1


def test_what_fails_while_sampling_says_nothing_of_the_data(monkeypatch):
    def broken(*_, **__):
        raise gs.GibbsafeError("log acceptance 41000 is above 0")

    account = Account()
    monkeypatch.setattr("gibbsafe.release.draw._draw_stages", broken)
    with pytest.raises(gs.GibbsafeError, match="a charge stands") as refusal:
        Study.from_dict(_toml(HONEST)).release(salaries(), ledger=account)
    assert not leaks(told(refusal.value))
    assert account.charges == 1


def test_untrusted_needs_an_account_and_shows_nothing():
    plan = Study.from_dict(_toml(HONEST)).plan()
    with pytest.raises(gs.ParameterError, match="ledger"):
        plan.release(salaries(), untrusted=True)
    with pytest.raises(gs.ParameterError, match="show_values"):
        plan.release(salaries(), untrusted=True, ledger=Account(), show_values=True)


def test_a_lenient_reader_reads_what_the_fast_one_reads(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a;b;c\n1,5;"x;y";true\n\n-2;;0\n"3";z;FALSE\n', encoding="utf-8")
    table = FileTable(path, {"c": "truth", "a": "number", "b": "text"}, CsvFormat(";", "utf-8", ","))
    fast, lenient = (pa.Table.from_batches(table.batches(how)).to_pydict() for how in ("error", "replace"))
    assert fast == lenient
    assert table.count_rows() == 3


# -- by the command line -----------------------------------------------------------------------------------------------------


def test_the_command_line_charges_first_and_names_the_account_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(ATTACK.format(levels="0, 1") + '[ledger]\naccount = "mine"\nurl = "mine.db"\n')
    write(Path("t.csv"))
    release = ["release", "study.toml", "--data", "t.csv"]
    opened = ["ledger", "open", "their.db#clinic", "--epsilon", "1", "--delta", "1e-5", "--adjacency", "replace-one", "-q"]
    assert _run(*opened) == 0
    capsys.readouterr()
    assert _run(*release, "--untrusted-study") == 2
    assert _run(*release, "--untrusted-study", "--ledger", "their.db#clinic", "--show-values") == 2
    assert _run(*release, "--ledger", "their.db#clinic") == 1
    assert not leaks(capsys.readouterr().err)
    assert _run(*release, "--ledger", "their.db#clinic", "--show-values") == 1
    assert "41000" in capsys.readouterr().err
    assert _run(*release, "--untrusted-study", "--ledger", "their.db#clinic", "--json") == 0
    assert not leaks(capsys.readouterr().out)


def _run(*arguments):
    import sys

    from gibbsafe.cli import main

    before, sys.argv = sys.argv, ["gibbsafe", *arguments]
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0
    finally:
        sys.argv = before
    return 0
