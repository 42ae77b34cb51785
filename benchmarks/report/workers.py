"""The section on more than one core."""

from __future__ import annotations

from benchmarks.report.tables import table


def workers(results):
    """Two threads against one, a cluster against two threads, and the bytes of every way to the same records."""
    threads, same = results["threads"], results["same_bytes"]
    rows = [
        (what, *(f"{threads[f'{key}_s_{k}']:.3f}" for k in (1, 2)), f"{threads[f'{key}_ratio']:.2f}×")
        for what, key in (("a gradient pass", "gradient"), ("an estimate, whole", "release"))
    ]
    return [
        "## More than one core",
        "",
        f"{threads['n']:,} × {threads['features']}, rows kept in {threads['storage']}, in seconds:",
        "",
        *table(("", "one thread", "two threads", "ratio"), rows),
        "",
        *(_of_cluster(results["cluster"]) if "cluster" in results else []),
        f"{', '.join(same['estimate'])} gave {'the same bytes' if same['same'] else 'other bytes'} for {same['n']:,} records.",
        "",
    ]


def _of_cluster(cluster):
    memory, killed = cluster["memory"], cluster["killed"]
    return [
        f"A Dask cluster of {cluster['workers']} workers took {cluster['cluster_s']:.0f} s for an estimate from a directory of",
        f"{cluster['n']:,} × {cluster['features']}, two threads {cluster['threads_s']:.0f} s. A round over a handful of",
        f"records took {cluster['round_ms']:.0f} ms. A worker held {memory['peak_mib']:,.0f} MiB at most",
        f"({memory['before_mib']:,.0f} before it began) for {memory['encoded_mib_a_worker']:,.0f} MiB of encoded rows.",
        f"With a worker killed in the tenth of {killed['passes']} passes it took {killed['seconds']:.0f} s, and the release was",
        f"{'the same' if killed['same'] else 'another'}.",
        "",
    ]
