"""Likelihoods of one's own: planned, released, verified with and without their code, refused where they are no likelihood."""

import json
import pickle
import warnings

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.data import blocks, sums
from gibbsafe.data.blocks import Blocks
from gibbsafe.posteriors.clipped import clip_gradients, clipped_sums, grid_of_terms
from gibbsafe.release.files import check_release, digest

from ...own_gaussian import DATA, N, gaussian, gradient, log_likelihood

BUDGET = gs.Budget(5.0, 1e-6)


def released(model, data, tmp_path, n=None, **options):
    plan = gs.plan(model, BUDGET, n=n, **({"adjacency": "replace-one"} | options))
    made = plan.release(data, generator=np.random.default_rng(1), progress=False)
    made.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json") == made.certificate
    assert gs.Plan.from_json(plan.to_json()) == plan
    return made


def normal_records(n, seed=0):
    return (np.random.default_rng(seed).normal([1.0, -2.0], 1.0, (n, 2)),)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_mean_is_found_and_verified_without_code(tmp_path, adjacency):
    made = released(gaussian(clip=3.0, chains=2), normal_records(3000), tmp_path, 3000, adjacency=adjacency)
    rule = made.plan.stages[0].chain
    assert made.draws.shape == (rule.chains * rule.kept, 2)
    np.testing.assert_allclose(made.draws.mean(axis=0), [1.0, -2.0], atol=0.15)
    assert made.plan.guarantee.epsilon(1e-6) <= 5.0
    assert made.certificate["theorem"]["name"] == "langevin-trajectory"
    assert "not proved to be the posterior" in str(made.certificate)
    assert "closed over nothing private" in str(made.certificate)
    loaded = gs.Release.load(tmp_path / "r.json")
    assert np.array_equal(loaded.draws, made.draws)
    assert np.array_equal(loaded.walk, made.walk)
    assert loaded.r_hat.shape == (2,)
    with pytest.raises(gs.PremiseError, match="a file holds its declaration, not its code"):
        loaded.plan.release(normal_records(3000))


def test_the_law_of_a_chain_is_near_the_posterior(tmp_path):
    """Where nothing is clipped and p = 1: mean within 4 standard errors, variance within 30 % of that of steps of this size."""
    model = gaussian(clip=60.0, information=(1.0, 1.0), chains=4, steps=400, prior=2.0)
    n = 50
    plan = gs.plan(model, gs.Budget(1e5, 1e-6), n=n, adjacency="replace-one")
    assert plan.stages[0].chain.power == 1.0
    data = normal_records(n)
    draws = plan.release(data, generator=np.random.default_rng(3), progress=False).draws
    exact, sd = data[0].sum(axis=0) / (n + 2), (n + 2) ** -0.5
    np.testing.assert_allclose(draws.mean(axis=0), exact, atol=4 * sd / np.sqrt(len(draws) / 8))
    longer = 1 / (1 - plan.stages[0].step * (n + 2) / 2)  # what a finite step adds
    assert 1 < longer < 1.4
    np.testing.assert_allclose(draws.var(axis=0), sd**2 * longer, rtol=0.3)


def test_a_changed_answer_or_draw_is_found(tmp_path):
    made = released(gaussian(), DATA, tmp_path, N)
    for name, place, told in (("trajectory", (0, 0, 0), "grid|follow"), ("draws", (0, 0), "grid|follow")):
        content = made.to_dict()
        table = content[name]
        for index in place[:-1]:
            table = table[index]
        table[place[-1]] += 2.0**-3
        with pytest.raises(gs.CertificateError, match="sha256"):
            check_release(content)
        content["sha256"] = digest({key: value for key, value in content.items() if key != "sha256"})
        with pytest.raises(gs.CertificateError, match=told):
            check_release(json.loads(json.dumps(content)))


def test_one_record_at_a_time_gives_the_same(tmp_path):
    plans = [gs.plan(gaussian(batched=batched, steps=5), BUDGET, n=N, adjacency="replace-one") for batched in (True, False)]
    first, second = (plan.release(DATA, generator=np.random.default_rng(0), progress=False).walk for plan in plans)
    assert np.array_equal(first, second)


def test_threads_give_the_same_walk():
    plan = gs.plan(gaussian(steps=5), BUDGET, n=70_000, adjacency="replace-one")
    walks = [
        plan.release(normal_records(70_000), generator=np.random.default_rng(0), progress=False, workers=workers).walk
        for workers in (1, 3)
    ]
    assert np.array_equal(*walks)


