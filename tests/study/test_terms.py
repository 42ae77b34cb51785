"""Formulas, interactions, levels in files, weights: one meaning, declared, or one line."""

import builtins
import sys

import numpy as np
import pyarrow as pa
import pytest

import gibbsafe as gs
from gibbsafe.study.declaration import Study

COLUMNS = """
[columns.age]
bounds = [18, 95]
[columns.ward]
levels = ["a", "b", "c"]
[columns.income]
bounds = [0, 1e6]
[target]
name = "died"
labels = ["no", "yes"]
"""
HEAD = 'n = 300\nadjacency = "replace-one"\n'
TAIL = '[budget]\nepsilon = 1.0\ndelta = 1e-6\n[model]\nname = "LogisticRegression"\n' + COLUMNS


def load(tmp_path, head="", tail=TAIL):
    (tmp_path / "study.toml").write_text(HEAD + head + tail)
    return Study.load(tmp_path / "study.toml")


def table(rows=300):
    random = np.random.default_rng(0)
    return {
        "age": random.uniform(10, 100, rows),
        "ward": random.choice(["a", "b", "c"], rows).tolist(),
        "income": random.lognormal(10, 1, rows),
        "died": random.choice(["no", "yes"], rows).tolist(),
    }


def test_interactions_reach_the_model(tmp_path):
    study = load(tmp_path, 'interactions = ["age:ward"]\n')
    plan = study.plan()
    assert plan.model.parameter_names[-4:-1] == ("age:ward=a", "age:ward=b", "age:ward=c")
    assert gs.Plan.from_json(plan.to_json()) == plan
    release = study.release(table(), generator=np.random.default_rng(0), progress=False)
    assert release.predict_proba(pa.table(table(5))).shape == (5, 2)


def test_a_formula_is_the_declared_columns(tmp_path):
    pytest.importorskip("formulaic")
    study = load(tmp_path, 'formula = "died ~ age*ward + spline(age, knots=[40,60]) + log1p(income)"\n')
    by_hand = load(
        tmp_path,
        'interactions = ["age:ward"]\n',
        TAIL.replace("[columns.income]\nbounds = [0, 1e6]\n", "").replace(
            "[target]",
            '[columns."spline(age)"]\ncolumn = "age"\nbounds = [18, 95]\ntransform = "spline"\nknots = [40, 60]\n'
            '[columns."log1p(income)"]\ncolumn = "income"\nbounds = [0, 1e6]\ntransform = "log1p"\n[target]',
        ),
    )
    assert set(study.columns) == set(by_hand.columns)
    assert study.plan().model.parameter_names == by_hand.plan().model.parameter_names
    draws = [each.release(table(), generator=np.random.default_rng(1), progress=False).draws for each in (study, by_hand)]
    assert (draws[0] == draws[1]).all()


def test_polynomials_have_declared_nodes(tmp_path):
    pytest.importorskip("formulaic")
    studies = [
        load(tmp_path, f'formula = "died ~ poly(age, {degree}, nodes=[18, 40, 60, 95])"\n') for degree in ("2", "degree=2")
    ]
    assert studies[0] == studies[1]
    plan = studies[0].plan()
    assert plan.model.parameter_names == ("poly(age)~1", "poly(age)~2", "intercept")
    assert gs.Plan.from_json(plan.to_json()) == plan


