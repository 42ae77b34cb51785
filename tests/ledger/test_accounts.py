"""What an account admits, refuses, remembers and detects, on both databases."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtri
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import gibbsafe as gs
from gibbsafe.ledger import check, export
from gibbsafe.ledger.units import PER_ONE
from gibbsafe.privacy import ApproximateDP, BoundedRange, ConcentratedDP, EstimatedPrivacy, GaussianDP, MetricDP, PureDP, compose


def replace_one(guarantee):
    return guarantee.under("replace-one")


def charged(account):
    return [entry for entry in account.entries() if entry["kind"] in ("charge", "spend")]


def test_a_relative_path_is_of_where_the_process_is(tmp_path, monkeypatch):
    """An engine that was kept for ``ledger.db`` led to the folder in which it was made."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        gs.ledger.open_account("ledger.db", "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one")
        assert (tmp_path / name / "ledger.db").stat().st_size > 0


# -- charging ---------------------------------------------------------------------------------------------------------------


def test_a_release_is_charged_before_it_samples_and_settled_after(open_account, plan):
    account = open_account(seeded=True)
    seen = []

    class Spy(np.random.Generator):
        def __init__(self):
            super().__init__(np.random.PCG64(0))

        def random(self, *args, **kwargs):
            seen.append(account.status()["unreleased"])
            return super().random(*args, **kwargs)

    release = plan.release(np.arange(20) % 2, ledger=account, generator=Spy())
    assert set(seen) == {1}
    (entry,) = charged(account)
    assert entry["state"] == "released"
    settled = account.entries()[-1]
    assert settled["release_sha256"] == release.to_dict()["sha256"]
    assert settled["charge"] == entry["number"]
    assert check(account)["status"] == "consistent"


def test_a_plan_is_released_once(open_account, plan):
    account = open_account()
    plan.release(np.arange(20) % 2, ledger=account)
    with pytest.raises(gs.BudgetError, match=r"entry 1 .*released"):
        plan.release(np.arange(20) % 2, ledger=account)
    assert len(charged(account)) == 1
    account.charge(plan, key="again")
    assert len(charged(account)) == 2


def test_a_refused_table_costs_nothing(open_account, plan):
    account = open_account()
    with pytest.raises(gs.DomainError):
        plan.release(np.array([7]), ledger=account)
    assert not charged(account)


def test_a_crash_while_sampling_leaves_the_charge_unreleased(open_account, plan, monkeypatch):
    account = open_account()
    monkeypatch.setattr("gibbsafe.release.draw._draw_stages", lambda *_: 1 / 0)
    with pytest.raises(gs.GibbsafeError, match="ZeroDivisionError"):
        plan.release(np.arange(20) % 2, ledger=account)
    (entry,) = charged(account)
    assert entry["state"] == "unreleased"
    assert account.find(plan).number == entry["number"]


def test_the_caps_stop_the_account_exactly_where_they_are_reached(open_account):
    account = open_account()
    cap = Fraction(account.status()["caps"]["mu"]) ** 2
    mu = float(cap / 4) ** 0.5 * (1 - 1e-12)
    for k in range(4):
        account.spend(replace_one(GaussianDP(mu)), key=f"part {k}")
    with pytest.raises(gs.BudgetError, match="μ² = "):
        account.spend(replace_one(GaussianDP(mu)), key="one too many")
    assert account.status()["share"]["main"] == pytest.approx(1, abs=1e-11)
    with pytest.raises(gs.BudgetError, match="slack"):
        account.spend(replace_one(compose([GaussianDP(0.0)], slack=1e-3)), key="slack")
    with pytest.raises(gs.BudgetError, match="δ = "):
        account.spend(replace_one(ApproximateDP(0.0, 1e-3)), key="failure")
    assert len(charged(account)) == 4


