"""Requests and approvals: within what was declared, within every cap, once, and as they were seen."""

import threading

import pytest

pytest.importorskip("fastapi")

from gibbsafe.errors import ParameterError
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.studies import MODELS_OFFERED
from gibbsafe.service.views import Choice, Policy

from .world import STUDY, finish, register


def changed(**keys):
    return {**STUDY, **keys}


def column(**keys):
    return changed(columns={"radius": {"bounds": [5, 30], **keys}})


BAD = {
    "another n": (changed(n=41), "n: is the data set's"),
    "another adjacency": (changed(adjacency="add-remove"), "adjacency: is the data set's"),
    "persons": (changed(persons={"column": "person", "rows_per_person": 2}), "persons: is the data set's"),
    "an account": (changed(ledger={"url": "x.db", "account": "other"}), "ledger: must be left out"),
    "an estimate": (changed(budget={"epsilon": 1.0, "delta": 1e-6, "failure": 0.1}), "estimated"),
    "an undeclared column": (changed(columns={"person": {"bounds": [0, 1]}}), "declares none of this name"),
    "another name for one": (column(column="person"), "declares none of this name"),
    "wider bounds": (column(bounds=[0, 99]), "within the declared"),
    "no bounds": (changed(columns={"radius": {}}), "radius"),
    "other labels": (changed(target={"name": "benign", "labels": ["no", "maybe"]}), "among the declared"),
    "a file of levels": (changed(columns={"radius": {"levels_file": "/etc/passwd"}}), "reads no file"),
    "a number for a table": (changed(columns=3), "columns"),
    "no model": ({key: value for key, value in STUDY.items() if key != "model"}, "model"),
    "another model": (changed(model={"name": "Oracle"}), "model.name"),
    "too many draws": (changed(draws=10**9), "draws"),
    "draws that are none": (changed(draws="many"), "study"),
    "too much": (changed(budget={"epsilon": 50.0, "delta": 1e-6}), "may have 5 at most"),
    "too large a delta": (changed(budget={"epsilon": 0.5, "delta": 0.5}), "delta"),
    "weights": (changed(weights="radius"), "weights"),
    "not a number": (changed(budget={"epsilon": float("nan"), "delta": 1e-6}), "finite number"),
    "a surrogate": (changed(title="\ud800"), "no text"),
    "no table at all": ([1, 2], "table of keys"),
    "a title that is none": (changed(title=[[]]), "title"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_study_outside_of_what_is_declared_is_refused_in_one_line(filled, case):
    study, told = BAD[case]
    with pytest.raises(Refusal) as refused:
        filled.desk.preview(filled.actor("ana"), filled.ids["dataset of olga"], study)
    assert refused.value.status in (413, 422)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 700
    assert told is None or told in str(refused.value)


def test_a_study_within_it_is_planned_priced_and_rehearsed(filled):
    narrow = changed(columns={"radius": {"bounds": [6, 20]}}, purpose="estimate", budget={"epsilon": 0.6, "delta": 1e-6})
    seen = filled.desk.preview(filled.actor("ana"), filled.ids["dataset of olga"], {k: v for k, v in narrow.items() if k != "n"})
    assert seen.study["n"] == STUDY["n"]
    assert seen.quote.fits >= 1
    assert 0 < seen.quote.shares["main"] < 1
    assert seen.rehearsal is not None
    assert seen.rehearsal["loss"]["name"] == "log-loss"
    assert seen.widths
    assert all(width > 0 for width in seen.widths.values())
    assert 0.5 < seen.attack["right_guesses"] < 1


def test_fits_is_what_the_ledger_admits(empty):
    """As many releases as were promised are charged, and not one more."""
    dataset = register(empty, "olga", "small", epsilon=1.0)
    ana = empty.actor("ana")
    promised = empty.desk.preview(ana, dataset, STUDY).quote.fits
    assert 2 <= promised <= 6
    for k in range(promised):
        asked = empty.desk.submit(ana, dataset, STUDY, f"number {k}")
        finish(empty, asked.id, "olga")
        assert empty.desk.request(ana, asked.id).state == "released"
    with pytest.raises(Refusal, match="does not fit"):
        empty.desk.submit(ana, dataset, STUDY, "one more")


def test_every_model_that_the_wizard_offers_can_be_planned(filled):
    from gibbsafe.service.studies import planned, wizard_study

    public = {
        "n": 500, "adjacency": "replace-one",
        "columns": {"a": {"bounds": [0, 1]}, "b": {"bounds": [0, 9]}, "c": {"levels": ["x", "y", "z"]}},
        "target": {"name": "t", "labels": ["no", "yes"]},
    }  # fmt: skip
    targets = {"two": "t", "several": "c", "number": "b", "": None}
    for model, kinds in MODELS_OFFERED.items():
        columns = ("a",) if kinds == ("number",) else ("a", "b")
        choice = Choice(model, columns, targets[kinds[0]], 1.0, 1e-6)
        study = wizard_study(choice, public)
        assert planned({**study, "n": 500, "adjacency": "replace-one"}, filled.settings).model.name == model


def test_a_second_submission_is_the_first_one_again(world):
    ana, dataset = world.actor("ana"), world.ids["dataset of olga"]
    first = world.desk.submit(ana, dataset, STUDY, "twice", key="form-1")
    assert world.desk.submit(ana, dataset, STUDY, "twice", key="form-1") == first
    with pytest.raises(Refusal, match="another request"):
        world.desk.submit(ana, dataset, changed(draws=2), "twice", key="form-1")
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(world.desk.submit(ana, dataset, STUDY, "at once", key="form-2").id))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 4


def test_an_answer_is_given_once_and_to_what_was_seen(world):
    olga, asked = world.actor("olga"), world.ids["request of olga"]
    plan = world.desk.request(olga, asked).plan_sha256
    with pytest.raises(Refusal, match="not the one that you saw"):
        world.desk.approve(olga, asked, "0" * 64)
    world.desk.approve(olga, asked, plan)
    for again in (lambda: world.desk.approve(olga, asked, plan), lambda: world.desk.refuse(olga, asked, "no")):
        with pytest.raises(Refusal) as refused:
            again()
        assert refused.value.status == 409
    with pytest.raises(Refusal, match="approved already"):
        world.desk.withdraw(world.actor("ana"), asked)


def test_a_plan_that_this_version_would_not_make_is_outdated(world):
    from sqlalchemy import update

    from gibbsafe.service.tables import requests

    olga, asked = world.actor("olga"), world.ids["request of olga"]
    with world.desk.store.writing() as connection:
        connection.execute(update(requests).where(requests.c.id == asked).values(plan="{}"))
    with pytest.raises(Refusal, match="another one") as refused:
        world.desk.approve(olga, asked, world.desk.request(olga, asked).plan_sha256)
    assert refused.value.status == 409


def test_a_policy_that_changed_holds_for_what_is_pending(world):
    olga, asked = world.actor("olga"), world.ids["request of olga"]
    world.desk.set_policy(olga, world.ids["dataset of olga"], Policy(0.1))
    with pytest.raises(Refusal, match=r"may have 0\.1 at most"):
        world.desk.approve(olga, asked, world.desk.request(olga, asked).plan_sha256)


def test_an_analyst_gets_no_more_than_their_share(world):
    olga, ana, dataset = world.actor("olga"), world.actor("ana"), world.ids["dataset of olga"]
    spent = sum(each.share for each in world.desk.book(olga, dataset).spending)
    world.desk.set_policy(olga, dataset, Policy(5.0, analyst_share=1.5 * spent))
    asked = world.desk.request(olga, world.ids["request of olga"])
    with pytest.raises(Refusal, match="one analyst gets"):
        world.desk.approve(olga, asked.id, asked.plan_sha256)
    other = world.desk.submit(world.actor("aron"), dataset, STUDY, "another analyst")
    assert world.desk.approve(olga, other.id, other.plan_sha256).state == "approved"
    world.desk.set_policy(olga, dataset, Policy(5.0))
    assert world.desk.approve(olga, asked.id, asked.plan_sha256).state == "approved"
    assert world.desk.request(ana, asked.id).decided_by == "olga"


def test_approvals_at_once_do_not_add_up_beyond_the_budget(empty):
    dataset = register(empty, "olga", "small", epsilon=1.0)
    olga, ana = empty.actor("olga"), empty.actor("ana")
    asked = [empty.desk.submit(ana, dataset, STUDY, f"number {k}") for k in range(8)]
    fits = empty.desk.preview(ana, dataset, STUDY).quote.fits
    told = []

    def approve(each):
        try:
            told.append(empty.desk.approve(olga, each.id, each.plan_sha256).state)
        except Refusal as refusal:
            told.append(refusal.status)

    threads = [threading.Thread(target=approve, args=(each,)) for each in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, told)) == ["409"] * (8 - fits) + ["approved"] * fits


