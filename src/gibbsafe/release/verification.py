"""Verify a release without data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from gibbsafe.release.certificate import Certificate
from gibbsafe.release.files import check_release, is_estimated, read_release
from gibbsafe.release.releases import Release
from gibbsafe.release.signing import require_signer

if TYPE_CHECKING:
    from gibbsafe.contamination.release.releases import EstimatedRelease

__all__ = ["verify"]


def verify(
    source: Path | str | Release | EstimatedRelease, *, public_key: Path | str | None = None, key_list: Path | str | None = None
) -> Certificate:
    """Recompute hash and claim of a release without data; return its certificate or raise `CertificateError`.

    It detects accident and inconsistency: a torn or altered file, a claim that the stated constants do not give. Forgery it
    detects by a signature only: with ``public_key`` the release must be signed by that key, or by one that ``key_list``, signed
    by that key, names and has not revoked. Whoever holds no key can still write a consistent file, but no signed one.

    Of an estimated release it recomputes the order statistic and simulates some repeats once more. Its certificate has no field
    ``claim``: its ``kind`` says *estimated random DP, not proved*, and that is all that was verified.
    """
    content = read_release(source) if isinstance(source, Path | str) else json.loads(json.dumps(source.to_dict()))
    require_signer(content, public_key, key_list)
    if is_estimated(content):
        from gibbsafe.contamination.release.files import check_estimated

        return check_estimated(content, simulate=True)[1]
    return check_release(content).certificate
