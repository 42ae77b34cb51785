"""The main line: utility of one draw on Adult, kernels, exact draws against NUTS and scikit-learn, growth with n."""

import math
from unittest import mock

import numpy as np

import gibbsafe as gs
from benchmarks import harness
from benchmarks.harness import adult, best_of, iso, log
from gibbsafe.data.options import EncodingOptions
from gibbsafe.losses import kernels as loops
from gibbsafe.samplers import SAMPLERS, GibbsPosterior

BUDGET = gs.Budget(1.0, 1e-6)


def log_loss(probability, truth):
    return float(-np.log(probability[np.arange(len(truth)), truth]).mean())


def adult_draw(releases):
    """Mean test log-loss of one posterior draw with default settings, over independent releases."""
    data = adult()
    if data is None:
        return {"skipped": "data absent"}
    X, y, X_test, y_test, row_norm = data
    model = gs.models.LogisticRegression(dimension=X.shape[1], radius=row_norm, labels=(0, 1))
    plan = gs.plan(model, BUDGET, n=len(y), adjacency="replace-one")
    losses, seconds = [], []
    for seed in range(releases):
        elapsed, release = best_of(1, lambda seed=seed: plan.release((X, y), generator=np.random.default_rng(seed)))
        losses.append(log_loss(release.predict_proba(X_test), y_test))
        seconds.append(elapsed)
        log(f"  Adult release {seed}: log-loss {losses[-1]:.4f}, {elapsed:.1f} s")
    from sklearn.linear_model import LogisticRegression

    rows, rows_test = model.encode_features(X), model.encode_features(X_test)
    fit = LogisticRegression(fit_intercept=False, C=1e4, max_iter=2000).fit(rows, y)
    reference = log_loss(fit.predict_proba(rows_test), y_test)
    return {
        "n": len(y),
        "parameters": model.parameters,
        "releases": releases,
        "log_loss": float(np.mean(losses)),
        "standard_error": float(np.std(losses, ddof=1) / math.sqrt(releases)),
        "non_private": reference,
        "seconds_median": float(np.median(seconds)),
    }


def posterior_of(n, d, seed=0):
    X, y, _, _ = iso(n, d, seed, test_rows=0)
    model = gs.models.LogisticRegression(dimension=d, radius=math.sqrt(d))
    plan = gs.plan(model, BUDGET, n=n, adjacency="replace-one")
    blocks = model.encode((X, y), EncodingOptions())
    stage = plan.stages[0]
    arrays = np.array(stage.prior_precision), np.array(stage.prior_centre)
    return X, y, plan, GibbsPosterior(blocks, model.loss, stage.inverse_temperature, *arrays)


def passes_over(posterior):
    """`X.sum()` and the passes over the same array, the gradient's by NumPy alone too."""
    theta = np.full(posterior.dimension, 0.1)

    def without_compiled_loops():
        with mock.patch.object(loops, "_COMPILED", False):
            return posterior.gradient(theta)

    return (
        posterior.data.rows.sum,
        lambda: posterior.gradient(theta),
        lambda: posterior.value_and_gradient(theta),
        without_compiled_loops,
    )


def kernels(n, d, arrays=7, repeats=9):
    """Passes in units of `X.sum()` on the same array: the median over several arrays, whose places in memory differ.

    The best run on each array counts. Arrays take turns, so that its runs are spread over time and meet a quiet moment."""
    works = [passes_over(posterior_of(n, d - 1)[-1]) for _ in range(arrays)]
    times = np.min([[[best_of(1, work)[0] for work in passes] for passes in works] for _ in range(repeats)], axis=0)
    gradient, both, numpy_alone = np.median(times[:, 1:] / times[:, :1], axis=0).tolist()
    return {
        "n": n,
        "columns": d,
        "arrays": arrays,
        "repeats": repeats,
        "sum_ms": float(np.median(times[:, 0])) * 1e3,
        "gradient_over_sum": gradient,
        "gradient_over_sum_each": (times[:, 1] / times[:, 0]).tolist(),
        "value_and_gradient_over_sum": both,
        "gradient_by_numpy_over_sum": numpy_alone,
    }


def exact_times(posterior, more=2000, repeats=3):
    """Seconds to the first draw, set-up included; per further draw, with all that their set-up adds; and per further draw alone.

    The last is the sampler's own time after its set-up, as for NUTS after its warm-up.
    """
    shell = SAMPLERS["shell"].function
    first, _ = best_of(repeats, lambda: shell(posterior, 1, np.random.default_rng(1), None))
    runs = [best_of(1, lambda: shell(posterior, 1 + more, np.random.default_rng(2), None)[1]) for _ in range(repeats)]
    many = min(seconds for seconds, _ in runs)
    alone = min(diagnostics.sampling_seconds for _, diagnostics in runs) / (1 + more)
    return first, max(many - first, 1e-9) / more, alone


