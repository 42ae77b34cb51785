"""Running the desk: an ASGI server for people, and a worker in a process of its own, which alone reads data."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import signal
import socket
import sys
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess

import uvicorn

from gibbsafe.errors import GibbsafeError
from gibbsafe.service.application import create_app
from gibbsafe.service.desk import Desk
from gibbsafe.service.priority import give_way
from gibbsafe.service.settings import Settings
from gibbsafe.service.tickets import Ticket
from gibbsafe.service.worker import Worker

__all__ = ["listen", "run_worker", "serve"]


def run_worker(settings: Settings) -> None:
    """Work until the process is told to stop; a job that is under way is finished first."""
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda number, frame: stop.set())
    parent = multiprocessing.parent_process()
    if parent is not None:  # a worker that a server started gives way to it, and ends with it, however that ended
        give_way(10)

        def outlived() -> None:
            parent.join()
            stop.set()

        threading.Thread(target=outlived, daemon=True).start()
    Worker(settings).run(stop)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one.

    It names TCP: only then does asyncio send what is written at once, instead of holding a page's end back for 40 milliseconds.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise GibbsafeError(f"{host}:{port}: cannot listen there ({error.strerror}); choose another --port") from error
    return found


def _for_short_answers() -> None:
    """Let pages, which are short and share one interpreter, wait neither for each other nor for what is collected of the past."""
    sys.setswitchinterval(0.001)
    gc.collect()
    gc.freeze()  # what was loaded stays: looking through it again and again would hold every page up


def serve(
    settings: Settings,
    at: socket.socket,
    *,
    worker: bool = True,
    ticket: Ticket | None = None,
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve until the process is told to stop. Access is not logged: addresses of pages name requests."""
    desk = Desk(settings).open()
    app = create_app(settings, desk, ticket)
    process: BaseProcess | None = None
    if worker:
        process = multiprocessing.get_context("spawn").Process(target=run_worker, args=(settings,), name="gibbsafe-worker")
        process.start()
    desk.calculations.start()
    _for_short_answers()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # which the server raises again when it has closed
    config = uvicorn.Config(app, access_log=False, log_level="warning", server_header=False, timeout_keep_alive=30)
    try:
        if ready is not None:
            ready()
        uvicorn.Server(config).run(sockets=[at])
    except KeyboardInterrupt:
        pass
    finally:
        desk.calculations.stop()
        if process is not None:
            process.terminate()
            process.join(timeout=60)
