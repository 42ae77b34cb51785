"""Rehearsals and advice: from public numbers, and as good as they say."""

from dataclasses import replace

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.study.advice import advise
from gibbsafe.study.declaration import Study
from gibbsafe.study.rehearsal import JUDGED, _loss, _released, rehearse
from gibbsafe.study.shapes import made_up_columns, made_up_response, true_parameter

STUDY = {
    "n": 3000,
    "adjacency": "replace-one",
    "purpose": "estimate",
    "budget": {"epsilon": 1.0, "delta": 1e-6},
    "model": {"name": "LogisticRegression"},
    "columns": {
        "age": {"bounds": [0, 100]},
        "income": {"bounds": [0, 1e6], "transform": "log1p"},
        "ward": {"levels": ["a", "b"]},
    },
    "target": {"name": "died", "labels": ["no", "yes"]},
}


def study(**changed):
    return Study.from_dict({**STUDY, **changed})


def test_a_rehearsal_agrees_with_real_releases_within_its_stated_error():
    """Ten further releases, each outside its 95 % interval with probability 5 %: at most three, but for 1 case in 900."""
    declared = study()
    found = rehearse(declared, epsilons=[1.0], repeats=6, seed=1)
    ((mean, low, high),) = found.expected()
    assert found.loss == "log-loss"
    assert found.loss_of_truth < mean < found.loss_of_nothing
    random, model = np.random.default_rng(99), declared.model()
    fresh = made_up_columns(declared.columns, JUDGED, random)
    answers = made_up_response(model, fresh, found.truth, random)
    shift = _loss(model, found.truth[None], fresh, answers)[1] - found.loss_of_truth  # other fresh rows, other noise
    real = [
        _loss(model, _released(declared, model, found.truth, 3000, random).draws, fresh, answers)[1] - shift for _ in range(10)
    ]
    assert sum(not low <= each <= high for each in real) <= 3
    held = (found.intervals[0, :, 0] <= found.truth) & (found.truth <= found.intervals[0, :, 1])
    assert held.mean() >= 0.5


def test_a_larger_budget_is_seen_to_help():
    found = rehearse(study(), epsilons=[0.05, 5.0], repeats=3)
    worse, better = found.losses.mean(axis=1)
    assert better < worse
    assert found.to_dict()["releases"][0]["epsilon"] == 0.05


def test_a_rehearsal_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    rehearse(study(), epsilons=[1.0, 2.0], repeats=2, rows=500).draw(tmp_path / "r.png")
    assert (tmp_path / "r.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ("PseudoHuberRegression", {"name": "z"}),
        ("LinearRegression", {"name": "z", "bounds": [0, 20]}),
        ("SoftHinge", {"name": "died", "labels": ["no", "yes"]}),
    ],
)
def test_other_models_are_rehearsed(model, target):
    options = {"model": {"name": model}, "target": target}
    if model == "LinearRegression":
        options["purpose"] = "posterior"
    found = rehearse(study(**options), epsilons=[2.0], repeats=2, rows=400)
    assert np.isfinite(found.losses).all()
    assert found.loss in ("mean absolute error", "share of wrong labels")


def test_made_up_responses_lie_inside_the_targets_bounds():
    options = {"model": {"name": "PseudoHuberRegression", "width": 50.0}, "target": {"name": "z", "bounds": [400, 3000]}}
    declared = study(**options)
    model, random = declared.model(), np.random.default_rng(0)
    columns = made_up_columns(declared.columns, 2000, random)
    truth = true_parameter(model, columns, 1.0, random, declared.target)
    responses = made_up_response(model, columns, truth, random, declared.target)
    assert 400 < responses.min() < 1700 < responses.max() < 3000
    assert 40 < np.std(model.encode_features(columns) @ model.from_original(truth[None])[0]) < 60  # effect 1, in widths
    narrow = replace(declared, target=replace(declared.target, bounds=(0.0, 8.0)))
    truth = true_parameter(model, columns, 1.0, random, narrow.target)
    assert np.ptp(made_up_response(model, columns, truth, random, narrow.target)) < 20


def test_models_without_a_predictor_are_refused():
    whole = study(model={"name": "GaussianMean"}, target={}, columns={"a": {"bounds": [0, 1]}}, purpose="posterior")
    with pytest.raises(gs.GibbsafeError, match="rehearse: for studies of a linear model"):
        rehearse(whole)


def test_advice_goes_the_way_it_should():
    declared = study(
        columns={**STUDY["columns"], "code": {"levels": [f"c{k}" for k in range(30)]}, "worth": {"bounds": [0, 1e8]}}
    )
    found = advise(declared)
    assert found.columns[0][0] == "code"  # thirty levels cost most
    assert found.columns[0][2] < found.noise
    assert any(remark.startswith("code (30 levels") for remark in found.remarks)
    assert any("worth: a range of 1e+08" in remark for remark in found.remarks)
    noise = {(n, epsilon): each for n, epsilon, each in found.trade}
    for n in (750, 3000, 12_000):
        assert noise[n, 0.5] > noise[n, 1.0] > noise[n, 2.0]
    for epsilon in (0.5, 1.0, 2.0):
        assert noise[750, epsilon] > noise[3000, epsilon] > noise[12_000, epsilon]
    assert noise[3000, 1.0] == found.noise


def test_advice_is_near_what_estimates_show():
    """The noise of 12 estimates of one table, which shrink towards 0 where nothing matters, is 0.4 to 2 of what it states."""
    declared = replace(study(), n=20_000)
    model, random = declared.model(), np.random.default_rng(0)
    rows = made_up_columns(declared.columns, 20_000, random)
    truth = np.zeros(model.parameters)
    table = {**rows, "died": made_up_response(model, rows, truth, random)}
    encoded = model.encode_features(made_up_columns(declared.columns, 1000, random))
    points = [declared.release(table, generator=random, progress=False).draws[0] for _ in range(12)]
    spread = (model.from_original(np.array(points)) @ encoded.T).std(axis=0, ddof=1)
    assert 0.4 < float(np.sqrt(np.mean(spread**2))) / advise(declared).noise < 2


def test_advice_needs_a_public_number():
    with pytest.raises(gs.GibbsafeError, match="public number of records"):
        advise(Study.from_dict({key: value for key, value in STUDY.items() if key != "n"} | {"adjacency": "add-remove"}))
