"""Parts of an audit continue where they stopped, and begin anew when what they depend on changed."""

import importlib

import pytest

from .loading import AUDITS, load


@pytest.fixture
def parts(tmp_path, monkeypatch):
    module = load("parts")
    monkeypatch.setattr(module, "STATE", tmp_path / "state")
    monkeypatch.delenv("FRESH", raising=False)
    return module


def counted(parts, calls, arguments=0, sources="a", stop=None, **options):
    def work(unit):
        if unit == stop:
            raise KeyboardInterrupt
        calls.append(unit)
        return unit * unit

    return parts.Part("demo", arguments, watched=lambda: sources).run(range(5), work, workers=1, **options)[0]


def test_an_interrupted_part_continues_and_a_done_one_is_skipped(parts):
    calls = []
    with pytest.raises(KeyboardInterrupt):
        counted(parts, calls, stop=3)
    assert calls == [0, 1, 2]
    assert counted(parts, calls) == [0, 1, 4, 9, 16]
    assert calls == [0, 1, 2, 3, 4]
    counted(parts, calls)
    assert len(calls) == 5


def test_an_entry_cut_short_is_done_again(parts):
    calls = []
    counted(parts, calls)
    (path,) = parts.STATE.iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    assert counted(parts, calls) == [0, 1, 4, 9, 16]
    assert calls[5:] == [4]


@pytest.mark.parametrize("change", [{"sources": "b"}, {"arguments": 1}, {"fresh": True}])
def test_other_sources_arguments_or_fresh_begin_anew(parts, monkeypatch, change):
    calls = []
    counted(parts, calls)
    if change.pop("fresh", False):
        monkeypatch.setenv("FRESH", "1")
    counted(parts, calls, **change)
    assert len(calls) == 10


def test_what_time_does_not_allow_is_left_for_another_time(parts):
    assert counted(parts, [], minutes=0) == [0, None, None, None, None]
    assert counted(parts, []) == [0, 1, 4, 9, 16]


def test_bugs_are_planted_where_they_are_declared(monkeypatch):
    monkeypatch.syspath_prepend(str(AUDITS))
    mutations = importlib.import_module("mutations")
    every = mutations.mutations()
    assert len(every) == len(set(every)) > 1000
    kinds = {mutation.operator.split(":")[0] for mutation in every}
    assert kinds == {"halved", "doubled", "comparison", "sign", "rounding", "exchanged", "check skipped", "adjacency"}
    for mutation in every[:: len(every) // 25]:
        compile(mutations.mutated(mutation)[0], mutation.file, "exec")
