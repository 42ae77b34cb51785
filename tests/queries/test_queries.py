"""Questions to a release: values, errors, bounds and refusals."""

import json
import math

import numpy as np
import pytest
from scipy.special import ndtr

import gibbsafe as gs
from gibbsafe import queries

NAMES = ("x0", "x1", "intercept")


def release(draws=200, seed=5):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (400, 2))
    y = (X[:, 0] + rng.normal(0, 0.3, 400) > 0).astype(int)
    model = gs.models.LogisticRegression(dimension=2, radius=1.0)
    plan = gs.plan(model, gs.Budget(8.0, 1e-6), n=400, adjacency="replace-one", draws=draws)
    return plan.release((X, y), generator=np.random.default_rng(seed), progress=False)


@pytest.fixture(scope="module")
def many():
    return release()


@pytest.fixture(scope="module")
def single():
    return release(draws=1)


def test_summaries_are_those_of_the_draws(many):
    draws = many.draws
    mean = many.answer(queries.mean())
    assert mean.names == NAMES
    assert mean.value == pytest.approx(draws.mean(axis=0))
    assert mean["x1"] == pytest.approx(draws[:, 1].mean())
    assert many.answer(queries.covariance()).value == pytest.approx(np.cov(draws.T))
    assert many.answer(queries.quantile(0.25, "x0")).value == pytest.approx([np.quantile(draws[:, 0], 0.25)])
    interval = many.answer(queries.credible_interval(0.8, ["intercept", "x0"]))
    assert interval.names == ("intercept", "x0")
    assert interval.value == pytest.approx(np.quantile(draws[:, [2, 0]], [0.1, 0.9], axis=0).T)


def test_means_and_quantiles_maximise_average_utility(many):
    """The mean minimises squared distance, the quantile pinball loss: no other response does better over the draws."""
    column = many.draws[:, 0]
    mean = many.answer(queries.mean("x0")).value[0]
    level = 0.3
    quantile = many.answer(queries.quantile(level, "x0")).value[0]

    def pinball(r):
        return np.mean(np.maximum(level * (column - r), (level - 1) * (column - r)))

    for other in np.linspace(column.min(), column.max(), 101):
        assert np.mean((column - mean) ** 2) <= np.mean((column - other) ** 2) + 1e-12
        assert pinball(quantile) <= pinball(other) + 1e-9


def test_levels_of_quantiles_are_as_near_as_stated():
    """Normal draws: the true level of the median and of both ends of an interval, 400 repetitions, failing at most 10 %."""
    rng = np.random.default_rng(1)
    model = gs.models.GaussianMean(dimension=1)
    failures = 0
    for _ in range(400):
        sample = queries.Sample(rng.standard_normal((25, 1)), ("mean0",), model)
        answers = [queries.quantile(0.5).respond(sample, 0.1, 1), queries.credible_interval(0.8).respond(sample, 0.1, 1)]
        values = np.concatenate([answers[0].value, answers[1].value[0]])
        off = np.abs(ndtr(values) - [0.5, 0.1, 0.9]).max()
        failures += off > answers[0].error.bound
    assert failures / 400 <= 0.1


def test_probability_by_text_or_function(many):
    share = (many.draws[:, 0] > 0.5).mean()
    by_text, by_function = (many.answer(queries.probability(event)) for event in ("x0 > 0.5", lambda theta: theta["x0"] > 0.5))
    assert by_text.value == by_function.value == pytest.approx(share)
    assert by_text.error.bound == pytest.approx(math.sqrt(math.log(2 / 0.05) / (2 * 200)))
    assert many.answer(queries.probability("x0 <= 0.5")).value == pytest.approx(1 - share)


def test_predictive_probability(many):
    rows = np.array([[0.3, 0.1], [-0.4, 0.2]])
    answer = many.answer(queries.predictive(rows))
    assert answer.value == pytest.approx(many.predict_proba(rows))
    chance = many.answer(queries.predictive(chance=lambda theta: 1 / (1 + np.exp(-theta["intercept"]))))
    assert chance.value == pytest.approx((1 / (1 + np.exp(-many.draws[:, 2]))).mean())


