"""Coming in: tokens and sessions that end, forms from elsewhere, limits, and what every answer carries."""

import dataclasses
import hashlib

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from gibbsafe.service.application import create_app
from gibbsafe.service.guards import Limiter
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.tickets import Ticket

from .test_shapes import stored


def test_only_hashes_of_secrets_are_kept(world):
    session = world.desk.log_in(world.tokens["ana"])
    kept = stored(world)
    for secret in (world.tokens["ana"], session.secret, session.csrf):
        assert secret.encode() not in kept
    assert hashlib.sha256(world.tokens["ana"].encode()).hexdigest().encode() in kept


def test_a_session_ends_with_its_time_its_token_and_its_user(world):
    otto = world.actor("otto")
    session = world.desk.log_in(world.tokens["ana"])
    assert world.desk.resume(session.secret).actor.name == "ana"
    world.clock.time += world.settings.session
    with pytest.raises(Refusal, match="ended"):
        world.desk.resume(session.secret)
    opened = {name: world.desk.log_in(world.tokens[name]).secret for name in ("ana", "aron")}
    world.desk.revoke_token(otto, world.ids["token of ana"])
    world.desk.change_user(otto, world.ids["aron"], active=False)
    for name, secret in opened.items():
        with pytest.raises(Refusal):
            world.desk.resume(secret)
        with pytest.raises(Refusal):
            world.desk.log_in(world.tokens[name])


def test_whoever_logged_out_is_out(world):
    session = world.desk.log_in(world.tokens["ana"])
    world.desk.log_out(session.secret)
    with pytest.raises(Refusal, match="ended"):
        world.desk.resume(session.secret)


def test_roles_that_were_taken_away_hold_in_open_sessions(world):
    session = world.desk.log_in(world.tokens["ana"])
    world.desk.change_user(world.actor("otto"), world.ids["ana"], roles=["auditor"])
    with pytest.raises(Refusal):
        world.desk.resume(session.secret)
    assert world.actor("ana").roles == {"auditor"}


def test_a_form_brings_its_session_s_token(world):
    session, other = world.desk.log_in(world.tokens["ana"]), world.desk.log_in(world.tokens["ana"])
    world.desk.require_csrf(session, session.csrf)
    for brought in ("", other.csrf, session.secret, "\ud800"):
        with pytest.raises(Refusal) as refused:
            world.desk.require_csrf(session, brought)
        assert refused.value.status == 403


def test_the_day_of_use_is_noted_and_nothing_finer(world):
    otto = world.actor("otto")
    world.actor("ana")
    (token,) = world.desk.tokens(otto, world.ids["ana"])
    assert token.last_day == "2027-01-15"


def test_the_log_says_who_did_what(world):
    said = [(each.who, each.action) for each in world.desk.log(world.actor("uma"))]
    for expected in (
        ("system", "create user"),
        ("olga", "register dataset"),
        ("ana", "submit request"),
        ("olga", "approve request"),
    ):
        assert expected in said


def test_a_limit_is_per_caller_and_minute():
    time = [0.0]
    limiter = Limiter(2, lambda: time[0])
    assert [limiter.admits("a") for _ in range(3)] == [True, True, False]
    assert limiter.admits("b")
    time[0] = 60.0
    assert limiter.admits("a")


def test_too_many_requests_are_refused(world):
    app = create_app(dataclasses.replace(world.settings, requests_per_minute=5), world.desk)
    with TestClient(app, raise_server_exceptions=False) as client:
        answers = [client.get("/api/v1/me", headers=world.header("ana")).status_code for _ in range(8)]
        assert answers == [200] * 5 + [429] * 3
        assert client.get("/api/v1/me", headers=world.header("aron")).status_code == 200
        tries = [client.post("/sign-in", data={"token": f"guess {k}"}).status_code for k in range(3)]
        assert tries[-1] == 429
        flood = [client.get("/api/v1/me", headers={"authorization": f"Bearer {k}"}).status_code for k in range(50)]
        assert 429 in flood


def test_every_answer_is_dressed(world, client):
    for path in ("/api/v1/me", "/api/v1/openapi.json", "/nothing/here"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    app = create_app(dataclasses.replace(world.settings, secure=True), world.desk)
    with TestClient(app) as safe:
        assert "strict-transport-security" in safe.get("/api/v1/me").headers


def test_other_hosts_and_other_sites_are_refused(client):
    assert client.get("/api/v1/me", headers={"host": "evil.example"}).status_code == 400
    assert client.post("/sign-in", headers={"sec-fetch-site": "cross-site"}, data={"token": "x"}).status_code == 403


def test_a_cookie_opens_no_api(world, client):
    session = world.desk.log_in(world.tokens["ana"])
    client.cookies.set("desk_session", session.secret)
    assert client.get("/api/v1/me").status_code == 401


def test_large_bodies_are_not_read(world, client):
    for body in (b"x" * 2_000_001, iter([b"x" * 500_000] * 5)):
        answer = client.post("/api/v1/users", headers=world.header("otto"), content=body)
        assert (answer.status_code, "2,000,000" in answer.json()["detail"]) == (413, True)
    for stated in ("-1", "1e9", "9" * 30):
        answer = client.post("/api/v1/users", headers={**world.header("otto"), "content-length": stated}, content=b"x")
        assert answer.status_code == 413
    page = client.post("/sign-in", content=b"x" * 2_000_001)
    assert page.status_code == 413
    assert page.headers["content-type"].startswith("text/html")
    assert "2,000,000 bytes" in page.text
    assert "default-src" in page.headers["content-security-policy"]


def test_nobody_learns_what_went_wrong_inside(world, monkeypatch, caplog):
    monkeypatch.setattr(world.desk, "users", lambda actor: (_ for _ in ()).throw(RuntimeError("a private thing")))
    with TestClient(create_app(world.settings, world.desk), raise_server_exceptions=False) as client:
        answer = client.get("/api/v1/users", headers=world.header("otto"))
    assert answer.status_code == 500
    assert "private" not in answer.text


def test_a_ticket_lets_one_browser_in_once(world):
    ticket = Ticket("the-ticket", world.tokens["ana"], world.clock.time + 60)
    with TestClient(create_app(world.settings, world.desk, ticket), follow_redirects=False) as client:
        assert client.get("/ticket/wrong").status_code == 403
        answer = client.get("/ticket/the-ticket")
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert world.desk.resume(answer.cookies["desk_session"]).actor.name == "ana"
        assert client.get("/ticket/the-ticket").status_code == 403
    late = Ticket("late", world.tokens["ana"], world.clock.time - 1)
    with TestClient(create_app(world.settings, world.desk, late)) as client:
        assert client.get("/ticket/late").status_code == 403
