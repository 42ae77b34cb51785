"""Release hostile data sets 100,000 times: no exception, no draw that is not finite, no log acceptance above 0, no bound of the
squeeze on the wrong side, nothing above 20 times the plan's stated time, and neighbours treated alike.

The cases are those of ``tests/samplers/hostile.py``, each made from its number alone. What is done is kept (`parts`), so that a
run that was stopped goes on where it was, and begins anew where a source has changed since.

    python audits/hostile.py --report docs/audit-hostile.md
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import datetime  # noqa: E402
import hashlib  # noqa: E402
import importlib.util  # noqa: E402
import math  # noqa: E402
import platform  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections import Counter  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402
from functools import partial  # noqa: E402
from importlib import metadata  # noqa: E402
from pathlib import Path  # noqa: E402
from types import ModuleType  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from arguments import arguments, finish  # noqa: E402
from parts import Part, digest  # noqa: E402

HERE = Path(__file__).parent
CASES = HERE.parent / "tests" / "samplers" / "hostile.py"
SQUEEZE = HERE / "shell_acceptance.py"
#: Cases of two seeds have no number in common.
SEEDS_APART = 10**6


def load(path: Path) -> ModuleType:
    """Return a module from a file beside the package."""
    name = f"beside_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@dataclass(frozen=True)
class Tier:
    """Cases of certain numbers of records: how many, how often each is released with its neighbour, how many per task."""

    sizes: tuple[int, ...]
    cases: int
    repeats: int
    together: int
    #: Of so many cases by the shell sampler one has its squeeze compared with the data.
    squeezed: int = 10

    def releases(self, share: float) -> int:
        """How many releases it takes: two per repeat."""
        return 2 * self.repeats * self.number(share)

    def number(self, share: float) -> int:
        """How many cases are run."""
        return math.ceil(share * self.cases)


#: 100,012 releases, 1,012 of them on at least 100,000 records and 52 on 1,000,000.
TIERS = {
    "small": Tier((0, 1, 2, 3, 7, 20, 60, 150, 300), 4850, 10, 20),
    "middle": Tier((1000, 3000, 10_000, 30_000), 200, 5, 2),
    "large": Tier((100_000,), 240, 2, 1),
    "largest": Tier((1_000_000,), 26, 1, 1),
}


# -- one case --------------------------------------------------------------------------------------------------------


def squeeze_distance(made: Any, generator: np.random.Generator) -> tuple[int, float]:
    """Proposals judged both by the squeeze and by the data, and the least distance from the wrong side in margins.

    Raises `AssertionError` where one is on the wrong side by more than its margin.
    """
    from gibbsafe.data.compression import merge_identical
    from gibbsafe.data.options import EncodingOptions
    from gibbsafe.samplers.shell import sample as shell

    acceptance = load(SQUEEZE)
    stage, model = made.plan.stages[0], made.plan.model
    centre = np.zeros(model.parameters) if stage.prior_centre is None else np.array(stage.prior_centre)
    posterior = model.posterior(merge_identical(model.encode(made.data, EncodingOptions())), stage, centre)
    envelope = shell.prepare(posterior, 10_000, generator)
    if envelope.squeeze is None:  # it does not pay, but must be right all the same
        forced = acceptance.random_squeeze(envelope.posterior, envelope.known, generator)
        envelope = replace(envelope, squeeze=forced)
    outcome = acceptance.Audit()
    for part in envelope.mixture.propose(512, generator).parts(256):
        acceptance.check(envelope, part, generator, outcome)
    return outcome.squeezed, outcome.margins


def one_case(tier: str, index: int, seed: int = 0) -> dict[str, Any]:
    """Run one case, wholly determined by its tier, its number and the seed; return what was seen."""
    hostile = load(CASES)
    kinds, sizes = list(hostile.KINDS), TIERS[tier].sizes
    kind, n = kinds[index % len(kinds)], sizes[index // len(kinds) % len(sizes)]
    start, tally = time.process_time(), hostile.Tally()
    number = seed * SEEDS_APART + index
    made = hostile.case(kind, n, number)
    hostile.examine(made, TIERS[tier].repeats, tally, number)
    squeezed, margins = 0, math.inf
    if made.plan.sampler == "shell" and index % TIERS[tier].squeezed == index // len(kinds) % TIERS[tier].squeezed:
        try:
            squeezed, margins = squeeze_distance(made, np.random.default_rng(number))
        except Exception as error:
            tally.failures.append(f"{made.name}, squeeze: {type(error).__name__}: {error}")
    return {
        "tier": tier,
        "index": index,
        "kind": made.name.split(",")[0],
        "n": n,
        "relation": ", ".join(made.name.split(", ")[2:4]),
        "sampler": made.plan.sampler,
        "releases": tally.releases,
        "seconds": time.process_time() - start,
        "largest": tally.largest,
        "overrun": tally.overrun,
        "squeezed": squeezed,
        "margins": margins,
        "failures": list(dict.fromkeys(tally.failures)),
    }


# -- all of them -----------------------------------------------------------------------------------------------------


Unit = tuple[str, int]


def units(share: float) -> list[Unit]:
    """Tier and first number of some cases that are run one after the other: the longest come first."""
    return [(name, start) for name in reversed(TIERS) for start in range(0, TIERS[name].number(share), TIERS[name].together)]


def several(seed: int, unit: Unit) -> list[dict[str, Any]]:
    """Run the cases of a unit in this process; failures are shown at once."""
    name, start = unit
    found = [one_case(name, index, seed) for index in range(start, min(start + TIERS[name].together, TIERS[name].cases))]
    for failure in (failure for entry in found for failure in entry["failures"]):
        print(failure, file=sys.stderr)
    return found


def sources() -> str:
    """Digest of everything the outcomes depend on, cases and the squeeze's audit included."""
    beside = [file.read_bytes() for file in (Path(__file__), CASES, SQUEEZE)]
    return hashlib.sha256(b"".join([digest().encode(), *beside])).hexdigest()