def test_block_functions_hold_no_records(monkeypatch):
    sizes, whole = [], sums.sum_of_chunks

    def seen(function, *rest):
        sizes.append(len(pickle.dumps(function)))
        return whole(function, *rest)

    monkeypatch.setattr(blocks, "sum_of_chunks", seen)
    plan = gs.plan(gaussian(steps=5), BUDGET, n=3000, adjacency="replace-one")
    plan.release(normal_records(3000), generator=np.random.default_rng(0), progress=False)
    assert sizes
    assert max(sizes) < 8192


@pytest.mark.parametrize("n", [0, 1, 2])
def test_small_data_are_released(n, tmp_path):
    made = released(gaussian(steps=4), (np.zeros((n, 2)),), tmp_path, None, adjacency="add-remove")
    assert np.isfinite(made.draws).all()


def test_persons_are_capped(tmp_path):
    plan = gs.plan(gaussian(steps=4), BUDGET, n=4, adjacency="replace-one", rows_per_person=3)
    assert plan.constants.clip == 3.0
    made = plan.release((np.zeros((9, 2)),), persons=[0] * 6 + [1, 2, 3], progress=False)
    assert "at most 3 records" in made.certificate["unit"]


def test_hostile_gradients_keep_to_the_bound():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.standard_normal((500, 7)) * 10 ** rng.uniform(-300, 300, (500, 1)), np.zeros((1, 7))])
    rows = np.concatenate([rows, np.full((1, 7), np.inf), np.full((1, 7), np.nan), np.full((1, 7), 1.7e308)])
    rows[3, 2], rows[4, 1] = np.nan, -np.inf
    for bound in (1e-9, 0.3, 1.0, 7e5):
        with np.errstate(all="ignore"):
            found = clip_gradients(rows, bound)
        assert (np.linalg.norm(found, axis=1) <= bound).all()
        assert not found[[3, 4, 501, 502]].any()
        assert np.linalg.norm(found[503]) > 0.99 * bound
        steps = found / grid_of_terms(bound)
        assert np.array_equal(steps, np.round(steps))


def test_sums_do_not_depend_on_blocks_order_or_merging():
    """Bit for bit: terms are multiples of a grid, and add up exactly."""
    model, rng = gaussian(), np.random.default_rng(0)
    rows, thetas = rng.normal(0, 5, (3000, 2)).round(1), rng.standard_normal((3, 2))
    whole = clipped_sums(Blocks(rows), model.code, thetas, 1.0)
    assert np.array_equal(whole, clipped_sums(Blocks(rows[rng.permutation(3000)]), model.code, thetas, 1.0))
    assert np.array_equal(whole, sum(clipped_sums(Blocks(part), model.code, thetas, 1.0) for part in np.array_split(rows, 7)))
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    assert np.array_equal(whole, clipped_sums(Blocks(distinct, None, counts.astype(float)), model.code, thetas, 1.0))


def test_convex_ones_get_the_last_iterate(tmp_path):
    """A Huber-like location: gradients of norm at most 1, 1-smooth."""

    def huber(parameters, record):
        return -float(np.sqrt(1 + (record["x"] - parameters["mean"]) ** 2).sum())

    def slope(parameters, records):
        off = records["x"] - parameters["mean"]
        return {"mean": off / np.sqrt(1 + off**2)}

    given = {"log_likelihood": huber, "gradient": slope, "convex": True, "smoothness": 1.0}
    model = gaussian(1, **given)
    model = model.with_record(gs.audit.refute(model, effort=20))
    made = released(model, np.random.default_rng(0).normal(2.0, 1.0, (500, 1)), tmp_path, 500, draws=3)
    assert made.certificate["theorem"]["name"] == "langevin-last-iterate"
    assert made.draws.shape == (3, 1)
    np.testing.assert_allclose(made.draws.mean(), 2.0, atol=0.6)
    assert "1-smooth" in str(made.certificate)
    for wrong in ({"smoothness": 0.3}, {"clip": 0.4}):
        assert gs.audit.refute(gaussian(1, **(given | wrong)), effort=40).refuted
    with pytest.raises(gs.PremiseError, match="maximum_n"):
        gs.plan(model, BUDGET, n=500, adjacency="add-remove")


STATE = {"calls": 0}


