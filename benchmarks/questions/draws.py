"""Time to a draw over n, p and five kinds of data, by every route that a plan offers, against NUTS on the same posterior.

Kinds: isotropic rows; one category of p levels, a third of them pure; rows that a plane separates; Cauchy rows clipped to their
norm; isotropic rows under a hinge smoothed over 0.1. Routes: the default plan (three e-folds of rounds wherever the shell
sampler's worst case is long); proximal draws within 1e-9 of the posterior. The first draw is a whole release, encoding and
merging included; a further one is the sampler's alone. What a plan says beforehand of its time, and of its proposals a round,
stands beside what was seen. All times are seconds of this process's own threads, which other work on the machine disturbs least.
A part that takes longer than --limit of them is stopped and said to have been."""

from __future__ import annotations

import argparse
import math
import signal
import time
from contextlib import contextmanager

import numpy as np

import gibbsafe as gs
from benchmarks import harness
from benchmarks.questions.main_line import nuts_times
from benchmarks.questions.speed import nutpie_times
from gibbsafe.data.compression import merge_identical
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import GibbsafeError
from gibbsafe.samplers import SAMPLERS
from gibbsafe.samplers.proximal.schedule import EXTRA

BUDGET = gs.Budget(1.0, 1e-6)
ROUTES = {
    "default": {},
    "within 1e-9": {"sampler": "proximal", "theorem": "approximate-sampling"},
}
DENSE = [(1000, 5), (1000, 60), (10_000, 20), (30_000, 60), (30_000, 200), (100_000, 60), (1_000_000, 5), (1_000_000, 20)]
HARD = [(1000, 20), (1000, 60), (3000, 40), (30_000, 20), (30_000, 60), (100_000, 60)]
SIZES = {
    "iso": DENSE,
    "one-hot": [(1000, 20), (30_000, 20), (30_000, 40), (30_000, 60), (30_000, 200), (100_000, 60), (1_000_000, 20)],
    "separable": HARD,
    "heavy-tailed": HARD,
    "narrow hinge": [(1000, 5), (1000, 20), (30_000, 20), (30_000, 60)],
}
QUICK = {
    "iso": [(1000, 5)],
    "one-hot": [(3000, 20)],
    "separable": [(300, 5)],
    "heavy-tailed": [(300, 5)],
    "narrow hinge": [(300, 3)],
}
#: Draws after the first that a further one's time is taken from, where they are affordable.
FURTHER, FEW = 20, 1
#: Beyond this many numbers chains are short, and further draws few.
LARGE = 500_000
WIDTH = 0.1
PARTS = ("routes", "chains")
#: Shares of --limit that a route other than the default plan's, and a chain, may take.
ROUTES_SHARE, CHAINS_SHARE = {"within 1e-9": 0.1}, 0.1


class StoppedError(BaseException):
    """The time for a part is over; no release takes it for an error of its own."""


@contextmanager
def within(seconds):
    """Stop what takes longer, in seconds of the processor."""

    def stop(*_):
        raise StoppedError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def problem(kind, n, p, seed=0):
    """A model of p parameters and n records of the kind."""
    rng, d = np.random.default_rng(seed), p - 1
    radius = math.sqrt(d)
    if kind == "one-hot":
        codes = rng.integers(0, d, n)
        shares = np.where(rng.random(d) < 1 / 3, rng.integers(0, 2, d), rng.random(d))
        labels = (rng.random(n) < shares[codes]).astype(int)
        return gs.models.LogisticRegression(dimension=d, radius=1.0), (np.eye(d)[codes], labels)
    X, y, _, _ = harness.iso(n, d, seed, test_rows=0)
    if kind == "separable":
        y = (X @ rng.normal(size=d) > 0).astype(int)
    if kind == "heavy-tailed":
        X = rng.standard_cauchy((n, d))
    if kind == "narrow hinge":
        return gs.models.SoftHinge(dimension=d, radius=radius, width=WIDTH), (X, y)
    return gs.models.LogisticRegression(dimension=d, radius=radius), (X, y)


def plan_by(model, n, route):
    """The route's plan; None where this version, or this model, has no such route."""
    try:
        return gs.plan(model, BUDGET, n=n, adjacency="replace-one", **ROUTES[route])
    except GibbsafeError:
        return None


def posterior_of(plan, data, merged=True):
    """The plan's first posterior."""
    blocks = plan.model.encode(data, EncodingOptions())
    stage = plan.stages[0]
    centre = np.zeros(plan.model.parameters) if stage.prior_centre is None else np.array(stage.prior_centre)
    return plan.model.posterior(merge_identical(blocks) if merged else blocks, stage, centre)


def timed(limit, work):
    """Seconds that the work took and what it gave, or None and None if it was stopped."""
    try:
        with within(limit):
            return harness.best_of(1, work)
    except StoppedError:
        return None, None


