"""The release: draws, the certificate of what they reveal, and every question to them, free."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np

from gibbsafe._extras import require_extra
from gibbsafe._files import write_whole
from gibbsafe._types import JSON, Document, Floats, Values
from gibbsafe._validate import choice
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.capabilities import Predicts, PredictsProbabilities
from gibbsafe.models.own.custom import MOST_TOLD, Custom
from gibbsafe.planning import Plan
from gibbsafe.release.certificate import Certificate
from gibbsafe.release.describe import describe_draws
from gibbsafe.release.files import CHAIN_FORMAT, FORMAT, SCORES_FORMAT, check_release, read_release, sealed
from gibbsafe.release.predictions import PredictionIntervals, predicted, survival_curves
from gibbsafe.release.signing import require_signer
from gibbsafe.release.transcripts import transcript_to_dict
from gibbsafe.samplers.noisy_scores import Answers
from gibbsafe.samplers.trajectory import split_r_hat

if TYPE_CHECKING:
    from gibbsafe.population import CountTable, Intervals, Population
    from gibbsafe.queries import Answer, Query
    from gibbsafe.queries.synthetic import SyntheticRows

__all__ = ["CuratorDiagnostics", "Release"]


class CuratorDiagnostics:
    """What the sampler saw. All of it depends on the data: for the curator's eyes, never saved, never pickled."""

    def __init__(self, values: object) -> None:
        self.values = values

    def __reduce__(self) -> NoReturn:
        raise GibbsafeError("curator diagnostics depend on the data and cannot be saved or pickled")

    def __repr__(self) -> str:
        return f"CuratorDiagnostics({self.values!r})"


