"""Every page for every role, refusals as pages, and nothing on a page that its policy forbids."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ..world import CANARIES

PEOPLE = {"owner": "olga", "analyst": "ana", "auditor": "uma", "operator": "otto"}
EVERYBODY = {"owner", "analyst", "auditor", "operator"}
READERS = {"owner", "analyst", "auditor"}
#: Every page, and who may read it if the data set is olga's and the request ana's.
PAGES = {
    "/": EVERYBODY,
    "/tokens": EVERYBODY,
    "/public-key": EVERYBODY,
    "/requests": READERS,
    "/certificates": READERS,
    "/datasets/new": {"owner"},
    "/datasets/{dataset}": READERS,
    "/datasets/{dataset}/study.toml": READERS,
    "/datasets/{dataset}/ask": {"analyst"},
    "/datasets/{dataset}/ledger": {"owner", "auditor"},
    "/requests/{request}": READERS,
    "/requests/{request}/path": READERS,
    "/releases/{release}": {"owner", "analyst"},
    "/releases/{release}/summary": {"owner", "analyst"},
    "/releases/{release}/release.json": {"owner", "analyst"},
    "/releases/{release}/report": {"owner", "analyst"},
    "/releases/{release}/certificate": READERS,
    "/people": {"operator"},
    "/people/{user}": {"operator"},
    "/log": {"operator", "auditor"},
}
#: Every form, with who may send it: to their own data set, request or token.
FORMS = {
    "/datasets/new": {"owner"},
    "/datasets/{dataset}/policy": {"owner"},
    "/datasets/{dataset}/pause": {"owner"},
    "/datasets/{dataset}/resume": {"owner"},
    "/datasets/{dataset}/ask": {"analyst"},
    "/datasets/{dataset}/ask/columns": {"analyst"},
    "/datasets/{dataset}/ask/preview": {"analyst"},
    "/requests/{request}/approve": {"owner"},
    "/requests/{request}/refuse": {"owner"},
    "/requests/{request}/withdraw": {"analyst"},
    "/releases/{release}/predict": {"owner", "analyst"},
    "/releases/{release}/predict-file": {"owner", "analyst"},
    "/releases/{release}/synthetic": {"owner", "analyst"},
    "/people": {"operator"},
    "/people/{user}/tokens": {"operator"},
    "/people/{user}/roles": {"operator"},
    "/people/{user}/shut-out": {"operator"},
    "/people/{user}/let-in": {"operator"},
    "/tokens": EVERYBODY,
}


def place(world, path):
    ids = world.ids
    named = {"dataset": ids["dataset of olga"], "request": ids["request of olga"], "release": ids["release of olga"]}
    return path.format(**named, user=ids["uma"])


def test_every_route_of_the_pages_is_in_the_matrix():
    from gibbsafe.service.web import AREAS

    apart = {"/static/{name}", "/sign-in", "/sign-out", "/tokens/{token_id}/revoke"}
    routes = [(route, method) for area in AREAS for route in area.routes.routes for method in route.methods]

    def listed(verb):
        found = {
            re.sub(r"\{(\w+)_id\}", r"{\1}", route.path) for route, method in routes if method == verb and route.path not in apart
        }
        return {path.replace("/releases/{request}", "/releases/{release}") for path in found}

    assert listed("GET") == set(PAGES)
    assert listed("POST") == set(FORMS)


@pytest.mark.parametrize("role", PEOPLE)
def test_a_page_is_for_those_whom_it_is_for(role, filled, visit):
    somebody = visit(PEOPLE[role])
    for path, allowed in PAGES.items():
        answer = somebody.get(place(filled, path))
        assert (answer.status_code == 200) == (role in allowed), (path, answer.status_code)
        assert answer.status_code in (200, 403, 404)
        assert not any(canary in answer.text for canary in CANARIES)


@pytest.mark.parametrize("name", ["oscar", "aron"])
def test_what_belongs_to_others_is_not_there(name, filled, visit):
    somebody = visit(name)
    ours = {"oscar": "{", "aron": "{re"}[name]  # another analyst may read data sets
    for path in PAGES:
        if ours in path and "{user}" not in path:
            assert somebody.get(place(filled, path)).status_code in (403, 404), path
    for path in FORMS:
        if ours in path and "{user}" not in path:
            assert somebody.send(place(filled, path), plan_sha256="x", reason="x").status_code in (403, 404), path


@pytest.mark.parametrize("role", PEOPLE)
def test_a_form_is_refused_from_whom_it_is_not_for(role, filled, visit):
    somebody = visit(PEOPLE[role])
    for path, allowed in FORMS.items():
        if role not in allowed:
            assert somebody.send(place(filled, path), name="x", label="x", days="1").status_code in (403, 404), path


def test_a_form_without_what_its_session_knows_is_refused(filled, visit):
    people = {role: visit(name) for role, name in PEOPLE.items()}
    for path, allowed in FORMS.items():
        for wrong in ("", "0" * 64):
            assert people[min(allowed)].send(place(filled, path), csrf=wrong).status_code == 403, path
    assert filled.desk.request(filled.actor("ana"), filled.ids["request of ana"]).state == "pending"


def test_whoever_is_not_signed_in_is_led_to_the_door(filled, visit):
    nobody = visit()
    for path in PAGES:
        answer = nobody.get(place(filled, path))
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/sign-in")
    for path in FORMS:
        assert nobody.send(place(filled, path)).headers["location"] == "/sign-in"
    quick = nobody.get(place(filled, "/requests/{request}/path"), headers={"HX-Request": "true"})
    assert quick.status_code == 204
    assert quick.headers["HX-Redirect"].startswith("/sign-in?next=/requests/")


class Page(HTMLParser):
    """What a page loads, runs and states inline; ids that are there twice; fields without a label."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.inline, self.ids, self.fields, self.labels = [], [], [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.loads += [given[name] for name in ("src", "href", "action", "hx-get", "hx-post") if name in given]
        self.inline += [name for name in given if name == "style" or name.startswith(("on", "hx-on"))]
        self.inline += [tag] if tag == "style" or (tag == "script" and "src" not in given) else []
        self.ids += [given["id"]] if "id" in given else []
        self.labels |= {given["for"]} if tag == "label" else set()
        if tag in ("input", "select", "textarea") and given.get("type") != "hidden":
            self.fields.append(given.get("id"))


