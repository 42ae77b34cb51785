"""Releases: exact neighbours through the plan itself, refusals that depend on form only, files that say what they hold."""

import copy
import json
import math
import pickle
import re

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.models import LogisticRegression
from gibbsafe.release.draw import storage_of

BUDGET = gs.Budget(1.0, 1e-6)


def seeded(seed=0):
    return np.random.default_rng(seed)


def table(n=60, d=2, seed=1):
    rng = seeded(seed)
    X = rng.uniform(-0.6, 0.6, (n, d))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


def planned(n=60, d=2, *, budget=BUDGET, model=None, **options):
    options = {"adjacency": "replace-one"} | options
    return gs.plan(model or LogisticRegression(dimension=d), budget, n=n, **options)


@pytest.fixture(scope="module")
def made():
    return planned(draws=3).release(table(), generator=seeded())


# -- what is released ----------------------------------------------------------------------------------------------


def test_a_release_has_draws_names_and_a_certificate(made):
    assert made.draws.shape == (3, 3)
    assert made.parameters == ("x0", "x1", "intercept")
    certificate = made.certificate
    assert certificate["claim"]["epsilon"] <= 1.0
    assert certificate["claim"]["delta"] == 1e-6
    assert certificate["claim"]["mu"] == made.plan.guarantee.gaussian().mu
    assert certificate["randomness"] == "seeded"
    assert certificate["n"] == 60
    assert {premise["status"] for premise in certificate["premises"]} == {"checked", "asserted"}
    assert "for tests only" in str(certificate)
    assert "x0" in made.summary()
    with pytest.raises(ValueError, match="read-only"):
        made.draws[0, 0] = 0.0


def test_randomness_is_secure_unless_given():
    plan = planned()
    first, second = plan.release(table()), plan.release(table())
    assert first.certificate["randomness"] == "secure"
    assert not np.array_equal(first.draws, second.draws)
    one, two = (plan.release(table(), generator=seeded(5)) for _ in range(2))
    np.testing.assert_array_equal(one.draws, two.draws)
    with pytest.raises(gs.ParameterError, match="generator"):
        plan.release(table(), generator=5)


def test_draws_lie_on_the_grid(made):
    steps = made.plan.model.from_original(made.draws) / made.plan.grid
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-3)


def test_predictions_use_the_declared_labels():
    X, y = table()
    model = LogisticRegression(dimension=2, labels=("no", "yes"))
    made = planned(model=model, budget=gs.Budget(50.0, 1e-3)).release((X, np.where(y, "yes", "no")), generator=seeded())
    probability = made.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert set(made.predict(X)) <= {"no", "yes"}
    assert (made.predict(X) == np.where(y, "yes", "no")).mean() > 0.7
    assert ((probability[:, 1] > 0.5) == (made.predict(X) == "yes")).all()
    np.testing.assert_allclose(made.predict_proba(X * 1e300), made.predict_proba(X * 1e200))  # clipped as in training
    with pytest.raises(gs.DomainError, match="rows of 2 columns"):
        made.predict(X[:, :1])
    with pytest.raises(gs.DomainError, match="not finite"):
        made.predict([[math.nan, 0.0]])


def test_float32_storage_is_close_and_says_so():
    plan = planned()
    wide = plan.release(table(), generator=seeded(3))
    narrow = plan.release(table(), generator=seeded(3), storage="float32")
    assert narrow.certificate["storage"] == "float32"
    np.testing.assert_allclose(narrow.draws, wide.draws, rtol=1e-3, atol=1e-2)


def test_large_estimates_are_kept_in_float32_by_public_numbers_alone():
    model = LogisticRegression(dimension=20)
    few, many = (gs.plan(model, BUDGET, n=n, adjacency="replace-one", purpose="estimate") for n in (1000, 1_000_000))
    assert (storage_of(few), storage_of(many)) == ("float64", "float32")
    private = gs.plan(model, BUDGET, n=None, adjacency="add-remove")
    draw = gs.plan(model, BUDGET, n=1_000_000, adjacency="replace-one", sampler="shell")
    assert storage_of(private) == storage_of(draw) == "float64"