def test_sums_are_those_of_the_entries(open_account):
    account = open_account(gs.Budget(8.0, 1e-3))
    generator = np.random.default_rng(0)
    expected = [Fraction(0)] * 3
    for k in range(40):
        mu, slack, delta = generator.uniform(0, 0.1), generator.uniform(0, 1e-10), generator.uniform(0, 1e-7)
        account.spend(replace_one(compose([GaussianDP(mu), ApproximateDP(0.0, delta)], slack=slack)), key=str(k))
        for place, amount in enumerate((Fraction(mu) ** 2, Fraction(slack), Fraction(delta))):
            expected[place] += amount
    spent = account.status()["spent"]
    stated = (spent["mu"] ** 2, spent["slack"], spent["delta"])
    for amount, exact in zip(stated, expected, strict=True):
        assert amount == pytest.approx(float(exact), rel=1e-12)
    costs = [{name: int(value) for name, value in entry["cost"].items()} for entry in charged(account)]
    for place, name in enumerate(("main", "slack", "failure")):
        total = Fraction(sum(cost[name] for cost in costs), PER_ONE)
        assert 0 <= total - expected[place] <= expected[place] * Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("guarantee", "mu"),
    [
        (GaussianDP(0.1), 0.1),
        (PureDP(0.1), -2 * ndtri(1 / (1 + np.exp(0.1)))),
        (BoundedRange(0.2), -2 * ndtri(1 / (1 + np.exp(0.1)))),
        (ApproximateDP(0.1, 1e-9), -2 * ndtri(1 / (1 + np.exp(0.1)))),
        (GaussianDP(0.05).compose(4), 0.1),
    ],
)
def test_guarantees_enter_a_gaussian_account_by_their_mu(open_account, guarantee, mu):
    account = open_account()
    account.spend(replace_one(guarantee), key="k")
    assert account.status()["spent"]["mu"] == pytest.approx(mu, rel=1e-9)


def test_other_currencies(open_account):
    zcdp = open_account(currency="zcdp")
    for guarantee, rho in (
        (ConcentratedDP(1e-4), 1e-4),
        (GaussianDP(0.02), 2e-4),
        (BoundedRange(0.04), 2e-4),
        (PureDP(0.02), 2e-4),
    ):
        before = zcdp.status()["spent"]["rho"]
        zcdp.spend(replace_one(guarantee), key=str(guarantee))
        assert zcdp.status()["spent"]["rho"] - before == pytest.approx(rho, rel=1e-9)
    pure = open_account(gs.Budget(1.0))
    pure.spend(replace_one(PureDP(0.6)), key="a")
    with pytest.raises(gs.BudgetError, match="pure-DP"):
        pure.spend(replace_one(GaussianDP(0.1)), key="b")
    with pytest.raises(gs.BudgetError, match=r"ε = 0\.6"):
        pure.spend(replace_one(PureDP(0.6)), key="c")


# -- refusals ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guarantee", "message"),
    [
        (ConcentratedDP(0.01, adjacency="replace-one"), "no a Gaussian-DP|no Gaussian|Gaussian-DP"),
        (GaussianDP(0.1), "unstated"),
        (GaussianDP(0.1, adjacency="add-remove"), "add-remove"),
        (EstimatedPrivacy(0.1, 1e-6, 0.01, 0.95, "normal data"), "estimated"),
        (MetricDP(0.1, "hamming"), "distance"),
        ("0.1", "not a guarantee"),
    ],
)
def test_what_the_account_cannot_price_is_refused(open_account, guarantee, message):
    account = open_account()
    with pytest.raises(gs.BudgetError, match=message):
        account.spend(guarantee, key="k")
    assert not charged(account)


def test_units_must_match(open_account):
    model = gs.models.BernoulliLogit()
    persons = gs.plan(model, gs.Budget(0.3, 1e-6), n=20, adjacency="replace-one", rows_per_person=2)
    with pytest.raises(gs.BudgetError, match="unit of privacy"):
        open_account().charge(persons)
    account = open_account(unit="person")
    account.charge(persons)
    assert account.status()["unit"] == "person"


def test_metric_claims_enter_at_a_stated_distance(open_account):
    account = open_account()
    with pytest.raises(gs.BudgetError, match="stated distance"):
        account.spend(MetricDP(0.1, "hamming"), key="k")
    account.spend(MetricDP(0.1, "hamming"), distance=1.0, key="k")  # of the farthest replacement of a record
    account.spend(MetricDP(0.1, "hamming").at(1.0).under("replace-one"), key="j")


def test_an_account_is_opened_once(url, open_account):
    account = open_account(name="once")
    try:
        with pytest.raises(gs.BudgetError, match="open already"):
            open_account(gs.Budget(5.0, 1e-6), name="once")
        assert account.status()["claim"] == {"epsilon": 1.0, "delta": 1e-6}
    finally:
        if url.startswith("postgresql"):
            forget(url, "once")


def test_unknown_accounts_are_named(url, open_account):
    open_account()
    with pytest.raises(gs.GibbsafeError, match="has no account 'nobody'"):
        gs.ledger.account(f"{url}#nobody")


@pytest.mark.parametrize("reference", ["", "ledger.db", "#clinic", "ledger.db#", 7])
def test_references_are_checked(reference):
    with pytest.raises(gs.ParameterError, match="URL#account"):
        gs.ledger.account(reference)


@pytest.mark.parametrize("key", ["", "x" * 201, 7])
def test_keys_are_checked(open_account, key):
    with pytest.raises(gs.ParameterError, match="key"):
        open_account().spend(replace_one(GaussianDP(0.1)), key=key)


