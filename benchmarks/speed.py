"""Speed of exact draws against NUTS on the same posteriors, over n and d; kernels against `X.sum()` on one thread and two.

NUTS is numpyro's (compiled, single precision) and nutpie's (Rust, driving this library's own fused value-and-gradient
kernel, in double precision). Compilation is not counted. Effective draws are the least over parameters, by each one's usual
estimate. Neither carries a certificate. Posteriors: isotropic data, (1, 1e-6), replace-one, one draw's prior and
temperature."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import harness
import numpy as np
from main_line import BUDGET, exact_times, nuts_times, posterior_of

#: Beyond this many numbers NUTS is left out: its first draw would take minutes.
LARGEST_FOR_NUTS = 2_500_000
#: With fewer records per parameter, or sixty parameters, hardly any proposal of the exact sampler is accepted, and only a few
#: further draws are timed.
FEWEST_RECORDS = 50


def nutpie_times(posterior, samples, warmup):
    """Seconds to the first draw, seconds in all, effective draws; None where nutpie is absent."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz
            import nutpie
            from nutpie.compiled_pyfunc import from_pyfunc
    except ImportError:
        return None
    d = posterior.dimension

    def make_logp():
        def logp(theta):
            value, gradient = posterior.value_and_gradient(theta)
            return -value, -gradient

        return logp

    compiled = from_pyfunc(
        d,
        make_logp,
        lambda *_: lambda theta: {"theta": theta},
        [np.dtype("float64")],
        [(d,)],
        ["theta"],
        make_initial_point_fn=lambda seed: np.zeros(d),
    )

    def run(number):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return nutpie.sample(compiled, draws=number, tune=warmup, chains=1, cores=1, seed=3, progress_bar=False)

    first, _ = harness.best_of(1, lambda: run(1))
    whole, trace = harness.best_of(1, lambda: run(samples))
    effective = float(arviz.ess(trace, var_names=["theta"])["theta"].min())
    return first, whole, max(effective, 1.0)


def against(found, exact):
    """A chain's times beside the exact sampler's."""
    first, whole, effective = found
    marginal = max(whole - first, 1e-9) / effective
    return {
        "first_s": first,
        "effective": effective,
        "next_effective_s": marginal,
        "first_ratio": first / exact[0],
        "next_ratio": marginal / exact[2],
        "next_ratio_setup_against_no_warmup": marginal / exact[1],
    }


def cell(n, d, more, samples, warmup):
    """One posterior of d parameters: exact draws, numpyro, nutpie."""
    *_, posterior = posterior_of(n, d - 1)
    exact = exact_times(posterior, more)
    entry = {
        "n": n,
        "parameters": d,
        "exact": {"first_s": exact[0], "next_with_setup_s": exact[1], "next_s": exact[2], "further_draws": more},
        "warmup": warmup,
        "samples": samples,
    }
    if n * d <= LARGEST_FOR_NUTS:
        try:
            entry["numpyro"] = against(nuts_times(posterior, samples, warmup), exact)
        except ImportError:
            harness.log("numpyro is absent")
        found = nutpie_times(posterior, samples, warmup)
        if found is not None:
            entry["nutpie"] = against(found, exact)
    return entry


def kernels_on(threads, n, d, arrays):
    """`main_line.kernels` in a process with this many threads."""
    code = f"import json, harness, main_line; print(json.dumps(main_line.kernels({n}, {d}, {arrays})))"
    environment = os.environ | {"GIBBSAFE_BENCH_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=harness.HERE, env=environment
    )
    return {"threads": threads, **json.loads(done.stdout)}


def main():
    options = harness.arguments(__doc__)
    quick = options.quick
    name = "speed_quick" if quick else "speed"
    packages = ("numpyro", "jax", "nutpie", "arviz")
    document = harness.resume(name, quick, *packages) if options.missing else harness.head(quick, *packages)
    document |= {"budget": {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta}, "largest_for_chains": LARGEST_FOR_NUTS}
    if "kernels" not in document:
        sizes = ((100_000, 20),) if quick else ((1_000_000, 20), (100_000, 100))
        document["kernels"] = [kernels_on(threads, n, d, 1 if quick else 7) for n, d in sizes for threads in (1, 2)]
    cells = document.setdefault("cells", [])
    sizes = ((1000, 5), (10_000, 20)) if quick else [(n, d) for n in (1000, 10_000, 100_000, 1_000_000) for d in (5, 20, 60)]
    for n, d in sizes:
        if any((entry["n"], entry["parameters"]) == (n, d) for entry in cells):
            continue
        more = 5 if n < FEWEST_RECORDS * d or d == 60 else 1000
        cells.append(cell(n, d, more, 200 if quick else 300, 100 if quick else 300))
        harness.log(str(cells[-1]))
        harness.save(name, document)


if __name__ == "__main__":
    main()
