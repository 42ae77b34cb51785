"""The role matrix: every route of the API, every role, one's own object and somebody else's. Written down once more, by hand."""

import itertools

import pytest

pytest.importorskip("fastapi")

from gibbsafe.service.authority import RULES, Actor, decide
from gibbsafe.service.refusals import Refusal

from .world import STUDY

EVERYBODY = dict.fromkeys(("owner", "analyst", "auditor", "operator"), "any")
#: Per route the roles that may, and whether only with what is theirs.
MAY = {
    ("GET", "/me"): EVERYBODY,
    ("GET", "/key"): EVERYBODY,
    ("GET", "/users"): {"operator": "any"},
    ("POST", "/users"): {"operator": "any"},
    ("PATCH", "/users/{user_id}"): {"operator": "any"},
    ("GET", "/users/{user_id}/tokens"): {"operator": "any", "owner": "own", "analyst": "own", "auditor": "own"},
    ("POST", "/users/{user_id}/tokens"): {"operator": "any", "owner": "own", "analyst": "own", "auditor": "own"},
    ("DELETE", "/tokens/{token_id}"): {"operator": "any", "owner": "own", "analyst": "own", "auditor": "own"},
    ("GET", "/log"): {"operator": "any", "auditor": "any"},
    ("GET", "/datasets"): {"owner": "any", "analyst": "any", "auditor": "any"},
    ("POST", "/datasets"): {"owner": "any"},
    ("GET", "/datasets/{dataset_id}"): {"owner": "own", "analyst": "any", "auditor": "any"},
    ("GET", "/datasets/{dataset_id}/choices"): {"owner": "own", "analyst": "any", "auditor": "any"},
    ("PUT", "/datasets/{dataset_id}/policy"): {"owner": "own"},
    ("PUT", "/datasets/{dataset_id}/paused"): {"owner": "own"},
    ("GET", "/datasets/{dataset_id}/ledger"): {"owner": "own", "auditor": "any"},
    ("POST", "/datasets/{dataset_id}/preview"): {"owner": "own", "analyst": "any"},
    ("POST", "/datasets/{dataset_id}/requests"): {"analyst": "any"},
    ("GET", "/requests"): {"owner": "any", "analyst": "any", "auditor": "any"},
    ("GET", "/requests/{request_id}"): {"owner": "own", "analyst": "own", "auditor": "any"},
    ("DELETE", "/requests/{request_id}"): {"analyst": "own"},
    ("POST", "/requests/{request_id}/approval"): {"owner": "own"},
    ("POST", "/requests/{request_id}/refusal"): {"owner": "own"},
    ("GET", "/requests/{request_id}/release"): {"owner": "own", "analyst": "own"},
    ("GET", "/requests/{request_id}/report"): {"owner": "own", "analyst": "own"},
    ("GET", "/requests/{request_id}/certificate"): {"owner": "own", "analyst": "own", "auditor": "any"},
    ("GET", "/requests/{request_id}/summary"): {"owner": "own", "analyst": "own"},
    ("POST", "/requests/{request_id}/predictions"): {"owner": "own", "analyst": "own"},
    ("POST", "/requests/{request_id}/synthetic"): {"owner": "own", "analyst": "own"},
}
BODIES = {
    ("POST", "/users"): {"name": "new", "roles": ["analyst"]},
    ("PATCH", "/users/{user_id}"): {"roles": ["auditor"]},
    ("POST", "/users/{user_id}/tokens"): {"label": "one more"},
    ("PUT", "/datasets/{dataset_id}/policy"): {"request_epsilon": 1.0},
    ("PUT", "/datasets/{dataset_id}/paused"): {"paused": True},
    ("POST", "/datasets/{dataset_id}/preview"): {"study": STUDY},
    ("POST", "/datasets/{dataset_id}/requests"): {"study": STUDY, "purpose": "to see"},
    ("POST", "/requests/{request_id}/refusal"): {"reason": "no"},
    ("POST", "/requests/{request_id}/predictions"): {"rows": [{"radius": 9.0, "texture": 0.5}]},
    ("POST", "/requests/{request_id}/synthetic"): {"rows": 2, "features": [{"radius": 9.0, "texture": 0.5}] * 2},
}
#: Who asks with each role, and whose objects are then foreign.
ASKS = {"owner": ("olga", "oscar"), "analyst": ("ana", "aron"), "auditor": ("uma", "udo"), "operator": ("otto", "orla")}
OF_RELEASES = ("release", "report", "certificate", "summary", "predictions", "synthetic")


