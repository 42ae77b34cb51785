"""Attack 4: files that say two things, lie about their size, or hold draws that no such model has."""

import copy
import hashlib
import json
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

import gibbsafe as gs

from ..examples import EXAMPLES, records

RELEASES = {
    "logistic": (gs.models.LogisticRegression(dimension=2), (np.full((40, 2), 0.1), np.arange(40) % 2)),
    "mean": (gs.models.GaussianMean(dimension=2, radius=1.0), np.full((40, 2), 0.1)),
    "bernoulli": (gs.models.BetaBernoulli(trim=(0.3, 0.9)), np.arange(40) % 2),
    "categorical": (gs.models.Categorical(states=3, smallest_probability=0.1), np.arange(40) % 3),
    "chain": (gs.models.MarkovChain(states=2, length=3, smallest_probability=0.1), np.zeros((40, 3), dtype=int)),
    "precision": (gs.models.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0.5, 1.5)), np.full((40, 2), 0.1)),
    "rate": (gs.models.ExponentialRate(trim=(0.2, 2.0), bound=1.0), np.full(40, 0.5)),
    "points": (gs.models.FiniteFamily.bernoulli(0.25), np.arange(40) % 2),
    "welsch": (gs.models.WelschLocation(scale=1.0, bounds=(-3.0, 3.0)), np.full(40, 0.5)),
} | {name: (example.model, records(example.model, 40)) for name, example in EXAMPLES.items()}


@pytest.fixture(scope="module")
def contents():
    made = {}
    for name, (model, data) in RELEASES.items():
        plan = gs.plan(model, gs.Budget(2.0, 1e-6), n=40, adjacency="replace-one", draws=2)
        made[name] = json.loads(json.dumps(plan.release(data).to_dict()))
    return made


def hashed(content):
    """A file that is consistent as far as its hash goes: whoever alters one can also hash it."""
    body = {name: value for name, value in content.items() if name not in ("sha256", "signature")}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return json.dumps(content | {"sha256": hashlib.sha256(text.encode()).hexdigest()})


def refused(tmp_path, text, match="."):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(gs.CertificateError, match=match) as refusal:
        gs.verify(path)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 700


def test_untouched_files_verify(tmp_path, contents):
    for content in contents.values():
        path = tmp_path / "r.json"
        path.write_text(hashed(content))
        gs.verify(path)


def test_two_keys_of_one_name(tmp_path, contents):
    text = hashed(contents["mean"])
    refused(tmp_path, text.replace('"draws": [', '"draws": [[0.0, 0.0]], "draws": ['), "stands twice")
    with pytest.raises(gs.CertificateError, match="stands twice"):
        gs.Plan.from_json(json.dumps(contents["mean"]["plan"]).replace('"draws": 2', '"draws": 1, "draws": 2'))


@pytest.mark.parametrize("odd", ["1.5", True, None, [1.0], 10**400, {}])
def test_what_is_no_number(tmp_path, contents, odd):
    content = copy.deepcopy(contents["mean"])
    content["draws"][0][0] = odd
    refused(tmp_path, hashed(content), "draws")


def leaves(value, path=()):
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from leaves(entry, (*path, name))
    elif isinstance(value, list):
        for k, entry in enumerate(value):
            yield from leaves(entry, (*path, k))
    else:
        yield path, value


def replaced(content, path, value):
    made = copy.deepcopy(content)
    place = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return made


@pytest.mark.parametrize("name", RELEASES)
def test_texts_and_truth_values_for_numbers_in_plans(contents, name):
    plan = contents[name]["plan"]
    for path, value in leaves(plan):
        named = {"labels", "event_labels", "states", "outcomes", "categories"}  # of states: may be texts or truth values
        name_of_a_state = named & set(path)
        if isinstance(value, int | float) and not isinstance(value, bool) and not name_of_a_state:
            for odd in (str(value), True):
                if odd == value and type(odd) is type(value):
                    continue
                with pytest.raises(gs.GibbsafeError):
                    gs.Plan.from_dict(replaced(plan, path, odd))


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"format": ' * 50_000, "9" * 5000, '{"a": NaN}', "null", "\ud7ff", '"x"']
)
def test_files_that_are_no_releases(tmp_path, text):
    refused(tmp_path, text)


def test_endless_integers(tmp_path, contents):
    refused(tmp_path, hashed(contents["mean"]).replace('"n": 40', '"n": ' + "4" * 4301), "not JSON|4300")


@pytest.mark.parametrize("version", ["gibbsafe/release/4", "gibbsafe/release/1 ", None, 1, ["gibbsafe/release/1"]])
def test_unknown_formats(tmp_path, contents, version):
    refused(tmp_path, hashed(contents["mean"] | {"format": version}), "format")


