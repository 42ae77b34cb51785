"""``gibbsafe serve --demo``: a desk with made-up patients, three users and a finished release, in a folder that goes with it."""

from __future__ import annotations

import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path

from gibbsafe.cli.application import say
from gibbsafe.cli.serve import settings_of
from gibbsafe.cli.templates import example_study, example_table
from gibbsafe.release.signing import new_key
from gibbsafe.service import Desk, Settings
from gibbsafe.service.people import SYSTEM
from gibbsafe.service.server import listen, serve
from gibbsafe.service.views import Policy
from gibbsafe.service.worker import Worker

__all__ = ["filled", "run"]

USERS = {"olga": "owner", "ana": "analyst", "otto": "operator"}


def run(port: int) -> None:
    """Serve a desk to try until Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="gibbsafe-demo-") as folder:
        settings, tokens = filled(Path(folder))
        at = listen("127.0.0.1", port)
        say(f"a desk to try, at http://127.0.0.1:{at.getsockname()[1]}; it is gone when you stop it with Ctrl-C. Sign in with:")
        for name, token in tokens.items():
            say(f"  {name} ({USERS[name]}): {token}")
        serve(settings, at)


def filled(folder: Path) -> tuple[Settings, dict[str, str]]:
    """Return the settings of a new desk with one data set and one release, and everybody's token."""
    table = folder / "patients.csv"
    table.write_text(example_table())
    new_key(folder / "desk.key")
    settings = settings_of(
        f"sqlite:///{folder / 'desk.db'}",
        None,
        folder / "desk.key",
        [str(folder)],
        None,
        5,
        secure=False,
        requests_per_minute=None,
    )
    started = settings.clock()
    time = [started - 3600.0]  # an hour ago, so that the release is finished now
    past = replace(settings, clock=lambda: time[0])
    desk, worker = Desk(past).open(), Worker(past)
    made = {name: desk.create_user(SYSTEM, name, [role]) for name, role in USERS.items()}
    tokens = {name: desk.create_token(SYSTEM, user.id, "demonstration").text for name, user in made.items()}
    olga, ana = (desk.authenticate(tokens[name]) for name in ("olga", "ana"))
    study = {key: value for key, value in tomllib.loads(example_study()).items() if key != "ledger"}
    about = "Made-up patients of a hospital, and who of them came back within 30 days. Nobody is in it."
    dataset = desk.register_dataset(
        olga, name="patients", source=str(table), study=study, epsilon=5.0, delta=1e-6, description=about, policy=Policy(2.0, 0.8)
    )
    time[0] += settings.slot
    worker.step()
    time[0] += settings.slot
    worker.clerk.step()
    asked = desk.submit(ana, dataset.id, study, "How age, days and stays go with coming back")
    approved = desk.approve(olga, asked.id, asked.plan_sha256)
    time[0] = float(approved.due or 0)
    worker.step()
    time[0] += settings.slot
    worker.clerk.step()
    return settings, tokens