def test_decision_by_table(many):
    positive = (many.draws[:, 0] > 0).mean()
    table = {"act": {"up": 1.0, "down": 0.0}, "wait": {"up": 0.5, "down": 0.5}}
    states = {"up": "x0 > 0", "down": lambda theta: theta["x0"] <= 0}
    answer = many.answer(queries.decision(table, states))
    assert answer.value == ("act" if positive > 0.5 else "wait")
    assert answer.error.bound == pytest.approx(2 * math.sqrt(math.log(2 * 2 / 0.05) / 400))


def test_any_utility_picks_the_best_average(many):
    responses = np.linspace(-2, 8, 41)

    def close(theta, question, candidates):
        assert question == "where is x0?"
        return np.exp(-((theta["x0"][:, None] - np.asarray(candidates)) ** 2))

    answer = many.answer(queries.utility(close, responses, "where is x0?"), questions=7, failure=0.01)
    averages = np.exp(-((many.draws[:, :1] - responses) ** 2)).mean(axis=0)
    assert answer.value == responses[averages.argmax()]
    assert answer.error.bound == pytest.approx(2 * math.sqrt(math.log(2 * 41 * 7 / 0.01) / 400))
    assert answer.error.questions == 7


def test_answers_say_that_they_are_free_and_are_plain_data(many):
    asked = [
        queries.mean(),
        queries.covariance(["x0", "x1"]),
        queries.quantile(0.5),
        queries.credible_interval(0.9),
        queries.probability("x1 > 0"),
        queries.predictive(np.zeros((1, 2))),
        queries.decision({"a": {"s": 0.2}, "b": {"s": 0.7}}, {"s": lambda theta: theta["x0"] > -np.inf}),
    ]
    for query in asked:
        answer = many.answer(query)
        assert "free" in str(answer)
        assert json.loads(json.dumps(answer.to_dict()))["cost"].startswith("free")
        assert query.title in str(answer)


@pytest.mark.parametrize("query", [queries.covariance(), queries.quantile(0.5), queries.credible_interval(0.9)])
def test_one_draw_shows_no_spread(single, query):
    with pytest.raises(gs.GibbsafeError, match="one draw shows no spread"):
        single.answer(query)
    assert single.answer(queries.mean()).value == pytest.approx(single.draws[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: queries.mean("age"), "parameter = 'age': must be one of x0, x1, intercept"),
        (lambda: queries.quantile(0.5, ["x0", "x9"]), "parameter = 'x9'"),
        (lambda: queries.probability("x7 > 1"), "parameter = 'x7'"),
        (lambda: queries.probability("x0 = 1"), "must be a parameter, one of < <= > >=, and a number"),
        (lambda: queries.probability(lambda theta: theta["x0"]), "one True or False per draw"),
        (lambda: queries.probability(3), "a function of the draws, or a text"),
        (lambda: queries.mean([]), "None for all, a name, or a list of names"),
        (lambda: queries.quantile(1.5), r"level = 1.5: must be in \(0, 1\)"),
        (lambda: queries.credible_interval(0.0), "level"),
        (lambda: queries.utility(lambda theta, q, r: np.full((200, 2), 1.5), [0, 1]), r"must be in \[0, 1\]"),
        (lambda: queries.utility(lambda theta, q, r: np.full((200, 2), np.nan), [0, 1]), "not finite"),
        (lambda: queries.utility(lambda theta, q, r: np.zeros(200), [0, 1]), r"shape \(200,\)"),
        (lambda: queries.utility(lambda theta, q, r: 0, []), "at least one response"),
        (queries.predictive, "one of them"),
        (lambda: queries.predictive(chance=lambda theta: theta["x0"] * 1e3), r"\[0, 1\]"),
        (lambda: queries.decision({"a": {"s": 2.0}}, {"s": "x0 > 0"}), r"\[0, 1\]"),
        (lambda: queries.decision({"a": {"t": 0.5}}, {"s": "x0 > 0"}), "one per state"),
        (lambda: queries.decision({"a": {"s": 0.5, "t": 0.1}}, {"s": "x0 > -99", "t": "x0 > 99999"}), None),
        (lambda: queries.decision({"a": {"s": 0.5, "t": 0.1}}, {"s": "x0 > -99", "t": "x0 > -9999"}), "a partition"),
        (lambda: "mean", "a question of gibbsafe.queries"),
    ],
)
def test_bad_questions_are_refused_in_one_line(many, make, message):
    if message is None:
        assert many.answer(make()).value == "a"
        return
    with pytest.raises(gs.ParameterError, match=message) as refusal:
        many.answer(make())
    assert "\n" not in str(refusal.value)