def test_arrow_tables_by_column_name():
    pa = pytest.importorskip("pyarrow")
    X, y = table()
    model = LogisticRegression(dimension=2, feature_names=("b", "a"), target="out")
    plan = planned(model=model)
    expected = plan.release((X, y), generator=seeded()).draws
    arrow = pa.table({"a": X[:, 1], "id": np.arange(60), "b": X[:, 0], "out": y})
    np.testing.assert_array_equal(plan.release(arrow, generator=seeded()).draws, expected)
    chunked = pa.Table.from_batches(arrow.to_batches(max_chunksize=7))
    np.testing.assert_array_equal(plan.release(chunked, generator=seeded()).draws, expected)
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(plan.release(pandas.DataFrame(arrow.to_pandas()), generator=seeded()).draws, expected)
    with pytest.raises(gs.DomainError, match="column 'out': found 0 times"):
        plan.release(arrow.drop_columns(["out"]))
    with pytest.raises(gs.DomainError, match="not numeric"):
        plan.release(arrow.set_column(0, "a", pa.array(["x"] * 60)))
    with pytest.raises(gs.DomainError, match="feature_names"):
        planned().release(arrow)


def test_rows_per_person_keeps_the_first_rows_and_pays_for_them():
    X, y = table()
    people = np.arange(60) // 6
    plan = planned(n=10, rows_per_person=2)
    made = plan.release((X, y), persons=people, generator=seeded())
    assert made.certificate["unit"] == "one person with at most 2 records"
    kept = np.flatnonzero(np.arange(60) % 6 < 2)
    hidden = X.copy()
    hidden[np.setdiff1d(np.arange(60), kept)] = 0.1  # what is dropped does not matter
    again = plan.release((hidden, y), persons=people, generator=seeded())
    np.testing.assert_array_equal(made.draws, again.draws)
    for persons, words in ((None, "identifier per row"), (people[:5], "not one identifier per row")):
        with pytest.raises(gs.DomainError, match=words):
            plan.release((X, y), persons=persons)


def test_to_arviz(made):
    pytest.importorskip("arviz")
    posterior = made.to_arviz().posterior
    assert posterior["x0"].shape == (1, 3)


class Account:
    """A ledger that writes down what happened and when."""

    def __init__(self, refuse=False):
        self.refuse, self.charges = refuse, []

    def charge(self, plan):
        if self.refuse:
            raise gs.BudgetError("account exhausted")
        self.charges.append(plan)


def test_the_charge_comes_before_the_first_random_number():
    class Untouchable(np.random.Generator):
        def __getattribute__(self, name):
            if not name.startswith("__"):
                raise AssertionError("sampled before the charge")
            return super().__getattribute__(name)

    untouchable = Untouchable(np.random.PCG64(0))
    with pytest.raises(gs.BudgetError, match="exhausted"):
        planned().release(table(), ledger=Account(refuse=True), generator=untouchable)
    account = Account()
    plan = planned()
    plan.release(table(), ledger=account, generator=seeded())
    assert account.charges == [plan]
    with pytest.raises(gs.DomainError):
        plan.release((table()[0][:10], table()[1][:10]), ledger=account)
    assert len(account.charges) == 1  # a refused form costs nothing


# -- rule 1: what lies inside the domain is released ----------------------------------------------------------------

INSIDE = {
    "all labels equal": lambda X, y: (X, np.zeros_like(y)),
    "a constant column": lambda X, y: (np.column_stack([X[:, 0], np.ones(len(X))]), y),
    "collinear columns": lambda X, y: (np.column_stack([X[:, 0], X[:, 0]]), y),
    "all rows zero": lambda X, y: (np.zeros_like(X), y),
    "values of 1e300": lambda X, y: (X * 1e300, y),
    "separable labels": lambda X, y: (X, (X[:, 0] > 0).astype(int)),
}


@pytest.mark.parametrize("name", INSIDE)
def test_released_without_complaint(name):
    made = planned().release(INSIDE[name](*table()), generator=seeded())
    assert np.isfinite(made.draws).all()


def test_a_single_row_and_more_columns_than_rows_are_released():
    assert planned(n=1).release(([[0.5, 0.5]], [1]), generator=seeded()).draws.shape == (1, 3)
    X, y = table(n=5, d=12)
    assert planned(n=5, d=12).release((X, y), generator=seeded()).draws.shape == (1, 13)


def test_add_remove_releases_any_number_of_rows_and_never_prints_it():
    plan = planned(n=1000, adjacency="add-remove")
    for n in (0, 1, 59):
        X, y = table(n=max(n, 1))
        made = plan.release((X[:n], y[:n]), generator=seeded())
        assert made.certificate["n"] is None
        assert "1000" not in json.dumps(made.certificate.to_dict())


# -- refusals -------------------------------------------------------------------------------------------------------


