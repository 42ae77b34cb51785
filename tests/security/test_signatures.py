"""Attack 3: forge a release, swap its draws or its charge, use a revoked key, mark a charge with other draws."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gibbsafe as gs

pytest.importorskip("cryptography")
from gibbsafe.release import signing

DATA = np.arange(40) % 2


@pytest.fixture
def keys(tmp_path):
    made = {}
    for name in ("root", "ward", "stranger"):
        signing.new_key(tmp_path / name)
        made[name] = signing.read_private(tmp_path / name)
    return made


@pytest.fixture
def plan():
    return gs.plan(gs.models.BernoulliLogit(), gs.Budget(0.3, 1e-6), n=40, adjacency="replace-one")


@pytest.fixture
def signed(plan, keys, tmp_path):
    account = gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", gs.Budget(2.0, 1e-6), adjacency="replace-one")
    made = signing.sign(plan.release(DATA, ledger=account), keys["root"])
    made.save(tmp_path / "r.json")
    return made


def forged(tmp_path, content, name="forged.json"):
    """A consistent file about other things, as anybody can write one."""
    import hashlib

    body = {each: value for each, value in content.items() if each not in ("sha256", "signature")}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    (tmp_path / name).write_text(json.dumps(content | {"sha256": hashlib.sha256(text.encode()).hexdigest()}))
    return tmp_path / name


def test_a_signed_release_verifies_by_its_public_key_only(tmp_path, signed):
    certificate = gs.verify(tmp_path / "r.json", public_key=tmp_path / "root.pub")
    assert certificate == signed.certificate
    assert gs.Release.load(tmp_path / "r.json").charge["account"] == "clinic"
    with pytest.raises(gs.CertificateError, match="not by"):
        gs.verify(tmp_path / "r.json", public_key=tmp_path / "stranger.pub")
    gs.verify(tmp_path / "r.json")  # without a key: for consistency


def test_a_file_is_read_once(tmp_path, signed, plan, run, monkeypatch):
    """Exchanged between two readings, it would be called signed."""
    from gibbsafe.release import releases

    plan.release(DATA).save(tmp_path / "other.json")
    reading, places = releases.read_release, [tmp_path / "r.json", tmp_path / "other.json"]
    monkeypatch.setattr(releases, "read_release", lambda path: reading(places.pop(0)))
    code, out, _ = run("verify", tmp_path / "r.json", "--public-key", tmp_path / "root.pub", "--json")
    assert code == 0
    assert json.loads(out)["key"] == signed.signature["key"]
    assert len(places) == 1


def test_a_list_says_one_thing_of_a_key(tmp_path, signed, keys):
    entries = [signing.KeyList(0, []).with_key(keys["ward"].public_key(), status).keys[0] for status in ("active", "revoked")]
    (tmp_path / "keys.json").write_text(json.dumps(signing.sign_list(signing.KeyList(2, entries), keys["root"])))
    with pytest.raises(gs.CertificateError, match="twice"):
        gs.verify(tmp_path / "r.json", public_key=tmp_path / "root.pub", key_list=tmp_path / "keys.json")


def test_unsigned_files_verify_and_say_so(tmp_path, plan, run):
    plan.release(DATA).save(tmp_path / "plain.json")
    code, out, _ = run("verify", tmp_path / "plain.json")
    assert code == 0
    assert "unsigned" in out
    with pytest.raises(gs.CertificateError, match="unsigned"):
        gs.verify(tmp_path / "plain.json", public_key=_public(tmp_path))


def _public(tmp_path):
    signing.new_key(tmp_path / "k")
    return tmp_path / "k.pub"


def test_other_draws_another_charge_or_no_charge_do_not_fit_the_signature(tmp_path, signed, plan):
    content = json.loads((tmp_path / "r.json").read_text())
    others = plan.release(DATA).to_dict()
    receipt = content["charge"] | {"entry": content["charge"]["entry"] + 1}
    without = {name: value for name, value in content.items() if name != "charge"}
    for altered in (content | {"draws": others["draws"]}, content | {"charge": receipt}, without):
        path = forged(tmp_path, altered)
        gs.verify(path)  # consistent: nobody can tell without a key
        with pytest.raises(gs.CertificateError, match="does not fit"):
            gs.verify(path, public_key=tmp_path / "root.pub")


def test_a_signature_of_another_key_under_this_keys_name(tmp_path, signed, keys):
    content = json.loads((tmp_path / "r.json").read_text())
    value = keys["stranger"].sign(signing._signed_bytes(content)).hex()
    path = forged(tmp_path, content | {"signature": content["signature"] | {"value": value}})
    with pytest.raises(gs.CertificateError, match="does not fit"):
        gs.verify(path, public_key=tmp_path / "root.pub")


@pytest.mark.parametrize(
    "signature",
    [
        "",
        {},
        [],
        1,
        {"algorithm": "none", "key": "0" * 64, "value": "0" * 128},
        {"algorithm": "ed25519", "key": "x", "value": ""},
    ],
)
def test_signatures_that_are_none(tmp_path, signed, signature):
    content = json.loads((tmp_path / "r.json").read_text())
    path = forged(tmp_path, content | {"signature": signature})
    for options in ({}, {"public_key": tmp_path / "root.pub"}):
        with pytest.raises(gs.CertificateError, match="signature"):
            gs.verify(path, **options)


def test_rotation_and_revocation_by_a_signed_list(tmp_path, signed, keys, run):
    ward = signing.sign(signed, keys["ward"])
    ward.save(tmp_path / "ward.json")
    listed = tmp_path / "keys.json"
    trusted = {"public_key": tmp_path / "root.pub", "key_list": listed}
    assert run("key", "list", listed, "--sign", tmp_path / "root", "--add", tmp_path / "ward.pub")[0] == 0
    first = listed.read_bytes()
    gs.verify(tmp_path / "ward.json", **trusted)
    gs.verify(tmp_path / "r.json", **trusted)
    with pytest.raises(gs.CertificateError, match="a key of its list"):
        gs.verify(tmp_path / "ward.json", public_key=tmp_path / "root.pub")
    assert run("key", "list", listed, "--sign", tmp_path / "root", "--retire", tmp_path / "ward.pub")[0] == 0
    gs.verify(tmp_path / "ward.json", **trusted)
    assert run("key", "list", listed, "--sign", tmp_path / "root", "--revoke", tmp_path / "ward.pub")[0] == 0
    with pytest.raises(gs.CertificateError, match="revoked"):
        gs.verify(tmp_path / "ward.json", **trusted)
    assert run("key", "list", listed, "--sign", tmp_path / "root", "--add", tmp_path / "ward.pub")[0] == 1
    # A list that somebody else signs, or edits, is none.
    edited = json.loads(listed.read_text())
    edited["keys"][0]["status"] = "active"
    for text in (json.dumps(edited), json.dumps(signing.sign_list(signing.KeyList(9, []), keys["stranger"])), "[]", "{}"):
        listed.write_text(text)
        with pytest.raises(gs.CertificateError):
            gs.verify(tmp_path / "r.json", **trusted)
    listed.write_bytes(first)  # an old list is a list: verifiers compare its number (docs/threats.md)
    assert signing.KeyList.load(listed, keys["root"].public_key()).number == 1


def test_private_keys_are_for_their_owner(tmp_path, keys):
    assert (tmp_path / "root").stat().st_mode & 0o777 == 0o600
    os.chmod(tmp_path / "root", 0o644)
    with pytest.raises(gs.GibbsafeError, match="chmod 600"):
        signing.read_private(tmp_path / "root")
    with pytest.raises(gs.GibbsafeError, match="exists already"):
        signing.new_key(tmp_path / "root")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_keys_that_are_none_are_found_before_the_charge(tmp_path, monkeypatch, run, content):
    monkeypatch.chdir(tmp_path)
    assert run("init", "--example")[0] == 0
    account = gs.ledger.open_account("ledger.db", "clinic", gs.Budget(8.0, 1e-3), adjacency="replace-one")
    (tmp_path / "bad.key").write_bytes(content)
    (tmp_path / "bad.key").chmod(0o600)
    release = ("release", "study.toml", "--data", "patients.csv", "--ledger", "ledger.db#clinic")
    for key in ("bad.key", "absent.key"):
        code, _, err = run(*release, "--sign", key)
        assert code == 1
        assert err.count("\n") == 1
    assert account.status()["charges"] == 0
    signing.new_key("good.key")
    assert run(*release, "--sign", "good.key", "-q")[0] == 0
    gs.verify("release.json", public_key="good.key.pub")
    charge, settled = account.entries()[1:]
    assert charge["signer"] == gs.Release.load("release.json").signature["key"]
    assert settled["release_sha256"] == json.loads((tmp_path / "release.json").read_text())["sha256"]


# -- `ledger mark` binds only what the charge produced ---------------------------------------------------------------------------


def test_other_draws_of_the_same_plan_cannot_be_marked(tmp_path, plan, run):
    url = str(tmp_path / "ledger.db")
    account = gs.ledger.open_account(url, "clinic", gs.Budget(2.0, 1e-6), adjacency="replace-one")
    charge = account.charge(plan)
    free = plan.release(DATA)  # draws that nobody paid for
    free.save(tmp_path / "free.json")
    assert run("ledger", "mark", f"{url}#clinic", tmp_path / "free.json")[0] == 1
    guesses = [{**charge.receipt, "token": "0" * 32}, {**charge.receipt, "entry": 0}, {**charge.receipt, "ledger": "0" * 64}]
    for receipt in guesses:
        with pytest.raises(gs.BudgetError, match=r"no charge|names"):
            account.find_charge(dataclasses.replace(free, charge=receipt))
    with pytest.raises(gs.BudgetError, match="did not produce"):
        charge.settle(free)
    genuine = dataclasses.replace(free, charge=charge.receipt)
    genuine.save(tmp_path / "genuine.json")
    assert run("ledger", "mark", f"{url}#clinic", tmp_path / "genuine.json")[0] == 0
    assert run("ledger", "mark", f"{url}#clinic", tmp_path / "genuine.json")[0] == 1


def test_a_charge_with_a_signer_wants_its_signature(tmp_path, plan, keys):
    account = gs.ledger.open_account(str(tmp_path / "l.db"), "clinic", gs.Budget(2.0, 1e-6), adjacency="replace-one")
    charge = account.charge(plan, signer=signing.key_id(keys["root"].public_key()))
    made = dataclasses.replace(plan.release(DATA), charge=charge.receipt)
    for wrong in (made, signing.sign(made, keys["stranger"])):
        with pytest.raises(gs.BudgetError, match="no charge"):
            account.find_charge(wrong)
    account.find_charge(signing.sign(made, keys["root"])).settle(made)


def test_of_two_changes_of_a_list_at_once_none_is_lost(tmp_path, keys):
    script = "import sys; from gibbsafe.cli import main; sys.argv[0] = 'gibbsafe'; main()"
    many = [tmp_path / f"k{k}" for k in range(4)]
    for path in many:
        signing.new_key(path)
    command = [sys.executable, "-c", script, "key", "list", tmp_path / "keys.json", "--sign", tmp_path / "root", "-q", "--revoke"]
    running = [subprocess.Popen([*command, f"{path}.pub"]) for path in many]
    assert [each.wait() for each in running] == [0] * 4
    listed = signing.KeyList.load(tmp_path / "keys.json", keys["root"].public_key())
    assert listed.number == 4
    assert {listed.status(signing.key_id(signing.read_private(path).public_key())) for path in many} == {"revoked"}