OUTSIDE = {
    "bernoulli": ([[1.5], [0.5]], "trim"),
    "categorical": ([[0.5, 0.25, 0.125], [0.5, 0.25, 0.25]], "add up"),
    "chain": ([[1.5, -0.5, 0.5, 0.5, 0.5, 0.5], [0.5] * 6], "below"),
    "precision": ([[1.0, 3.0, 1.0], [1.0, 0.0, 1.0]], "trim"),
    "rate": ([[4.0], [1.0]], "trim"),
    "points": ([[0.375], [0.25]], "points"),
    "welsch": ([[4.0], [0.0]], "trim"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_draws_outside_the_support(tmp_path, contents, name):
    draws, message = OUTSIDE[name]
    refused(tmp_path, hashed(contents[name] | {"draws": draws}), message)


def test_draws_outside_the_parameter_ball(tmp_path):
    model = gs.models.LinearRegression(dimension=1, response_bounds=(-1.0, 1.0))
    if model.ball is None:
        pytest.skip("this regression has no parameter ball")
    plan = gs.plan(model, gs.Budget(2.0, 1e-6), n=40, adjacency="replace-one")
    content = json.loads(json.dumps(plan.release((np.full((40, 1), 0.1), np.zeros(40))).to_dict()))
    far = model.to_original(np.array([[4.0 * model.ball, 0.0]])).tolist()
    refused(tmp_path, hashed(content | {"draws": far}), "ball|grid")


#: Verifies files in one process that may take 1 GB more than an empty one.
BOUNDED = """
import json, resource, sys, time
import gibbsafe as gs
room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 10**9
resource.setrlimit(resource.RLIMIT_AS, (room, room))
for path in sys.argv[1:]:
    started = time.perf_counter()
    try:
        gs.verify(path)
        outcome = "holds"
    except gs.GibbsafeError as error:
        outcome = "refused"
    print(json.dumps([path, outcome, time.perf_counter() - started]), flush=True)
"""


def test_sizes_are_checked_before_anything_is_allocated(tmp_path, contents):
    """Every number of every plan as 10⁸, 10¹⁸ or 1e300, consistently hashed: within 1 GB and a few seconds each.

    A model's own numbers as all three; those that every plan has take turns from one model to the next.
    """
    paths, sizes = [], (10**8, 10**18, 1e300)
    for turn, (name, content) in enumerate(contents.items()):
        for path, value in leaves(content["plan"]):
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            for huge in sizes if path[0] == "model" else sizes[turn % 3 :][:1]:
                file = tmp_path / f"{name}-{'-'.join(map(str, path))}-{huge:g}.json"
                file.write_text(hashed(replaced(content, ("plan", *path), huge)))
                paths.append(str(file))
    result = subprocess.run([sys.executable, "-c", BOUNDED, *paths], capture_output=True, text=True, check=False)
    seen = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(seen) == len(paths), result.stderr[-2000:]
    assert max(seconds for _, _, seconds in seen) < 20, max(seen, key=lambda each: each[2])


def test_verify_takes_time_and_memory_in_proportion_to_the_file(tmp_path):
    """A release of 50,000 parameters (4 MB) within a gigabyte and 60 seconds."""
    model = gs.models.GaussianMean(dimension=50_000, radius=1.0)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=10, adjacency="replace-one")
    plan.release(np.zeros((10, 50_000))).save(tmp_path / "r.json")
    started = time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(tmp_path / "r.json")], capture_output=True, text=True, check=False
    )
    assert '"holds"' in result.stdout, result.stderr[-2000:]
    assert time.perf_counter() - started < 60


