"""Single sign-on against a provider that the test starts on this machine: the whole way, and every way to cheat."""

import dataclasses
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("authlib")
pytest.importorskip("joserfc")

from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.testclient import TestClient

from gibbsafe.service.application import create_app
from gibbsafe.service.people import SYSTEM
from gibbsafe.service.settings import OpenIdProvider


class Provider(BaseHTTPRequestHandler):
    """As much of a provider as a sign-on needs: its metadata, its keys, and tokens for codes."""

    def log_message(self, *arguments):
        pass

    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server, here = self.server, self.server.issuer
        if self.path.startswith("/.well-known"):
            self.answer({
                "issuer": here, "authorization_endpoint": f"{here}/authorize", "token_endpoint": f"{here}/token",
                "jwks_uri": f"{here}/keys", "id_token_signing_alg_values_supported": ["RS256"],
            })  # fmt: skip
        else:
            self.answer({"keys": [server.key.as_dict(private=False) | {"kid": "1", "alg": "RS256", "use": "sig"}]})

    def do_POST(self):
        sent = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        server = self.server
        server.asked.append(sent)
        now = int(time.time())
        claims = {"iss": server.issuer, "sub": "subject-7", "aud": "desk", "iat": now, "exp": now + 60, "nonce": server.nonce}
        claims |= server.changed
        key = server.other if server.forged else server.key
        token = jwt.encode({"alg": "RS256", "kid": "1"}, claims, key)
        self.answer({"access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": token})


@pytest.fixture(scope="module")
def keys():
    return RSAKey.generate_key(2048), RSAKey.generate_key(2048)


@pytest.fixture
def provider(keys):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.issuer = f"http://127.0.0.1:{server.server_port}"
    server.key, server.other = keys
    server.asked, server.changed, server.forged, server.nonce = [], {}, False, ""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def browser(world, provider):
    known = OpenIdProvider(provider.issuer, "desk", "its-secret")
    settings = dataclasses.replace(world.settings, open_id=known)
    world.desk.create_user(SYSTEM, "sina", ["analyst"], f"{provider.issuer}|subject-7")
    with TestClient(create_app(settings, world.desk), follow_redirects=False, raise_server_exceptions=False) as client:
        yield client


def begin(browser, provider):
    """Go to the provider; return what the desk sends along."""
    answer = browser.get("/oidc/start")
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(f"{provider.issuer}/authorize")
    sent = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
    provider.nonce = sent["nonce"]
    return sent


def test_whom_the_provider_vouches_for_comes_in(world, provider, browser):
    sent = begin(browser, provider)
    assert sent["code_challenge_method"] == "S256"
    answer = browser.get("/oidc/back", params={"code": "c", "state": sent["state"]})
    assert answer.status_code == 303, answer.text
    assert world.desk.resume(answer.cookies["desk_session"]).actor.name == "sina"
    assert provider.asked[0]["code"] == ["c"]
    assert "code_verifier" in provider.asked[0]
    again = browser.get("/oidc/back", params={"code": "c", "state": sent["state"]})
    assert again.status_code == 403


def test_another_web_process_ends_what_one_began(world, provider, browser):
    sent = begin(browser, provider)
    settings = dataclasses.replace(world.settings, open_id=OpenIdProvider(provider.issuer, "desk", "its-secret"))
    with TestClient(create_app(settings, world.desk), follow_redirects=False, cookies=dict(browser.cookies)) as other:
        answer = other.get("/oidc/back", params={"code": "c", "state": sent["state"]})
    assert answer.status_code == 303, answer.text
    assert world.desk.resume(answer.cookies["desk_session"]).actor.name == "sina"
    settings = dataclasses.replace(world.settings, open_id=OpenIdProvider(provider.issuer, "desk", "another-secret"))
    with TestClient(create_app(settings, world.desk), follow_redirects=False, cookies=dict(browser.cookies)) as stranger:
        assert stranger.get("/oidc/back", params={"code": "c", "state": sent["state"]}).status_code == 403


CHEATS = {
    "another audience": {"aud": "elsewhere"},
    "another issuer": {"iss": "https://elsewhere.example"},
    "another nonce": {"nonce": "x"},
    "expired": {"exp": 1},
    "somebody else": {"sub": "subject-8"},
}


@pytest.mark.parametrize("cheat", [*CHEATS, "forged", "another state", "refused there"])
def test_nobody_else_does(world, provider, browser, cheat):
    sent = begin(browser, provider)
    provider.changed, provider.forged = CHEATS.get(cheat, {}), cheat == "forged"
    back = {"code": "c", "state": "x" if cheat == "another state" else sent["state"]}
    back = {"error": "access_denied", "state": sent["state"]} if cheat == "refused there" else back
    answer = browser.get("/oidc/back", params=back)
    assert answer.status_code in (403, 503), answer.text
    assert "desk_session" not in answer.cookies
    assert "Single sign-on: " in answer.text  # a page, for people


def test_a_provider_that_is_down_is_told_in_one_line(world):
    known = OpenIdProvider("http://127.0.0.1:9", "desk", "its-secret")
    app = create_app(dataclasses.replace(world.settings, open_id=known), world.desk)
    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.get("/oidc/start")
    assert answer.status_code == 503
    assert "the provider does not answer" in answer.text
