"""Study files: one schema for commands and library, and every model within reach."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gibbsafe as gs
from gibbsafe.study.declaration import KEYS, Study

from ..examples import EXAMPLES, ONE

BUDGET = "[budget]\nepsilon = 1.0\ndelta = 1e-6\n"
HEAD = 'n = 30\nadjacency = "replace-one"\n'
#: For every model a study of the table below.
STUDIES = {name: f'[model]\nname = "{name}"\n{example.options}{example.study}' for name, example in EXAMPLES.items()}


def load(tmp_path, text, head=HEAD):
    path = tmp_path / "study.toml"
    path.write_text(head + BUDGET + text)
    return Study.load(path)


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": generator.uniform(0, 1, 30),
            "b": generator.uniform(0, 5, 30),
            "w": generator.choice(["u", "v", "w"], 30),
            "x": generator.choice(["s", "t"], 30),
            "y": generator.choice(["no", "yes"], 30),
            "z": generator.uniform(0, 20, 30),
            "x2": generator.choice(["s", "t"], 30),
            "k": np.arange(30) % 25,
            "person": np.arange(30) // 3,
        }
    )


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_listed_models_are_planned_and_released_from_a_study(name, tmp_path, table):
    study = load(tmp_path, STUDIES[name])
    plan = study.plan()
    assert plan.model.name == name
    release = study.release(table, progress=False)
    release.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json")["claim"]["epsilon"] <= 1.0
    table.to_csv(tmp_path / "table.csv", index=False)
    seeds = [np.random.default_rng(1) for _ in range(2)]
    from_file = study.release(tmp_path / "table.csv", generator=seeds[0], progress=False)
    in_memory = study.release(pa.table(table), generator=seeds[1], progress=False)
    assert (from_file.draws == in_memory.draws).all()


def test_a_study_says_what_a_plan_needs(tmp_path):
    sampler = "[sampler]\nname = 'shell'\ntheorem = 'gaussian-dp'\n"
    head = HEAD + "title = 'T'\ndraws = 3\npurpose = 'estimate'\nprior_radius = 4.0\nrow_norm = 1.1\n"
    study = load(tmp_path, sampler + STUDIES["LogisticRegression"], head)
    assert study.title == "T"
    plan = study.plan()
    assert (plan.draws, plan.purpose, plan.prior_radius, plan.sampler) == (3, "estimate", 4.0, "shell")
    assert plan.model.row_norm == 1.1
    priced = load(tmp_path, STUDIES["SoftHinge"], HEAD + "prior_precision = 2.0\ninverse_temperature = 0.01\n").plan()
    assert priced.inverse_temperature == 0.01
    assert priced.prior_precision == pytest.approx(2.0)


def test_add_remove_leaves_n_out(tmp_path, table):
    study = load(tmp_path, STUDIES["LogisticRegression"], 'adjacency = "add-remove"\n')
    assert study.plan().n is None
    for rows in (0, 1, 30):
        assert study.release(table.iloc[:rows], progress=False).draws.shape == (1, 6)


def test_persons_are_capped(tmp_path, table):
    text = '[persons]\ncolumn = "person"\nrows_per_person = 2\n' + STUDIES["SoftHinge"]
    study = replace(load(tmp_path, text), n=table["person"].nunique())
    kept = table.groupby("person").head(2)
    seeds = [np.random.default_rng(3) for _ in range(2)]
    capped = study.release(table, generator=seeds[0], progress=False)
    rows = np.column_stack([kept["a"], kept["b"]])
    model = study.plan().model
    from gibbsafe.data.census import Unit
    from gibbsafe.data.options import EncodingOptions
    from gibbsafe.data.stream import encode_records

    encoded = encode_records(model, study.read(table), EncodingOptions(), unit=Unit(2), persons="person")
    np.testing.assert_allclose(encoded.rows, model.encode((rows, kept["y"].to_numpy()), EncodingOptions()).rows)
    assert capped.certificate["unit"] == "one person with at most 2 records"


def test_missing_values_and_transforms_of_a_target(tmp_path, table):
    text = (
        '[model]\nname = "PseudoHuberRegression"\n'
        + ONE
        + '[target]\nname = "z"\nbounds = [0, 20]\ntransform = "log1p"\nmissing = 3\n'
    )
    study = load(tmp_path, text)
    holes = table.assign(z=table["z"].where(table["z"] > 5))
    (batch,) = [batch for batch in study.read(holes).batches() if batch.num_rows]
    expected = np.log1p(np.where(table["z"] > 5, table["z"], 3))
    np.testing.assert_allclose(batch.column("z").to_numpy(), expected)


def test_contamination_is_kept_as_it_stands(tmp_path):
    text = STUDIES["LogisticRegression"] + '[contamination]\nshare = 0.1\nanything = ["x"]\n'
    assert load(tmp_path, text).contamination == {"share": 0.1, "anything": ["x"]}


def test_ledgers_are_found_beside_the_study(tmp_path):
    text = STUDIES["SoftHinge"] + '[ledger]\naccount = "clinic"\n'
    assert load(tmp_path, text).account == f"sqlite:///{tmp_path / 'ledger.db'}#clinic"
    other = STUDIES["SoftHinge"] + '[ledger]\naccount = "clinic"\nurl = "postgresql://host/db"\n'
    assert load(tmp_path, other).account == "postgresql://host/db#clinic"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"columns": 3}, "columns"),
        ({"columns": {"a": 3}}, "a table"),
        ({"target": 3}, "a table"),
        ({"model": {}}, "missing"),
        ({"ledger": {"account": 7}}, "account"),
        ({"csv": {"delimiter": ""}}, "csv"),
        ({"persons": {"column": "", "rows_per_person": 2}}, "persons.column"),
    ],
)
def test_wrong_shapes_are_named(data, message):
    whole = {"budget": {"epsilon": 1.0}, "adjacency": "add-remove", "model": {"name": "SoftHinge"}} | data
    with pytest.raises(gs.ParameterError, match=message):
        Study.from_dict(whole)


def test_every_key_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "study.md").read_text()
    for key in KEYS:
        assert f"`{key}" in page or f"[{key}" in page, key
