"""What a search costs is known before it starts, and is what the ledger is charged."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline

import gibbsafe as gs
from gibbsafe.estimators import PrivateLogisticRegression, PublicScaler, price_search

SMALL = PrivateLogisticRegression(epsilon=0.2, delta=1e-7, radius=1.0, random_state=0)


def test_the_price_is_what_the_ledger_is_charged(tmp_path):
    X, y = np.random.default_rng(0).uniform(-1, 1, (90, 2)), np.arange(90) % 2
    reference = f"{tmp_path / 'ledger.db'}#clinic"
    opened = gs.ledger.open_account(tmp_path / "ledger.db", "clinic", gs.Budget(2.0, 1e-6), adjacency="replace-one", seeded=True)
    estimator = PrivateLogisticRegression(epsilon=0.2, delta=1e-7, radius=1.0, ledger=reference, random_state=0)
    search = GridSearchCV(estimator, {"prior_radius": [2.0, 5.0], "epsilon": [0.1, 0.2]}, cv=3, error_score="raise")
    price = price_search(search, rows=90, features=2)
    assert price.affordable
    assert opened.status()["charges"] == 0
    search.fit(X, y)
    status = opened.status()
    assert status["charges"] == price.fits == 13
    # the refit may be of a cheaper candidate than the costliest, which was priced
    assert 0.9 * price.guarantee.gaussian().mu <= status["spent"]["mu"] <= price.guarantee.gaussian().mu


def test_a_search_beyond_the_account_is_told_beforehand(tmp_path):
    gs.ledger.open_account(tmp_path / "ledger.db", "clinic", gs.Budget(0.5, 1e-6), adjacency="replace-one")
    estimator = PrivateLogisticRegression(epsilon=0.3, radius=1.0, ledger=f"{tmp_path / 'ledger.db'}#clinic")
    price = price_search(GridSearchCV(estimator, {"prior_radius": [2.0, 5.0]}, cv=5), rows=100, features=2)
    assert price.affordable is False
    assert "no room" in str(price)


def test_pipelines_random_searches_and_add_remove():
    piped = make_pipeline(PublicScaler((0, 1)), PrivateLogisticRegression(epsilon=0.2, delta=1e-7, bounds=(-1, 1)))
    fixed = price_search(GridSearchCV(piped, {"privatelogisticregression__prior_radius": [1, 2]}, cv=4), rows=50, features=3)
    private = clone(SMALL).set_params(adjacency="add-remove")
    drawn = price_search(RandomizedSearchCV(private, {"prior_radius": [1, 2, 3]}, n_iter=2, cv=4), rows=50, features=3)
    assert fixed.fits == drawn.fits == 9
    assert fixed.guarantee.adjacency == gs.Adjacency.REPLACE_ONE
    assert drawn.guarantee.adjacency == gs.Adjacency.ADD_REMOVE


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (GridSearchCV(LogisticRegression(), {"C": [1.0]}), "an estimator of gibbsafe"),
        (RandomizedSearchCV(SMALL, {"epsilon": [0.1, 0.2]}), "price is not known"),
    ],
)
def test_what_cannot_be_priced_is_refused(search, message):
    with pytest.raises(gs.ParameterError, match=message):
        price_search(search, rows=50, features=3)