# -- the report ------------------------------------------------------------------------------------------------------


def markdown(results: list[dict[str, Any]], share: float, command: str) -> str:
    """Return the report that is committed."""
    wanted = sum(tier.releases(share) for tier in TIERS.values())
    releases = sum(entry["releases"] for entry in results)
    failures = list(dict.fromkeys(failure for entry in results for failure in entry["failures"]))
    squeezed = sum(entry["squeezed"] for entry in results)
    margins = min((entry["margins"] for entry in results), default=math.inf)
    overrun = max((entry["overrun"] for entry in results), default=0.0)
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("gibbsafe", "numpy", "scipy"))
    time_said = f"{overrun:.3g} (must be at most 20; releases below a quarter of a second are not counted)"
    largest = max(entry["largest"] for entry in results)
    rows = {
        "date": datetime.date.today().isoformat(),
        "versions": f"Python {platform.python_version()}, {versions}",
        "releases": f"{releases:,}" + ("" if releases >= wanted else f" of {wanted:,}: stopped before the end"),
        "of these with n ≥ 100,000": f"{sum(entry['releases'] for entry in results if entry['n'] >= 100_000):,}",
        "of these with n = 1,000,000": f"{sum(entry['releases'] for entry in results if entry['n'] >= 1_000_000):,}",
        "cases, each released with a neighbour": f"{len(results):,}",
        "exceptions, draws not finite, neighbours treated unlike, releases far beyond their time": f"{len(failures)}",
        "largest log acceptance": f"{largest:.3g} (must be at most 0)",
        "proposals compared with the squeeze": f"{squeezed:,}, least distance from the wrong side {margins:.3g} margins",
        "most time in units of the plan's stated expectation": time_said,
        "seconds of all processes": f"{sum(entry['seconds'] for entry in results):,.0f}",
    }
    lines = ["# Audit: hostile data sets", "", f"Written by `{command}`.", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in rows.items()]
    lines += ["", "## What was released", "", *counted(results, "kind"), "", *counted(results, "sampler"), ""]
    lines += [*counted(results, "relation"), ""]
    if failures:
        lines += ["## Failures", "", *(f"- {failure}" for failure in failures[:200]), ""]
    return "\n".join(lines)


def counted(results: list[dict[str, Any]], key: str) -> list[str]:
    """Return a table of releases and their mean time by one of the case's words."""
    releases, seconds = Counter[str](), Counter[str]()
    for entry in results:
        releases[entry[key]] += entry["releases"]
        seconds[entry[key]] += entry["seconds"]
    head = [f"| {key} | releases | mean milliseconds, plan and checks included |", "|---|---|---|"]
    return head + [f"| {name} | {count:,} | {1e3 * seconds[name] / count:.0f} |" for name, count in sorted(releases.items())]


def main() -> None:
    """Command line; exit code 1 if anything failed."""
    chosen = arguments(__doc__, quick_share=0.01)
    part = Part("hostile", chosen.seed, watched=sources)  # a larger share keeps what was done of a smaller one
    outcomes, _ = part.run(units(chosen.share), partial(several, chosen.seed), minutes=chosen.minutes)
    results = [entry for outcome in outcomes if outcome is not None for entry in outcome]
    finish(chosen, markdown(results, chosen.share, chosen.command), outcomes)
    if any(entry["failures"] for entry in results):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
