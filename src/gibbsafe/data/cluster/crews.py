"""A cluster's workers, reached by a client: refused where somebody could listen, or where they run another version."""

from __future__ import annotations

import ipaddress
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gibbsafe._extras import require_extra
from gibbsafe.data.cluster.tasks import Failure, Order, attempt, fingerprint
from gibbsafe.errors import GibbsafeError

__all__ = ["ClusterError", "Crew", "crew_of", "is_private"]

#: Seconds that a scheduler has to answer, and that a cluster may be without workers before it is given up.
ANSWER, PATIENCE = 10.0, 30.0


class ClusterError(GibbsafeError):
    """A cluster was lost: nothing of it depends on records."""


def is_private(address: str) -> bool:
    """Whether nobody can listen on the way to an address: it is encrypted, or never leaves this machine.

    >>> [is_private(each) for each in ("tls://10.0.0.7:8786", "tcp://127.0.0.1:8786", "inproc://x/1", "tcp://10.0.0.7:8786")]
    [True, True, True, False]
    """
    place = urlsplit(address)
    if place.scheme in ("tls", "wss", "inproc"):
        return True
    if place.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(place.hostname or "").is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, eq=False)
class Crew:
    """Workers that take orders; what they send back is awaited, and a refusal among it raised."""

    client: Any
    shown: bool = False

    @property
    def threads(self) -> dict[str, int]:
        """Every worker's address, and how many tasks it takes at a time."""
        asked = self.client.sync(self.client.scheduler.ncores, callback_timeout=ANSWER)
        return {address: int(number) for address, number in asked.items()}

    @property
    def memory(self) -> int:
        """The least memory of a worker in bytes; 0 where none has a limit."""
        told = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER)["workers"].values()
        return min((int(each.get("memory_limit") or 0) for each in told), default=0)

    def order(self, failure: str) -> Order:
        """Return what tasks are told."""
        return Order(fingerprint(), failure, self.shown)

    def submit(self, failure: str, function: Callable[..., Any], *arguments: Any, worker: str | None = None) -> Any:
        """Have a task done, by this worker if it is there when it can start; return what will be its result."""
        place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        with _reached():
            return self.client.submit(attempt, self.order(failure), function, *arguments, pure=False, **place)

    def compute(self, failure: str, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Have a task done for each call, whose arguments may be of Dask; those are dropped once they were used."""
        import dask

        task, order = dask.delayed(attempt, pure=False), self.order(failure)
        with _reached():
            return list(self.client.compute([task(order, function, *arguments) for arguments in calls]))

    def map(self, failure: str, function: Callable[..., Any], told: Sequence[object], *items: Sequence[Any]) -> list[Any]:
        """Have one task done for the items at each place, all of them told the same before: one message to the scheduler."""
        same = [[each] * len(items[0]) for each in (self.order(failure), function, *told)]
        with _reached():
            return list(self.client.map(attempt, *same, *items, pure=False))

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Return all results in their order; give up where the scheduler is gone, or no worker has come for too long."""
        with _reached():
            self._await(futures)
            found = self.client.gather(list(futures))
        for each in found:
            if isinstance(each, Failure):
                raise each.error()
        return list(found)

    def _await(self, futures: Sequence[Any]) -> None:
        from distributed import wait

        deserted: float | None = None
        while True:
            try:
                with self.client.as_current():
                    wait(futures, timeout=2)
                return
            except TimeoutError:
                deserted = self._deserted_since(deserted)

    def _deserted_since(self, since: float | None) -> float | None:
        """Return when the last worker left, None while there are some; raise where that is too long ago."""
        if self.client.status != "running":
            raise ClusterError("cluster: the scheduler is gone; whatever was charged stands")
        try:
            if self.threads:
                return None
        except (TimeoutError, OSError):
            raise ClusterError("cluster: the scheduler does not answer any more; whatever was charged stands") from None
        now = time.monotonic()
        if since is not None and now - since > PATIENCE:
            raise ClusterError(f"cluster: has had no workers for {PATIENCE:.0f} s; whatever was charged stands")
        return now if since is None else since


@contextmanager
def _reached() -> Iterator[None]:
    """Turn what Dask raises about a cluster, and not about a task, into one line."""
    from distributed import KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError

    try:
        yield
    except (CancelledError, ClosedClientError, CommClosedError):
        raise ClusterError("cluster: the scheduler is gone; whatever was charged stands") from None
    except KilledWorker:
        words = "workers died of one task again and again, perhaps for want of memory; whatever was charged stands"
        raise ClusterError(f"cluster: {words}") from None


@contextmanager
def crew_of(cluster: object, *, insecure: bool = False, shown: bool = False) -> Iterator[Crew]:
    """Yield the workers of a cluster: of an address, of a client, or of the client at work in this process."""
    require_extra("dask", "a cluster")
    from distributed import Client, get_client

    cluster = getattr(cluster, "scheduler_address", cluster)  # of a cluster that was started here
    ours, words, loud = None, logging.getLogger("distributed"), logging.getLogger("distributed").level
    if isinstance(cluster, str):
        words.setLevel(logging.CRITICAL)  # they would stand beside ours, and a refusal is one line
        ours = client = _connected(cluster, insecure)
    elif cluster is not None:
        if not isinstance(cluster, Client):
            raise GibbsafeError(f"cluster: must be the address of a scheduler or a client of it, not {type(cluster).__name__}")
        client = cluster
    else:
        try:
            client = get_client()
        except ValueError:
            remedy = "start one (distributed.Client()), or name a cluster (cluster=...)"
            raise GibbsafeError(f"data: Dask's collections need a client; {remedy}") from None
    try:
        _refuse_foreign(client, insecure)
        yield Crew(client, shown)
    finally:
        if ours is not None:
            ours.close(timeout=ANSWER)
            words.setLevel(loud)


def _connected(address: str, insecure: bool) -> Any:
    from distributed import Client

    plain = address.rsplit("@", 1)[-1]
    if "://" not in address:
        raise GibbsafeError(f"cluster {plain}: not an address; it begins with tls:// or tcp://")
    _refuse_listeners([address], insecure)
    try:
        return _within(2 * ANSWER, lambda: Client(address, timeout=ANSWER, set_as_default=False))
    except (OSError, TimeoutError) as error:
        raise GibbsafeError(f"cluster {plain}: no scheduler answers within {ANSWER:.0f} s ({type(error).__name__})") from None
    except (ValueError, TypeError, RuntimeError) as error:
        words = " ".join(str(error).split())[:120]
        raise GibbsafeError(
            f"cluster {plain}: cannot be reached ({words}); keys for tls:// are in Dask's configuration"
        ) from None


def _within(seconds: float, function: Callable[[], Any]) -> Any:
    """Return what the function returns, or raise TimeoutError: Dask waits forever for a scheduler that takes a call silently."""
    answer: queue.Queue[tuple[bool, Any]] = queue.Queue()

    def ask() -> None:
        try:
            answer.put((True, function()))
        except Exception as error:
            answer.put((False, error))

    threading.Thread(target=ask, daemon=True).start()
    try:
        done, found = answer.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if not done:
        raise found
    return found


def _refuse_listeners(addresses: Sequence[str], insecure: bool) -> None:
    for address in addresses:
        if not insecure and not is_private(address):
            remedy = (
                "use tls://, or say --insecure-cluster (insecure_cluster=True) where the network is as trusted as the machines"
            )
            raise GibbsafeError(f"cluster {address}: not encrypted, and what travels is raw data; {remedy}")


def _refuse_foreign(client: Any, insecure: bool) -> None:
    """Refuse a cluster without workers, with workers that speak openly, or with workers of another version."""
    if client.status != "running":
        raise GibbsafeError("cluster: the client is not connected")
    try:
        client.wait_for_workers(1, timeout=ANSWER)
    except TimeoutError:
        raise GibbsafeError(f"cluster {client.scheduler.address}: has no workers; start some") from None
    crew = Crew(client)
    _refuse_listeners([client.scheduler.address, *crew.threads], insecure)
    for address, found in client.run(fingerprint, on_error="return").items():
        if found != fingerprint():
            has = found if isinstance(found, str) else f"no gibbsafe that it can import ({type(found).__name__})"
            raise GibbsafeError(f"cluster: worker {address} has {has}, not {fingerprint()}; install the same on all")
