"""Likelihoods by JAX and NumPyro: gradients, purity, and the whole way from a NumPyro model to an ArviZ summary."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import gibbsafe as gs  # noqa: E402
from gibbsafe.posteriors.record_gradients import Field, Form, JaxGradients  # noqa: E402

from ...own_gaussian import DATA, N, gaussian  # noqa: E402

jnp = jax.numpy
COLUMNS = {"x": [(-50, 50)] * 2}
CALLS = []


def mean(parameters, record):
    return -0.5 * ((record["x"] - parameters["mean"]) ** 2).sum()


def impure(parameters, record):
    CALLS.append(1)
    return mean(parameters, record) * len(CALLS)


def random(parameters, record):
    return mean(parameters, record) * np.random.default_rng().normal()


def custom(function, **options):
    given = {"parameters": {"mean": 2}, "prior": 1.0, "columns": COLUMNS, "clip": 1.0, "information": (0.5, 1.0)} | options
    return gs.models.Custom(log_likelihood=function, **given)


def test_jax_and_numpy_give_the_same_trajectory():
    plans = [
        gs.plan(model, gs.Budget(5, 1e-6), n=N, adjacency="replace-one") for model in (gaussian(steps=5), custom(mean, steps=5))
    ]
    first, second = (plan.release(DATA, generator=np.random.default_rng(0), progress=False).walk for plan in plans)
    assert np.array_equal(first, second)
    assert not gs.audit.refute(plans[1].model, effort=20).refuted


@pytest.mark.parametrize(
    ("function", "options", "told"),
    [
        (lambda p, r: r["x"] * p["mean"], {}, "must be one number"),
        (lambda p, r: jnp.nan * mean(p, r), {}, "not a number at any"),
        (lambda p, r: mean(p, r) * 0, {}, "does not depend"),
        (lambda p, r: p["slope"], {}, "neither a declared parameter"),
        (lambda p, r: p["mean"] @ jnp.ones(3), {}, "fails on a synthetic record"),
        (impure, {}, "pure"),
        (random, {}, "pure"),
        (mean, {"prior": lambda p: 0.0 * p["mean"].sum()}, "improper"),
        (mean, {"prior": lambda p: -(p["w"].sum() ** 2)}, "no declared parameter"),
        (mean, {"prior": lambda p: -(p["mean"] ** 2).sum(), "start": {"w": 0}}, "start"),
    ],
)
def test_bad_functions_are_refused_in_one_line(function, options, told):
    with pytest.raises(gs.GibbsafeError, match=told) as refusal:
        custom(function, **options)
    assert "\n" not in str(refusal.value)


def test_gradients_that_are_no_numbers_count_as_nothing():
    def odd(parameters, record):
        return mean(parameters, record) + jnp.where(record["x"][0] > 49, jnp.nan, 0.0) * parameters["mean"].sum()

    rows = np.array([[50.0, 1.0], [3.0, 1.0]])
    assert np.isnan(custom(odd).code(rows, np.zeros((1, 2)))[0, 0]).all()
    plan = gs.plan(custom(odd, steps=4), gs.Budget(5, 1e-6), n=None, adjacency="add-remove")
    walks = [plan.release((part,), generator=np.random.default_rng(0), progress=False).walk for part in (rows, rows[1:])]
    assert np.array_equal(*walks)


def test_calls_out_of_jax_are_refused():
    """What they raise, write and take at some record would be seen; inside a branch and a rule of differentiation too."""

    @jax.custom_jvp
    def nothing(x):
        return jax.pure_callback(lambda x: np.float64(0.0), jax.ShapeDtypeStruct((), np.float64), x, vmap_method="sequential")

    nothing.defjvp(lambda primals, tangents: (nothing(*primals), nothing(*primals) * 0.0))

    def calling(parameters, record):
        return mean(parameters, record) * (1.0 + jax.lax.cond(record["x"][0] > 0, nothing, lambda x: 0.0, record["x"]))

    def printing(parameters, record):
        jax.debug.print("{}", record["x"])
        return mean(parameters, record)

    @jax.custom_jvp
    def square(x):
        return x @ x

    square.defjvp(lambda primals, tangents: (square(*primals), nothing(*primals) + 2 * primals[0] @ tangents[0]))

    def by_its_gradient(parameters, record):
        return -square(parameters["mean"] - record["x"]) / 2

    for function in (calling, printing, by_its_gradient):
        with pytest.raises(gs.PremiseError, match="calls out of JAX"):
            custom(function)


def test_switches_of_jax_tell_no_records_apart():
    code = JaxGradients(lambda p, r: mean(p, r) / r["x"][0], Form((Field("mean", (2,)),)), Form((Field("x", (2,)),)))
    with jax.debug_nans(True):
        assert not np.isfinite(code(np.array([[0.0, 1.0]]), np.zeros((1, 2)))).any()


def test_a_regression_with_a_scale_is_no_function_of_other_records():
    """Compiled for other numbers of rows it rounds otherwise, and was refused, until it was always asked for as many."""

    def line(parameters, record):
        scale = jnp.exp(parameters["scale"])
        off = (record["y"][None] - (parameters["level"] + record["x"][None] @ parameters["slopes"])) / scale
        return (-0.5 * off**2 - jnp.log(jnp.sqrt(2 * jnp.pi) * scale)).sum()

    columns = {"x": [(-1, 1)] * 6, "y": (-15, 15)}
    made = custom(line, parameters={"level": (), "slopes": 6, "scale": ()}, columns=columns)
    rows, points = made.columns.synthetic(1500, np.random.default_rng(0)), np.zeros((2, 8))
    assert np.array_equal(made.code(rows, points)[:, 1400:1401], made.code(rows[1400:1401], points))


def test_a_prior_that_is_a_function_has_its_say_in_the_population():
    """Against the same with the normal prior that it is, by another way: a chain's, and in closed form."""

    def simulated(parameters, columns, generator):
        return {"x": generator.normal(parameters["mean"], 1.0, columns["x"].shape)}

    found = []
    for prior in (30.0, lambda p: -15.0 * (p["mean"] ** 2).sum()):
        model = custom(mean, prior=prior, simulator=simulated, clip=3.0, steps=16, coordinates="own")
        plan = gs.plan(model, gs.Budget(8.0, 1e-6), n=60, adjacency="replace-one")
        data = (np.random.default_rng(0).normal(1.0, 1.0, (60, 2)),)
        found.append(plan.release(data, generator=np.random.default_rng(1), progress=False).population(draws=500))
    assert found[0].decided_by_data.max() < 0.9
    np.testing.assert_allclose(found[0].sd, found[1].sd, rtol=0.35)
    np.testing.assert_allclose(found[0].mean, found[1].mean, atol=found[0].sd.max())


