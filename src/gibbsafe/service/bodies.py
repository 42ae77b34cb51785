"""What the JSON API takes: strict shapes, each with its limits. What they mean is checked by the desk."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gibbsafe.service.views import Choice, Policy

__all__ = [
    "ApprovalBody", "ChoiceBody", "DatasetBody", "PausedBody", "PolicyBody", "PredictionBody", "RefusalBody", "RequestBody",
    "StudyBody", "SyntheticBody", "TokenBody", "UserBody", "UserChange",
]  # fmt: skip

Role = Literal["owner", "analyst", "auditor", "operator"]
Epsilon = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Delta = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
Line = Annotated[str, Field(min_length=1, max_length=100)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Document = dict[str, Any]
Row = dict[str, float | int | str | bool | None]


class Body(BaseModel):
    """Unknown keys are refused, and no text stands for a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class UserBody(Body):
    """A new user; ``subject`` is ``issuer|subject`` of a provider of identities."""

    name: Line
    roles: Annotated[list[Role], Field(min_length=1, max_length=4)]
    subject: Annotated[str, Field(min_length=1, max_length=300)] | None = None


class UserChange(Body):
    """What is to change of a user."""

    roles: Annotated[list[Role], Field(min_length=1, max_length=4)] | None = None
    active: bool | None = None


class TokenBody(Body):
    """A new token."""

    label: Line
    days: Annotated[int, Field(ge=1, le=3650)] = 90


class PolicyBody(Body):
    """What an owner allows."""

    request_epsilon: Epsilon
    analyst_share: Share = 1.0
    automatic_epsilon: Epsilon | None = None

    def policy(self) -> Policy:
        """Return it as the desk takes it."""
        return Policy(self.request_epsilon, self.analyst_share, self.automatic_epsilon)


class DatasetBody(Body):
    """A data set to register: ``study`` is the document of its study file, or ``text`` the file itself."""

    name: Line
    source: Text
    study: Document | None = None
    text: Annotated[str, Field(max_length=200_000)] | None = None
    epsilon: Epsilon
    delta: Delta
    description: Annotated[str, Field(max_length=4000)] = ""
    policy: PolicyBody | None = None


class PausedBody(Body):
    """Whether a data set is to rest."""

    paused: bool


class ChoiceBody(Body):
    """What an analyst chose in a wizard."""

    model: Line
    columns: Annotated[list[Line], Field(max_length=400)]
    target: Line | None = None
    epsilon: Epsilon
    delta: Delta = 0.0
    purpose: Literal["posterior", "estimate"] = "posterior"
    draws: Annotated[int, Field(ge=1, le=10_000)] = 1
    options: Document = Field(default_factory=dict)

    def choice(self) -> Choice:
        """Return it as the desk takes it."""
        stated = self.model_dump() | {"columns": tuple(self.columns)}
        return Choice(**stated)


class StudyBody(Body):
    """One of: a study's document, the text of a study file, a wizard's choice."""

    study: Document | None = None
    text: Annotated[str, Field(max_length=200_000)] | None = None
    choice: ChoiceBody | None = None


class RequestBody(StudyBody):
    """A study to submit, why, and a key of one's own: the same key again makes no second request."""

    purpose: Text
    key: Line | None = None


class ApprovalBody(Body):
    """The plan that the owner saw and approves."""

    plan_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class RefusalBody(Body):
    """Why a request is refused, for its analyst."""

    reason: Text


class PredictionBody(Body):
    """Rows to predict for: every feature by name."""

    rows: Annotated[list[Row], Field(min_length=1, max_length=10_000)]


class SyntheticBody(Body):
    """How many rows to make up; for regressions, the features to make up responses for."""

    rows: Annotated[int, Field(ge=1, le=10_000)]
    features: Annotated[list[Row], Field(min_length=1, max_length=10_000)] | None = None