def counting(parameters, records):
    STATE["calls"] += 1
    return {"mean": records["x"] - parameters["mean"] + STATE["calls"]}


def looking_round(parameters, records):
    return {"mean": records["x"] - records["x"].mean(axis=0) - parameters["mean"]}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"gradient": lambda p, r: {"mean": r["x"].sum()}}, "gradient: 'mean' has shape"),
        ({"gradient": lambda p, r: {"mean": r["x"] * np.nan}}, "not a number at any synthetic record"),
        ({"gradient": lambda p, r: {"mean": 0 * r["x"]}}, "does not depend on the parameters"),
        ({"gradient": lambda p, r: {"mean": r["y"]}}, "neither a declared parameter nor a declared column"),
        ({"gradient": lambda p, r: {"average": r["x"]}}, "neither a declared parameter"),
        ({"gradient": lambda p, r: {"mean": r["x"] + np.random.default_rng().normal()}}, "pure"),
        ({"gradient": counting}, "pure"),
        ({"gradient": looking_round}, "other records"),
        ({"log_likelihood": lambda p, r: r["x"]}, "must be one real number"),
        ({"log_likelihood": 3}, "must be a function"),
        ({"prior": None}, "prior"),
        ({"prior": 0.0}, "precision"),
        ({"prior": gs.models.GaussianPrior([1.0, 2.0, 3.0])}, "prior precision"),
        ({"clip": -1.0}, "clip"),
        ({"clip": float("nan")}, "clip"),
        ({"clip": 1e300}, "clip"),
        ({"gradient": lambda p, r: {"mean": 1j * r["x"]}}, "real numbers"),
        ({"simulator": lambda p, r, g: 1 / 0}, "simulator: fails"),
        ({"simulator": lambda p, r, g: {"x": np.zeros(3)}}, "simulator: fails"),
        ({"simulator": lambda p, r, g: {"y": r["x"]}}, "of declared columns"),
        ({"simulator": lambda p, r, g: {"x": np.nan * r["x"]}}, "no record of finite numbers"),
        ({"chains": 0}, "chains"),
        ({"steps": 1}, "steps"),
        ({"power": 2.0}, "power"),
        ({"information": (2.0, 1.0)}, "information"),
        ({"convex": True}, "smoothness"),
    ],
)
def test_bad_likelihoods_are_refused_in_one_line(options, told):
    with pytest.raises(gs.GibbsafeError, match=told) as refusal:
        gaussian(**options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"columns": {}}, "columns"),
        ({"columns": {"x": "words"}}, "column 'x'"),
        ({"parameters": {"mean": 0}}, "parameters of 'mean'"),
        ({"parameters": {}}, "parameters"),
    ],
)
def test_bad_forms_are_refused(options, told):
    given = {"parameters": {"mean": 2}, "columns": {"x": [(-50, 50)] * 2}, "prior": 1.0, "clip": 1.0} | options
    with pytest.raises(gs.GibbsafeError, match=told):
        gs.models.Custom(log_likelihood=log_likelihood, gradient=gradient, batched=True, **given)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"purpose": "estimate"}, "purpose"),
        ({"draws": 7}, "draws"),
        ({"sampler": "shell"}, "sampler"),
        ({"theorem": "gaussian-dp"}, "theorem"),
        ({"prior": 2.0}, "prior"),
        ({"inverse_temperature": 0.5}, "inverse_temperature"),
        ({"uncertainty": 0.3}, "uncertainty"),
    ],
)
def test_what_a_plan_has_no_use_for_is_refused(options, told):
    with pytest.raises(gs.GibbsafeError, match=told):
        gs.plan(gaussian(), BUDGET, n=N, adjacency="replace-one", **options)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ((np.zeros((N, 3)),), "2 columns"),
        ((np.zeros(N),), "2 columns"),
        ((np.full((N, 2), np.nan),), "missing or not finite"),
        ((np.zeros((N, 2)), np.zeros(N)), "must be a table, or 1 arrays"),
        ((np.zeros((N + 1, 2)),), "records"),
    ],
)
def test_bad_data_are_refused(data, told):
    plan = gs.plan(gaussian(steps=4), BUDGET, n=N, adjacency="replace-one")
    with pytest.raises(gs.DomainError, match=told):
        plan.release(data, progress=False)