def test_a_policy_approves_at_once_what_it_allows(world):
    olga, ana, dataset = world.actor("olga"), world.actor("ana"), world.ids["dataset of olga"]
    world.desk.set_policy(olga, dataset, Policy(5.0, automatic_epsilon=0.5))
    assert world.desk.submit(ana, dataset, STUDY, "small").decided_by == "policy"
    assert world.desk.submit(ana, dataset, changed(budget={"epsilon": 0.6, "delta": 1e-6}), "larger").state == "pending"
    world.desk.pause_dataset(olga, dataset, True)
    with pytest.raises(Refusal, match="paused"):
        world.desk.submit(ana, dataset, STUDY, "now")


def test_no_analyst_fills_the_queue(world):
    import dataclasses

    from gibbsafe.service import Desk

    desk = Desk(dataclasses.replace(world.settings, most_pending=2))
    ana, dataset = world.actor("ana"), world.ids["dataset of olga"]
    desk.submit(ana, dataset, STUDY, "second")
    with pytest.raises(Refusal) as refused:
        desk.submit(ana, dataset, STUDY, "third")
    assert refused.value.status == 429
    desk.store.engine.dispose()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("table.csv", "absolute path"), ("/etc/passwd", "none of the folders"),
        ("http://elsewhere/t.csv", "none of the object stores"),
        ("file://other/table.csv", "path on the worker"), ("{data}/../../secret.csv", "without '..'"), ("", "is missing"),
    ],
)  # fmt: skip
def test_data_lie_where_the_operator_allows(filled, source, told):
    place = source.format(data=filled.folder / "data")
    with pytest.raises(Refusal, match=told):
        filled.desk.register_dataset(filled.actor("olga"), name="x", source=place, study=STUDY, epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("s3://other/t.csv", "none of the object stores"), ("s3://desk/data/", "none of the object stores"),
        ("s3://desk/data/../key", "plain URL"), ("s3://user:word@desk/data/t.csv", "plain URL"),
        ("s3://desk/data/t?x=1", "plain URL"),
        ("s3://desk/data/%2e%2e/t.csv", "plain URL"), ("s3://desk/data//t.csv", "plain URL"),
        ("s3://desk/database.csv", "none of"),
    ],
)  # fmt: skip
def test_objects_lie_in_stores_that_the_operator_opened(filled, source, told):
    import dataclasses

    from gibbsafe.service import Desk

    desk = Desk(dataclasses.replace(filled.settings, stores=("s3://desk/data/",)))
    with pytest.raises(Refusal, match=told):
        desk.register_dataset(filled.actor("olga"), name="x", source=source, study=STUDY, epsilon=1.0, delta=1e-6)
    desk.store.engine.dispose()


