"""Amplification: a record that is replaced by noise before it is used is better protected."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gibbsafe._numerics import up
from gibbsafe._validate import count, fail, open_probability
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.adjacency import Adjacency
from gibbsafe.privacy.guarantee import Guarantee
from gibbsafe.privacy.proved import ApproximateDP

__all__ = ["RecordReplacement", "amplify"]


@dataclass(frozen=True, kw_only=True)
class RecordReplacement:
    """How records are replaced by public noise before the mechanism sees them; each field is a premise of `amplify`.

    Args:
        keep_probability: q, with which a record is kept, independently of all others and of its content.
        whole_record: whether *all* of a record is replaced. Covariates that stay (as in `ContaminatedModel.contaminate`) tell two
            data sets apart whatever happens to the response.
        rows_per_person: rows of one unit of privacy.
    """

    keep_probability: float
    whole_record: bool
    rows_per_person: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep_probability", open_probability("keep_probability", self.keep_probability))
        if not isinstance(self.whole_record, bool):
            fail("whole_record", self.whole_record, "True or False")
        object.__setattr__(self, "rows_per_person", count("rows_per_person", self.rows_per_person))


def amplify(guarantee: Guarantee, replacement: RecordReplacement) -> ApproximateDP:
    """Return the guarantee when every record is kept with probability q and otherwise replaced whole by public noise.

    Couple the coins of two neighbours: with probability 1−q the differing record vanishes in both, so by joint convexity
    (ε, δ) becomes (ln(1 + q(e^ε − 1)), qδ) (Balle, Barthe, Gaboardi 2018). The claim must hold for every data set:
    Gaussian and concentrated claims are stated at one δ first, estimates are refused. Refused as well, since it is false there:

    - add-remove: a replaced record is still there (a noisy count keeps its ε);
    - parts of a record that stay: the two records still differ in them;
    - several rows of one person: with probability 1 − (1−q)^k one of them is kept, and their number is not hidden at all.

    >>> from gibbsafe.privacy import PureDP
    >>> replaced = RecordReplacement(keep_probability=0.5, whole_record=True, rows_per_person=1)
    >>> print(amplify(PureDP(1.0, adjacency="replace-one"), replaced))
    (0.620115, 0)-DP
    """
    if not isinstance(replacement, RecordReplacement):
        fail("replacement", replacement, "a gibbsafe.privacy.RecordReplacement", "it states what is replaced, and of whom")
    pair = guarantee._pure() if isinstance(guarantee, Guarantee) else None
    if pair is None:
        raise PremiseError(f"{guarantee}: only a proved (epsilon, delta) claim is amplified; state it with approximate(delta)")
    _require(guarantee, replacement)
    (epsilon, delta), q = pair, replacement.keep_probability
    amplified = math.log1p(q * math.expm1(epsilon)) if epsilon < 700 else epsilon
    return ApproximateDP(up(up(amplified)), up(q * delta), adjacency=guarantee.adjacency)


def _require(guarantee: Guarantee, replacement: RecordReplacement) -> None:
    """Refuse what replacing records does not protect."""
    if guarantee.adjacency != Adjacency.REPLACE_ONE:
        stated = "unstated" if guarantee.adjacency is None else guarantee.adjacency.value
        raise PremiseError(f"adjacency = {stated}: replaced records are still counted, only replace-one claims are amplified")
    if not replacement.whole_record:
        raise PremiseError("whole_record = False: what stays of a record tells neighbours apart; nothing is amplified")
    if replacement.rows_per_person != 1:
        rows = replacement.rows_per_person
        raise PremiseError(f"rows_per_person = {rows}: one of several rows may be kept; only one row per person is amplified")
