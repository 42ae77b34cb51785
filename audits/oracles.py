"""Claims beside oracles that share no code with the library: random constants over their whole domain (tests/oracles).

    python audits/oracles.py --cases 100000 --report docs/audit-oracles.md

Every kind of case (theorem, family, model; adjacency; rows per person) is drawn by its share; case number i of a seed is the same
everywhere: ``run(seed, i)`` in tests/oracles/suite.py shows it again.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from arguments import arguments, finish
from oracles.all_cases import KINDS, run  # type: ignore[import-not-found]
from parts import Part, chunks

#: Cases that are carried out, and kept, together.
CHUNK = 250
#: Violations that a report shows in full.
SHOWN = 40


@dataclass
class Outcome:
    """What some cases gave."""

    cases: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    closest: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def __add__(self, other: Outcome) -> Outcome:
        closest = {k: max(self.closest.get(k, 0.0), other.closest.get(k, 0.0)) for k in self.closest | other.closest}
        sums = (getattr(self, name) + getattr(other, name) for name in ("cases", "checks", "refused", "seconds"))
        return Outcome(*sums, closest, self.failures + other.failures)


def carry_out(seed: int, chunk: tuple[int, int]) -> Outcome:
    """Run the cases of one chunk; a crash counts as a failure, like a claim below the exact value."""
    outcome = Outcome()
    number, count = chunk
    for index in range(number * CHUNK, number * CHUNK + count):
        started = time.process_time()
        try:
            case = run(seed, index)
        except Exception as error:
            outcome.failures.append(f"case {index}: {type(error).__name__}: {error}")
            continue
        kind = case.kind
        outcome.cases[kind] += 1
        outcome.seconds[kind] += time.process_time() - started
        outcome.checks[kind] += len(case.checks)
        outcome.refused[kind] += case.refused is not None
        outcome.failures += [f"case {index}, {kind}, {case.setting}: {check}" for check in case.violations[:2]]
        sharp = [float(c.exact) / float(c.claim) for c in case.checks if c.claim > 0 and c.error <= 1e-6 * float(c.claim)]
        outcome.closest[kind] = max([outcome.closest.get(kind, 0.0), *(r for r in sharp if r <= 1 + 1e-6)])
    return outcome


def markdown(total: Outcome, options: argparse.Namespace, seconds: float) -> str:
    """The report that is kept."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("gibbsafe", "numpy", "scipy", "mpmath"))
    shown = [f"- {failure}" for failure in total.failures[:SHOWN]]
    verdict = "\n".join([f"**{len(total.failures)} failures.**", "", *shown]) if shown else "No claim was below its exact value."
    lines = []
    for kind in KINDS:
        counted = " | ".join(f"{table[kind]:,}" for table in (total.cases, total.checks, total.refused))
        lines.append(f"| {kind} | {counted} | {total.closest.get(kind, 0):.9f} |")
    return f"""# Audit: claims beside independent oracles

Written by `{options.command}` on {datetime.date.today().isoformat()} in
{seconds:.0f} s of processor time (Python {platform.python_version()}, {versions}).

Each case draws declared constants log-uniformly over their whole domain, ends included (1e-12 to 1e12 wherever the model accepts
it), an adjacency, rows per person and a budget, makes the claim through the public interface, takes neighbouring data sets at
corners of the domain, and compares δ(ε) at several ε with quadrature, 40-digit arithmetic or enumeration written without any
code of the library (`tests/oracles`). A claim fails if it is below the exact value by more than the oracle's own error, or if a
profile increases.

## Verdict

{verdict}

## Cases

*Refused*: no claim was made (a premise or the budget said no). *Closest*: the largest ratio of exact value to claim among checks
whose oracle is good to 1e-6; 1 says that the claim is attained, to the digits shown.

| kind | cases | comparisons | refused | closest |
|---|---|---|---|---|
{chr(10).join(lines)}
| all | {total.cases.total():,} | {total.checks.total():,} | {total.refused.total():,} | |
"""


def main() -> None:
    """Command line."""
    options = arguments(__doc__, {"cases": (100_000, 2000)})
    part = Part("oracles", options.seed)  # more cases of a seed keep the ones that were done
    outcomes, seconds = part.run(chunks(options.cases, CHUNK), partial(carry_out, options.seed), minutes=options.minutes)
    total = sum((each for each in outcomes if each is not None), Outcome())
    finish(options, markdown(total, options, seconds), outcomes)
    if total.failures:
        sys.exit(1)


if __name__ == "__main__":
    main()
