"""Estimated releases: what their files say, what is refused, and that nobody takes them for proved ones."""

import json
from dataclasses import replace

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.domains.column import Column
from gibbsafe.release.files import digest
from gibbsafe.release.signing import new_key, read_private, sign

C = gs.contamination


@pytest.fixture(scope="module")
def released(plan, records):
    return plan.release(records, generator=np.random.default_rng(5))


def altered(released, **changes):
    """Return the file's content with changes, hashed anew: what somebody could write who knows the format."""
    content = json.loads(json.dumps(released.to_dict()))
    for path, value in changes.items():
        place = content
        *folders, last = path.split("__")
        for name in folders:
            place = place[name]
        place[last] = value
    return content | {"sha256": digest({name: value for name, value in content.items() if name != "sha256"})}


def written(path, content):
    path.write_text(json.dumps(content))
    return path


def test_a_release_says_first_that_nothing_is_proved(released, plan):
    certificate = released.certificate
    assert certificate["kind"] == "estimated random DP, not proved"
    assert str(certificate).startswith("Certificate: ESTIMATED RANDOM DP, NOT PROVED")
    assert "claim" not in certificate
    assert "guarantee" not in certificate
    assert certificate["estimate"] == plan.estimate.to_dict()
    assert {"data_model", "repeats", "confidence", "promise"} <= set(certificate["estimate"])
    assert len(certificate["not_promised"]) == 4
    assert certificate["randomness"] == "seeded"
    assert not isinstance(released, gs.Release)
    assert np.array_equal(np.round(released.draws / plan.grid) * plan.grid, released.draws)
    assert 20 < released.draws[0, 0] < 40
    assert float(released.answer(gs.queries.mean())["mean"]) == released.draws[0, 0]


def test_verify_and_load_understand_it_and_a_proved_reader_refuses_it(released, tmp_path):
    released.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json") == released.certificate
    assert gs.verify(released)["kind"] == released.certificate["kind"]
    loaded = C.EstimatedRelease.load(tmp_path / "r.json")
    assert np.array_equal(loaded.draws, released.draws)
    assert loaded.to_dict() == released.to_dict()
    with pytest.raises(gs.CertificateError, match="an estimated release, nothing"):
        gs.Release.load(tmp_path / "r.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"certificate__kind": "differential privacy"}, "kind"),
        ({"certificate__not_promised": []}, "not_promised"),
        ({"certificate__claim": {"epsilon": 0.1, "delta": 0.0, "mu": None}}, "claim"),
        ({"certificate__estimate__epsilon": 0.1}, "estimate"),
        ({"certificate__randomness": "magic"}, "randomness"),
        ({"plan__values": [0.1] * 8}, "estimate"),
        ({"plan__seed": 9}, "estimate"),
        ({"plan__data_model": "everything"}, "data_model"),
        ({"draws": [[30.000000001]]}, "grid"),
        ({"draws": [[30.0], [30.0]]}, "rows"),
        ({"draws": [["30"]]}, "rows"),
        ({"parameters": ["median"]}, "names"),
        ({"format": "gibbsafe/release/1"}, "missing|format|stages"),
        ({"charge": {"entry": 1}}, "charge"),
    ],
)
def test_an_altered_file_is_refused_in_one_line(released, tmp_path, changes, message):
    with pytest.raises(gs.CertificateError, match=message) as refusal:
        gs.verify(written(tmp_path / "r.json", altered(released, **changes)))
    assert "\n" not in str(refusal.value)


def test_values_that_the_model_does_not_give_are_found_by_simulating_again(released, tmp_path):
    values = [0.5 * value for value in released.plan.values]
    content = altered(released, plan__values=values)
    halved = replace(released.plan, values=tuple(values)).estimate.to_dict()
    for place in ("plan", "certificate"):
        content[place]["estimate"] = json.loads(json.dumps(halved))
    content["sha256"] = digest({name: value for name, value in content.items() if name != "sha256"})
    path = written(tmp_path / "r.json", content)
    C.EstimatedRelease.load(path)  # consistent in itself
    with pytest.raises(gs.CertificateError, match="run once more"):
        gs.verify(path)