def proposals_a_round(plan, seen):
    """Proposals a round by tangents, and the plan's bound on their expectation; None where rounds are not drawn so."""
    stage = plan.stages[0]
    if stage.steps is None or not {"whole", "thinned"} & set(seen.certificates):
        return {}
    nats = plan.request().public_posterior(stage).tangent_nats(stage.step)
    return {"proposals": seen.proposals / stage.steps, "proposals_at_most": math.exp(nats + EXTRA)}


def route_times(plan, data, further, limit):
    """What the plan says, the first draw by a whole release, and a further one by its sampler."""
    entry = {"sampler": plan.sampler, "theorem": plan.theorem.name}
    entry |= {"stated_s": float(plan.work.seconds), "stated_passes": float(plan.work.passes)}
    first, release = timed(limit, lambda: plan.release(data, generator=np.random.default_rng(1), progress=False))
    entry["first_s"] = first
    if release is None:
        return entry | {"stopped_s": limit, "next_s": None}
    entry |= proposals_a_round(plan, release.curator_diagnostics.values[0])
    posterior, sampler, stage = posterior_of(plan, data), SAMPLERS[plan.sampler], plan.stages[0]

    def draw(count):
        return lambda: sampler.function(posterior, count, np.random.default_rng(2), None, **sampler.options(stage))

    entry["rows_per_pass"] = posterior.rows_per_pass
    further = min(further, int(limit // first))
    if not further:
        return entry | {"next_s": None}
    one, _ = timed(limit, draw(1))
    many, _ = (None, None) if one is None else timed(limit, draw(1 + further))
    return entry | {"next_s": None if many is None else max(many - one, 1e-9) / further, "further_draws": further}


def chain_times(plan, data, quick, limit):
    """NUTS: numpyro on the records where the loss is logistic, nutpie on this library's kernel and merged records."""
    n, p = len(data[1]), plan.model.parameters
    length = (100, 100, 1) if quick or n * p > LARGE else (300, 300, 1)
    logistic = plan.model.name == "LogisticRegression"
    makers = {"numpyro": lambda: nuts_times(posterior_of(plan, data, merged=False), *length) if logistic else None}
    makers["nutpie"] = lambda: nutpie_times(posterior_of(plan, data), *length)
    found = {}
    for name, make in makers.items():
        try:
            with within(limit):
                times = make()
        except ImportError:
            harness.log(f"{name} is absent")
            continue
        except StoppedError:
            found[name] = {"stopped_s": limit}
            continue
        if times is not None:
            first, whole, effective = times
            found[name] = {"first_s": first, "effective": effective, "next_s": max(whole - first, 1e-9) / effective}
    return found


def cell(kind, n, p, *, quick=False, limit=600.0, parts=PARTS):
    """One kind and size by every route, and by chains, or by one of them."""
    model, data = problem(kind, n, p)
    entry = {"kind": kind, "n": n, "parameters": p}
    if "routes" in parts:
        few = quick or n * p > LARGE
        plans = {route: plan_by(model, n, route) for route in ROUTES}
        entry["routes"] = {
            route: route_times(plan, data, FEW if few else FURTHER, limit * ROUTES_SHARE.get(route, 1.0))
            for route, plan in plans.items()
            if plan is not None
        }
    if "chains" in parts:
        entry |= chain_times(plan_by(model, n, "default"), data, quick, limit * CHAINS_SHARE)
    return entry


def has(entry, part):
    """Whether a cell's results have this part."""
    return "routes" in entry if part == "routes" else "nutpie" in entry or "numpyro" in entry


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute or so")
    parser.add_argument("--missing", action="store_true", help="run only what has no results yet")
    parser.add_argument("--only", nargs="*", default=list(SIZES), help="kinds to run; the rest keeps its old results")
    parser.add_argument("--records", nargs="*", type=int, default=[], help="only these numbers of records")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a part is stopped")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS, help="the rest keeps its old results")
    options = parser.parse_args()
    harness.clock = time.process_time
    name = "draws_quick" if options.quick else "draws"
    document = harness.resume(name, options.quick, "numpyro", "jax", "nutpie", "arviz")
    document |= {"budget": {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta}}
    done = {(entry["kind"], entry["n"], entry["parameters"]): entry for entry in document.get("cells", [])}
    wanted = [(kind, n, p) for kind, sizes in (QUICK if options.quick else SIZES).items() for n, p in sizes]
    for key in wanted:
        parts = [part for part in options.parts if not (options.missing and has(done.get(key, {}), part))]
        if key[0] in options.only and (not options.records or key[1] in options.records) and parts:
            done[key] = done.get(key, {}) | cell(*key, quick=options.quick, limit=options.limit, parts=parts)
            harness.log(str(done[key]))
        document["cells"] = [done[each] for each in wanted if each in done]
        harness.save(name, document)


if __name__ == "__main__":
    main()
