"""Release files of estimates by noisy scores: they come back whole, and what was altered is refused."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.release.files import check_release, digest
from gibbsafe.release.transcripts import path_of

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (400, 2))
Y = (RNG.random(400) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)


@pytest.fixture(scope="module")
def release():
    plan = gs.plan(
        gs.models.LogisticRegression(dimension=2),
        gs.Budget(1.0, 1e-6),
        n=400,
        adjacency="replace-one",
        purpose="estimate",
        mechanism="noisy-scores",
    )
    return plan.release((X, Y), generator=np.random.default_rng(1), progress=False)


def altered(release, *path, to):
    content = json.loads(json.dumps(release.to_dict()))
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    body = {name: value for name, value in content.items() if name != "sha256"}
    return body | {"sha256": digest(body)}


def test_it_comes_back_whole(release, tmp_path):
    release.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["format"] == "gibbsafe/release/2"
    again = gs.Release.load(tmp_path / "r.json")
    assert again.to_dict() == release.to_dict() == pickle.loads(pickle.dumps(release)).to_dict()
    assert gs.verify(tmp_path / "r.json")["claim"]["epsilon"] <= 1
    assert again.draws.shape == (1, 3)
    np.testing.assert_array_equal(path_of(again.plan, again.answers).points, path_of(release.plan, release.answers).points)


def test_the_certificate_says_how_it_was_made(release):
    stated = release.certificate
    assert stated["sampler"]["name"] == "noisy-scores"
    assert stated["stages"][0]["scores"]["clip"] == release.plan.scores.clip
    assert "at most 1" in str(stated["premises"])


def test_what_was_altered_is_refused(release):
    scores = release.answers.scores.tolist()
    d = len(scores[0])
    cases = {
        ("transcript",): [None, [], {"scores": scores}],
        ("transcript", "scores"): [
            [],
            scores[:-1],
            [*scores, scores[0]],
            [row[:-1] for row in scores],
            "x",
            [[True] * d] * len(scores),
        ],
        ("transcript", "moment"): [None, [[1.0]], np.arange(float(d * d)).reshape(d, d).tolist()],
        ("transcript", "last"): [None, [1.0], ["1"] * d],
        ("transcript", "scores", 0, 0): [math.inf, "1.0", None],
        ("format",): ["gibbsafe/release/1", "gibbsafe/release/3"],
        ("draws",): [[[0.0] * d] * 2],
    }
    for path, values in cases.items():
        for value in values:
            with pytest.raises((gs.GibbsafeError, ValueError)) as refusal:
                check_release(altered(release, *path, to=copy.deepcopy(value)))
            assert "\n" not in str(refusal.value)


def test_draws_have_no_transcript(release):
    plan = gs.plan(gs.models.LogisticRegression(dimension=2), gs.Budget(1.0, 1e-6), n=400, adjacency="replace-one")
    drawn = plan.release((X, Y), generator=np.random.default_rng(1), progress=False)
    assert drawn.answers is None
    assert drawn.to_dict()["format"] == "gibbsafe/release/1"
    with pytest.raises(gs.CertificateError, match="transcript"):
        check_release(altered(drawn, "transcript", to=release.to_dict()["transcript"]))
