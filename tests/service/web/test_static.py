"""What pages load: our own sheets, and one file of somebody else's, unmodified, with its licence beside it."""

import hashlib

from gibbsafe.report.style import STYLE
from gibbsafe.service.web.static import FILES, HERE

#: dist/htmx.min.js of the package htmx.org, version 2.0.11.
HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"


def test_htmx_is_unmodified_and_has_its_licence_beside_it():
    content = (HERE / "htmx.min.js").read_bytes()
    assert hashlib.sha256(content).hexdigest() == HTMX
    assert b'version:"2.0.11"' in content
    assert "Zero-Clause BSD" in (HERE / "htmx.LICENSE").read_text()


def test_files_are_served_as_what_they_are(visit):
    nobody = visit()
    for name, (content, kind) in FILES.items():
        answer = nobody.get(f"/static/{name}")
        assert answer.content == content
        assert answer.headers["content-type"].split(";")[0] == kind
    assert FILES["report.css"][0] == STYLE.encode()
    for name in ("pages.py", "..%2fpages.py", "none.css"):
        assert nobody.get(f"/static/{name}").status_code in (404, 303)


def test_sheets_load_nothing():
    for name, (content, kind) in FILES.items():
        if kind == "text/css":
            assert b"url(" not in content, name
            assert b"@import" not in content, name
