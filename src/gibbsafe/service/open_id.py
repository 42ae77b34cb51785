"""Single sign-on by OpenID Connect (Authlib): the provider vouches for an identity, the operator says whose it is."""

from __future__ import annotations

import hmac

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import RedirectResponse, Response

from gibbsafe.service.cookies import give_session
from gibbsafe.service.desk import Desk
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.settings import OpenIdProvider, Settings

__all__ = ["attach"]

#: Seconds between the beginning of a sign-on and its end.
PATIENCE = 600
FAILED = "single sign-on: was not completed; begin again"


def attach(app: FastAPI, settings: Settings, provider: OpenIdProvider) -> None:
    """Add the two routes of a sign-on: out to the provider with state, nonce and PKCE, and back with a code."""
    from authlib.common.errors import AuthlibBaseError
    from authlib.integrations.starlette_client import OAuth

    registry = OAuth()
    registry.register(
        name="provider",
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        server_metadata_url=f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid", "code_challenge_method": "S256", "timeout": 10},
    )
    # State and nonce wait in a signed cookie that lives as long as a sign-on takes. Its key follows from the secret that this
    # service shares with the provider: whichever of several web processes is asked next can read it.
    key = hmac.new(provider.client_secret.encode(), b"gibbsafe desk: sign-on", "sha256").hexdigest()
    app.add_middleware(
        SessionMiddleware, secret_key=key, session_cookie="desk_sign_on", max_age=PATIENCE, same_site="lax",
        https_only=settings.secure, path="/oidc",
    )  # fmt: skip

    @app.get("/oidc/start", include_in_schema=False)
    async def start(request: Request) -> Response:
        try:
            found: Response = await registry.provider.authorize_redirect(request, str(request.url_for("back")))
        except Exception:
            raise Refusal(503, "single sign-on: the provider does not answer; log in with a token, or try again") from None
        return found

    @app.get("/oidc/back", include_in_schema=False)
    async def back(request: Request) -> Response:
        try:
            token = await registry.provider.authorize_access_token(request)
            claims = token.get("userinfo") or {}
        except AuthlibBaseError:
            raise Refusal(403, FAILED) from None
        except Exception:
            raise Refusal(503, FAILED) from None
        issuer, subject = claims.get("iss"), claims.get("sub")
        if issuer != provider.issuer or not isinstance(subject, str):
            raise Refusal(403, FAILED)
        desk: Desk = request.app.state.desk
        session = await run_in_threadpool(desk.log_in_subject, provider.issuer, subject)
        response = RedirectResponse("/", 303)
        give_session(response, session, settings)
        return response
