"""Shared by the tests: a fake service, virtual time, and both clients behind one interface."""

from __future__ import annotations

import heapq
import itertools
import json
import os
import subprocess
import threading
import urllib.request
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import httpx

from bikeshare import AsyncBikeShare, BikeShare, Hooks
from bikeshare._async import AsyncDriver
from bikeshare._client import create_shared
from bikeshare._core.call import Platform
from bikeshare._sync import SyncDriver
from bikeshare.options import Limits
from bikeshare.sandbox import AsyncSandboxClient, SandboxClient

ROOT = Path(__file__).parents[3]
KEY = "bss_test_1234567890"
"""The key that tests use. Nothing that a client shows may contain it."""


class Fake:
    """The fake of @bikeshare/sdk, called over HTTP, as a program in any language does."""

    def __init__(self, process: subprocess.Popen[str], url: str, key: str) -> None:
        self.process = process
        self.url = url
        self.key = key
        self._numbers = itertools.count(1)

    @classmethod
    def start(cls) -> Fake:
        node = os.environ.get("BIKESHARE_NODE", str(ROOT / "node_modules/.bin/node"))
        program = str(ROOT / "packages/sdk/src/cli/main.ts")
        options = ["--port", "0", "--json", "--rate-limit", "1000000"]
        process = subprocess.Popen(
            [node, "--conditions=@bikeshare/source", program, "fake", *options], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        return cls(process, ready["url"], ready["key"])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def tell(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._ask("POST", path, body)  # type: ignore[no-any-return]

    def script(self, *answers: Any) -> None:
        """Sets what happens to the next requests."""
        self._ask("DELETE", "/script")
        self.tell("/script", {"answers": answers})

    def requests(self) -> list[dict[str, Any]]:
        """Returns all requests that the fake got, oldest first."""
        return self._ask("GET", "/requests")["data"]  # type: ignore[no-any-return]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/fake{path}", data, method=method)
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def name(self, kind: str) -> str:
        """Returns a name that no other test uses."""
        return f"{kind}-{next(self._numbers)}"

    def station(self, bikes: int = 0) -> str:
        """Adds a station with some bikes."""
        station = self.name("station")
        self.tell("/stations", {"id": station, "region_id": "centre"})
        for _ in range(bikes):
            self.tell("/bikes", {"id": self.name("bike"), "station_id": station})
        return station

    def rides(self, count: int) -> str:
        """Adds some rides of one bike, and returns the bike."""
        bike = self.name("bike")
        for _ in range(count):
            self.tell("/rides", {"id": self.name("ride"), "bike_id": bike})
        return bike


class VirtualTime:
    """A clock that only moves when all code waits for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        """The seconds of each wait."""
        self.late = 0.0
        """Seconds by which a wait ends late, if nothing interrupts it."""
        self._ids = itertools.count(1)
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._wakers = 0

    def platform(self, random: Callable[[], float] = lambda: 0.5) -> Platform:
        return Platform(now=lambda: self.now, random=random, new_id=lambda: str(uuid.uuid4()))

    def wait(self, event: threading.Event, seconds: float | None) -> None:
        """Waits in the only thread: moves the clock."""
        assert seconds is not None
        if not event.is_set():
            self.waits.append(seconds)
            self.now += seconds + self.late

    def sleep(self, seconds: float) -> None:
        """Moves the clock by the time that the service needs."""
        self.now += seconds

    async def wait_async(self, event: anyio.Event, seconds: float) -> None:
        self.waits.append(seconds)
        async with anyio.create_task_group() as group:

            async def end() -> None:
                await event.wait()
                group.cancel_scope.cancel()

            group.start_soon(end)
            await self.sleep_async(seconds + self.late)
            group.cancel_scope.cancel()

    async def sleep_async(self, seconds: float) -> None:
        over = anyio.Event()
        until = self.now + seconds
        sleeper = (until, next(self._ids), over)
        heapq.heappush(self._sleepers, sleeper)
        try:
            await over.wait()
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    async def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Moves the clock until the work is done, and returns its result."""
        result: list[Any] = []
        failure: list[Exception] = []
        async with anyio.create_task_group() as group:

            async def do() -> None:
                try:
                    result.append(await work())
                except Exception as error:
                    # Kept and raised below, because the task group would wrap it in an exception group.
                    failure.append(error)
                finally:
                    group.cancel_scope.cancel()

            group.start_soon(do)
            while True:
                # First, all tasks run that do not wait for the clock.
                for _ in range(20):
                    await anyio.lowlevel.checkpoint()
                if self._sleepers:
                    self.now, _, over = heapq.heappop(self._sleepers)
                    over.set()
        if failure:
            raise failure[0]
        return result[0]


Handler = Callable[[httpx.Request], Any]
"""Answers a request: returns a response, or raises an error. For clients for tasks it may be a coroutine function."""


class Side:
    """One of the two clients. A test is written once, and runs with each."""

    is_async = False

    def client(
        self,
        handler: Handler | None = None,
        *,
        time: VirtualTime | None = None,
        base_url: str = "https://bikes.example",
        api_key: Any = KEY,
        hooks: Hooks | None = None,
        random: Callable[[], float] = lambda: 0.5,
        user_agent: str | None = None,
        is_sandbox: bool = False,
        **limits: Any,
    ) -> Any:
        """Makes a client in virtual time. Its requests go to a handler, or to the service at `base_url`."""
        raise NotImplementedError

    def do(self, call: Callable[[], Any]) -> Any:
        """Calls a function and returns its result. If this is awaitable, it is awaited."""
        raise NotImplementedError

    def items(self, iterable: Any) -> list[Any]:
        """Returns all items of an iterable."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def caught(self, call: Callable[[], Any]) -> Any:
        """Returns the exception that a call raises."""
        try:
            result = self.do(call)
        except Exception as error:
            return error
        raise AssertionError(f"it did not raise, but returned {result}")


def limits_of(limits: dict[str, Any]) -> Limits:
    return Limits(limits.get("timeout"), limits.get("total_timeout"), limits.get("max_retries"))


class SyncSide(Side):
    def __init__(self) -> None:
        self._http: list[httpx.Client] = []

    def client(self, handler: Handler | None = None, *, time: VirtualTime | None = None, **given: Any) -> BikeShare:
        time = time or VirtualTime()
        http = httpx.Client(transport=httpx.MockTransport(handler)) if handler else httpx.Client(verify=False)
        self._http.append(http)
        kind = SandboxClient if given.get("is_sandbox") else BikeShare
        client = kind.__new__(kind)
        shared = shared_of(time, threading.Event, given)
        client._use(shared, SyncDriver(shared, http, given.get("api_key", KEY), time.wait))
        return client

    def do(self, call: Callable[[], Any]) -> Any:
        return call()

    def items(self, iterable: Any) -> list[Any]:
        return list(iterable)

    def close(self) -> None:
        for http in self._http:
            http.close()


class AsyncSide(Side):
    is_async = True

    def __init__(self) -> None:
        self._entered: AbstractContextManager[Any] = anyio.from_thread.start_blocking_portal()
        self._portal = self._entered.__enter__()
        self._http: list[httpx.AsyncClient] = []
        self._time = VirtualTime()

    def client(self, handler: Handler | None = None, *, time: VirtualTime | None = None, **given: Any) -> AsyncBikeShare:
        self._time = time or VirtualTime()
        http = httpx.AsyncClient(transport=httpx.MockTransport(handler)) if handler else httpx.AsyncClient(verify=False)
        self._http.append(http)
        kind = AsyncSandboxClient if given.get("is_sandbox") else AsyncBikeShare
        client = kind.__new__(kind)
        shared = shared_of(self._time, anyio.Event, given)
        client._use(shared, AsyncDriver(shared, http, given.get("api_key", KEY), self._time.wait_async))
        return client

    def do(self, call: Callable[[], Any]) -> Any:
        async def work() -> Any:
            result = call()
            return await result if isinstance(result, Awaitable) else result

        return self._portal.call(self._time.run, work)

    def items(self, iterable: AsyncIterator[Any] | Iterator[Any]) -> list[Any]:
        async def collect() -> list[Any]:
            return [item async for item in iterable]  # type: ignore[union-attr]

        return self.do(collect)  # type: ignore[no-any-return]

    def close(self) -> None:
        for http in self._http:
            self._portal.call(http.aclose)
        self._entered.__exit__(None, None, None)


def shared_of(time: VirtualTime, create_wakeup: Any, given: dict[str, Any]) -> Any:
    return create_shared(
        given.get("base_url", "https://bikes.example"),
        given.get("api_key", KEY),
        limits_of(given),
        given.get("hooks"),
        given.get("user_agent"),
        create_wakeup,
        time.platform(given.get("random", lambda: 0.5)),
    )


def reply(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> httpx.Response:
    """Returns a response in JSON."""
    return httpx.Response(status, json=body, headers=headers)


def error(status: int, code: str, headers: dict[str, str] | None = None) -> httpx.Response:
    """Returns an error response of the service."""
    return reply({"error": code, "message": f"Why {code}."}, status, {"request-id": f"req-{status}", **(headers or {})})


class Script:
    """A handler that answers each request with its next line, and repeats the last line."""

    def __init__(self, *lines: Any) -> None:
        self._lines = lines
        self.sent: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        line = self._lines[min(len(self.sent), len(self._lines) - 1)]
        self.sent.append(request)
        outcome = line(request) if callable(line) else line
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, httpx.Response)
        return httpx.Response(outcome.status_code, headers=outcome.headers, content=outcome.content)
