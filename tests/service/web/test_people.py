"""The operator's pages, and everybody's own tokens."""

import re


def test_an_operator_adds_somebody_and_hands_out_a_token(world, visit):
    operator = visit("otto")
    place = operator.send("/people", name="Nora", roles=["auditor", "analyst"]).headers["location"]
    made = operator.send(f"{place}/tokens", label="notebook", days="3")
    token = re.search('id="token">([^<]+)<', made.text)[1]
    assert world.desk.authenticate(token).roles == {"auditor", "analyst"}
    assert token not in operator.get(place).text  # shown once
    assert operator.send(f"{place}/roles", roles=["analyst"]).status_code == 303
    assert world.desk.authenticate(token).roles == {"analyst"}
    assert operator.send(f"{place}/shut-out").status_code == 303
    assert "shut out" in operator.get(place).text
    assert operator.send(f"{place}/let-in").status_code == 303
    assert "create user" in operator.get("/log").text


def test_what_is_wrong_about_a_user_is_said_in_place(world, visit):
    operator = visit("otto")
    for fields, words in (({"name": "ana", "roles": "analyst"}, "somebody has it already"), ({"name": "New"}, "one or more of")):
        answer = operator.send("/people", **fields)
        assert answer.status_code in (409, 422)
        assert words in answer.text
    assert operator.send(f"/people/{world.ids['otto']}/shut-out").status_code == 409
    assert operator.send("/tokens", label="x", days="1000").status_code == 422


def test_everybody_revokes_their_own_tokens(world, visit):
    analyst = visit("ana")
    made = analyst.send("/tokens", label="laptop", days="5")
    token = re.search('id="token">([^<]+)<', made.text)[1]
    place = re.findall('/tokens/[^/"]+/revoke', made.text)
    fresh = world.desk.authenticate(token)
    found = next(each for each in world.desk.tokens(fresh, fresh.user_id) if each.label == "laptop")
    assert f"/tokens/{found.id}/revoke" in place
    assert analyst.send(f"/tokens/{found.id}/revoke").headers["location"] == "/tokens"
    assert "revoked" in analyst.get("/tokens").text
    assert analyst.send(f"/tokens/{world.ids['token of aron']}/revoke").status_code == 404
