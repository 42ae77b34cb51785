"""Verify a release without data."""

from __future__ import annotations

import json
from pathlib import Path

from gibbsafe.errors import CertificateError
from gibbsafe.release.certificate import Certificate
from gibbsafe.release.files import check_release, read_release
from gibbsafe.release.releases import Release
from gibbsafe.release.signing import KeyList, read_public, require_signed

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
    if public_key is not None or key_list is not None:
        if public_key is None:
            raise CertificateError("key_list: needs the public key that signed it")
        trusted = read_public(public_key)
        if not isinstance(content, dict):
            raise CertificateError("release: not a release of this version")
        require_signed(content, trusted, None if key_list is None else KeyList.load(key_list, trusted))
    return check_release(content).certificate
