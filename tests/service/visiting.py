"""People at the desk's pages, without a browser."""

from __future__ import annotations

import re

from starlette.testclient import TestClient

__all__ = ["Somebody", "doors"]


class Somebody:
    """A signed-in visitor: pages by `get`, forms by `send`, which brings back what the session's pages know."""

    def __init__(self, client, csrf):
        self.client, self.csrf = client, csrf

    def get(self, path, **more):
        return self.client.get(path, **more)

    def send(self, path, csrf=None, files=None, headers=None, **fields):
        return self.client.post(path, data={"csrf": self.csrf if csrf is None else csrf, **fields}, files=files, headers=headers)


def doors(world, application):
    """Return what signs somebody in, as their browser would; nobody without a name."""

    def come_in(name=None):
        client = TestClient(application, follow_redirects=False, raise_server_exceptions=True)
        if name is None:
            return Somebody(client, "")
        assert client.post("/sign-in", data={"token": world.tokens[name]}).status_code == 303
        return Somebody(client, re.search('name="csrf" value="([^"]+)"', client.get("/").text)[1])

    return come_in