def test_a_file_above_the_limit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("gibbsafe._json.LARGEST_FILE", 1000)
    (tmp_path / "r.json").write_text(" " * 2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(gs.CertificateError, match="larger than"):
        gs.verify(tmp_path / "r.json")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize("value", [1e300, -1e308])
def test_draws_that_overflow_their_grid(tmp_path, contents, value):
    for name in ("mean", "logistic"):
        width = len(contents[name]["parameters"])
        refused(tmp_path, hashed(contents[name] | {"draws": [[value] * width] * 2}), "grid")


class Counted(str):
    """A name that counts how often it is compared or hashed."""

    operations = 0
    __slots__ = ()

    def __eq__(self, other):
        Counted.operations += 1
        return str.__eq__(self, other)

    def __hash__(self):
        Counted.operations += 1
        return str.__hash__(self)


def network(nodes, parents):
    """A plan of a network, as a file says it, whose names count; every node has one parent, by the given rule."""
    names = [Counted(f"n{k}") for k in range(nodes)]
    states = [[name, ["u", "v"]] for name in reversed(names)]  # children before their parents
    graph = [[names[k], [names[parents(k)]]] for k in range(1, nodes)]
    model = gs.models.BayesianNetwork(states=states, parents=graph, smallest_probability=0.4)
    return gs.plan(model, gs.Budget(2.0, 1e-6), n=8, adjacency="replace-one").to_dict()


@pytest.mark.parametrize("parents", [lambda k: k - 1, lambda k: 0, lambda k: k // 2], ids=["chain", "star", "tree"])
def test_checking_a_network_takes_time_in_proportion_to_its_file(parents):
    """Counted in comparisons of names and in lines of ours that run, at sizes s and 4s."""
    work = []
    for nodes in (60, 240):
        content, lines = network(nodes, parents), 0

        def count_lines(frame, event, _):
            nonlocal lines
            if "gibbsafe" not in frame.f_code.co_filename:
                return None
            lines += event == "line"
            return count_lines

        Counted.operations = 0
        before = sys.gettrace()
        sys.settrace(count_lines)
        try:
            gs.Plan.from_dict(content)
        finally:
            sys.settrace(before)
        work.append((Counted.operations, lines))
    (few, short), (many, long) = work
    assert few > 60
    assert many < 6 * few
    assert long < 6 * short


def test_a_network_of_too_many_nodes_or_parents_is_refused_at_once(tmp_path, contents):
    many = [[f"n{k}", 2] for k in range(10_001)]
    for states, parents, match in (
        (many, [], "10,000 nodes"),
        (many[:30], [["n29", [f"n{k}" for k in range(29)]]], "at most 24"),
    ):
        with pytest.raises(gs.ParameterError, match=match):
            gs.models.BayesianNetwork(states=states, parents=parents, smallest_probability=0.4)
        model = {
            "name": "BayesianNetwork",
            "states": states,
            "parents": parents,
            "smallest_probability": 0.4,
            "concentration": 1.0,
        }
        altered = copy.deepcopy(contents["chain"])
        altered["plan"]["model"] = model
        refused(tmp_path, hashed(altered))


def test_a_prior_is_given_only_where_one_can_be(tmp_path, contents):
    for name in ("bernoulli", "categorical", "precision", "points", "welsch"):
        altered = copy.deepcopy(contents[name])
        altered["plan"]["prior_given"] = True
        refused(tmp_path, hashed(altered), "prior")


@pytest.mark.parametrize("content", ["n = " + "9" * 5000, "a = " + "[" * 100_000, "a = " + "x" * 10_000_001, "a = '\\xff'"])
@pytest.mark.parametrize("command", ["plan", "estimate", "audit", "release"])
def test_studies_that_are_none_are_refused_in_one_line(tmp_path, run, command, content):
    path = tmp_path / "study.toml"
    path.write_text(content)
    code, _, err = run(command, path, *(("--data", path, "--no-ledger") if command == "release" else ()))
    assert (code, err.count("\n")) == (1, 1), err[-300:]
    assert len(err) < 1000


@pytest.mark.parametrize(
    "command", [("query", "r.json", "--simulate", "9" * 20), ("audit", "p.json", "--effort", "1", "--draws", "9" * 20)]
)
def test_sizes_of_arguments_are_bounded(tmp_path, monkeypatch, run, contents, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.json").write_text(json.dumps(contents["categorical"]))
    (tmp_path / "p.json").write_text(json.dumps(contents["bernoulli"]["plan"]))
    code, _, err = run(*command)
    assert (code, err.count("\n")) == (1, 1), err[-300:]


def test_want_of_memory_is_a_refusal(tmp_path, monkeypatch, run, contents):
    def full(path):
        raise MemoryError

    monkeypatch.setattr("gibbsafe.release.releases.read_release", full)
    code, _, err = run("verify", tmp_path / "r.json")
    assert (code, err.count("\n")) == (1, 1)
    assert "memory" in err


@pytest.mark.parametrize("name", ["n", "draws", "rows_per_person"])
@pytest.mark.parametrize("size", [10**18 + 1, 10**400])
def test_counts_that_are_no_numbers_of_anything_are_refused(tmp_path, run, contents, name, size):
    """An n of 400 digits was planned, and then overflowed where its utility was printed."""
    for kind in ("categorical", "bernoulli"):
        (tmp_path / "p.json").write_text(json.dumps(contents[kind]["plan"] | {name: size}))
        code, _, err = run("plan", tmp_path / "p.json", "--json")
        assert (code, err.count("\n")) == (1, 1), err[-300:]