def bad_data():
    X, y = table()
    yield "n", (X[:-1], y[:-1]), "not the n = 60 records", "there are 59"
    yield "columns", (X[:, :1], y), "rows of 2 columns", ""
    yield "one-dimensional", (X[:, 0], y), "rows of 2 columns", ""
    yield "labels", (X, y + 1), "declared labels", "row . is 2"
    yield "label count", (X, y[:-1]), "not of the same number of rows", "60 rows, 59 responses"
    yield "text", (X.astype(str) + "x", y), "must be numbers", "could not convert"
    yield "NaN", (np.where(np.arange(60)[:, None] == 7, math.nan, X), y), "missing or not finite", "row 7, column 0 is nan"
    yield "infinite", (np.where(np.arange(60)[:, None] == 8, math.inf, X), y), "missing or not finite", "row 8, column 0 is inf"
    yield "NaN label", (X, np.where(np.arange(60) == 3, math.nan, y)), "declared labels", "row 3 is nan"
    yield "no pair", X, "pair", ""
    yield "nothing", None, "pair", ""


@pytest.mark.parametrize(("data", "words", "private"), [case[1:] for case in bad_data()], ids=[case[0] for case in bad_data()])
def test_bad_data_is_refused_before_anything_is_charged(data, words, private):
    account = Account()
    with pytest.raises(gs.DomainError, match=words) as refusal:
        planned().release(data, ledger=account)
    assert private == "" or re.search(private, str(refusal.value)) is None
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None
    with pytest.raises(gs.DomainError, match=private or words):
        planned().release(data, ledger=account, show_values=True)
    assert not account.charges


def test_invalid_values_can_be_replaced_by_public_ones():
    X, y = table()
    X[3, 1], labels = math.nan, np.where(np.arange(60) == 4, 7, y)
    made = planned().release((X, labels), on_invalid="replace", generator=seeded())
    X[3, 1], labels[4] = 0.0, 0
    np.testing.assert_array_equal(made.draws, planned().release((X, labels), generator=seeded()).draws)
    with pytest.raises(gs.ParameterError, match="on_invalid"):
        planned().release((X, y), on_invalid="ignore")


# -- files ----------------------------------------------------------------------------------------------------------


def test_files_round_trip_and_verify(made, tmp_path):
    path = tmp_path / "release.json"
    made.save(path)
    again = gs.Release.load(path)
    np.testing.assert_array_equal(again.draws, made.draws)
    assert again.plan == made.plan
    assert again.certificate == made.certificate == gs.verify(path) == gs.verify(made)
    assert list(tmp_path.iterdir()) == [path]


