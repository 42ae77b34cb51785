"""People at the desk's pages, without a browser."""

import re

import pytest


class Somebody:
    """A signed-in visitor: pages by `get`, forms by `send`, which brings back what the session's pages know."""

    def __init__(self, client, csrf):
        self.client, self.csrf = client, csrf

    def get(self, path, **more):
        return self.client.get(path, **more)

    def send(self, path, csrf=None, files=None, headers=None, **fields):
        return self.client.post(path, data={"csrf": self.csrf if csrf is None else csrf, **fields}, files=files, headers=headers)


@pytest.fixture(scope="session")
def application(filled):
    """The application of the filled desk."""
    from gibbsafe.service.application import create_app

    return create_app(filled.settings, filled.desk)


@pytest.fixture
def visit(filled, application):
    """Sign somebody of the filled desk in, as their browser would."""
    from starlette.testclient import TestClient

    def come_in(name=None):
        client = TestClient(application, follow_redirects=False, raise_server_exceptions=True)
        if name is None:
            return Somebody(client, "")
        assert client.post("/sign-in", data={"token": filled.tokens[name]}).status_code == 303
        return Somebody(client, re.search('name="csrf" value="([^"]+)"', client.get("/").text)[1])

    return come_in