def require_noise_of_the_generator(plan, data, monkeypatch):
    """Fail unless all noise is that of the generator handed in, and JAX is asked for none."""

    def refused(*args, **kwargs):
        raise AssertionError("JAX was asked for random numbers")

    with monkeypatch.context() as patched:
        for name in ("PRNGKey", "key", "split", "fold_in", "normal", "uniform", "bits", "laplace"):
            patched.setattr(jax.random, name, refused)
        walks = [plan.release(data, generator=np.random.default_rng(seed), progress=False).walk for seed in (0, 0, 1)]
    assert np.array_equal(walks[0], walks[1])
    assert (walks[0] != walks[2]).all()


class Known:
    """A planted bug: noise by JAX, from keys that everybody knows; its own way to it, or the usual one."""

    def __init__(self, normal=None):
        self.normal, self.key = normal, jax.random.PRNGKey(0)

    def standard_normal(self, shape):
        return np.asarray((self.normal or jax.random.normal)(self.key, shape))


def test_noise_is_never_that_of_jax(monkeypatch):
    from gibbsafe.samplers import trajectory

    plan = gs.plan(custom(mean, steps=3), gs.Budget(5, 1e-6), n=N, adjacency="replace-one")
    require_noise_of_the_generator(plan, DATA, monkeypatch)
    for bug in (Known(jax.random.normal), Known()):

        def planted(posterior, pull, stage, generator, progress=None, bug=bug):
            return trajectory.walk(posterior, pull, stage, bug, progress)

        monkeypatch.setattr("gibbsafe.release.draw.walk", planted)
        with pytest.raises((AssertionError, gs.GibbsafeError)):
            require_noise_of_the_generator(plan, DATA, monkeypatch)


# -- NumPyro -------------------------------------------------------------------------------------------------------------


WARDS = {"x": (-1, 1), "ward": 16, "count": (0, 30)}


@pytest.fixture(scope="module")
def sites():
    pytest.importorskip("numpyro")
    import numpyro
    import numpyro.distributions as dist

    return numpyro, dist


