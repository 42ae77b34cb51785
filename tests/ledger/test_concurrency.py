"""Many processes at once, and processes that die: two can never overspend, and no draw is ever on disk uncharged."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from gibbsafe.ledger import check

AUDITS = Path(__file__).parents[2] / "audits"

#: Eight processes, forked when everything is loaded, each with 25 charges at once; every one prints how many were admitted.
CHARGES = """
import os, sys
import gibbsafe as gs
account, mu = gs.ledger.account(sys.argv[1]), float(sys.argv[2])
guarantee = gs.privacy.GaussianDP(mu, adjacency="replace-one")
ready, start = os.pipe()
children = []
for worker in range(8):
    child = os.fork()
    if child == 0:
        os.close(start)
        os.read(ready, 1)  # returns when the parent closes its end: all begin together
        done = 0
        for k in range(25):
            try:
                account.spend(guarantee, key=f"{worker}-{k}")
                done += 1
            except gs.BudgetError:
                pass
        os.write(1, f"{done}\\n".encode())
        os._exit(0)
    children.append(child)
os.close(start)
for child in children:
    os.waitpid(child, 0)
"""


def test_200_charges_from_8_processes_against_a_budget_for_50(open_account):
    account = open_account()
    mu = float(Fraction(account.status()["caps"]["mu"]) ** 2 / 50) ** 0.5 * (1 - 1e-9)
    command = [sys.executable, "-c", CHARGES, f"{account.database.url}#{account.name}", repr(mu)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    counts = [int(line) for line in result.stdout.split()]
    assert len(counts) == 8, result.stderr
    assert sum(counts) == 50
    assert account.status()["charges"] == 50
    assert check(account)["entries"] == 51


def test_releases_killed_at_random_moments_leave_no_uncharged_draw():
    """12 kills of the audit (audits/ledger_kill.py), 6 more on PostgreSQL, with checks after each."""
    with_server = "6" if os.environ.get("GIBBSAFE_TEST_POSTGRES") else "0"
    command = [sys.executable, str(AUDITS / "ledger_kill.py"), "--kills", "12", "--postgres-kills", with_server, "--seed", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "FRESH": "1"})
    assert result.returncode == 0, result.stderr
    assert "| before the charge |" in result.stdout or "| between charge and file |" in result.stdout


@pytest.mark.skipif(not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")), reason="no PostgreSQL server")
def test_a_crash_of_postgresql_under_16_writers_loses_and_overspends_nothing():
    """One round of the audit (audits/ledger_restarts.py); asked again, it has nothing left to do."""
    command = [sys.executable, str(AUDITS / "ledger_restarts.py"), "--restarts", "1", "--charges", "30"]
    for fresh in ("1", ""):
        result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "FRESH": fresh})
        assert result.returncode == 0, result.stderr
        assert "exactly the 30 charges" in result.stdout
    assert "1 of 1 units were done before" in result.stderr