@dataclass(frozen=True, eq=False)
class Release:
    """Posterior draws in the user's units, and the certificate of what they reveal. All questions to it are free."""

    plan: Plan
    certificate: Certificate
    draws: Floats
    _diagnostics: CuratorDiagnostics | None = field(default=None, repr=False)
    #: Which entry of which ledger paid for it (`gibbsafe.ledger.Charge`), and who signed it (`release.signing`).
    charge: Document | None = field(default=None, repr=False)
    signature: Document | None = field(default=None, repr=False)
    #: The transcript of an estimate by noisy scores: all that left the data (`gibbsafe.samplers.noisy_scores`).
    answers: Answers | None = field(default=None, repr=False)
    #: The answers (steps, chains, parameters) of a released trajectory, from which its draws follow.
    walk: Floats | None = field(default=None, repr=False)

    # -- questions -----------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the columns of `draws`."""
        return self.plan.model.parameter_names

    @property
    def curator_diagnostics(self) -> CuratorDiagnostics:
        """Mode, acceptance and timings of the run that made this release: only in the process that made it."""
        if self._diagnostics is None:
            raise GibbsafeError("curator_diagnostics: exist only in the process that sampled; a file never has them")
        return self._diagnostics

    @property
    def r_hat(self) -> Floats:
        """Split R-hat per parameter of a released trajectory's chains: post-processing, free."""
        rule = self.plan.stages[0].chain
        if rule is None:
            raise GibbsafeError("r_hat: of released trajectories; these draws are independent, or each the last of its own chain")
        return split_r_hat(self.draws.reshape(rule.chains, rule.kept, -1))

    @property
    def tells_population(self) -> bool:
        """Whether its transcript says what `population` needs; questions are then about the true parameter by default."""
        if isinstance(self.plan.model, Custom):
            told = self.walk is not None and self.plan.n is not None and self.plan.model.simulator is not None
            return told and self.plan.model.form.size <= MOST_TOLD
        return self.answers is not None and self.plan.public_of_scores().fits

    @overload
    def predict_proba(self, features: object, interval: None = None) -> Floats: ...

    @overload
    def predict_proba(self, features: object, interval: float) -> PredictionIntervals: ...

    def predict_proba(self, features: object, interval: float | None = None) -> Floats | PredictionIntervals:
        """Return class probabilities for new rows, averaged over the draws; rows are encoded and clipped as in training.

        With ``interval``, a level such as 0.9: probabilities averaged over `population`, with the interval of each.
        """
        model = self.plan.model
        if interval is not None:
            return predicted(model, features, self.population().draws, interval, "predict_proba")
        if not isinstance(model, PredictsProbabilities):
            raise GibbsafeError(f"predict_proba: not defined for the model {model.name}")
        return model.predict_proba(features, self.draws)

    @overload
    def predict(self, features: object, interval: None = None) -> Values: ...

    @overload
    def predict(self, features: object, interval: float) -> PredictionIntervals: ...

    def predict(self, features: object, interval: float | None = None) -> Values | PredictionIntervals:
        """Return predictions for new rows, encoded and clipped as in training.

        With ``interval``, a level such as 0.9: expected responses averaged over `population`, with the interval of each.
        """
        model = self.plan.model
        if interval is not None:
            return predicted(model, features, self.population().draws, interval, "predict")
        if not isinstance(model, Predicts):
            raise GibbsafeError(f"predict: not defined for the model {model.name}")
        return model.predict(features, self.draws)

    def predict_survival(self, features: object, times: object, interval: float | None = None) -> Floats | PredictionIntervals:
        """Return for new rows the chance of lasting longer than each of the times: one row of a curve each.

        Averaged over the draws; with ``interval``, a level such as 0.9, over `population`, with the interval of each chance.
        """
        draws = self.draws if interval is None else self.population().draws
        return survival_curves(self.plan.model, features, times, draws, interval)

    def answer(self, query: Query, *, of: str | None = None, questions: int = 1, failure: float = 0.05) -> Answer:
        """Answer a question of `gibbsafe.queries`: free, being a function of what was released.

        Args:
            query: the question.
            of: ``"population"``, the true parameter, or ``"draws"``, the released draws as they are. Without it the query's own
                choice; else the population where an estimate has a transcript, the draws where not.
            questions: where a bound on the error is known, how many such questions it holds for at once,
            failure: but with this probability.
        """
        from gibbsafe.queries.query import answer

        return answer(self, query, of, questions, failure)

    @cached_property
    def _population(self) -> Population:
        from gibbsafe.population import population

        return population(self)

    def population(self, draws: int = 1000, generator: np.random.Generator | None = None) -> Population:
        """Return draws of the true parameter given everything released: data noise, privacy noise and what else is not known.

        Free: it uses the released numbers and public ones only, and gives the same draws every time unless a generator is
        passed. A release without enough in it is refused with what to plan instead.
        """
        if draws == 1000 and generator is None:
            return self._population
        from gibbsafe.population import population

        return population(self, draws, generator)

    def interval(self, level: float = 0.9, *, radius: float | None = None, dispersion: float | None = None) -> Intervals:
        """Return an interval for every true parameter: that of `population`, or of a declared radius or family.

        Free: it uses the released numbers and public ones only. Nothing is cut to a radius that nobody declared.

        Args:
            level: the coverage aimed at, for each parameter by itself.
            radius: for posterior draws, how far the truth can be from the prior's centre in scaled units, if you know that.
            dispersion: how many times as noisy records are as the likelihood declares (1; a variance for squared losses).
        """
        from gibbsafe.population import intervals

        return intervals(self, level, radius=radius, dispersion=dispersion)

    def table(self, level: float = 0.9) -> CountTable:
        """Return what a `ContingencyTable`'s release says of the records' counts, margins, shares and ratios, with intervals.

        Free, and without any assumption about the records: an interval covers with probability ``level`` or more.
        """
        from gibbsafe.population import count_table

        return count_table(self, level)

    def simulate(self, rows: int, features: object = None, generator: np.random.Generator | None = None) -> SyntheticRows:
        """Return synthetic rows, spread evenly over the draws: free, with a note on what they are not.

        Args:
            rows: how many.
            features: for regressions, the rows to simulate responses for.
            generator: a seeded generator for a repeatable table.
        """
        from gibbsafe.queries.synthetic import simulate

        return simulate(self, rows, features, generator)

    def summary(self) -> str:
        """Return a table of the true parameter (`population`) for an estimate with a transcript, of the draws otherwise."""
        return self.population().summary() if self.tells_population else describe_draws(self)

    def sample_of(self, of: str | None = None) -> tuple[str, Floats]:
        """Return what was asked for, ``"population"`` or ``"draws"``, and its draws; None takes what `tells_population` says."""
        default = "population" if self.tells_population else "draws"
        chosen = default if of is None else choice("of", of, ("population", "draws"))
        return chosen, self.population().draws if chosen == "population" else self.draws

    def to_arviz(self, of: str | None = None) -> Any:
        """Return draws, ``of`` as in `answer`, as one chain for ArviZ (``gibbsafe[arviz]``); a trajectory as its chains.

        A `DataTree`, or before version 1 an `InferenceData`.
        """
        require_extra("arviz", "to_arviz")
        import arviz

        model, (stage, *_) = self.plan.model, self.plan.stages
        whose, draws = self.sample_of("draws" if of is None and stage.chain is not None else of)
        posterior: dict[str, Any] = {}
        if stage.chain is not None and isinstance(model, Custom):
            posterior = dict(model.constrained(draws.reshape(stage.chain.chains if whose == "draws" else 1, -1, draws.shape[1])))
        posterior = posterior or {name: draws[None, :, k] for k, name in enumerate(self.parameters)}
        if arviz.__version__.startswith("0."):
            return arviz.from_dict(posterior=posterior)
        return arviz.from_dict({"posterior": posterior})

    # -- files ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> JSON:
        """Return the release file's content, hash included."""
        content = {
            "format": CHAIN_FORMAT if self.walk is not None else FORMAT if self.answers is None else SCORES_FORMAT,
            "plan": self.plan.to_dict(),
            "certificate": self.certificate.to_dict(),
            "parameters": list(self.parameters),
            "draws": self.draws.tolist(),
        }
        content |= {} if self.answers is None else {"transcript": transcript_to_dict(self.answers)}
        content |= {} if self.walk is None else {"trajectory": self.walk.tolist()}
        return sealed(content, self.charge, self.signature)

    def save(self, path: Path | str, *, force: bool = False) -> None:
        """Write the release as JSON, whole or not at all; an existing file is kept unless ``force`` says otherwise."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(path, text.encode(), force=force)

    @classmethod
    def load(cls, path: Path | str, *, public_key: Path | str | None = None, key_list: Path | str | None = None) -> Release:
        """Read a release file and check all that `verify` checks."""
        content = read_release(path)
        require_signer(content, public_key, key_list)
        return _restored(content)

    @classmethod
    def from_dict(cls, content: object) -> Release:
        """Rebuild a release from `to_dict`'s data, and check all that `verify` checks but a signature."""
        return _restored(content)

    def with_model(self, model: Custom) -> Release:
        """Return a release read from a file with the code of its model, which no file holds: `population` needs it."""
        declared = self.plan.model
        if not isinstance(declared, Custom) or not isinstance(model, Custom):
            raise GibbsafeError(f"with_model: of releases of a model of one's own; {declared.name} has no code of the user's")
        return replace(self, plan=replace(self.plan, model=declared.with_code_of(model)))

    def __getstate__(self) -> JSON:
        return {"content": self.to_dict()}

    def __setstate__(self, state: JSON) -> None:
        restored = _restored(state["content"])
        for name in ("plan", "certificate", "draws", "charge", "signature", "answers", "walk"):
            object.__setattr__(self, name, getattr(restored, name))
        object.__setattr__(self, "_diagnostics", None)

    def __repr__(self) -> str:
        rows, columns = self.draws.shape
        return f"<Release of {rows} draw{'s' * (rows != 1)} of {columns} parameters, {self.plan.guarantee}>"


def _restored(content: object) -> Release:
    checked = check_release(content)
    told = checked.charge, checked.signature, checked.answers, checked.walk
    return Release(checked.plan, checked.certificate, checked.draws, None, *told)