def test_a_formula_may_leave_out_the_intercept(tmp_path):
    pytest.importorskip("formulaic")
    assert not load(tmp_path, 'formula = "died ~ age + C(ward) - 1"\n').plan().model.intercept


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("died ~ center(age)", r"center\(age\): center looks at the data"),
        ("died ~ poly(age, 2)", r"with degree=2, nodes=\[...\] written out"),
        ("died ~ poly(age, 3, nodes=[20, 30])", "from 1 to 1"),
        ("died ~ poly(age, 1, nodes=[10, 30])", "inside the bounds"),
        ("died ~ poly(age, 1, 2, nodes=[20, 30])", "of one declared column"),
        ("died ~ spline(age, knots=[40]) + spline(age, knots=[60])", r"the same spline\(age\) everywhere"),
        ("died ~ (age + ward + income)**9", "more than 10,000 terms"),
        ("died ~ " + "*".join(["age"] * 15), "more than 10,000 terms"),
        ("died ~ " + "age + " * 3000 + "age", "at most 10,000 characters"),
        ("died ~ 2*age", r"response ~ terms' \(Numeric literals other"),
        ("died ~ C(age)", "levels of age are not declared"),
        ("died ~ sex", "sex: not a declared column"),
        ("died ~ spline(age, knots=[10, 40])", "inside the bounds"),
        ("died ~ spline(age)", r"with knots=\[...\] written out"),
        ("died ~ spline(age, knots=quantiles)", "written out"),
        ("died ~ bins(age, edges=[60, 40])", "increasing"),
        ("died ~ spline(ward, knots=[3])", "ward is a category"),
        ("died ~ np.log(age)", "not a declared column"),
        ("died ~ sqrt(age)", "not a function of formulas here"),
        ("died ~ age:ward", "add age"),
        ("age ~ ward", "response"),
        ("~ age", "response"),
        ("died ~ .", "response ~ terms"),
        ("died ~ age +", "response ~ terms"),
        ("died ~ 1", "at least one column"),
        ("died ~ age | ward", "one list of terms"),
    ],
)
def test_what_a_formula_may_not_say_is_one_line(tmp_path, formula, message):
    pytest.importorskip("formulaic")
    with pytest.raises(gs.GibbsafeError, match=message) as refusal:
        load(tmp_path, f'formula = "{formula}"\n')
    assert "\n" not in str(refusal.value)


def test_a_formula_without_formulaic_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    monkeypatch.setattr("gibbsafe._extras.find_spec", lambda name: None)
    with pytest.raises(gs.GibbsafeError, match=r"pip install 'gibbsafe\[formula\]'"):
        load(tmp_path, 'formula = "died ~ age"\n')


def test_the_parser_sees_no_table(tmp_path, monkeypatch):
    pytest.importorskip("formulaic")
    study = load(tmp_path, 'formula = "died ~ age"\n')
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        assert not name.startswith("formulaic"), "formulaic is imported while a record is read"
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    study.release(table(), generator=np.random.default_rng(1), progress=False)


def test_levels_of_a_file(tmp_path):
    (tmp_path / "wards.txt").write_text("a\nb\nc\n\n")
    study = load(tmp_path, "", TAIL.replace('levels = ["a", "b", "c"]', 'levels_file = "wards.txt"'))
    assert study.columns[1].levels == ("a", "b", "c")
    for wrong, message in (('levels_file = "no.txt"', "cannot be read"), ('levels_file = "wards.txt"\nlevels = ["a"]', "beside")):
        with pytest.raises(gs.GibbsafeError, match=message):
            load(tmp_path, "", TAIL.replace('levels = ["a", "b", "c"]', wrong))


@pytest.mark.parametrize("head", ['weights = "w"\n', "sample_weight = 3\n"])
def test_weights_are_refused_by_name(tmp_path, head):
    with pytest.raises(gs.ParameterError, match=r"rows have no weights.*rows_per_person.*stratum"):
        load(tmp_path, head)


CHARGE = "3 of account clinic, ledger " + "ab" * 16 + ", head " + "0" * 64


def test_certificates_name_the_charge(tmp_path):
    study = load(tmp_path, "", TAIL.replace("bounds = [0, 1e6]", f'bounds = [0, 1e6]\ncharge = "{CHARGE}"'))
    release = study.release(table(), generator=np.random.default_rng(0), progress=False)
    (premise,) = [each for each in release.certificate["premises"] if each["status"].startswith("released")]
    assert premise == {"statement": f"bounds of income: charge {CHARGE}", "status": "released under charge 3"}
    release.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json") == release.certificate
    assert "(released under charge 3)" in str(release.certificate)


@pytest.mark.parametrize("line", [f'charge = "{CHARGE}"', 'transform = "bins"\nedges = [3]'])
def test_models_that_keep_no_columns_refuse_what_they_could_not_name(tmp_path, line):
    tail = f'[budget]\nepsilon = 1.0\n[model]\nname = "GaussianMean"\n[columns.a]\nbounds = [0, 10]\n{line}\n'
    with pytest.raises(gs.ParameterError, match="left out: GaussianMean"):
        load(tmp_path, "", tail).model()