def test_nothing_is_charged_for_code_that_is_not_there(tmp_path):
    plan = gs.plan(gaussian(steps=4), BUDGET, n=N, adjacency="replace-one")
    without = gs.Plan.from_json(plan.to_json())

    class Account:
        def charge(self, plan):
            raise AssertionError("charged")

    with pytest.raises(gs.PremiseError, match="not its code"):
        without.release(DATA, ledger=Account(), untrusted=True)


def test_tables_and_categories_are_read(tmp_path):
    def score(p, r):
        return {"level": np.eye(3)[r["ward"]] * (r["y"] - p["level"][r["ward"]])[:, None], "slope": 0 * r["y"]}

    model = gs.models.Custom(
        log_likelihood=lambda p, r: float(-0.5 * (r["y"] - p["level"][r["ward"]]) ** 2),
        gradient=score,
        batched=True,
        parameters={"level": 3, "slope": ()},
        prior=gs.models.GaussianPrior(0.1),
        columns={"ward": ("a", "b", "c"), "y": (0, 10)},
        clip=5.0,
    )
    assert model.parameter_names == ("level[0]", "level[1]", "level[2]", "slope")
    rng = np.random.default_rng(0)
    ward = rng.integers(0, 3, 3000)
    table = {"y": 3.0 * ward + rng.normal(0, 1, 3000), "ward": np.array(["a", "b", "c"])[ward]}
    made = released(model, table, tmp_path, 3000)
    np.testing.assert_allclose(made.draws.mean(axis=0)[:3], [0.4, 3.0, 6.0], atol=0.5)
    assert set(made.plan.model.constrained(made.draws)) == {"level", "slope"}


def test_rehearsals_need_a_simulator_and_read_no_records():
    with pytest.raises(gs.PremiseError, match="cannot simulate"):
        gaussian().rehearse(BUDGET, n=20)
    model = gaussian(clip=3.0, simulator=lambda p, r, rng: {"x": rng.normal(p["mean"], 1.0, r["x"].shape)})
    found = model.rehearse(BUDGET, n=2000, runs=2)
    assert found.error < 0.3 < found.prior_error
    assert "error of the means" in str(found)


def test_an_interval_says_whose_draws_it_is_of(tmp_path):
    made = released(gaussian(steps=6), DATA, tmp_path, N)
    assert "a chain's draws" in made.answer(gs.queries.credible_interval(0.9, of="draws")).question


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit, GeneratorExit])
def test_a_function_that_fails_at_some_record_counts_it_as_nothing(batched, error):
    def failing(parameters, records):
        if np.any(np.asarray(records["x"]) > 40):
            warnings.warn("of a private record", stacklevel=1)
            raise error("of a private record")
        return {"mean": records["x"] - parameters["mean"]}

    model = gaussian(gradient=failing, batched=batched, steps=3)
    plan = gs.plan(model, BUDGET, n=N, adjacency="replace-one")
    hostile = plan.release(DATA, generator=np.random.default_rng(0), progress=False)
    with pytest.warns(UserWarning, match="private"):
        terms = model.code(np.vstack([DATA[0][:1], np.ones((2, 2))]), np.zeros((1, 2)))
    assert terms.tolist() == [[[0, 0], [1, 1], [1, 1]]]
    assert hostile.walk.shape == (3, model.chains, 2)


@pytest.mark.parametrize("odd", [np.inf, np.nan, 1e300, -1e308])
def test_wild_gradients_at_some_records_are_released(odd):
    """Whatever records there are: nothing overflows, in measurements on synthetic ones or in the release."""

    def wild(parameters, records):
        return {"mean": np.where(np.abs(records["x"]) > 45, odd, records["x"] - parameters["mean"])}

    plan = gs.plan(gaussian(gradient=wild, steps=3), BUDGET, n=N, adjacency="replace-one")
    for data in (DATA, (np.zeros((N, 2)),)):
        assert np.isfinite(plan.release(data, progress=False).draws).all()
    assert gaussian(gradient=lambda p, r: {"mean": 1e300 * (r["x"] - p["mean"])}).coordinates.scales == (1.0, 1.0)


def test_records_cannot_be_written_to():
    def writing(parameters, records):
        records["x"][...] = 0.0
        return {"mean": records["x"] - parameters["mean"]}

    with pytest.raises(gs.PremiseError, match="read-only"):
        gaussian(gradient=writing)


def test_gradients_of_few_digits_are_summed_with_all():
    terms = clip_gradients(np.full((4, 3), 0.1, dtype=np.float32), 1.0)
    assert terms.dtype == np.float64
