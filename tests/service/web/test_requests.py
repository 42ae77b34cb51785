"""What an owner decides by, and where a request stands."""

from ..world import finish


def test_an_owner_sees_the_price_and_never_a_spent_epsilon(filled, visit):
    page = visit("olga").get(f"/requests/{filled.ids['request of olga']}").text
    for words in (
        "of the whole budget",
        "times this size fits, this one included",
        "is what one more release may cost",
        "Approve and release",
    ):
        assert words in page
    assert "spent ε" not in page
    assert "Approve and release" not in visit("ana").get(f"/requests/{filled.ids['request of olga']}").text


def test_only_the_plan_that_was_seen_is_approved(world, visit):
    owner, place = visit("olga"), f"/requests/{world.ids['request of olga']}"
    outdated = owner.send(f"{place}/approve", plan_sha256="0" * 64)
    assert outdated.status_code == 409
    assert "Plan: is not the one that you saw" in outdated.text
    plan = world.desk.request(world.actor("olga"), world.ids["request of olga"]).plan_sha256
    assert owner.send(f"{place}/approve", plan_sha256=plan).headers["location"] == place
    assert "Approved by olga" in owner.get(place).text
    again = owner.send(f"{place}/approve", plan_sha256=plan)
    assert again.status_code == 409
    assert "approved already" in again.text


def test_a_refusal_needs_a_reason_and_tells_it(world, visit):
    owner, place = visit("olga"), f"/requests/{world.ids['request of olga']}"
    assert owner.send(f"{place}/refuse", reason=" ").status_code == 422
    assert owner.send(f"{place}/refuse", reason="not for this").status_code == 303
    assert "not for this" in visit("ana").get(place).text


def test_an_analyst_takes_a_request_back(world, visit):
    analyst, place = visit("ana"), f"/requests/{world.ids['request of ana']}"
    assert "Withdraw the request" in analyst.get(place).text
    assert analyst.send(f"{place}/withdraw").status_code == 303
    assert "Withdrawn by the analyst; nothing was spent" in analyst.get(place).text
    assert analyst.send(f"{place}/withdraw").status_code == 409


def test_a_page_that_waits_asks_again_until_there_is_a_release(world, visit):
    analyst, place = visit("ana"), f"/requests/{world.ids['request of ana']}/path"
    waiting = analyst.get(place)
    assert "every " in waiting.text
    assert "HX-Refresh" not in waiting.headers
    finish(world, world.ids["request of ana"], "olga")
    done = analyst.get(place)
    assert "every " not in done.text
    assert done.headers["HX-Refresh"] == "true"
    assert f"/releases/{world.ids['request of ana']}" in done.text


def test_a_paused_data_set_says_so_and_is_not_asked(world, visit):
    owner, analyst, place = visit("olga"), visit("ana"), f"/datasets/{world.ids['dataset of olga']}"
    assert owner.send(f"{place}/pause").status_code == 303
    assert "Paused by its owner" in analyst.get(place).text
    assert "Ask a question of it" not in analyst.get(place).text
    plan = world.desk.request(world.actor("olga"), world.ids["request of olga"]).plan_sha256
    assert owner.send(f"/requests/{world.ids['request of olga']}/approve", plan_sha256=plan).status_code == 409
    assert owner.send(f"{place}/resume").status_code == 303
    assert "Paused" not in analyst.get(place).text


def test_a_policy_is_kept_or_refused_in_place(world, visit):
    owner, place = visit("olga"), f"/datasets/{world.ids['dataset of olga']}"
    assert owner.send(f"{place}/policy", request_epsilon="2", analyst_share="50", automatic_epsilon="0.5").status_code == 303
    page = owner.get(place).text
    assert "at once up to ε = 0.5; by the owner above" in page
    assert "one analyst gets at most 50 % of the budget" in page
    wrong = owner.send(f"{place}/policy", request_epsilon="-1", analyst_share="50", automatic_epsilon="")
    assert wrong.status_code == 422
    assert 'role="alert"' in wrong.text
