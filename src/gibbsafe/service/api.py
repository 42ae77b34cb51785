"""The JSON API: every operation of the desk, by bearer token. A thin skin: shapes in, `Desk`'s values out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.responses import Response

from gibbsafe.service import bodies, views
from gibbsafe.service.authority import Actor
from gibbsafe.service.desk import Desk
from gibbsafe.service.refusals import Refusal

__all__ = ["router"]


@dataclass(frozen=True)
class Problem:
    """What is wrong, in one line."""

    detail: str


@dataclass(frozen=True)
class Me:
    """Whoever asks."""

    id: str
    name: str
    roles: tuple[str, ...]


#: Every refusal has one shape.
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": what}
    for status, what in {
        400: "Not a request that can be read", 401: "Nobody knows the token", 403: "Not with this role", 404: "Not there for you",
        409: "Not now, as things are", 413: "Too large", 422: "Not understood", 429: "Too many requests",
        503: "A database does not answer",
    }.items()
}  # fmt: skip
PRIVATE_PAGE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

bearer = HTTPBearer(auto_error=False, description="A token of 256 random bits, from the operator.")


def desk_of(request: Request) -> Desk:
    """Return the desk of the application."""
    desk: Desk = request.app.state.desk
    return desk


TheDesk = Annotated[Desk, Depends(desk_of)]


def caller(desk: TheDesk, stated: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> Actor:
    """Return whom the token identifies. Cookies open nothing here, so no other site's page can call it."""
    if stated is None:
        raise Refusal(401, "token: missing; send 'Authorization: Bearer TOKEN'")
    return desk.authenticate(stated.credentials)


Caller = Annotated[Actor, Depends(caller)]
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
router = APIRouter(prefix="/api/v1", responses=REFUSALS)


@router.get("/me", tags=["people"])
def me(actor: Caller) -> Me:
    """Who am I?"""
    return Me(actor.user_id, actor.name, tuple(sorted(actor.roles)))


# -- people -----------------------------------------------------------------------------------------------------------------


@router.get("/users", tags=["people"])
def list_users(desk: TheDesk, actor: Caller) -> tuple[views.User, ...]:
    """Everybody, by name (operator)."""
    return desk.users(actor)


@router.post("/users", status_code=201, tags=["people"])
def create_user(desk: TheDesk, actor: Caller, body: bodies.UserBody) -> views.User:
    """Make a user (operator)."""
    return desk.create_user(actor, body.name, body.roles, body.subject)


@router.patch("/users/{user_id}", tags=["people"])
def change_user(desk: TheDesk, actor: Caller, user_id: Id, body: bodies.UserChange) -> views.User:
    """Change somebody's roles, or shut them out (operator)."""
    return desk.change_user(actor, user_id, roles=body.roles, active=body.active)


@router.get("/users/{user_id}/tokens", tags=["people"])
def list_tokens(desk: TheDesk, actor: Caller, user_id: Id) -> tuple[views.Token, ...]:
    """Somebody's tokens, never their text (operator; one's own)."""
    return desk.tokens(actor, user_id)


@router.post("/users/{user_id}/tokens", status_code=201, tags=["people"])
def create_token(desk: TheDesk, actor: Caller, user_id: Id, body: bodies.TokenBody) -> views.NewToken:
    """Make a token; its text is in this answer and nowhere else (operator; one's own)."""
    return desk.create_token(actor, user_id, body.label, body.days)


@router.delete("/tokens/{token_id}", tags=["people"])
def revoke_token(desk: TheDesk, actor: Caller, token_id: Id) -> views.Token:
    """Make a token worthless (operator; one's own)."""
    return desk.revoke_token(actor, token_id)


