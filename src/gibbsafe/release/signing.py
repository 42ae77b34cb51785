"""Who vouches for a release: Ed25519 signatures over its canonical bytes, ledger receipt included, and signed lists of keys.

A hash finds accidents; a signature finds forgery, as far as the key is kept and its public half reached the verifier by another
way than the file. A *key list*, signed by the key that verifiers trust, names further keys and which of them are revoked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gibbsafe._files import write_whole
from gibbsafe._json import canonical_bytes, read_json
from gibbsafe._types import JSON, Document
from gibbsafe._validate import choice, count, fail
from gibbsafe.errors import CertificateError, GibbsafeError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    from gibbsafe.release.releases import Release

__all__ = [
    "KeyList",
    "check_receipt",
    "check_signature",
    "key_id",
    "new_key",
    "read_private",
    "read_public",
    "require_signed",
    "require_signer",
    "sign",
    "sign_list",
]

LIST_FORMAT = "gibbsafe/keys/1"
STATUSES = ("active", "retired", "revoked")


def _require_cryptography() -> None:
    try:
        import cryptography.hazmat.primitives.serialization  # noqa: F401 - its parts are imported where they are used
    except ImportError as error:
        raise GibbsafeError("signatures need the package cryptography: install it") from error


# -- keys --------------------------------------------------------------------------------------------------------------------


def new_key(path: Path | str) -> str:
    """Write a new private key (PEM, for its owner's eyes only) and ``PATH.pub``; return the key's id. Nothing is overwritten."""
    _require_cryptography()
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ed25519

    private = ed25519.Ed25519PrivateKey.generate()
    secret = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = private.public_key()
    write_whole(path, secret, private=True)
    write_whole(f"{path}.pub", public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))
    return key_id(public)


def key_id(public: Ed25519PublicKey) -> str:
    """Return the SHA-256 of a public key's 32 bytes."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()


def read_private(path: Path | str) -> Ed25519PrivateKey:
    """Read a private key; refuse one that others than its owner may read."""
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = _read(path)
    if Path(path).stat().st_mode & 0o077:
        raise GibbsafeError(f"{path}: a private key that others may read or write; run chmod 600 on it")
    try:
        key = load_pem_private_key(content, None)
    except (TypeError, ValueError) as error:
        raise GibbsafeError(f"{path}: not a private key without a password in PEM") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise GibbsafeError(f"{path}: not an Ed25519 key; make one with 'gibbsafe key new'")
    return key


def read_public(path: Path | str) -> Ed25519PublicKey:
    """Read a public key."""
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_read(path))
    except (TypeError, ValueError) as error:
        raise GibbsafeError(f"{path}: not a public key in PEM") from error
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise GibbsafeError(f"{path}: not an Ed25519 key")
    return key


def _read(path: Path | str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(100_000)
    except OSError as error:
        raise GibbsafeError(f"{path}: cannot be read ({error.strerror or error})") from error


# -- signatures --------------------------------------------------------------------------------------------------------------


def _signed_bytes(content: Document) -> bytes:
    """Return what is signed: the document without its signature, in one form only, its format first."""
    return canonical_bytes({name: value for name, value in content.items() if name != "signature"})


def _signature(content: Document, key: Ed25519PrivateKey) -> dict[str, str]:
    return {"algorithm": "ed25519", "key": key_id(key.public_key()), "value": key.sign(_signed_bytes(content)).hex()}


def sign(release: Release, key: Ed25519PrivateKey) -> Release:
    """Return the release with a signature over all of it: plan, certificate, draws, hash and the ledger's receipt."""
    return replace(release, signature=_signature(release.to_dict(), key))


def check_signature(stated: object) -> Document | None:
    """Return a signature if it has the form of one (whether it fits is for `require_signed`), None for None."""
    if stated is None:
        return None
    digits = {"key": 64, "value": 128}
    if not isinstance(stated, dict) or set(stated) != {"algorithm", *digits} or stated["algorithm"] != "ed25519":
        raise CertificateError("signature: not one of Ed25519 with algorithm, key and value")
    _require_digits("signature", stated, digits)
    return stated


def check_receipt(stated: object) -> Document | None:
    """Return a ledger's receipt if it has the form of one, None for None."""
    if stated is None:
        return None
    digits = {"ledger": 64, "head": 64, "token": 32}
    if not isinstance(stated, dict) or set(stated) != {"account", "entry", *digits} or not isinstance(stated["account"], str):
        raise CertificateError("charge: not a receipt with ledger, account, entry, head and token")
    _require_digits("charge", stated, digits)
    if type(stated["entry"]) is not int or not 0 < stated["entry"] < 2**31:
        raise CertificateError("charge: entry is not the number of an entry")
    return stated


def _require_digits(name: str, stated: Document, digits: Mapping[str, int]) -> None:
    for field, many in digits.items():
        if not isinstance(stated[field], str) or not re.fullmatch(f"[0-9a-f]{{{many}}}", stated[field]):
            raise CertificateError(f"{name}: {field} is not {many} hexadecimal digits")


def require_signed(content: Document, public: Ed25519PublicKey, keys: KeyList | None = None, *, what: str = "release") -> str:
    """Return the id of the key that signed a document: the trusted one, or one that its list names and has not revoked."""
    signature = check_signature(content.get("signature"))
    if signature is None:
        raise CertificateError(f"{what}: unsigned, but a signature is asked for")
    signer, trusted = signature["key"], key_id(public)
    status = None if keys is None else keys.status(signer)
    if status == "revoked":
        raise CertificateError(f"{what}: signed by key {signer[:16]}..., which is revoked")
    if signer != trusted:
        if keys is None or status is None:
            raise CertificateError(f"{what}: signed by key {signer[:16]}..., not by {trusted[:16]}... or a key of its list")
        from cryptography.hazmat.primitives.asymmetric import ed25519

        public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(keys.public(signer)))
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(bytes.fromhex(signature["value"]), _signed_bytes(content))
    except InvalidSignature as error:
        raise CertificateError(f"{what}: the signature does not fit; it was altered, or signed by another key") from error
    return str(signer)


