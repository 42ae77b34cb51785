"""Study files to start from: one to fill in, and one that works, with a made-up table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from gibbsafe.cli.example import BOUNDS, TARGET, patients
from gibbsafe.errors import ParameterError

__all__ = ["CONTAMINATED_STUDY", "blank_study", "example_study", "example_table", "waiting_table"]

#: Rows of the example: enough for ε = 1 to say something.
EXAMPLE_ROWS = 20_000

HEAD = """\
# A gibbsafe study. Everything in it must be public knowledge: never take a bound, a level or n from the private table itself
# (n is public under replace-one only). Lines that begin with # are comments; docs/study.md explains every key.

title = {title}
adjacency = "replace-one"     # or "add-remove": the number of records is then private, and n is left out
n = {n:<26}# the public number of records
draws = {draws:<22}# how many posterior draws to release
# purpose = "estimate"        # one good point estimate instead of draws of one posterior
# row_norm = 1.5              # clip encoded rows to this norm; by default the root of the number of columns
# prior_radius = 10.0         # a public guess of the size of the coefficients, in scaled units

[budget]
epsilon = 1.0
delta = 1e-6

[model]
name = "LogisticRegression"   # any model of gibbsafe.models; its options may follow, like intercept = false
"""

LEDGER = """
[ledger]                      # gibbsafe ledger open ledger.db#{account} --epsilon 3 --delta 1e-6 --adjacency replace-one
account = {quoted}
url = "ledger.db"             # a SQLite file beside this one, or postgresql://user@host/database
"""

COLUMNS = """
# Every column below needs its bounds or its levels; take out what the model shall not use. The keys of a column:
#   bounds = [low, high]        a number between public bounds; values outside are clipped
#   transform = "log1p"         with bounds: log(1 + x), for amounts; also signed-log, bins with edges, spline with knots
#   gibbsafe bounds TABLE --column NAME --range LOW:HIGH --epsilon 0.2 --study THIS releases bounds that nobody knows
#   levels = ["a", "b"]         or a category with these levels, one-hot
#   other = "b"                 with levels: where values go that are not declared; without it they are refused
#   missing = 0                 the public value (or level) for missing entries; without it they are refused
"""

BLANK_COLUMN = """
[columns.{name}]
# bounds = [low, high]
"""


def _quoted(text: str) -> str:
    """Return a TOML string or quoted key: JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _head(title: str, n: int, draws: int) -> str:
    return HEAD.format(title=title, n=n, draws=draws)


def blank_study(names: Sequence[str], target: str | None, table: str) -> str:
    """Return a commented study that lists the columns by name and asks for their bounds.

    >>> print(*blank_study(["age", "outcome"], "outcome", "t.csv").splitlines()[-2:], sep="\\n")
    [columns."age"]
    # bounds = [low, high]
    """
    for name in (name for name in names if names.count(name) > 1):
        raise ParameterError(f"column {name!r}: is there more than once; rename it in the table")
    if "" in names:
        raise ParameterError("a column has no name; name it in the table")
    if target is not None and target not in names:
        raise ParameterError(f"target = {target!r}: not a column of {table}")
    head = _head(_quoted(table), 0, 1)
    response = f"""
[target]
name = {_quoted(target or "")}  # the response column; leave this table out for models without one
# labels = ["no", "yes"]      # two outcomes, the positive one last
# bounds = [low, high]        # or a number, with bounds where the model needs them
"""
    columns = "".join(BLANK_COLUMN.format(name=_quoted(name)) for name in names if name != target)
    return head + LEDGER.format(account="mydata", quoted='"mydata"') + response + (COLUMNS if columns else "") + columns


def example_study() -> str:
    """Return a study of `example_table`, with bounds as a physician would write them down unseen."""
    head = _head('"Patients: who comes back within 30 days"', EXAMPLE_ROWS, 1)
    head = head.replace('# purpose = "estimate"  ', 'purpose = "estimate"    ')
    columns = "".join(f"\n[columns.{_quoted(name)}]\nbounds = [{low}, {high}]\n" for name, (low, high) in BOUNDS.items())
    target = f'\n[target]\nname = {_quoted(TARGET)}\nlabels = ["no", "yes"]         # the positive one last\n'
    return head + LEDGER.format(account="patients", quoted='"patients"') + target + columns


def example_table() -> str:
    """Return made-up patients as CSV."""
    features, returned = patients(EXAMPLE_ROWS)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*BOUNDS, TARGET])
    outcomes = ("no", "yes")
    writer.writerows([*map(int, row), outcomes[k]] for row, k in zip(features.tolist(), returned.tolist(), strict=True))
    return text.getvalue()


CONTAMINATED_STUDY = """\
# A gibbsafe study with an estimated budget: random differential privacy of unbounded records, simulated and not proved.
# Everything in it must be public knowledge; docs/contamination.md explains every key.

title = "Days of waiting"
adjacency = "replace-one"
n = 400                       # the public number of records
draws = 1

[budget]                      # an estimate: for all but this fraction of the model's data sets, at this confidence
epsilon = 1.5
delta = 1e-3
failure = 0.1
confidence = 0.9

[contamination]               # the rate is chosen by simulation where none is declared
model = "NormalMean"
scale = 8.0                   # of the records, public
prior_mean = 40.0
prior_scale = 20.0
truth = 30.0                  # what simulated data sets have; several rows: the worst counts; "prior": drawn from it
# rate = 0.3

[contamination.density]       # public, heavy-tailed, never taken from the data
name = "StudentT"
degrees = 5.0
location = 40.0
scale = 20.0

[target]
name = "days"

[ledger]                      # a journal of estimated claims has no total: ledger open ledger.db#estimates --journal
account = "estimates"
url = "ledger.db"
"""


def waiting_table() -> str:
    """Return an invented table of days of waiting, a few of them far away, as CSV."""
    import numpy as np

    generator = np.random.default_rng(7)
    days = 31 + 8 * generator.standard_normal(400)
    days[:4] = [900.0, 410.0, -3.0, 260.0]
    return "person,days\n" + "".join(f"{k},{value:.1f}\n" for k, value in enumerate(days))