@pytest.mark.parametrize("store", ["s3://desk", "file:///srv/", "desk/", "s3://desk/data"])
def test_stores_are_beginnings_of_urls(world, store):
    import dataclasses

    with pytest.raises(ParameterError, match="stores"):
        dataclasses.replace(world.settings, stores=(store,))


def test_an_object_is_read_from_its_store(world, monkeypatch):
    """The worker looks at an object, keeps its fingerprint and notices when its store is not open any more."""
    import dataclasses

    from pyarrow import fs

    from gibbsafe.data.places import RemoteFile
    from gibbsafe.service import files

    inside = world.folder / "data"
    inside.joinpath("object.csv").write_text("age,outcome\n1,no\n2,yes\n")
    store = fs.SubTreeFileSystem(str(inside), fs.LocalFileSystem())
    beside = files.fingerprint(inside / "object.csv", b"x" * 32)
    monkeypatch.setattr(files, "locate", lambda url: RemoteFile(store, url.removeprefix("s3://desk/data/"), url))
    opened = dataclasses.replace(world.settings, stores=("s3://desk/data/",))
    place = files.resolved("s3://desk/data/object.csv", opened)
    assert place == "s3://desk/data/object.csv"
    assert files.fingerprint(place, b"x" * 32) == beside
    with pytest.raises(files.FileRefusal, match="cannot be read"):
        files.fingerprint("s3://desk/data/absent.csv", b"x" * 32)
    with pytest.raises(files.FileRefusal, match="not open any more"):
        files.resolved("s3://desk/data/object.csv", world.settings)


