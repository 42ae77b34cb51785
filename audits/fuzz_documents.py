"""Broken plans, releases, ledgers, Parquet tables and command lines: the cases of `fuzz_inputs.py` that are no studies."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gibbsafe as gs

ODD: list[Any] = [
    *[True, -1, 0, 1, 10**8, 10**18, 10**400, 1e300, -0.0, 1e-320, None, "", "1.5", "x" * 50, "\u001b[2J", "\u202e", "=1+1"],
    *[[], [0], [[1.0]], {}, {"a": 1}, "replace-one", "add-remove", "gibbsafe/release/2", "0" * 64],
]
MODELS: list[tuple[Any, Any]] = [
    (gs.models.LogisticRegression(dimension=2, feature_names=("a", "b")), (np.full((8, 2), 0.1), np.arange(8) % 2)),
    (gs.models.GaussianMean(dimension=2, radius=1.0), np.full((8, 2), 0.1)),
    (gs.models.BetaBernoulli(trim=(0.2, 0.7)), np.arange(8) % 2),
    (gs.models.Categorical(states=("u", "v", "w"), smallest_probability=0.1), np.array(list("uvwuvwuv"))),
    (gs.models.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0.5, 1.5)), np.full((8, 2), 0.1)),
    (gs.models.BayesianNetwork(states={"a": 2, "b": 2}, parents={"b": ["a"]}, smallest_probability=0.2), np.eye(8, 2, dtype=int)),
]
#: What command lines are spoiled with, besides texts with spaces, bytes that are no text, and nothing.
TEXT = """
    plan release verify query report init ledger key open show spend export check mark anchor backup grants new list estimate
    study.toml table.csv r.json p.json ledger.db ledger.db#clinic x#y env:NOTHING#c . /dev/null - --
    --out --data --json --quiet --force --no-ledger --ledger --key --reason --purpose --anchor --dataset --storage --who
    --sign --public-key --key-list --level --epsilon --delta --adjacency --mu --rho --memory --untrusted-study
    --clipping --show-values --seeded --predict --simulate --head --reserve --currency --unit
    0 1 -1 nan 1e400 99999999999999999999 x ü replace-one
