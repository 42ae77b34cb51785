"""Files that the first edition wrote (commit 15f590b, seeded releases of every model): priced anew, or withdrawn."""

import copy
import json
from pathlib import Path

import pytest

import gibbsafe as gs
from gibbsafe.planning.first_edition import by_first_edition
from gibbsafe.release.files import check_release, digest

FILES = json.loads((Path(__file__).parents[1] / "fixtures" / "first_edition_releases.json").read_text())
WITHDRAWN = {name for name, file in FILES.items() if file["plan"]["model"]["name"] == "FiniteFamily"}


def hashed(content):
    """The content with the hash that belongs to it."""
    body = {name: value for name, value in content.items() if name != "sha256"}
    return body | {"sha256": digest(body)}


def edited(name, *path, to):
    """A release of the first edition with one entry changed, hashed again."""
    content = copy.deepcopy(FILES[name])
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return hashed(content)


@pytest.mark.parametrize("name", sorted(set(FILES) - WITHDRAWN))
def test_its_releases_verify_and_its_plans_are_read(name):
    file = FILES[name]
    assert by_first_edition(file["plan"])
    checked = check_release(file)
    assert checked.draws.tolist() == file["draws"]
    stated, found = file["certificate"], checked.certificate
    assert found["claim"]["epsilon"] <= stated["claim"]["epsilon"] * (1 + 1e-8)
    assert found["claim"]["epsilon"] <= found["budget"]["epsilon"] <= stated["budget"]["epsilon"] * (1 + 2e-8)
    assert found["version"] == stated["version"]
    plan = gs.Plan.from_dict(file["plan"])
    assert plan.to_dict() == gs.Plan.from_json(plan.to_json()).to_dict()
    assert not by_first_edition(plan.to_dict())


def test_a_guess_of_n_is_not_kept():
    plan = gs.Plan.from_dict(FILES["logistic, add-remove"]["plan"])
    assert FILES["logistic, add-remove"]["plan"]["n"] == 30
    assert plan.n == 16


@pytest.mark.parametrize("name", sorted(WITHDRAWN))
def test_draws_that_were_not_what_was_priced_are_withdrawn(name):
    with pytest.raises(gs.GibbsafeError, match="draw it anew"):
        check_release(FILES[name])


@pytest.mark.parametrize(
    ("path", "to", "words"),
    [
        (("certificate", "claim", "epsilon"), 1.9, "first edition's claim"),
        (("certificate", "claim", "epsilon"), True, "first edition's claim"),
        (("certificate", "claim", "delta"), 1e-7, "first edition's claim"),
        (("certificate", "claim"), None, "first edition's claim"),
        (("certificate", "budget", "epsilon"), 1.0, "first edition's budget"),
        (("certificate", "inverse_temperature"), 0.01, "inverse_temperature"),
        (("certificate", "draws"), 1, "draws"),
        (("certificate", "adjacency"), "add-remove", "adjacency"),
        (("certificate", "randomness"), "none", "randomness"),
        (("plan", "budget", "epsilon"), 1.9, "withdraw"),
        (("plan", "stages", 0, "inverse_temperature"), 10.0, "withdraw"),
        (("plan", "stages", 0, "prior_precision"), [1e-3] * 3, "withdraw"),
        (("plan", "guarantee", "parts", 0, "mu"), 0.1, "withdraw"),
        (("plan", "rows_per_person"), 2, "withdraw|made anew|make the plan anew"),
        (("plan", "grid"), 1.0, "grid"),
    ],
)
def test_what_was_altered_is_refused(path, to, words):
    with pytest.raises(gs.CertificateError, match=words):
        check_release(edited("logistic, replace-one", *path, to=to))


def test_sentences_are_todays_whatever_the_file_says():
    lie = [{"statement": "nobody can learn anything", "status": "checked"}]
    found = check_release(edited("logistic, replace-one", "certificate", "premises", to=lie)).certificate
    assert "nobody" not in str(found)
