"""The client: it says what a desk said, sends its token nowhere else, and believes nothing that is no desk."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import gibbsafe as gs
from gibbsafe.client import Desk, DeskError


class Answers(BaseHTTPRequestHandler):
    """Answers by the path: a list, a refusal, a redirect, nonsense."""

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.server.tokens.append(self.headers["authorization"])
        status, body, extra = {
            "/api/v1/datasets": (200, b'[{"id": "1"}]', {}),
            "/api/v1/me": (200, b"<html>", {}),
            "/api/v1/requests/r": (404, b'{"detail": "request: there is none\x5cu001b of this id for you"}', {}),
            "/api/v1/requests/moved": (302, b"", {"location": f"http://127.0.0.1:{self.server.server_port}/elsewhere"}),
            "/api/v1/key": (200, b"PUBLIC", {}),
        }.get(self.path, (500, b"broken", {}))
        self.send_response(status)
        for name, value in {**extra, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET


@pytest.fixture
def server():
    made = HTTPServer(("127.0.0.1", 0), Answers)
    made.tokens = []
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def desk(server):
    return gs.client.Desk(f"http://127.0.0.1:{server.server_port}/", "t0ken", timeout=10)


def test_answers_and_refusals(desk, server):
    assert desk.datasets() == [{"id": "1"}]
    assert desk.public_key() == "PUBLIC"
    assert set(server.tokens) == {"Bearer t0ken"}
    with pytest.raises(DeskError, match="there is none") as refused:
        desk.request("r")
    assert refused.value.status == 404
    assert "\x1b" not in str(refused.value)
    assert "t0ken" not in repr(desk)


def test_what_is_no_desk_is_not_believed(desk):
    with pytest.raises(DeskError, match="as a desk does"):
        desk.me()
    with pytest.raises(DeskError, match="status 500"):
        desk.ledger("x")


def test_a_redirect_is_not_followed(desk, server):
    with pytest.raises(DeskError):
        desk.request("moved")
    assert len(server.tokens) == 1


@pytest.mark.parametrize("url", ["http://desk.example", "ftp://desk.example", "desk.example", "https://"])
def test_a_token_travels_encrypted(url):
    with pytest.raises(gs.ParameterError, match="url"):
        Desk(url, "t0ken")


def test_a_token_is_a_text():
    with pytest.raises(gs.ParameterError, match="token") as refused:
        Desk("https://desk.example", "a\nb: c")
    assert "b: c" not in str(refused.value)


def test_nobody_there():
    with pytest.raises(DeskError, match="does not answer") as refused:
        Desk("http://127.0.0.1:9", "t0ken", timeout=2).me()
    assert refused.value.status == 0
