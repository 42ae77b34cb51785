"""A desk that listens, a worker beside it, and people with browsers: what `test_browser` plays with."""

from __future__ import annotations

import shutil
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
#: Milliseconds that a page may take on a busy machine.
PATIENCE = 30_000


@contextmanager
def listening(world):
    """Serve a world's desk on a free port, with a worker that steps at every slot; yield its address."""
    import uvicorn

    from gibbsafe.service.application import create_app
    from gibbsafe.service.server import listen

    socket, stop = listen("127.0.0.1", 0), threading.Event()
    config = uvicorn.Config(create_app(world.settings, world.desk), access_log=False, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    work = ((server.run, {"sockets": [socket]}), (world.worker.run, {"stop": stop}))
    threads = [threading.Thread(target=each, kwargs=given) for each, given in work]
    for thread in threads:
        thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        stop.set()
        server.should_exit = True
        for thread in threads:
            thread.join(timeout=30)
        socket.close()


@dataclass
class Person:
    """Somebody with a browser. Whatever a console says against a page is kept, and what axe finds."""

    page: Any
    address: str
    said: list[str] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)

    def come_in(self, token):
        self.page.goto(f"{self.address}/sign-in")
        self.look("sign in")
        self.page.get_by_label("Your token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.address}/")

    def look(self, what):
        """Have axe look at the page: nothing serious, and nothing wider than a phone."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        serious = [
            f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in ("serious", "critical")
        ]
        assert not serious, f"{what}: {serious}"
        self.looked.append(what)

    def fits(self, width):
        """Whether nothing of the page lies beyond a window of this width."""
        self.page.set_viewport_size({"width": width, "height": 800})
        return self.page.evaluate("document.documentElement.scrollWidth") <= width


@contextmanager
def people(address, tokens, folder):
    """Yield a person with a signed-in browser of their own, per name."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], downloads_path=str(folder))
        found = {}
        for name, token in tokens.items():
            page = browser.new_context(accept_downloads=True).new_page()
            page.set_default_timeout(PATIENCE)
            person = found[name] = Person(page, address)
            page.on("console", lambda message, said=person.said: said.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error, said=person.said: said.append(str(error)))
            person.come_in(token)
        yield found
        browser.close()