def test_an_unwritable_path_leaves_nothing(made, tmp_path):
    with pytest.raises(gs.GibbsafeError, match="cannot be written"):
        made.save(tmp_path / "no" / "release.json")
    with pytest.raises(gs.GibbsafeError, match="cannot be written"):
        made.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_torn_and_foreign_files_are_refused(made, tmp_path):
    path = tmp_path / "release.json"
    made.save(path)
    whole = path.read_bytes()
    for content in (b"", b"{", whole[:-40], whole[: len(whole) // 2], b"[]", b"null", b"\xff\xfe", b'{"format": "other"}'):
        path.write_bytes(content)
        with pytest.raises(gs.CertificateError):
            gs.verify(path)
    with pytest.raises(gs.CertificateError, match="cannot be read"):
        gs.verify(tmp_path / "absent.json")
    with pytest.raises(gs.CertificateError, match="cannot be read"):
        gs.verify(tmp_path)


def leaves(value, path=()):
    """Yield the path of every scalar of a JSON document."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path


def mutated(document, path):
    changed = copy.deepcopy(document)
    spot = changed
    for step in path[:-1]:
        spot = spot[step]
    old = spot[path[-1]]
    if isinstance(old, bool):
        new = not old
    elif isinstance(old, int | float):
        new = old * 1.01 + 1e-3 if isinstance(old, float) else old + 1
    else:
        new = "x" if old is None else old + "x"
    spot[path[-1]] = new
    return changed


#: Free text or free choice that a consistent file may carry; only the hash protects these.
FREE = {("certificate", "version"), ("plan", "prior_given")}


def test_verify_rejects_every_single_field_change(made, tmp_path):
    from gibbsafe.release.files import digest as _digest

    path = tmp_path / "release.json"
    made.save(path)
    document = json.loads(path.read_text())
    rehashed = 0
    for where in list(leaves({"plan": document["plan"], "certificate": document["certificate"]})):
        changed = mutated(document, where)
        path.write_text(json.dumps(changed))
        with pytest.raises(gs.CertificateError):
            gs.verify(path)
        if where in FREE or where[:2] == ("plan", "model"):
            continue
        changed["sha256"] = _digest({name: value for name, value in changed.items() if name != "sha256"})
        path.write_text(json.dumps(changed))
        with pytest.raises(gs.CertificateError):
            pytest.fail(f"{where}: {gs.verify(path)}")
        rehashed += 1
    assert rehashed > 50


def test_verify_rejects_changed_draws_and_names(made, tmp_path):
    from gibbsafe.release.files import digest as _digest

    document = json.loads(json.dumps(made.to_dict()))
    for change in (
        {"draws": document["draws"][:-1]},
        {"draws": [[value + made.plan.grid / 3 for value in row] for row in document["draws"]]},
        {"draws": "none"},
        {"parameters": ["a", "b", "c"]},
        {"extra": 1},
    ):
        changed = document | change
        changed["sha256"] = _digest({name: value for name, value in changed.items() if name != "sha256"})
        path = tmp_path / "release.json"
        path.write_text(json.dumps(changed))
        with pytest.raises(gs.CertificateError):
            gs.verify(path)


def test_diagnostics_stay_inside(made, tmp_path):
    assert made.curator_diagnostics.values is not None
    with pytest.raises(gs.GibbsafeError, match="cannot be saved or pickled"):
        pickle.dumps(made.curator_diagnostics)
    copied = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(copied.draws, made.draws)
    with pytest.raises(gs.GibbsafeError, match="only in the process"):
        _ = copied.curator_diagnostics
    made.save(tmp_path / "release.json")
    assert "accept" not in (tmp_path / "release.json").read_text().replace("run until it accepts", "")


# -- soundness through the plan itself --------------------------------------------------------------------------------


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def posterior_on(grid_axes, plan, blocks):
    """Return the normalised posterior on a tensor grid, from the plan's own stage and encoded rows."""
    stage = plan.stages[0]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*grid_axes, indexing="ij")], axis=1)
    potential = plan.inverse_temperature * np.logaddexp(0, -points @ blocks.rows.T).sum(axis=1)
    potential += 0.5 * (points - np.array(stage.prior_centre)) ** 2 @ np.array(stage.prior_precision)
    density = np.exp(potential.min() - potential)
    return density / density.sum()


def neighbours(adjacency, d, rng):
    """Yield hostile pairs: a row at the clip against its mirror image with the other label, or added."""
    corner = np.full(d, 10.0)
    for n in (1, 3, 20):
        X = rng.uniform(-1, 1, (n, d))
        y = rng.integers(0, 2, n)
        for rest in ("random", "ones", "extreme"):
            base = X.copy() if rest == "random" else np.tile(corner, (n, 1))
            labels = y.copy() if rest == "random" else np.ones(n, int) * (rest == "ones")
            if adjacency == "replace-one":
                other, other_labels = base.copy(), labels.copy()
                base[0], labels[0], other[0], other_labels[0] = corner, 1, corner, 0
                yield (base, labels), (other, other_labels)
            else:
                yield (base, labels), (np.vstack([base, corner]), np.append(labels, 1))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("intercept", [False, True])
def test_exact_neighbours_never_exceed_the_budget(adjacency, intercept):
    """The budget holds for exact posteriors, in one and two dimensions, both directions; and is nearly spent."""
    from gibbsafe.data.options import EncodingOptions
    from gibbsafe.privacy.profiles import gaussian_delta

    rng = seeded(11)
    worst = 0.0
    for epsilon, delta in ((0.1, 1e-3), (1.0, 1e-2), (1.0, 1e-5)):
        model = LogisticRegression(dimension=1, intercept=intercept)
        for first, second in neighbours(adjacency, 1, rng):
            plan = gs.plan(model, gs.Budget(epsilon, delta), n=len(first[1]), adjacency=adjacency)
            reach = 9 / math.sqrt(min(plan.stages[0].prior_precision))
            axis = np.linspace(-reach, reach, 20_001 if not intercept else 301)
            p, q = (
                posterior_on([axis] * model.parameters, plan, model.encode(data, EncodingOptions())) for data in (first, second)
            )
            exact = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
            assert exact <= delta * (1 + 1e-3)
            # One record moves the gradient by at most half of what the price allows for (its supremum needs d ≥ 2 and
            # far parameters), so half the μ is the yardstick of tightness here.
            worst = max(worst, exact / gaussian_delta(epsilon, plan.guarantee.mu * (0.5 if adjacency == "replace-one" else 1)))
    assert worst > 0.1
