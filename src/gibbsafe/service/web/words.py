"""How pages say things: numbers in a few digits, times in UTC, states and roles as a person would call them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from gibbsafe._text import counted
from gibbsafe.service.views import ColumnChoice, Dataset

__all__ = ["FILTERS", "KINDS", "QUESTIONS", "RELEASES", "ROLES", "STATES", "TONES", "declared_words"]

#: Levels that a page lists before it says how many there are.
MOST_LEVELS = 6

ROLES = {
    "owner": "registers data, decides about requests",
    "analyst": "asks, and gets releases",
    "auditor": "reads ledgers and certificates",
    "operator": "users and tokens, never data",
}
STATES = {
    "pending": "waits for approval",
    "approved": "approved",
    "released": "released",
    "refused": "refused",
    "withdrawn": "withdrawn",
    "failed": "not released",
    "unreleased": "charged, not released",
    "new": "not looked at yet",
    "unreadable": "file cannot be read",
}
TONES = {
    **dict.fromkeys(("pending", "approved", "new"), "waiting"),
    **dict.fromkeys(("released", "active"), "good"),
    **dict.fromkeys(("refused", "failed", "unreadable", "unreleased", "paused", "shut out"), "bad"),
}
KINDS = {"number": "number", "category": "levels", "label": "outcomes"}
RELEASES = (("estimate", "An estimate with intervals"), ("1", "One draw"), ("10", "10 draws"), ("100", "100 draws"))

#: The wizard's questions, by the model that answers each: in words, and how it is answered.
QUESTIONS: Mapping[str, tuple[str, str]] = {
    "LogisticRegression": ("What goes with one of two outcomes?", "logistic regression"),
    "PseudoHuberRegression": ("What goes with a number?", "regression that outliers cannot bend"),
    "LinearRegression": ("What goes with a number between bounds?", "least squares"),
    "SoftQuantileRegression": ("What goes with the median of a number?", "median regression"),
    "CountRegression": ("What goes with how often something happens?", "negative binomial regression"),
    "MultinomialRegression": ("What goes with one of several outcomes?", "multinomial regression"),
    "OrdinalRegression": ("What goes with a level, from low to high?", "ordinal regression"),
    "GaussianMean": ("How large are numbers on average?", "a mean of each column"),
}


def brief(value: object, digits: int = 4) -> str:
    """Return a number in a few digits.

    >>> brief(1.0), brief(1e-6), brief(0.123456), brief(None)
    ('1', '1e-06', '0.1235', '–')
    """
    return f"{value:.{digits}g}" if isinstance(value, int | float) and math.isfinite(value) else "–"


def below(value: float) -> str:
    """Return a positive number in three digits, never above it.

    >>> below(2.76589), below(0.0), below(1.0)
    ('2.76', '0', '1')
    """
    if value <= 0:
        return "0"
    text = f"{value:.3g}"
    return text if float(text) <= value else f"{float(text) - 10.0 ** (math.floor(math.log10(value)) - 2):.3g}"


def share(value: float | None) -> str:
    """Return a share in percent; never 0 % of something, nor 100 % of less.

    >>> share(0.1234), share(0.00001), share(0.0), share(0.997)
    ('12 %', 'under 0.1 %', '0 %', 'over 99 %')
    """
    if value is None:
        return "–"
    if 0 < value < 0.001:
        return "under 0.1 %"
    if 0.995 <= value < 1:
        return "over 99 %"
    return f"{100 * value:.0f} %" if value >= 0.0995 or value == 0 else f"{100 * value:.1f} %"


def chance(value: float | None) -> str:
    """Return a probability that was counted over a thousand draws: none of them is not never.

    >>> chance(0.0), chance(0.8231), chance(1.0)
    ('under 0.1 %', '82.3 %', 'over 99.9 %')
    """
    if value is None:
        return "–"
    return "under 0.1 %" if value < 0.001 else "over 99.9 %" if value > 0.999 else f"{100 * value:.1f} %"


def percent(value: float | None) -> str:
    """Return a probability in percent.

    >>> percent(0.5932)
    '59.3 %'
    """
    return "–" if value is None else f"{100 * value:.3g} %"


def fits(times: int) -> str:
    """Return how often something fits: beyond a thousand nobody counts."""
    return "over 1,000" if times >= 1000 else str(times)


def day(seconds: int | None) -> str:
    """Return a day.

    >>> day(0)
    '1970-01-01'
    """
    return "–" if seconds is None else datetime.fromtimestamp(seconds, UTC).date().isoformat()


def moment(seconds: int | None) -> str:
    """Return a time to the minute.

    >>> moment(86_399)
    '1970-01-01 23:59 UTC'
    """
    return "–" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def duration(seconds: int) -> str:
    """Return a time span in words.

    >>> duration(60), duration(5), duration(7200)
    ('1 minute', '5 seconds', '2 hours')
    """
    for name, unit in (("hour", 3600), ("minute", 60)):
        if seconds >= unit:
            return counted(math.ceil(seconds / unit), name)
    return counted(seconds, "second")


def shortened(text: str, most: int) -> str:
    """Return a text that fits."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def sentence(text: str) -> str:
    """Return a refusal or a note as a sentence.

    >>> sentence("token: not known; ask the operator")
    'Token: not known; ask the operator.'
    """
    ended = text if text[-1:] in ".!?…" else f"{text}."
    return ended[:1].upper() + ended[1:]


def thousands(value: int) -> str:
    """Return a whole number with separators."""
    return f"{value:,}"


def records(dataset: Dataset) -> str:
    """Return how many records a data set has, where that is public."""
    return "a number of records that is itself private" if dataset.n is None else f"{dataset.n:,} records"


def declared_words(column: ColumnChoice) -> str:
    """Return what is declared of a column.

    >>> declared_words(ColumnChoice("ill", "label", None, ("no", "yes"), {}))
    'no or yes'
    >>> declared_words(ColumnChoice("age", "number", (0, 99), None, {}))
    '0 to 99'
    """
    if column.levels is not None:
        shown = [str(level) for level in column.levels[:MOST_LEVELS]]
        more = f" and {len(column.levels) - MOST_LEVELS} more" if len(column.levels) > MOST_LEVELS else ""
        return " or ".join(shown) if len(column.levels) == 2 else ", ".join(shown) + more
    how = f", as {column.declared['transform']}" if "transform" in column.declared else ""
    ends = column.bounds
    return "without bounds" if ends is None else f"{_end(ends[0])} to {_end(ends[1])}{how}"


def _end(value: object) -> str:
    return f"{value:,g}" if isinstance(value, int | float) else str(value)


FILTERS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (brief, below, share, percent, chance, fits, day, moment, duration, shortened, sentence, thousands, records)
}