def counts(numpyro, dist, *, records=len, latent=None, subsample=None, inside=None, outer=None):
    """Return a Poisson model of 16 wards, changed in one place."""

    def model(x, ward, count):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        if latent is not None:
            numpyro.sample("extra", latent())
        with numpyro.plate("wards", 16):
            effect = numpyro.sample("effect", dist.Normal(0, 0.5))
        if outer is not None:
            numpyro.sample("outside", dist.Normal(slope, 1.0), obs=count.sum() * 1.0)
        with numpyro.plate("records", records(count), subsample_size=subsample):
            if inside is not None:
                numpyro.sample("own", dist.Normal(0, 1))
            numpyro.sample("count", dist.Poisson(jnp.exp(slope * x + effect[ward])), obs=count)
        return slope

    return model


def test_a_numpyro_model_goes_all_the_way(sites, tmp_path, monkeypatch):
    model = gs.models.from_numpyro(counts(*sites), columns=WARDS, clip=2.0, steps=40, label="visits")
    assert model.prior.precision == (1.0,) + (4.0,) * 16  # normals are known for what they are
    assert model.parameter_names[0] == "slope"
    assert len(model.parameter_names) == 17
    rng = np.random.default_rng(0)
    n, effects = 4000, rng.normal(0, 0.5, 16)
    x, ward = rng.uniform(-1, 1, n), rng.integers(0, 16, n)
    y = rng.poisson(np.exp(0.7 * x + effects[ward]))
    plan = gs.plan(model, gs.Budget(8.0, 1e-6), n=n, adjacency="replace-one")
    made = plan.release({"x": x, "ward": ward, "count": y}, generator=np.random.default_rng(1), progress=False)
    require_noise_of_the_generator(plan, {"x": x, "ward": ward, "count": y}, monkeypatch)
    made.save(tmp_path / "r.json")
    gs.verify(tmp_path / "r.json")
    gs.verify(made)
    found = model.constrained(made.draws)
    assert abs(found["slope"].mean() - 0.7) < 0.25
    assert np.corrcoef(found["effect"].mean(axis=0), effects)[0, 1] > 0.8
    truth = made.population(draws=200)
    assert np.abs((truth.mean - [0.7, *effects]) / truth.sd).max() < 4
    assert truth.sd[0] < made.draws[:, 0].std()
    with pytest.raises(gs.PremiseError, match="not its code"):
        gs.Release.load(tmp_path / "r.json").population()
    arviz = pytest.importorskip("arviz")
    table = arviz.summary(made.to_arviz())
    assert len(table) == 17
    assert "r_hat" in table


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"records": lambda count: 5}, "fails on synthetic records"),
        ({"subsample": 1}, "subsamples"),
        ({"inside": True}, "latent for every record"),
        ({"outer": True}, "observed outside"),
    ],
)
def test_other_models_are_refused(sites, change, told):
    with pytest.raises(gs.PremiseError, match=told) as refusal:
        gs.models.from_numpyro(counts(*sites, **change), columns=WARDS, clip=1.0)
    assert "\n" not in str(refusal.value)


def test_discrete_and_improper_latents_and_two_plates_are_refused(sites):
    numpyro, dist = sites
    for latent, told in (
        (lambda: dist.Bernoulli(0.5), "discrete"),
        (lambda: dist.ImproperUniform(dist.constraints.real, (), ()), "improper"),
    ):
        with pytest.raises(gs.PremiseError, match=told):
            gs.models.from_numpyro(counts(numpyro, dist, latent=latent), columns=WARDS, clip=1.0)

    def twice(x, ward, count):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        for name in ("a", "b"):
            with numpyro.plate(f"records {name}", len(count)):
                numpyro.sample(name, dist.Poisson(jnp.exp(slope * x)), obs=count)

    with pytest.raises(gs.PremiseError, match="one plate over records"):
        gs.models.from_numpyro(twice, columns=WARDS, clip=1.0)

    def centred(x, ward, count):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("records", len(count)):
            numpyro.sample("count", dist.Poisson(jnp.exp(slope * (x - x.mean()) + 0.1 * slope)), obs=count)

    with pytest.raises(gs.PremiseError, match="not a sum over records"):
        gs.models.from_numpyro(centred, columns=WARDS, clip=1.0)
    with pytest.raises(gs.PremiseError, match="not called with the declared columns"):
        gs.models.from_numpyro(centred, columns={"x": (0, 1)}, clip=1.0)
