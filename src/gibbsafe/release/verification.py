"""Verify a release without data."""

from __future__ import annotations

import json
from pathlib import Path

from gibbsafe.release.certificate import Certificate
from gibbsafe.release.files import check_release, read_release
from gibbsafe.release.releases import Release
from gibbsafe.release.signing import require_signer

__all__ = ["verify"]


def verify(
    source: Path | str | Release, *, public_key: Path | str | None = None, key_list: Path | str | None = None
) -> Certificate:
    """Recompute hash and claim of a release without data; return its certificate or raise `CertificateError`.

    It detects accident and inconsistency: a torn or altered file, a claim that the stated constants do not give. Forgery it
    detects by a signature only: with ``public_key`` the release must be signed by that key, or by one that ``key_list``, signed
    by that key, names and has not revoked. Whoever holds no key can still write a consistent file, but no signed one.
    """
    content = json.loads(json.dumps(source.to_dict())) if isinstance(source, Release) else read_release(source)
    require_signer(content, public_key, key_list)
    return check_release(content).certificate