def test_questions_survive_a_file(many, tmp_path):
    many.save(tmp_path / "r.json")
    again = gs.Release.load(tmp_path / "r.json")
    assert again.answer(queries.mean()).value == pytest.approx(many.answer(queries.mean()).value)


def test_a_model_without_classes_needs_a_chance():
    model = gs.models.GaussianMean(dimension=1, radius=3.0)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=50, adjacency="replace-one", draws=5)
    made = plan.release(np.zeros((50, 1)), generator=np.random.default_rng(1), progress=False)
    with pytest.raises(gs.GibbsafeError, match="has no classes"):
        made.answer(queries.predictive(np.zeros((1, 1))))


@pytest.fixture(scope="module")
def estimate():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (400, 2))
    y = (X[:, 0] + rng.normal(0, 0.3, 400) > 0).astype(int)
    model = gs.models.LogisticRegression(dimension=2, radius=1.0)
    plan = gs.plan(model, gs.Budget(8.0, 1e-6), n=400, adjacency="replace-one", purpose="estimate")
    return plan.release((X, y), generator=np.random.default_rng(1), progress=False)


def test_questions_to_an_estimate_are_about_the_true_parameter(estimate):
    truth = estimate.population()
    assert estimate.tells_population
    mean = estimate.answer(queries.mean())
    assert (mean.of, mean.draws) == ("population", 1000)
    assert mean.value == pytest.approx(truth.mean)
    assert mean.to_dict()["of"] == "population"
    ends = estimate.answer(queries.credible_interval(0.9)).value
    assert ends == pytest.approx(np.column_stack([truth.interval(0.9).lower, truth.interval(0.9).upper]))
    assert estimate.answer(queries.probability("x0 > 0")).value == pytest.approx(truth.positive[0])
    assert estimate.answer(queries.probability("x0 > 0")).error is None  # chains are not independent draws
    table = {"act": {"up": 1.0, "down": 0.0}, "wait": {"up": 0.5, "down": 0.5}}
    assert estimate.answer(queries.decision(table, {"up": "x0 > 0", "down": "x0 <= 0"})).value == "act"
    assert "true parameter" in str(mean)


@pytest.mark.parametrize(
    "query", [queries.mean(of="draws"), queries.mean("x0", of="draws"), queries.probability("x0 > 0", of="draws")]
)
def test_released_draws_are_asked_by_name(estimate, query):
    assert estimate.answer(query).of == "draws"
    assert estimate.answer(query, of="population").of == "population"
    assert estimate.answer(queries.mean(), of="draws").value == pytest.approx(estimate.draws[0])


def test_draws_stay_the_default_of_draws(many, single):
    assert many.answer(queries.mean()).of == "draws"
    assert many.answer(queries.mean(), of="population").value == pytest.approx(many.population().mean)
    with pytest.raises(gs.PremiseError, match="show no curvature"):
        single.answer(queries.mean(of="population"))
    with pytest.raises(gs.ParameterError, match="of = 'truth': must be one of population, draws"):
        many.answer(queries.mean(), of="truth")


@pytest.mark.parametrize("of", ["draws", "population"])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.9])
def test_every_interval_holds_the_mean_of_its_draws(many, of, level):
    ends, mean = many.answer(queries.credible_interval(level), of=of).value, many.answer(queries.mean(), of=of).value
    assert (ends[:, 0] <= mean).all()
    assert (mean <= ends[:, 1]).all()