"""
WORDS = [*TEXT.split(), "", " ", "\udcff"]
#: Command lines that work, to be spoiled.
COMMANDS = [
    line.split()
    for line in (
        "plan study.toml -q",
        "release study.toml --data table.csv --no-ledger --out new.json -q",
        "release study.toml --data table.csv --ledger ledger.db#clinic --reason x --out new.json -q",
        "release study.toml --data table.csv --ledger ledger.db#clinic --untrusted-study --memory 5MB --out new.json -q",
        "verify r.json -q",
        "query r.json --level 0.9 --json",
        "query r.json --simulate 3 --out new.csv",
        "report r.json --out new.html",
        "init table.csv --out new.toml",
        "ledger open new.db#x --epsilon 1 --delta 1e-6 --adjacency replace-one --anchor marks",
        "ledger show ledger.db#clinic",
        "ledger spend ledger.db#clinic --key k --mu 0.1 --adjacency replace-one --anchor marks",
        "ledger export ledger.db#clinic --out new.json",
        "ledger check ledger.db#clinic --head x",
        "ledger mark ledger.db#clinic r.json",
        "ledger backup ledger.db --out new.db",
        "ledger grants --prefix x",
        "key new new.key",
        "key list keys.json --sign new.key --add new.key.pub",
    )
]


@cache
def documents() -> list[dict[str, Any]]:
    """Releases of several models, as their files say it."""
    made = []
    for model, data in MODELS:
        plan = gs.plan(model, gs.Budget(2.0, 1e-6), n=8, adjacency="replace-one", draws=2)
        made.append(json.loads(json.dumps(plan.release(data).to_dict())))
    guessed = gs.plan(gs.models.BernoulliLogit(), gs.Budget(2.0, 1e-6), n=8, adjacency="add-remove")
    return [*made, json.loads(json.dumps(guessed.release(np.arange(8) % 2).to_dict()))]


def mutate(content: Any, choose: random.Random) -> Any:
    """Drop, rename, repeat or replace something somewhere in plain data."""
    made = json.loads(json.dumps(content))
    for _ in range(choose.randint(0, 3)):
        place = made
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = choose.choice(keys)
            inner = place[key]
            if isinstance(inner, dict | list) and inner and choose.random() < 0.75:
                place = inner
                continue
            action = choose.randrange(5)
            if action == 0:
                del place[key]
            elif action == 1 and isinstance(place, dict):
                place[choose.choice([f"{key}s", "", "format"])] = place.pop(key)
            elif action == 2 and isinstance(place, list):
                place.append(inner)
            else:
                place[key] = copy.deepcopy(choose.choice(ODD))  # else one list could come to contain itself
            break
    return made


def hashed(content: Any) -> Any:
    """Return a release whose hash fits, where it can have one."""
    if not isinstance(content, dict):
        return content
    body = {name: value for name, value in content.items() if name not in ("sha256", "signature")}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return content | {"sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}


def release_case(folder: Path, choose: random.Random, mutate_bytes: Callable[[bytes, random.Random], bytes]) -> list[list[str]]:
    """Write a broken release; return a command that reads it, seldom the one that draws pictures."""
    content = mutate(choose.choice(documents()), choose)
    _write(folder / "r.json", hashed(content) if choose.random() < 0.7 else content, choose, mutate_bytes)
    (folder / "ledger.db").write_bytes(ledger_file())
    commands = [["verify", "r.json", choose.choice(["-q", "--json"])], ["query", "r.json", "--json"]]
    commands += [["ledger", "mark", "ledger.db#clinic", "r.json"], ["report", "r.json", "--out", "report.html", "-q"]]
    return [choose.choices(commands, [8, 6, 4, 1])[0]]


def plan_case(folder: Path, choose: random.Random, mutate_bytes: Callable[[bytes, random.Random], bytes]) -> list[list[str]]:
    """Write a broken plan; return a command that reads it."""
    _write(folder / "p.json", mutate(choose.choice(documents())["plan"], choose), choose, mutate_bytes)
    return [["plan", "p.json", choose.choice(["-q", "--json"])]]


def _write(path: Path, content: Any, choose: random.Random, mutate_bytes: Callable[[bytes, random.Random], bytes]) -> None:
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
    path.write_bytes(mutate_bytes(text, choose) if choose.random() < 0.2 else text)


@cache
def ledger_file() -> bytes:
    """The bytes of a small ledger."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "ledger.db"
        account = gs.ledger.open_account(str(path), "clinic", gs.Budget(4.0, 1e-6), adjacency="replace-one")
        account.spend(gs.privacy.GaussianDP(0.1, adjacency="replace-one"), key="a")
        plan = gs.plan(gs.models.BernoulliLogit(), gs.Budget(0.3, 1e-6), n=8, adjacency="replace-one")
        plan.release(np.arange(8) % 2, ledger=account)
        gs.ledger.copy_ledger(account.database, Path(place) / "copy.db")
        return (Path(place) / "copy.db").read_bytes()


COLUMNS = {
    "gibbsafe_accounts": ["name", "format", "opening", "spent_main", "spent_slack", "spent_failure", "entries", "head"],
    "gibbsafe_entries": ["account", "number", "kind", "key", "body", "plan", "previous", "hash"],
}


def ledger_case(folder: Path, choose: random.Random, mutate_bytes: Callable[[bytes, random.Random], bytes]) -> list[list[str]]:
    """Write a ledger with edited rows, or edited bytes; return commands that read and charge it."""
    for old in folder.glob("ledger.db*"):
        old.unlink()
    path = folder / "ledger.db"
    if choose.random() < 0.2:
        path.write_bytes(mutate_bytes(ledger_file(), choose))
    else:
        path.write_bytes(ledger_file())
        with sqlite3.connect(path) as connection:
            for _ in range(choose.randint(0, 2)):
                _edit_row(connection, choose)
        connection.close()
    spend = ["ledger", "spend", "ledger.db#clinic", "--key", "b", "--mu", "0.1", "--adjacency", "replace-one", "-q"]
    others = [["ledger", verb, "ledger.db#clinic"] for verb in ("show", "check", "export")]
    return [choose.choice([spend, spend, *others, ["ledger", "backup", "ledger.db", "--out", "copy.db", "--force", "-q"]])]