def nuts_times(posterior, samples, warmup, repeats=2):
    """The same posterior by numpyro's NUTS, compilation excluded: seconds to its first draw, seconds in all, effective draws.

    The effective sample size is numpyro's own, the least over the parameters, and may exceed the number of samples.
    """
    import jax
    import jax.numpy as jnp
    from numpyro.diagnostics import summary
    from numpyro.infer import NUTS

    rows = jnp.asarray(posterior.data.rows, dtype=jnp.float32)
    beta, precision = posterior.inverse_temperature, jnp.asarray(posterior.prior_precision, dtype=jnp.float32)

    def potential(theta):
        return beta * jax.nn.softplus(-(rows @ theta)).sum() + 0.5 * (precision * theta**2).sum()

    kernel = NUTS(potential_fn=potential)
    start = kernel.init(jax.random.PRNGKey(3), warmup, jnp.zeros(rows.shape[1]), (), {})

    def chain(length):
        """Warm-up and this many draws as one compiled loop; compiled here, before anyone looks at the clock."""

        def step(state, _):
            state = kernel.sample(state, (), {})
            return state, state.z

        loop = jax.jit(lambda state: jax.lax.scan(step, state, None, length=warmup + length)[1][warmup:])
        compiled = loop.lower(start).compile()
        return lambda: np.asarray(compiled(start))

    first, _ = best_of(repeats, chain(1))
    whole, draws = best_of(repeats, chain(samples))  # the same warm-up as the first draw's
    effective = min(
        entry["n_eff"] if np.ndim(entry["n_eff"]) == 0 else np.min(entry["n_eff"])
        for entry in summary({"theta": draws[None]}, group_by_chain=True).values()
    )
    return first, whole, float(max(effective, 1.0))


def against_nuts(n, d, samples, warmup):
    """Both without set-up (NUTS: warm-up free), both with, and, hardest on the exact draws, theirs with and NUTS without."""
    *_, posterior = posterior_of(n, d)
    more = 2000
    exact_first, exact_with_setup, exact_next = exact_times(posterior, more)
    nuts_first, nuts_whole, effective = nuts_times(posterior, samples, warmup)
    marginal = max(nuts_whole - nuts_first, 1e-9) / effective
    spread = nuts_whole / effective
    return {
        "n": n,
        "features": d,
        "exact_first_s": exact_first,
        "exact_further_draws": more,
        "exact_next_s": exact_next,
        "exact_next_with_setup_s": exact_with_setup,
        "nuts_warmup": warmup,
        "nuts_samples": samples,
        "nuts_effective": effective,
        "nuts_first_s": nuts_first,
        "nuts_next_effective_s": marginal,
        "nuts_effective_with_warmup_s": spread,
        "first_ratio": nuts_first / exact_first,
        "next_ratio": marginal / exact_next,
        "next_ratio_with_warmup": spread / exact_with_setup,
        "next_ratio_setup_against_no_warmup": marginal / exact_with_setup,
    }


def against_sklearn(n, d):
    from sklearn.linear_model import LogisticRegression

    X, y, plan, _ = posterior_of(n, d)
    fit, _ = best_of(3, lambda: LogisticRegression().fit(X, y))
    release, _ = best_of(2, lambda: plan.release((X, y), generator=np.random.default_rng(0)))
    return {"n": n, "features": d, "sklearn_fit_s": fit, "release_s": release, "release_over_fit": release / fit}


def growth(sizes, d):
    """Cost of a further draw after set-up against n, the fitted exponent and the largest between neighbouring sizes."""
    per_draw = []
    for n in sizes:
        *_, posterior = posterior_of(n, d)
        per_draw.append(exact_times(posterior, 1000)[2])
        log(f"  n = {n}: {per_draw[-1] * 1e3:.2f} ms per draw")
    exponent = float(np.polyfit(np.log(sizes), np.log(per_draw), 1)[0])
    local = np.diff(np.log(per_draw)) / np.diff(np.log(sizes))
    return {
        "sizes": list(sizes),
        "features": d,
        "seconds_per_draw": per_draw,
        "exponent": exponent,
        "largest_local_exponent": float(local.max()),
    }


def main():
    options = harness.arguments(__doc__)
    quick = options.quick
    name = "main_line_quick" if quick else "main_line"
    big = 100_000 if quick else 1_000_000
    parts = {
        "kernels": lambda: kernels(big, 20, 2 if quick else 7),
        "adult_one_draw": lambda: adult_draw(3 if quick else 20),
        "against_sklearn": lambda: against_sklearn(big, 20),
        "growth": lambda: growth((10_000, 30_000, 100_000) if quick else (10_000, 30_000, 100_000, 300_000, 1_000_000), 20),
        "against_nuts": lambda: against_nuts(20_000 if quick else 100_000, 20, 200 if quick else 500, 300),
    }
    document = harness.resume(name, quick, "numpyro", "jax", "scikit-learn")
    document["budget"] = {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta}
    for part, work in parts.items():
        if not options.only or part in options.only:
            log(part)
            document[part] = work()
            log(f"  {document[part]}")
            harness.save(name, document)


if __name__ == "__main__":
    main()