@router.get("/log", tags=["people"])
def read_log(
    desk: TheDesk, actor: Caller, before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> tuple[views.LogEntry, ...]:
    """The administrative log, newest first (operator, auditor)."""
    return desk.log(actor, before)


# -- data sets --------------------------------------------------------------------------------------------------------------


@router.get("/datasets", tags=["data sets"])
def list_datasets(desk: TheDesk, actor: Caller) -> tuple[views.Dataset, ...]:
    """The data sets that the caller may see."""
    return desk.datasets(actor)


@router.post("/datasets", status_code=201, tags=["data sets"])
def register_dataset(desk: TheDesk, actor: Caller, body: bodies.DatasetBody) -> views.Dataset:
    """Register a file with its public study and open its account (owner)."""
    study = desk.one_study(body.study, body.text)
    policy = None if body.policy is None else body.policy.policy()
    return desk.register_dataset(
        actor, name=body.name, source=body.source, study=study, epsilon=body.epsilon, delta=body.delta,
        description=body.description, policy=policy,
    )  # fmt: skip


@router.get("/datasets/{dataset_id}", tags=["data sets"])
def read_dataset(desk: TheDesk, actor: Caller, dataset_id: Id) -> views.Dataset:
    """What is public of a data set; its place too, for its owner."""
    return desk.dataset(actor, dataset_id)


@router.put("/datasets/{dataset_id}/policy", tags=["data sets"])
def set_policy(desk: TheDesk, actor: Caller, dataset_id: Id, body: bodies.PolicyBody) -> views.Dataset:
    """Say what may be asked of a data set (its owner)."""
    return desk.set_policy(actor, dataset_id, body.policy())


@router.put("/datasets/{dataset_id}/paused", tags=["data sets"])
def pause_dataset(desk: TheDesk, actor: Caller, dataset_id: Id, body: bodies.PausedBody) -> views.Dataset:
    """Stop everything about a data set, or go on (its owner)."""
    return desk.pause_dataset(actor, dataset_id, body.paused)


@router.get("/datasets/{dataset_id}/choices", tags=["data sets"])
def read_choices(desk: TheDesk, actor: Caller, dataset_id: Id) -> views.Choices:
    """What a wizard offers of a data set."""
    return desk.choices(actor, dataset_id)


@router.get("/datasets/{dataset_id}/ledger", tags=["data sets"])
def read_ledger(desk: TheDesk, actor: Caller, dataset_id: Id) -> views.Book:
    """The data set's account, recomputed from its entries (its owner, auditors)."""
    return desk.book(actor, dataset_id)


# -- requests ---------------------------------------------------------------------------------------------------------------


@router.post("/datasets/{dataset_id}/preview", tags=["requests"])
def preview(desk: TheDesk, actor: Caller, dataset_id: Id, body: bodies.StudyBody) -> views.Preview:
    """What a study would release and cost, from public numbers alone; nothing is stored."""
    choice = None if body.choice is None else body.choice.choice()
    return desk.preview(actor, dataset_id, body.study, choice, body.text)


@router.post("/datasets/{dataset_id}/requests", status_code=201, tags=["requests"])
def submit_request(desk: TheDesk, actor: Caller, dataset_id: Id, body: bodies.RequestBody) -> views.Request:
    """Submit a study (analyst). The same key again gives the same request."""
    choice = None if body.choice is None else body.choice.choice()
    study = desk.study_document(actor, dataset_id, body.study, choice, body.text)
    return desk.submit(actor, dataset_id, study, body.purpose, body.key)


@router.get("/requests", tags=["requests"])
def list_requests(
    desk: TheDesk,
    actor: Caller,
    dataset: Annotated[str | None, Query(pattern=r"^[0-9a-f]{16}$")] = None,
    state: Annotated[str | None, Query(pattern=r"^[a-z]{1,20}$")] = None,
) -> tuple[views.Request, ...]:
    """The requests that the caller may see, newest first."""
    return desk.requests(actor, dataset, state)


@router.get("/requests/{request_id}", tags=["requests"])
def read_request(desk: TheDesk, actor: Caller, request_id: Id) -> views.Request:
    """A request as it stands now."""
    return desk.request(actor, request_id)


@router.delete("/requests/{request_id}", tags=["requests"])
def withdraw_request(desk: TheDesk, actor: Caller, request_id: Id) -> views.Request:
    """Take back a request that nobody has answered (its analyst)."""
    return desk.withdraw(actor, request_id)


@router.post("/requests/{request_id}/approval", tags=["requests"])
def approve_request(desk: TheDesk, actor: Caller, request_id: Id, body: bodies.ApprovalBody) -> views.Request:
    """Approve the plan that was seen (the data set's owner)."""
    return desk.approve(actor, request_id, body.plan_sha256)


@router.post("/requests/{request_id}/refusal", tags=["requests"])
def refuse_request(desk: TheDesk, actor: Caller, request_id: Id, body: bodies.RefusalBody) -> views.Request:
    """Refuse a request with a reason (the data set's owner)."""
    return desk.refuse(actor, request_id, body.reason)


# -- releases ---------------------------------------------------------------------------------------------------------------


@router.get("/requests/{request_id}/release", tags=["releases"])
def read_release(desk: TheDesk, actor: Caller, request_id: Id) -> dict[str, Any]:
    """release.json, signed: `gibbsafe verify --public-key` accepts it (its analyst, the owner)."""
    attached = {"content-disposition": f'attachment; filename="release-{request_id}.json"'}
    return Response(desk.release_file(actor, request_id), media_type="application/json", headers=attached)  # type: ignore[return-value]


@router.get("/requests/{request_id}/certificate", tags=["releases"])
def read_certificate(desk: TheDesk, actor: Caller, request_id: Id) -> views.Certificate:
    """What a release claims, and who signed it (its analyst, the owner, auditors)."""
    return desk.certificate(actor, request_id)


@router.get(
    "/requests/{request_id}/report", tags=["releases"], response_class=Response, responses={200: {"content": {"text/html": {}}}}
)
def read_report(desk: TheDesk, actor: Caller, request_id: Id) -> Response:
    """The report of a release: one page to keep (its analyst, the owner)."""
    attached = {
        "content-disposition": f'attachment; filename="report-{request_id}.html"',
        "content-security-policy": PRIVATE_PAGE,
    }
    return Response(desk.report(actor, request_id), media_type="text/html", headers=attached)


@router.get("/requests/{request_id}/summary", tags=["releases"])
def read_summary(
    desk: TheDesk, actor: Caller, request_id: Id, level: Annotated[float, Query(gt=0, lt=1, allow_inf_nan=False)] = 0.9
) -> views.Summary:
    """The true parameter according to a release."""
    return desk.summary(actor, request_id, level)


@router.post("/requests/{request_id}/predictions", tags=["releases"])
def predict(desk: TheDesk, actor: Caller, request_id: Id, body: bodies.PredictionBody) -> views.Prediction:
    """Predictions for rows that the caller brings."""
    return desk.predict(actor, request_id, body.rows)


@router.post("/requests/{request_id}/synthetic", tags=["releases"])
def synthetic(desk: TheDesk, actor: Caller, request_id: Id, body: bodies.SyntheticBody) -> views.SyntheticTable:
    """Made-up rows from a release."""
    return desk.synthetic(actor, request_id, body.rows, body.features)


@router.get("/key", tags=["releases"], response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def read_key(desk: TheDesk, actor: Caller) -> Response:
    """The public key that verifies this desk's releases."""
    return Response(desk.public_key(), media_type="text/plain")
