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
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks import harness
from benchmarks.questions.main_line import BUDGET, exact_times, nuts_times, posterior_of

#: Beyond this many numbers chains are short and run once: a long one would take a quarter of an hour.
LARGE = 2_500_000
#: With fewer records per parameter hardly any proposal of the exact sampler is accepted.
FEWEST_RECORDS = 50


@dataclass(frozen=True)
class Effort:
    """Further exact draws and runs of them; a chain's samples, warm-up steps and runs. Of several runs the shortest counts."""

    further_draws: int = 1000
    exact_runs: int = 3
    samples: int = 300
    warmup: int = 300
    chain_runs: int = 2


def effort_for(n, d, quick):
    """Few draws where one is slow, short chains where one pass is."""
    exact = (5, 1) if d == 60 else (5, 3) if n < FEWEST_RECORDS * d else (1000, 3)
    chain = (200, 100, 2) if quick else (100, 100, 1) if n * d > LARGE else (300, 300, 2)
    return Effort(*exact, *chain)


def nutpie_times(posterior, samples, warmup, repeats):
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

    first, _ = harness.best_of(repeats, lambda: run(1))
    whole, trace = harness.best_of(repeats, lambda: run(samples))
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


def cell(n, d, effort, chains=True):
    """One posterior of d parameters: exact draws, numpyro, nutpie."""
    *_, posterior = posterior_of(n, d - 1)
    exact = exact_times(posterior, effort.further_draws, effort.exact_runs)
    times = dict(zip(("first_s", "next_with_setup_s", "next_s"), exact, strict=True))
    entry = {"n": n, "parameters": d, "exact": times, **asdict(effort)}
    if chains:
        length = effort.samples, effort.warmup, effort.chain_runs
        try:
            entry["numpyro"] = against(nuts_times(posterior, *length), exact)
        except ImportError:
            harness.log("numpyro is absent")
        found = nutpie_times(posterior, *length)
        if found is not None:
            entry["nutpie"] = against(found, exact)
    return entry


def kernels_on(threads, n, d, arrays):
    """`main_line.kernels` in a process with this many threads."""
    code = f"import json; from benchmarks.questions import main_line; print(json.dumps(main_line.kernels({n}, {d}, {arrays})))"
    environment = os.environ | {"GIBBSAFE_BENCH_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=harness.ROOT, env=environment
    )
    return {"threads": threads, **json.loads(done.stdout)}


def main():
    options = harness.arguments(__doc__)
    quick = options.quick
    name = "speed_quick" if quick else "speed"
    packages = ("numpyro", "jax", "nutpie", "arviz")
    document = harness.resume(name, quick, *packages) if options.missing else harness.head(quick, *packages)
    document |= {"budget": {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta}}
    if "kernels" not in document:
        sizes = ((100_000, 20),) if quick else ((1_000_000, 20), (100_000, 100))
        document["kernels"] = [kernels_on(threads, n, d, 1 if quick else 7) for n, d in sizes for threads in (1, 2)]
        harness.save(name, document)
    cells = document.setdefault("cells", [])
    sizes = ((1000, 5), (10_000, 20)) if quick else [(n, d) for n in (1000, 10_000, 100_000, 1_000_000) for d in (5, 20, 60)]
    for n, d in sizes:
        if any((entry["n"], entry["parameters"]) == (n, d) for entry in cells):
            continue
        cells.append(cell(n, d, effort_for(n, d, quick)))
        harness.log(str(cells[-1]))
        harness.save(name, document)


if __name__ == "__main__":
    main()