def _edit_row(connection: sqlite3.Connection, choose: random.Random) -> None:
    table = choose.choice(list(COLUMNS))
    column = choose.choice(COLUMNS[table])
    (value,) = choose.choice(connection.execute(f"SELECT {column} FROM {table}").fetchall())
    odd: Any = choose.choice([*ODD, b"\xff\x00", value])
    if isinstance(value, str) and value.startswith("{") and choose.random() < 0.7:
        odd = json.dumps(mutate(json.loads(value), choose), sort_keys=True, separators=(",", ":"))
    elif isinstance(odd, dict | list | bool) or (isinstance(odd, int) and abs(odd) >= 2**63):
        odd = json.dumps(odd)
    with contextlib.suppress(sqlite3.IntegrityError, UnicodeEncodeError):
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT max(rowid) FROM {table})", (odd,))


def parquet_case(
    folder: Path, choose: random.Random, study: bytes, mutate_bytes: Callable[[bytes, random.Random], bytes]
) -> list[list[str]]:
    """Write a Parquet, Arrow or NumPy table with odd columns, types and values; return a release of it."""
    import pyarrow as pa

    columns: dict[str, Any] = {
        "a": pa.array([k + 0.5 for k in range(8)]),
        "b": pa.array(list("uvwuvwuv")),
        "c": pa.array([k / 2 for k in range(8)]),
        "p": pa.array([k // 2 for k in range(8)]),
        "y": pa.array(["no", "yes"] * 4),
    }
    odd = [
        pa.array([None] * 8),
        pa.array([True] * 8),
        pa.array([float("nan")] * 8),
        pa.array([1e308, -1e308] * 4),
        pa.array([[1.0]] * 8),
        pa.array([2**63 - 1] * 8),
        pa.array(["\u001b[2J"] * 8),
        pa.array([b"\xff"] * 8),
        pa.array(["u"] * 8).dictionary_encode(),
    ]
    for _ in range(choose.randint(0, 2)):
        name = choose.choice(list(columns))
        if choose.random() < 0.3 and len(columns) > 1:
            del columns[name]
        else:
            columns[name] = choose.choice(odd)
    path = folder / f"table.{choose.choice(['parquet', 'parquet', 'arrow', 'arrows', 'npz'])}"
    _write_table(path, pa.table(columns).slice(0, choose.choice([8, 8, 8, 0, 1])))
    if choose.random() < 0.4:
        path.write_bytes(mutate_bytes(path.read_bytes(), choose))
    (folder / "study.toml").write_bytes(study)
    return [["release", "study.toml", "--data", path.name, "--no-ledger", "--out", "release.json", "-q"]]


def _write_table(path: Path, table: Any) -> None:
    """Write a table in the binary format that the name says."""
    from pyarrow import ipc, parquet

    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".npz":
        arrays = {name: np.array(table[name].to_pylist()) for name in table.column_names if table[name].null_count == 0}
        np.savez(path, **{name: values for name, values in arrays.items() if values.dtype != object})
    else:
        new = ipc.new_file if path.suffix == ".arrow" else ipc.new_stream
        with new(str(path), table.schema) as sink:
            sink.write_table(table)


def arguments_case(folder: Path, choose: random.Random, study: bytes, table: bytes) -> list[list[str]]:
    """Return a command line of words that commands know, in an order that they do not."""
    (folder / "study.toml").write_bytes(study)
    (folder / "table.csv").write_bytes(table)
    (folder / "r.json").write_text(json.dumps(documents()[0]))
    (folder / "p.json").write_text(json.dumps(documents()[0]["plan"]))
    for old in folder.glob("ledger.db*"):
        old.unlink()
    (folder / "ledger.db").write_bytes(ledger_file())
    words = list(choose.choice(COMMANDS))
    for _ in range(choose.randint(0, 3)):
        at, action = choose.randrange(1, len(words) + 1), choose.randrange(3)
        words[at : at + (action > 0)] = [] if action == 2 else [choose.choice(WORDS)]
    return [words]


def clean(folder: Path) -> None:
    """Empty the folder for the next case."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