def require_signer(content: object, public_key: Path | str | None, key_list: Path | str | None) -> None:
    """Raise unless a release is signed by the key in a file, or by one of its list; with neither, ask for no signature."""
    if public_key is None:
        if key_list is not None:
            raise CertificateError("key_list: needs the public key that signed it")
        return
    if not isinstance(content, dict):
        raise CertificateError("release: not a release of this version")
    trusted = read_public(public_key)
    require_signed(content, trusted, None if key_list is None else KeyList.load(key_list, trusted))


# -- lists of keys -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KeyList:
    """Keys and their status, signed by the key that verifiers trust. `number` grows: of two lists the larger one holds."""

    number: int
    keys: Sequence[Mapping[str, str]]

    def status(self, key: str) -> str | None:
        """Return active, retired (signs no more, what it signed holds) or revoked (nothing holds); None for a stranger."""
        return next((entry["status"] for entry in self.keys if entry["key"] == key), None)

    def public(self, key: str) -> str:
        """Return a listed key's 32 bytes as hexadecimal digits."""
        return next(entry["public"] for entry in self.keys if entry["key"] == key)

    def with_key(self, public: Ed25519PublicKey, status: str, reason: str = "") -> KeyList:
        """Return the next list, with this key in this status; a revoked key stays revoked."""
        key = key_id(public)
        if self.status(key) == "revoked":
            raise GibbsafeError(f"key {key[:16]}...: is revoked, for good; make a new one")
        entry = {
            "key": key,
            "public": public.public_bytes_raw().hex(),
            "status": choice("status", status, STATUSES),
            "since": datetime.now(UTC).date().isoformat(),
            "reason": reason,
        }
        return KeyList(self.number + 1, [*(each for each in self.keys if each["key"] != key), entry])

    def to_dict(self) -> JSON:
        """Return plain data, unsigned."""
        return {"format": LIST_FORMAT, "number": self.number, "keys": [dict(entry) for entry in self.keys]}

    @classmethod
    def load(cls, path: Path | str, public: Ed25519PublicKey) -> KeyList:
        """Read a list that the trusted key itself signed."""
        content = read_json(path, "key list")
        if not isinstance(content, dict) or content.get("format") != LIST_FORMAT:
            raise CertificateError(f"{path}: not a list of keys ({LIST_FORMAT})")
        if set(content) != {"format", "number", "keys", "signature"} or not isinstance(content["keys"], list):
            raise CertificateError(f"{path}: fields of the list of keys are missing or unknown")
        require_signed(content, public, what=str(path))
        fields = {"key", "public", "status", "since", "reason"}
        for entry in content["keys"]:
            if not isinstance(entry, dict) or set(entry) != fields or not all(isinstance(each, str) for each in entry.values()):
                fail("keys", "an entry", f"an entry with the texts {', '.join(sorted(fields))}")
            choice("status", entry["status"], STATUSES)
            _require_digits("keys", entry, {"key": 64, "public": 64})
            if hashlib.sha256(bytes.fromhex(entry["public"])).hexdigest() != entry["key"]:
                raise CertificateError(f"{path}: a key is not the one of its id")
        if len({entry["key"] for entry in content["keys"]}) < len(content["keys"]):
            raise CertificateError(f"{path}: a key stands twice")
        return cls(count("number", content["number"]), content["keys"])


def sign_list(keys: KeyList, key: Ed25519PrivateKey) -> JSON:
    """Return a list of keys as plain data, signed."""
    content = keys.to_dict()
    return content | {"signature": _signature(content, key)}