# -- the chain --------------------------------------------------------------------------------------------------------------


def forget(url, name):
    with direct(url).begin() as connection:
        for table, column in (("gibbsafe_entries", "account"), ("gibbsafe_accounts", "name")):
            connection.execute(text(f"DELETE FROM {table} WHERE {column} = :name"), {"name": name})


def direct(url):
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)


def three_charges(open_account):
    account = open_account()
    for k in range(3):
        account.spend(replace_one(GaussianDP(0.01)), key=str(k))
    return account


TAMPERINGS = [
    ("UPDATE gibbsafe_entries SET body = replace(body, '0.01', '0.00') WHERE number = 2 AND account = :name", "altered"),
    ("DELETE FROM gibbsafe_entries WHERE number = 2 AND account = :name", "missing"),
    ("DELETE FROM gibbsafe_entries WHERE number = 3 AND account = :name", "missing"),
    ("UPDATE gibbsafe_accounts SET spent_main = '0' WHERE name = :name", "sums"),
    ("UPDATE gibbsafe_accounts SET opening = replace(opening, '1e-06', '1e-02') WHERE name = :name", "opened with"),
    ("UPDATE gibbsafe_entries SET key = 'other' WHERE number = 1 AND account = :name", "not what its text says"),
    ("UPDATE gibbsafe_accounts SET head = 'f' WHERE name = :name", "missing"),
]


@pytest.mark.parametrize(("statement", "message"), TAMPERINGS)
def test_tampering_is_detected(url, open_account, statement, message):
    account = three_charges(open_account)
    assert check(account)["entries"] == 4
    with direct(url).begin() as connection:
        connection.execute(text(statement), {"name": account.name})
    with pytest.raises(gs.CertificateError, match=message):
        check(account)


def test_a_head_written_down_detects_truncation(url, open_account):
    account = three_charges(open_account)
    old = export(account)["head"]
    account.spend(replace_one(GaussianDP(0.01)), key="later")
    assert check(account, old)["entries"] == 5
    forgotten = export(account)
    forget(url, account.name)
    again = open_account(name=account.name)  # a fresh chain under the same name
    with pytest.raises(gs.CertificateError, match="not in the chain"):
        check(again, forgotten["head"])


def test_export_is_plain_data_in_order(open_account):
    document = export(three_charges(open_account))
    assert json.loads(json.dumps(document)) == document
    assert [entry["number"] for entry in document["entries"]] == [0, 1, 2, 3]
    assert document["entries"][-1]["hash"] == document["head"]
    assert {entry["kind"] for entry in document["entries"]} == {"opening", "spend"}


# -- estimators -------------------------------------------------------------------------------------------------------------


def test_estimators_charge_every_fit(url, open_account):
    pytest.importorskip("sklearn")
    from sklearn.base import clone

    account = open_account(gs.Budget(1.0, 1e-6))
    generator = np.random.default_rng(0)
    features, labels = generator.uniform(-1, 1, (50, 2)), np.arange(50) % 2
    reference = f"{account.database.url}#{account.name}"
    estimator = gs.estimators.PrivateLogisticRegression(epsilon=0.4, delta=1e-7, bounds=(-1, 1), ledger=reference)
    estimator.fit(features, labels)
    clone(estimator).fit(features, labels)
    entries = charged(account)
    assert [entry["state"] for entry in entries] == ["released", "released"]
    assert len({entry["key"] for entry in entries}) == 2
    for _ in range(20):
        try:
            estimator.fit(features, labels)
        except gs.BudgetError:
            break
    else:
        pytest.fail("the account never refused")
    assert check(account)["share"]["main"] <= 1


def test_a_failed_attempt_never_removes_a_ledger_that_another_process_made(tmp_path, monkeypatch):
    """As if the other process had opened its account between our making the file and our transaction."""
    from gibbsafe.ledger.database import Database

    path = tmp_path / "ledger.db"
    budget = gs.Budget(1.0, 1e-6)
    gs.ledger.open_account(str(path), "clinic", budget, adjacency="replace-one")
    monkeypatch.setattr(Database, "_make_file", lambda self: path)
    with pytest.raises(gs.BudgetError, match="open already"):
        gs.ledger.open_account(str(path), "clinic", budget, adjacency="replace-one")
    assert gs.ledger.account(f"{path}#clinic").status()["charges"] == 0


def test_a_failed_attempt_leaves_no_empty_file(tmp_path, monkeypatch):
    from gibbsafe.ledger.database import Database

    def interrupted(self, connection):
        raise KeyboardInterrupt

    monkeypatch.setattr(Database, "_refuse_foreign", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one")
    assert not list(tmp_path.iterdir())
