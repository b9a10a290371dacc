"""Carries out calls with `httpx.Client`, for threads.

A call is a generator of `_core.call`. It yields effects: a request to send, a wait, or the need for the key. The driver here
performs each effect and sends its outcome into the generator. `_async` does the same for tasks.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Generic, TypeVar, cast

import httpx

from ._core.call import Reply, Shared, call
from ._core.effects import (
    MAX_RESPONSE_BYTES,
    TOO_LARGE,
    Effect,
    Failed,
    Flow,
    Key,
    Received,
    Secret,
    Send,
    Wait,
)
from ._core.request import ApiRequest, Route
from ._core.walk import ListStart, Page, Position, Source, Walk, parse_checkpoint
from .errors import UsageError
from .options import RequestOptions

Item = TypeVar("Item")
Result = TypeVar("Result")


class SyncDriver:
    """Performs the effects of calls: it sends requests, waits, and reads the key."""

    def __init__(
        self,
        shared: Shared,
        http: httpx.Client | None,
        api_key: str | Callable[[], str],
        wait: Callable[[threading.Event, float | None], object] = threading.Event.wait,
    ) -> None:
        """:param wait: how a thread waits. Tests pass a function that moves their own clock"""
        self._shared = shared
        self._owns_http = http is None
        self._http = http or httpx.Client()
        self._api_key = api_key
        self._wait = wait
        # Waits and connections that `close` ends.
        self._waiting: set[threading.Event] = set()
        self._sockets: set[socket.socket] = set()
        # Guards both, so that `close` also ends those that begin while it runs.
        self._lock = threading.Lock()
        # Its `end` is the time at which the request of the current thread times out.
        self._request = threading.local()

    def run(self, flow: Flow[Result]) -> Result:
        """Runs a call to its end, performing each of its effects."""
        answer: object = None
        try:
            while True:
                try:
                    effect = flow.send(answer)
                except StopIteration as stop:
                    return cast(Result, stop.value)
                answer = self._perform(effect)
        finally:
            # When an effect raises, the call has not ended yet. This lets it leave the queue of the rate limiter.
            flow.close()

    def close(self) -> None:
        """Ends the waits of all threads and, unless a client of httpx was passed, their requests. Their calls raise
        `ClientClosedError`.
        """
        with self._lock:
            self._shared.closing.is_closed = True
            for event in self._waiting:
                event.set()
            for open_socket in self._sockets:
                # `shutdown`, because `close` alone does not wake a thread that reads from the socket.
                _shut_down(open_socket)
        if self._owns_http:
            self._http.close()

    def _perform(self, effect: Effect) -> object:
        if isinstance(effect, Key):
            return Secret(self._api_key if isinstance(self._api_key, str) else self._api_key())
        if isinstance(effect, Wait):
            self._wait_for(effect)
            return None
        return self._send(effect)

    def _wait_for(self, effect: Wait) -> None:
        event = cast(threading.Event, effect.wakeup)
        with self._lock:
            if self._shared.is_closed:
                return
            self._waiting.add(event)
        try:
            self._wait(event, effect.seconds if effect.seconds < threading.TIMEOUT_MAX else None)
        finally:
            with self._lock:
                self._waiting.discard(event)

    def _send(self, request: Send) -> Received | Failed:
        """Sends a request once and reads its whole response, within the time that the caller allows."""
        # The timeout of httpx limits each read. This is the end of all reads together.
        end = self._request.end = time.monotonic() + request.seconds

        def trace(name: str, info: Mapping[str, Any]) -> None:
            """Called by httpx at each step of a request. The two steps named here have opened a connection."""
            # The prefix of the name is different for proxies.
            if name.endswith((".connect_tcp.complete", ".start_tls.complete")):
                self._bound(info["return_value"])
                self._watch(info["return_value"].get_extra_info("socket"))

        try:
            response = self._http.send(
                self._http.build_request(
                    request.method,
                    request.url,
                    headers=dict(request.headers),
                    content=request.content,
                    timeout=request.seconds if math.isfinite(request.seconds) else None,
                    # The connections of a passed client belong to the caller, so `close` does not end them.
                    extensions={"trace": trace} if self._owns_http else None,
                ),
                # Redirects are not followed, because their target must not get the key or the data.
                follow_redirects=False,
                auth=None,
                stream=True,
            )
            try:
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_RESPONSE_BYTES:
                        return TOO_LARGE
                    if time.monotonic() > end:
                        return Failed("", is_timeout=True)
            finally:
                response.close()
            return Received(response.status_code, dict(response.headers), bytes(body))
        except httpx.TimeoutException:
            return Failed("", is_timeout=True)
        except Exception as error:
            # If another thread has closed the client, httpx may raise any exception.
            if not self._shared.is_closed and not isinstance(error, (httpx.RequestError, httpx.InvalidURL, OSError)):
                raise
            return Failed(str(error) or type(error).__name__)

    def _bound(self, stream: Any) -> None:
        """Bounds the operations of a new connection by the end of the request. httpx applies its timeout to each read, so a
        server that sends a byte now and then would never time out. Without HTTP/2, a connection serves one request at a time.
        """
        start_tls, write, read = stream.start_tls, stream.write, stream.read

        def left() -> float | None:
            seconds = self._request.end - time.monotonic()
            if seconds <= 0:
                stream.close()
                raise httpx.ReadTimeout("")
            return seconds if math.isfinite(seconds) else None

        # httpcore passes some arguments by position, and some by name.
        def start_tls_in_time(ssl_context: Any, server_hostname: str | None = None, timeout: object = None) -> Any:
            return start_tls(ssl_context, server_hostname, left())

        def write_in_time(buffer: bytes, timeout: object = None) -> Any:
            return write(buffer, left())

        def read_in_time(max_bytes: int, timeout: object = None) -> Any:
            return read(max_bytes, left())

        stream.start_tls, stream.write, stream.read = start_tls_in_time, write_in_time, read_in_time

    def _watch(self, opened: object) -> None:
        """Remembers a new connection, so that `close` can end it."""
        if not isinstance(opened, socket.socket):
            return
        with self._lock:
            # A closed socket has the file number -1.
            self._sockets = {each for each in self._sockets if each.fileno() != -1}
            self._sockets.add(opened)
            if self._shared.is_closed:
                _shut_down(opened)


def _shut_down(open_socket: socket.socket) -> None:
    try:
        socket.socket.shutdown(open_socket, socket.SHUT_RDWR)
    except OSError:
        # The socket is closed already, or was never connected.
        pass


class SyncApi:
    """The interface through which the resources call the service."""

    def __init__(self, shared: Shared, driver: SyncDriver) -> None:
        self._shared = shared
        self._driver = driver

    def call(
        self,
        route: Route,
        options: RequestOptions | None,
        id: str | None = None,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
    ) -> object:
        """Makes a call and returns its data."""
        return self._driver.run(call(self._shared, ApiRequest(route, id, query, body), options)).body

    def list(
        self, route: Route, query: Mapping[str, object], options: RequestOptions | None, is_by_id: bool = False
    ) -> List[Any]:
        """Returns a list, without sending a request yet.

        :param is_by_id: whether its checkpoint is the id of the last item, as for events
        """
        return List(self._driver, list_start(self._shared, route, query, options, is_by_id))

    def changes(
        self, route: Route, checkpoint: str | None, query: Mapping[str, object], options: RequestOptions | None
    ) -> List[Any]:
        """Returns the list of the items that have changed since a checkpoint."""
        return List(self._driver, changes_start(self._shared, route, checkpoint, query, options))

    def all(self, route: Route, query: Mapping[str, object], options: RequestOptions | None) -> Iterator[Any]:
        """Yields the items of all pages of a list without page numbers."""
        following: dict[str, object] = dict(query)
        while True:
            page = cast("dict[str, Any]", self.call(route, options, query=following))
            yield from page["data"]
            following["cursor"] = page.get("next_cursor")
            if not following["cursor"]:
                return


def list_start(
    shared: Shared,
    route: Route,
    query: Mapping[str, object],
    options: RequestOptions | None,
    is_by_id: bool,
    start: Position | None = None,
) -> ListStart:
    """Returns a list. Parameters other than the position are filters, which stay the same for all pages.

    :param is_by_id: whether the list's checkpoint is the id of an item, which the parameter `after` takes
    :param start: the position at which the list begins; None: that of the parameters `cursor` and `page`
    """
    given = dict(query)
    cursor, page, after = given.pop("cursor", None), given.pop("page", None), given.get("after")
    if start is None:
        start = Position(
            cursor=cast("str | None", cursor),
            page=cast("int | None", page),
            limit=cast("int | None", given.get("limit")),
        )

    def request(asked: Mapping[str, object]) -> Flow[Reply]:
        return call(shared, ApiRequest(route, query=asked), options)

    # "": from the first item. None: the list is not resumed by an id.
    by_id = str(after or "") if is_by_id else None
    return ListStart(Source(route.operation, request, given), start, by_id)


def changes_start(
    shared: Shared,
    route: Route,
    checkpoint: object,
    query: Mapping[str, object],
    options: RequestOptions | None,
) -> ListStart:
    """Returns the list of the items that have changed since a checkpoint; without a checkpoint, of all items."""
    start = parse_checkpoint(checkpoint, True) if checkpoint else Position(since="")
    return list_start(shared, route, query, options, False, start)


def most_items(limit: float | None) -> int | None:
    """Returns the maximum number of items of `to_list`; None for all."""
    if limit is None or limit == math.inf:
        return None
    # Written without negation, so that NaN fails too.
    if limit > 0:
        return int(limit)
    raise UsageError("to_list needs a limit above 0, or none")


class List(Generic[Item]):
    """A list, not fetched yet. Iterate over it to get all items of all pages, which are requested when they are needed.
    Each loop over the list starts from the beginning.
    """

    def __init__(self, driver: SyncDriver, start: ListStart) -> None:
        self._driver = driver
        self._start = start
        self._last: Walk[Item] | None = None

    def first_page(self) -> Page[Item]:
        """Fetches the first page as the service returns it."""
        page, _ = self._driver.run(self._start.fetch(self._start.start, is_iteration=False))
        return page

    def __iter__(self) -> ListIterator[Item]:
        """Returns an iterator over all items. Keep it if a loop may fail: another loop over the same iterator continues
        where it stopped. Its pages are as large as allowed, unless `limit` or `page` was given.
        """
        return ListIterator(self._driver, self._begin())

    def pages(self) -> PageIterator[Item]:
        """Returns an iterator over all pages."""
        return PageIterator(self._driver, self._begin())

    def to_list(self, limit: float | None = None) -> list[Item]:
        """Returns the first items. `checkpoint()` returns where the rest begins.

        :param limit: maximum items; None for all
        """
        return list(islice(self, most_items(limit)))

    def checkpoint(self) -> str | None:
        """Returns the position of the iteration that was started last, after its last returned item, as a string that you
        can save and pass to `resume_from` later; None when the iteration is finished. For events it is the id of the last
        event, also when it is finished. For `changes_since()` it is the checkpoint for the next call when it is finished.
        """
        return (self._last or Walk[Item](self._start)).checkpoint()

    def resume_from(self, checkpoint: str) -> List[Item]:
        """Returns the list from a position on: from a `checkpoint()`, or from a `next_cursor` of a list with the same
        filters. It leaves out no item, and may repeat items of a page that has changed meanwhile.

        :raises UsageError: when the checkpoint is empty, because a finished iteration has nothing to resume, or was cut off
        """
        return List(self._driver, self._start.resume_from(checkpoint))

    def _begin(self) -> Walk[Item]:
        self._last = Walk[Item](self._start)
        return self._last


class ListIterator(Generic[Item]):
    """Iterates once over the items of a list. Threads may share it: each item goes to one of them."""

    def __init__(self, driver: SyncDriver, walk: Walk[Item]) -> None:
        self._driver = driver
        self._walk = walk
        self._lock = threading.Lock()

    def __iter__(self) -> ListIterator[Item]:
        return self

    def __next__(self) -> Item:
        with self._lock:
            if not self._walk.has_items() and not self._driver.run(self._walk.next_items()):
                raise StopIteration
            return self._walk.take_item()

    def checkpoint(self) -> str | None:
        """As `List.checkpoint`, of this iteration."""
        return self._walk.checkpoint()


class PageIterator(Generic[Item]):
    """Iterates once over the pages of a list."""

    def __init__(self, driver: SyncDriver, walk: Walk[Item]) -> None:
        self._driver = driver
        self._walk = walk
        self._lock = threading.Lock()

    def __iter__(self) -> PageIterator[Item]:
        return self

    def __next__(self) -> Page[Item]:
        with self._lock:
            page = self._driver.run(self._walk.next_page())
        if page is None:
            raise StopIteration
        return page

    def checkpoint(self) -> str | None:
        """As `List.checkpoint`, of this iteration."""
        return self._walk.checkpoint()