@pytest.mark.parametrize("role", PEOPLE)
def test_pages_load_nothing_from_elsewhere_and_have_nothing_inline(role, filled, visit):
    somebody = visit(PEOPLE[role])
    for path, allowed in PAGES.items():
        if role not in allowed or path.endswith(("/report", "/release.json", "/study.toml", "/public-key")):
            continue
        page = Page(somebody.get(place(filled, path)).text)
        assert all(each.startswith(("/", "#")) and not each.startswith("//") for each in page.loads), path
        assert not page.inline, path
        assert len(page.ids) == len(set(page.ids)), path
        assert set(page.fields) <= page.labels, path


def test_what_people_write_is_shown_and_never_obeyed(world, visit):
    hostile = "<script>alert(1)</script>{{ 7 * 7 }}'\"><b>"
    owner, analyst = visit("olga"), visit("ana")
    owner.send(f"/requests/{world.ids['request of ana']}/refuse", reason=hostile)
    page = analyst.get(f"/requests/{world.ids['request of ana']}").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 * 7 }}" in page
    assert "<script>alert" not in page


def test_the_report_keeps_its_own_policy(filled, visit):
    answer = visit("ana").get(f"/releases/{filled.ids['release of ana']}/report")
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy
    assert "script-src" not in policy
    assert policy.startswith("default-src 'none'")
    assert answer.headers["cache-control"] == "no-store"


def test_a_way_back_leads_to_no_other_site(filled, visit):
    nobody = visit()
    for path, expected in (("/requests", "/requests"), ("//elsewhere.example", "/"), ("https://elsewhere.example", "/")):
        answer = nobody.client.post("/sign-in", data={"token": filled.tokens["ana"], "next": path})
        assert answer.headers["location"] == expected
    wrong = nobody.client.post("/sign-in", data={"token": "no token"})
    assert wrong.status_code == 401
    assert "not known, expired or revoked" in wrong.text


def test_signing_out_ends_the_session(visit):
    somebody = visit("ana")
    secret = somebody.client.cookies["desk_session"]
    assert somebody.send("/sign-out").headers["location"] == "/sign-in"
    somebody.client.cookies.set("desk_session", secret)
    assert somebody.get("/").status_code == 303


def test_addresses_that_are_none_are_refused_as_pages(visit):
    somebody = visit("otto")
    answer = somebody.get("/log?before=yesterday")
    assert answer.status_code == 422
    assert "<h1>" in answer.text
    assert somebody.get("/people/nobody").status_code == 404
    body = {"content": b"\xff--x", "headers": {"content-type": "multipart/form-data; boundary=y"}}
    assert somebody.client.post("/people", **body).status_code in (403, 422)


def test_a_provider_of_identities_is_offered_where_there_is_one(filled, visit, monkeypatch):
    from gibbsafe.service.settings import OpenIdProvider

    assert "/oidc/start" not in visit().get("/sign-in").text
    provider = OpenIdProvider("https://id.example", "desk", "secret", "hospital sign-on")
    monkeypatch.setattr(filled.desk, "settings", replace(filled.settings, open_id=provider))
    page = visit().get("/sign-in").text
    assert 'href="/oidc/start"' in page
    assert "Sign in by hospital sign-on" in page


def test_people_read_problems_as_pages_and_programs_as_json(filled, visit):
    somebody = visit("ana")
    page = somebody.get("/nothing/here")
    assert page.status_code == 404
    assert "Address: there is no such page; go back to the beginning." in page.text
    assert somebody.client.put("/people").status_code == 405
    assert somebody.get("/api/v1/nothing").json() == {"detail": "Not Found"}