def test_a_file_url_is_a_path(world):
    place = (world.folder / "data" / "new table.csv").as_uri()
    made = world.desk.register_dataset(world.actor("olga"), name="by url", source=place, study=STUDY, epsilon=1.0, delta=1e-6)
    assert made.source == str(world.folder / "data" / "new table.csv")
    assert made.state == "new"
    with pytest.raises(Refusal, match="is registered already"):
        world.desk.register_dataset(world.actor("oscar"), name="again", source=place, study=STUDY, epsilon=1.0, delta=1e-6)
    with pytest.raises(Refusal, match="another data set has it"):
        world.desk.register_dataset(world.actor("oscar"), name="by url", source=place, study=STUDY, epsilon=1.0, delta=1e-6)


def test_records_have_one_account(world):
    """A copy of one's own file is found by the worker; of another owner's file nobody learns whether it is one."""
    table = (world.folder / "data" / "table.csv").read_text()
    for name, owner, state in (("copy one", "olga", "unreadable"), ("copy two", "oscar", "ready")):
        place = world.folder / "data" / f"{name}.csv"
        place.write_text(table)
        made = world.desk.register_dataset(world.actor(owner), name=name, source=str(place), study=STUDY, epsilon=1.0, delta=1e-6)
        world.clock.time += world.settings.slot
        world.worker.step()
        world.worker.clerk.step()
        assert world.desk.dataset(world.actor(owner), made.id).state == state


def test_owners_with_folders_of_their_own_name_no_other(world):
    import dataclasses

    from gibbsafe.service import Desk

    desk = Desk(dataclasses.replace(world.settings, own_folders=True))
    for place, told in (("oscar/x.csv", "none of the folders"), ("olga/x.csv", None), ("x.csv", "none of the folders")):
        source = str(world.folder / "data" / place)
        if told is None:
            assert desk.register_dataset(world.actor("olga"), name="own", source=source, study=STUDY, epsilon=1.0, delta=1e-6)
        else:
            with pytest.raises(Refusal, match=told):
                desk.register_dataset(world.actor("olga"), name="own", source=source, study=STUDY, epsilon=1.0, delta=1e-6)
    desk.store.engine.dispose()


def test_columns_in_any_order_are_one_study_with_one_plan(filled):
    """Plans were kept by a study's sorted text, and made of it as it was written: one asker had another's order of parameters."""
    desk, actor, dataset = filled.desk, filled.actor("ana"), filled.ids["dataset of olga"]
    columns = {"texture": {"bounds": [0, 1]}, "radius": {"bounds": [5, 30]}}
    texts = [changed(columns=dict(order)) for order in (columns.items(), reversed(columns.items()))]
    first, second = (desk.preview(actor, dataset, study) for study in texts)
    assert first.plan_sha256 == second.plan_sha256
    assert list(first.study["columns"]) == ["radius", "texture"]


def test_an_approval_that_cannot_be_planned_now_waits_for_no_rows(filled, monkeypatch):
    def busy(study):
        raise Refusal(503, "many others")

    monkeypatch.setattr(filled.desk.calculations, "plan", busy)
    with pytest.raises(Refusal) as refused:
        filled.desk._plan_beforehand(STUDY)
    assert refused.value.status == 503