def routes(client):
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    return {(method.upper(), path.removeprefix("/api/v1")) for path, methods in paths.items() for method in methods}


def test_every_route_is_in_the_matrix(client):
    assert routes(client) == set(MAY)


def place(world, route, role, own):
    """Return the path with the id of an object that is one's own, or foreign."""
    me, other = ASKS[role]
    whose = me if own else other
    owner = whose if role in ("owner", "analyst") else "olga" if own else "oscar"
    kind = "release" if route.split("/")[-1] in OF_RELEASES else "request"
    dataset = {"ana": "olga", "aron": "oscar"}.get(owner, owner)
    ids = {"user_id": world.ids[whose], "token_id": world.ids[f"token of {whose}"]}
    return route.format(dataset_id=world.ids[f"dataset of {dataset}"], request_id=world.ids[f"{kind} of {owner}"], **ids)


def expected(rule, role, own, has_object):
    """Return what a cell of the matrix should answer: allowed, not with this role, or not there."""
    if role not in rule:
        return 403
    return None if rule[role] == "any" or own or not has_object else 404


def body_of(world, cell):
    if cell == ("POST", "/datasets"):
        source = str(world.folder / "data" / "new.csv")
        return {"name": "another", "source": source, "study": STUDY, "epsilon": 1.0, "delta": 1e-6}
    if cell == ("POST", "/requests/{request_id}/approval"):
        return {"plan_sha256": world.ids["plan"]}
    return BODIES.get(cell)


def test_the_role_matrix(world, client):
    wrong, cells = [], 0
    for (cell, rule), role, own in itertools.product(MAY.items(), ASKS, (True, False)):
        method, route = cell
        headers = world.header(ASKS[role][0])
        answer = client.request(method, "/api/v1" + place(world, route, role, own), headers=headers, json=body_of(world, cell))
        wanted = expected(rule, role, own, "{" in route)
        if cell == ("PATCH", "/users/{user_id}") and role == "operator" and own:
            wanted = 409  # nobody changes themselves
        allowed = answer.status_code in (200, 201, 422) if wanted is None else answer.status_code == wanted
        if answer.status_code == 422 and route.split("/")[-1] != "synthetic":  # which this model may refuse
            allowed = False
        if not allowed:
            wrong.append((method, route, role, own, answer.status_code, answer.text[:120]))
        cells += 1
        if method != "GET" and answer.status_code < 300:
            world.restore()
    assert cells == len(MAY) * len(ASKS) * 2
    assert not wrong, wrong


def test_an_unknown_object_is_refused_as_a_foreign_one(world, client):
    foreign = client.get(f"/api/v1/requests/{world.ids['request of oscar']}", headers=world.header("olga"))
    unknown = client.get(f"/api/v1/requests/{'0' * 16}", headers=world.header("olga"))
    assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content)


def test_nobody_comes_in_without_a_good_token(world, client):
    gone, left = (world.desk.create_token(world.actor("otto"), world.ids[name], "old", days=1).text for name in ("ana", "aron"))
    world.desk.revoke_token(world.actor("otto"), world.desk.tokens(world.actor("otto"), world.ids["ana"])[0].id)
    world.desk.change_user(world.actor("otto"), world.ids["oscar"], active=False)
    world.clock.time += 86_400
    bad = ("", "Bearer ", "Bearer x", "Basic x", f"Bearer {gone}", f"Bearer {left}", f"Bearer {world.tokens['oscar']}")
    for (method, route), header in [*((cell, bad[2]) for cell in MAY), *((("GET", "/me"), each) for each in bad)]:
        path = "/api/v1" + place(world, route, "owner", True)
        answer = client.request(method, path, headers={"authorization": header}, json=body_of(world, (method, route)))
        assert answer.status_code == 401, (method, route, header)


def test_what_is_not_in_the_rules_nobody_may():
    everybody = Actor("1", "x", frozenset(("owner", "analyst", "auditor", "operator")))
    with pytest.raises(KeyError):
        decide(everybody, "read records")
    with pytest.raises(Refusal) as refused:
        decide(Actor("1", "x"), "list users")
    assert refused.value.status == 403
    assert "operator" not in RULES["read release"]
    assert "operator" not in RULES["read ledger"]
