"""The section on more than one core, and what was promised of it."""

from __future__ import annotations

from benchmarks.report.promises import Promise, at
from benchmarks.report.tables import table


def workers(results):
    """Two threads against one, a cluster against two threads, and the bytes of every way to the same records."""
    threads, cluster, same = results["threads"], results["cluster"], results["same_bytes"]
    rows = [
        (what, *(f"{threads[f'{key}_s_{k}']:.3f}" for k in (1, 2)), f"{threads[f'{key}_ratio']:.2f}×")
        for what, key in (("a gradient pass", "gradient"), ("an estimate, whole", "release"))
    ]
    memory, killed = cluster["memory"], cluster["killed"]
    return [
        "## More than one core",
        "",
        f"{threads['n']:,} × {threads['features']}, in seconds:",
        "",
        *table(("", "one thread", "two threads", "ratio"), rows),
        "",
        f"A Dask cluster of {cluster['workers']} workers took {cluster['cluster_s']:.0f} s for an estimate from a directory of",
        f"{cluster['n']:,} × {cluster['features']}, two threads {cluster['threads_s']:.0f} s. A round over a handful of",
        f"records took {cluster['round_ms']:.0f} ms. A worker held {memory['peak_mib']:,.0f} MiB at most",
        f"({memory['before_mib']:,.0f} before it began) for {memory['encoded_mib_a_worker']:,.0f} MiB of encoded rows.",
        f"With a worker killed in the tenth of {killed['passes']} passes it took {killed['seconds']:.0f} s, and the release was",
        f"{'the same' if killed['same'] else 'another'}.",
        "",
        f"{', '.join(same['estimate'])} gave {'the same bytes' if same['same'] else 'other bytes'} for {same['n']:,} records.",
        "",
    ]


def _threads(key):
    return lambda r: [at(r["threads"], n=1_000_000, features=20)[key]]


def _cluster(key):
    return lambda r: [float(at(r["cluster"], n=10_000_000, features=20)[key])]


PROMISES = (
    Promise("two threads over one, gradient pass, 1,000,000 × 20", "workers", _threads("gradient_ratio"), ("≥ 1.7",)),
    Promise("two threads over one, estimate, 1,000,000 × 20", "workers", _threads("release_ratio"), ("≥ 1.5",)),
    Promise("Dask cluster of two workers over two threads, 10,000,000 × 20", "workers", _cluster("ratio"), ("≤ 1.5",)),
    Promise("overhead of a round of a cluster, ms", "workers", _cluster("round_ms"), ("≤ 20",), "{:.0f}"),
    Promise(
        "same bytes by 1, 2 and 4 workers, file, directory, Dask and with a worker killed",
        "workers",
        lambda r: [float(r["same_bytes"]["same"]), float(r["cluster"]["same"]), float(r["cluster"]["killed"]["same"])],
        ("≥ 1",),
        "{:.0f}",
    ),
)
