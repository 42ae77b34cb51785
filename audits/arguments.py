"""One command line for every audit: how much, from which seed, how long, and where the report goes.

    python audits/NAME.py [--quick | --share 0.1] [--seed 3] [--minutes 30] [--report docs/audit-NAME.md] [--SIZE …]

An audit names its sizes, each with the number of the long version and that of the quick one. ``--share`` multiplies the long
ones, ``--quick`` takes the quick ones, and a size that is given by name stands. After ``--minutes`` nothing new is begun: audits
made of parts (`parts.py`) leave the rest for another time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

#: A size's number in the long version, and in the quick one.
Size = tuple[int, int]


def arguments(
    description: str | None,
    sizes: Mapping[str, Size] | None = None,
    *,
    seed: int = 0,
    quick_share: float = 0.05,
    minutes: float = 60.0,
    settings: Mapping[str, int] | None = None,
    texts: Mapping[str, str] | None = None,
    given: list[str] | None = None,
) -> argparse.Namespace:
    """Return what was asked for: ``share``, ``quick``, ``seed``, ``minutes``, ``report``, ``command`` and every size by name.

    ``settings`` are whole numbers that no share multiplies, ``texts`` further options with their help, empty unless given;
    ``quick_share`` is the share that ``--quick`` stands for.
    """
    sizes, settings = sizes or {}, settings or {}
    parser = argparse.ArgumentParser(description=(description or "").strip().splitlines()[0])
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--share", type=_share, default=None, help="of the long version's sizes")
    much.add_argument("--quick", action="store_true", help="a version that takes minutes")
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--minutes", type=float, default=minutes, help="begin nothing new after this long")
    parser.add_argument("--report", type=Path, help="write the outcome here, as markdown")
    for name, (long, short) in sizes.items():
        parser.add_argument(f"--{name}", type=int, help=f"{long:,}, quick {short:,}")
    for name, value in settings.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, words in (texts or {}).items():
        parser.add_argument(f"--{name}", default="", help=words)
    chosen = parser.parse_args(given)
    for name, (long, short) in sizes.items():
        if getattr(chosen, _attribute(name)) is None:
            setattr(chosen, _attribute(name), short if chosen.quick else max(1, round((chosen.share or 1.0) * long)))
    if chosen.share is None:
        chosen.share = quick_share if chosen.quick else 1.0
    numbers = {name: getattr(chosen, _attribute(name)) for name in (*sizes, *settings)} or {"share": f"{chosen.share:g}"}
    said = " ".join(f"--{name} {value}" for name, value in {**numbers, "seed": chosen.seed}.items())
    chosen.command = f"audits/{Path(sys.argv[0]).name} {said}"
    return chosen


def finish(chosen: argparse.Namespace, text: str, outcomes: Sequence[object] = ()) -> None:
    """Print the report, and write it where it was asked for; it says how many outcomes the minutes left for another time."""
    left = sum(outcome is None for outcome in outcomes)
    if left:
        text += f"\n**Not complete**: {left} of {len(outcomes)} units were left after {chosen.minutes:g} minutes.\n"
    print(text)
    if chosen.report is not None:
        chosen.report.parent.mkdir(parents=True, exist_ok=True)
        chosen.report.write_text(text, encoding="utf-8")


def _attribute(name: str) -> str:
    return name.replace("-", "_")


def _share(text: str) -> float:
    """Return a share above 0."""
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: above 0 and at most 1")
    return value
