"""Many processes at once, and processes that die: two can never overspend, and no draw is ever on disk uncharged."""

import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

from gibbsafe.ledger import check

AUDITS = Path(__file__).parents[2] / "audits"

CHARGES = """
import sys, time
from pathlib import Path
import gibbsafe as gs
reference, mu, worker, start = sys.argv[1], float(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
account = gs.ledger.account(reference)
guarantee = gs.privacy.GaussianDP(mu, adjacency="replace-one")
Path(f"{start}.{worker}").touch()
while not start.exists():
    time.sleep(0.005)
done = 0
for k in range(25):
    try:
        account.spend(guarantee, key=f"{worker}-{k}")
        done += 1
    except gs.BudgetError:
        pass
print(done)
"""


def test_200_charges_from_8_processes_against_a_budget_for_50(open_account, tmp_path):
    account = open_account()
    mu = float(Fraction(account.status()["caps"]["mu"]) ** 2 / 50) ** 0.5 * (1 - 1e-9)
    start = tmp_path / "start"
    arguments = [sys.executable, "-c", CHARGES, f"{account.database.url}#{account.name}", repr(mu)]
    workers = [
        subprocess.Popen([*arguments, str(worker), str(start)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for worker in range(8)
    ]
    while len(list(tmp_path.glob("start.*"))) < 8 and all(worker.poll() is None for worker in workers):
        time.sleep(0.01)
    start.touch()
    results = [worker.communicate() for worker in workers]
    assert sum(int(out or 0) for out, _ in results) == 50, [error for _, error in results]
    assert account.status()["charges"] == 50
    assert check(account)["entries"] == 51


def test_releases_killed_at_random_moments_leave_no_uncharged_draw():
    """20 kills of the audit (audits/ledger_kill.py), which checks files, chain and sums after every one."""
    command = [sys.executable, str(AUDITS / "ledger_kill.py"), "--kills", "20", "--seed", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "| before the charge |" in result.stdout or "| between charge and file |" in result.stdout