def test_a_torn_file_and_a_foreign_one_are_refused(released, tmp_path):
    text = json.dumps(released.to_dict())
    for bad in (text[:-5], "[]", text.replace("sha256", "sha255"), text.replace('"draws": [[', '"draws": [[1')):
        (tmp_path / "r.json").write_text(bad)
        with pytest.raises(gs.CertificateError):
            gs.verify(tmp_path / "r.json")


def test_signatures_hold(released, tmp_path):
    new_key(tmp_path / "key")
    signed = sign(released, read_private(tmp_path / "key"))
    signed.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json", public_key=tmp_path / "key.pub")["kind"].startswith("estimated")
    released.save(tmp_path / "u.json")
    with pytest.raises(gs.CertificateError, match="unsigned"):
        gs.verify(tmp_path / "u.json", public_key=tmp_path / "key.pub")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.arange(5.0), "n = 120"),
        (np.full(120, np.nan), "finite"),
        ("abc", "not arrays of numbers"),
        ((np.zeros(120),), "1 arrays"),
        ((np.zeros(120), np.zeros((120, 3))), "shape"),
        (np.zeros((120, 2)), "shape"),
    ],
)
def test_bad_records_are_refused_without_naming_one(plan, data, message):
    with pytest.raises(gs.DomainError, match=message) as refusal:
        plan.release(data)
    assert "\n" not in str(refusal.value)


def test_options_of_proved_releases_are_refused_by_name(plan, records):
    with pytest.raises(gs.GibbsafeError, match="untrusted"):
        plan.release(records, untrusted=True)
    with pytest.raises(gs.GibbsafeError, match="persons"):
        plan.release(records, persons="id")


def test_whatever_lies_in_the_space_is_released(plan):
    for extreme in (np.zeros(120), np.full(120, 1e300), np.array([1e300, -1e300, *np.zeros(118)])):
        assert np.isfinite(plan.release(extreme, generator=np.random.default_rng(0)).draws).all()


@pytest.fixture(scope="module")
def regression():
    model = C.ContaminatedLinearRegression(columns=2, rate=0.2, prior_scale=5.0)
    table = C.Table(Column("y"), (Column("age", bounds=(20, 80)),))
    budget = gs.EstimatedBudget(90.0, 1e-2, failure=0.4, confidence=0.5)
    return gs.plan(model, budget, n=300, truth=[1.0, -1.0], repeats=3, table=table, draws=20)


def test_a_table_is_mapped_by_public_bounds_and_coefficients_come_back_in_its_units(regression, tmp_path):
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(2)
    age = rng.uniform(20, 80, 300)
    y = 3.0 + 0.1 * age + rng.standard_normal(300)
    released = regression.release(pa.table({"y": y, "age": age, "other": y}), generator=rng)
    assert released.parameters == ("intercept", "age")
    assert np.abs(released.draws.mean(axis=0) - [3.0, 0.1]) == pytest.approx(np.zeros(2), abs=0.6)
    assert abs(released.draws[:, 1].mean() - 0.1) < 0.02  # some four standard errors of slope and draws
    released.save(tmp_path / "r.json")
    assert np.array_equal(C.EstimatedRelease.load(tmp_path / "r.json").draws, released.draws)
    with pytest.raises(gs.DomainError, match="column 'age'"):
        regression.release(pa.table({"y": y}))
    with pytest.raises(gs.DomainError, match="missing or not finite"):
        regression.release(pa.table({"y": y, "age": np.where(age > 70, np.nan, age)}))


def test_columns_must_be_those_of_the_model(model, budget):
    with pytest.raises(gs.ParameterError, match="columns"):
        gs.plan(model, budget, n=120, table=C.Table(Column("y"), (Column("age", bounds=(0, 1)),)))
    with pytest.raises(gs.ParameterError, match="target"):
        gs.plan(model, budget, n=120, table=C.Table(Column("y", kind="label", levels=(0, 1))))
    with pytest.raises(gs.ParameterError, match="two labels"):
        C.Table(Column("y", kind="label", levels=(0, 1, 2)))


def test_extreme_records_of_a_regression_are_released(regression):
    w = np.column_stack([np.ones(300), np.zeros(300)])
    x = np.zeros(300)
    x[:3] = [1e300, -1e300, 1e12]
    assert np.isfinite(regression.release((x, w), generator=np.random.default_rng(1)).draws).all()
