"""A small client of the desk's JSON API (docs/service.md): the standard library alone.

>>> desk = Desk("https://desk.example", token="...")
>>> desk
<Desk at https://desk.example>
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from gibbsafe._files import write_whole
from gibbsafe._text import printable
from gibbsafe._types import JSON, Document
from gibbsafe._validate import fail
from gibbsafe.errors import GibbsafeError

__all__ = ["Desk", "DeskError"]

#: Most bytes of an answer that are read.
LARGEST = 200_000_000
NO_DESK = "did not answer as a desk does"
#: Hosts to which a token may travel unencrypted.
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class DeskError(GibbsafeError):
    """What a desk refused: ``status`` is HTTP's, 0 where nobody answered."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token elsewhere."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        """Follow none."""


class Desk:
    """A desk by its address and a token; every method is one call of its API and returns plain data.

    Args:
        url: the desk's address, by HTTPS unless it is on this machine.
        token: from the operator.
        timeout: seconds to wait for an answer.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            fail("url", url, "the address of a desk, like https://desk.example")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            fail("url", url, "an address by https, unless it is on this machine", "a token would travel unencrypted")
        if not isinstance(token, str) or not token.isascii() or not token.strip().isprintable():
            fail("token", "given", "the text that the operator gave you")
        self.url, self._token, self.timeout = url.rstrip("/"), token.strip(), timeout
        self._opener = urllib.request.build_opener(_NoRedirects)

    def __repr__(self) -> str:
        return f"<Desk at {self.url}>"

    # -- analysts ------------------------------------------------------------------------------------------------

    def me(self) -> JSON:
        """Return who the desk thinks you are."""
        return self._json("GET", "/me")

    def datasets(self) -> list[JSON]:
        """Return the data sets that you may see."""
        return self._listed("/datasets")

    def preview(self, dataset: str, study: Document | str) -> JSON:
        """Return what a study, a document or a study file's text, would release and cost."""
        return self._json("POST", f"/datasets/{quote(dataset)}/preview", _study(study))

    def submit(self, dataset: str, study: Document | str, purpose: str, key: str | None = None) -> JSON:
        """Submit a study; the same key again makes no second request."""
        return self._json("POST", f"/datasets/{quote(dataset)}/requests", {**_study(study), "purpose": purpose, "key": key})

    def requests(self, dataset: str | None = None, state: str | None = None) -> list[JSON]:
        """Return the requests that you may see, newest first."""
        stated = {name: value for name, value in (("dataset", dataset), ("state", state)) if value is not None}
        return self._listed(f"/requests?{urlencode(stated)}")

    def request(self, request: str) -> JSON:
        """Return a request as it stands now."""
        return self._json("GET", f"/requests/{quote(request)}")

    def wait(self, request: str, seconds: float = 3600.0, every: float = 5.0) -> JSON:
        """Wait until a request is released, failed, refused or withdrawn; return it then, or refuse when time is up."""
        end = time.monotonic() + seconds
        while (found := self.request(request))["state"] in ("pending", "approved"):
            if time.monotonic() > end:
                raise DeskError(0, f"request {request}: is still {found['state']}")
            time.sleep(every)
        return found

    def download(self, request: str, path: Path | str, *, force: bool = False) -> None:
        """Write release.json; `gibbsafe verify PATH --public-key desk.pub` checks it."""
        write_whole(path, self._call("GET", f"/requests/{quote(request)}/release"), force=force)

    def summary(self, request: str, level: float = 0.9) -> JSON:
        """Return the true parameter according to a release."""
        return self._json("GET", f"/requests/{quote(request)}/summary?{urlencode({'level': level})}")

    def predict(self, request: str, rows: list[JSON]) -> JSON:
        """Return predictions for rows, every feature by name."""
        return self._json("POST", f"/requests/{quote(request)}/predictions", {"rows": rows})

    # -- owners --------------------------------------------------------------------------------------------------

    def register(self, name: str, source: str, study: Document | str, *, epsilon: float, delta: float, **options: object) -> JSON:
        """Register a data set: a path on the worker's machine, its public study, and the budget of its account."""
        body = {"name": name, "source": source, **_study(study), "epsilon": epsilon, "delta": delta, **options}
        return self._json("POST", "/datasets", body)

    def approve(self, request: str, plan_sha256: str) -> JSON:
        """Approve the plan that you saw."""
        return self._json("POST", f"/requests/{quote(request)}/approval", {"plan_sha256": plan_sha256})

    def refuse(self, request: str, reason: str) -> JSON:
        """Refuse a request with a reason."""
        return self._json("POST", f"/requests/{quote(request)}/refusal", {"reason": reason})

    def ledger(self, dataset: str) -> JSON:
        """Return a data set's account, recomputed from its entries."""
        return self._json("GET", f"/datasets/{quote(dataset)}/ledger")

    def public_key(self) -> str:
        """Return the key that verifies releases; compare it with what you got by another way."""
        return self._call("GET", "/key").decode()

    # -- calling -------------------------------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: object = None) -> JSON:
        found = self._read(self._call(method, path, body))
        if not isinstance(found, dict):
            raise DeskError(0, f"{self.url}: {NO_DESK}")
        return found

    def _listed(self, path: str) -> list[JSON]:
        found = self._read(self._call("GET", path))
        if not isinstance(found, list):
            raise DeskError(0, f"{self.url}: {NO_DESK}")
        return found

    def _read(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise DeskError(0, f"{self.url}: {NO_DESK}") from None

    def _call(self, method: str, path: str, body: object = None) -> bytes:
        headers = {"authorization": f"Bearer {self._token}", "accept": "application/json"}
        data = None
        if body is not None:
            data, headers["content-type"] = json.dumps(body, allow_nan=False).encode(), "application/json"
        asked = urllib.request.Request(f"{self.url}/api/v1{path}", data=data, headers=headers, method=method)
        try:
            with self._opener.open(asked, timeout=self.timeout) as answer:
                content = bytes(answer.read(LARGEST + 1))
        except urllib.error.HTTPError as error:
            raise DeskError(error.code, _reason(error)) from None
        except (OSError, ValueError) as error:
            raise DeskError(0, f"{self.url}: does not answer ({getattr(error, 'reason', error)})") from None
        if len(content) > LARGEST:
            raise DeskError(0, f"{self.url}: an answer of more than {LARGEST:,} bytes is not read")
        return content


def _study(study: Document | str) -> JSON:
    return {"text": study} if isinstance(study, str) else {"study": dict(study)}


def _reason(error: urllib.error.HTTPError) -> str:
    """Return the one line that a desk answers a refusal with."""
    try:
        with error:
            return printable(str(json.loads(error.read(10_000))["detail"]))
    except (ValueError, LookupError, TypeError, OSError):
        return f"refused with status {error.code}"
