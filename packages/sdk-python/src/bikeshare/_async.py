"""Carries out calls with `httpx.AsyncClient`, for tasks of asyncio or trio.

A call is a generator of `_core.call`. It yields effects: a request to send, a wait, or the need for the key. The driver here
performs each effect and sends its outcome into the generator. `_sync` does the same for threads.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar, cast

import anyio
import httpx

from ._core.call import Shared, call
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
from ._core.walk import ListStart, Page, Walk
from ._sync import changes_start, list_start, most_items
from .options import RequestOptions

Item = TypeVar("Item")
Result = TypeVar("Result")


async def wait_for_event(event: anyio.Event, seconds: float) -> None:
    """Waits until an event is set, but not longer than some seconds."""
    with anyio.move_on_after(seconds):
        await event.wait()


class AsyncDriver:
    """Performs the effects of calls: it sends requests, waits, and reads the key."""

    def __init__(
        self,
        shared: Shared,
        http: httpx.AsyncClient | None,
        api_key: str | Callable[[], str | Awaitable[str]],
        wait: Callable[[anyio.Event, float], Awaitable[None]] = wait_for_event,
    ) -> None:
        """:param wait: how a task waits. Tests pass a function that moves their own clock"""
        self._shared = shared
        self._owns_http = http is None
        self._http = http or httpx.AsyncClient()
        self._api_key = api_key
        self._wait = wait
        # Waits and requests that `close` ends.
        self._waiting: set[anyio.Event] = set()
        self._sending: set[anyio.CancelScope] = set()

    async def run(self, flow: Flow[Result]) -> Result:
        """Runs a call to its end, performing each of its effects."""
        answer: object = None
        try:
            while True:
                try:
                    effect = flow.send(answer)
                except StopIteration as stop:
                    return cast(Result, stop.value)
                answer = await self._perform(effect)
        finally:
            # When an effect raises, such as a cancellation, the call has not ended yet. This lets it leave the queue of the
            # rate limiter.
            flow.close()

    async def close(self) -> None:
        """Ends the waits and the requests of all tasks, whose calls raise `ClientClosedError`. Closes the client of
        httpx unless it was passed to the constructor.
        """
        self._shared.closing.is_closed = True
        for event in self._waiting:
            event.set()
        for scope in self._sending:
            scope.cancel()
        if self._owns_http:
            await self._http.aclose()

    async def _perform(self, effect: Effect) -> object:
        if isinstance(effect, Key):
            return Secret(await self._read_key())
        if isinstance(effect, Wait):
            await self._wait_for(effect)
            return None
        return await self._send(effect)

    async def _read_key(self) -> str:
        if isinstance(self._api_key, str):
            return self._api_key
        key = self._api_key()
        return key if isinstance(key, str) else await key

    async def _wait_for(self, effect: Wait) -> None:
        event = cast(anyio.Event, effect.wakeup)
        self._waiting.add(event)
        try:
            await self._wait(event, effect.seconds)
        finally:
            self._waiting.discard(event)

    async def _send(self, request: Send) -> Received | Failed:
        """Sends a request once. Returns a timeout when its time is over, or when `close` cancels it: the call then
        finds the client closed.
        """
        scope = anyio.move_on_after(request.seconds if math.isfinite(request.seconds) else None)
        with scope:
            self._sending.add(scope)
            try:
                return await self._receive(request)
            finally:
                self._sending.discard(scope)
        return Failed("", is_timeout=True)

    async def _receive(self, request: Send) -> Received | Failed:
        """Sends a request and reads its whole response, within the time that the caller allows."""
        try:
            response = await self._http.send(
                # No timeout here, because the scope in `_send` ends the request in time.
                self._http.build_request(
                    request.method,
                    request.url,
                    headers=dict(request.headers),
                    content=request.content,
                    timeout=None,
                ),
                # Redirects are not followed, because their target must not get the key or the data.
                follow_redirects=False,
                auth=None,
                stream=True,
            )
            try:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_RESPONSE_BYTES:
                        return TOO_LARGE
            finally:
                await response.aclose()
        except httpx.TimeoutException:
            return Failed("", is_timeout=True)
        except (httpx.RequestError, httpx.InvalidURL, OSError) as error:
            return Failed(str(error) or type(error).__name__)
        return Received(response.status_code, dict(response.headers), bytes(body))


class AsyncApi:
    """The interface through which the resources call the service."""

    def __init__(self, shared: Shared, driver: AsyncDriver) -> None:
        self._shared = shared
        self._driver = driver

    async def call(
        self,
        route: Route,
        options: RequestOptions | None,
        id: str | None = None,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
    ) -> object:
        """Makes a call and returns its data."""
        reply = await self._driver.run(call(self._shared, ApiRequest(route, id, query, body), options))
        return reply.body

    def list(
        self, route: Route, query: Mapping[str, object], options: RequestOptions | None, is_by_id: bool = False
    ) -> AsyncList[Any]:
        """Returns a list, without sending a request yet.

        :param is_by_id: whether its checkpoint is the id of the last item, as for events
        """
        return AsyncList(self._driver, list_start(self._shared, route, query, options, is_by_id))

    def changes(
        self, route: Route, checkpoint: str | None, query: Mapping[str, object], options: RequestOptions | None
    ) -> AsyncList[Any]:
        """Returns the list of the items that have changed since a checkpoint."""
        return AsyncList(self._driver, changes_start(self._shared, route, checkpoint, query, options))

    async def all(self, route: Route, query: Mapping[str, object], options: RequestOptions | None) -> AsyncIterator[Any]:
        """Yields the items of all pages of a list without page numbers."""
        following: dict[str, object] = dict(query)
        while True:
            page = cast("dict[str, Any]", await self.call(route, options, query=following))
            for item in page["data"]:
                yield item
            following["cursor"] = page.get("next_cursor")
            if not following["cursor"]:
                return


class AsyncList(Generic[Item]):
    """A list, not fetched yet. Iterate over it with `async for` to get all items of all pages, which are requested when
    they are needed. Each loop over the list starts from the beginning.
    """

    def __init__(self, driver: AsyncDriver, start: ListStart) -> None:
        self._driver = driver
        self._start = start
        self._last: Walk[Item] | None = None

    async def first_page(self) -> Page[Item]:
        """Fetches the first page as the service returns it."""
        page, _ = await self._driver.run(self._start.fetch(self._start.start, is_iteration=False))
        return page

    def __aiter__(self) -> AsyncListIterator[Item]:
        """Returns an iterator over all items, as `List` does."""
        return AsyncListIterator(self._driver, self._begin())

    def pages(self) -> AsyncPageIterator[Item]:
        """Returns an iterator over all pages."""
        return AsyncPageIterator(self._driver, self._begin())

    async def to_list(self, limit: float | None = None) -> list[Item]:
        """Returns the first items, as `List.to_list` does."""
        most = most_items(limit)
        items: list[Item] = []
        iterator = self.__aiter__()
        while most is None or len(items) < most:
            try:
                items.append(await iterator.__anext__())
            except StopAsyncIteration:
                break
        return items

    def checkpoint(self) -> str | None:
        """Returns the position of the iteration that was started last, as `List.checkpoint` does."""
        return (self._last or Walk[Item](self._start)).checkpoint()

    def resume_from(self, checkpoint: str) -> AsyncList[Item]:
        """Returns the list from a position on, as `List.resume_from` does."""
        return AsyncList(self._driver, self._start.resume_from(checkpoint))

    def _begin(self) -> Walk[Item]:
        self._last = Walk[Item](self._start)
        return self._last


class AsyncListIterator(Generic[Item]):
    """Iterates once over the items of a list. Tasks may share it: each item goes to one of them."""

    def __init__(self, driver: AsyncDriver, walk: Walk[Item]) -> None:
        self._driver = driver
        self._walk = walk
        self._lock = anyio.Lock()

    def __aiter__(self) -> AsyncListIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        async with self._lock:
            if not self._walk.has_items() and not await self._driver.run(self._walk.next_items()):
                raise StopAsyncIteration
            return self._walk.take_item()

    def checkpoint(self) -> str | None:
        """As `List.checkpoint`, of this iteration."""
        return self._walk.checkpoint()


class AsyncPageIterator(Generic[Item]):
    """Iterates once over the pages of a list."""

    def __init__(self, driver: AsyncDriver, walk: Walk[Item]) -> None:
        self._driver = driver
        self._walk = walk
        self._lock = anyio.Lock()

    def __aiter__(self) -> AsyncPageIterator[Item]:
        return self

    async def __anext__(self) -> Page[Item]:
        async with self._lock:
            page = await self._driver.run(self._walk.next_page())
        if page is None:
            raise StopAsyncIteration
        return page

    def checkpoint(self) -> str | None:
        """As `List.checkpoint`, of this iteration."""
        return self._walk.checkpoint()
