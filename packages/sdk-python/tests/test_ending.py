"""Tests that nothing is left when a call is cancelled, or a client is closed."""

from __future__ import annotations

import asyncio
import select
import socket
import threading
import time as clock
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest
from harness import KEY, Fake

from bikeshare import AsyncBikeShare, BikeShare, ClientClosedError, Hooks, TimeoutError

LONG = {"timeout": 120.0, "total_timeout": 120.0}


def arrived(fake: Fake, before: int) -> None:
    """Waits until the service has got another request."""
    while len(fake.requests()) == before:
        pass


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """Starts a thread. Returns it, and the list of the exceptions that it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def test_a_task_that_is_cancelled_during_a_request_leaves_nothing_running(fake: Fake) -> None:
    async def work() -> None:
        async with AsyncBikeShare(base_url=fake.url, api_key=fake.key, **LONG) as client:
            await client.me.get()
            fake.script("hang")
            before = len(fake.requests())
            task = asyncio.create_task(client.me.get())
            await asyncio.to_thread(arrived, fake, before)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() == {asyncio.current_task()}
            limiter = client._driver._shared.rate_limiter
            assert (limiter._in_flight, len(limiter._queue)) == (0, 0)
            # The broken connection is not used again.
            assert (await client.me.get())["key_id"]

    asyncio.run(work())


def test_a_task_that_is_cancelled_while_it_waits_gives_its_turn_to_the_next(fake: Fake) -> None:
    waiting = asyncio.Event()

    async def work() -> None:
        hooks = Hooks(on_rate_limit=lambda _: waiting.set())
        key = fake.tell("/keys", {"rateLimit": 1})["key"]
        async with AsyncBikeShare(base_url=fake.url, api_key=key, hooks=hooks, **LONG) as client:
            await client.me.get()
            tasks = [asyncio.create_task(client.me.get()) for _ in range(3)]
            await waiting.wait()
            limiter = client._driver._shared.rate_limiter
            assert len(limiter._queue) == 3
            waiting.clear()
            tasks[0].cancel()
            # The next call is woken, and waits in the first place of the queue.
            await waiting.wait()
            assert len(limiter._queue) == 2
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(each) for each in results] == [asyncio.CancelledError] * 3
            assert (limiter._in_flight, len(limiter._queue)) == (0, 0)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(work())


@pytest.mark.parametrize("phase", ["request", "wait", "retry"])
def test_close_ends_what_is_under_way_in_other_tasks(fake: Fake, phase: str) -> None:
    async def work() -> None:
        began = anyio.Event()
        hooks = Hooks(on_rate_limit=lambda _: began.set(), on_retry=lambda _: began.set())
        client = client_in(AsyncBikeShare, fake, phase, hooks)
        if phase == "wait":
            await client.me.get()
        before = len(fake.requests())
        task = asyncio.create_task(client.me.get())
        await (asyncio.to_thread(arrived, fake, before) if phase == "request" else began.wait())
        await client.close()
        with pytest.raises(ClientClosedError, match="GET /v1/me: the client is closed"):
            await task
        with pytest.raises(ClientClosedError):
            await client.me.get()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(work())


def client_in(kind: Any, fake: Fake, phase: str, hooks: Hooks) -> Any:
    """Returns a client whose next call hangs in one phase: in a request, in a wait for the rate limit, or before a retry."""
    key = fake.tell("/keys", {"rateLimit": 1})["key"] if phase == "wait" else fake.key
    fake.script(*{"request": ["hang"], "wait": [], "retry": [{"status": 503, "retryAfter": 100}]}[phase])
    return kind(base_url=fake.url, api_key=key, hooks=hooks, **LONG)


@pytest.mark.parametrize("phase", ["request", "reused connection", "wait", "retry"])
def test_close_ends_what_is_under_way_in_other_threads(fake: Fake, phase: str) -> None:
    began = threading.Event()
    hooks = Hooks(on_rate_limit=lambda _: began.set(), on_retry=lambda _: began.set())
    is_sending = phase in ("request", "reused connection")
    client = client_in(BikeShare, fake, "request" if is_sending else phase, hooks)
    if phase == "reused connection":
        fake.script()
        client.me.get()
        fake.script("hang")
    if phase == "wait":
        client.me.get()
    before, started = len(fake.requests()), clock.monotonic()
    thread, raised = in_thread(client.me.get)
    if is_sending:
        arrived(fake, before)
    else:
        began.wait()
    client.close()
    thread.join()
    assert [type(each) for each in raised] == [ClientClosedError]
    assert clock.monotonic() - started < 60
    with pytest.raises(ClientClosedError):
        client.me.get()
    assert client._driver._http.is_closed


@pytest.mark.parametrize("is_own_http", [False, True], ids=["a given client of httpx", "its own client of httpx"])
def test_a_client_for_tasks_that_is_closed_while_the_key_is_read_sends_nothing(fake: Fake, is_own_http: bool) -> None:
    async def key() -> str:
        await client.close()
        return fake.key

    async def work() -> None:
        nonlocal client
        async with httpx.AsyncClient() as http:
            client = AsyncBikeShare(base_url=fake.url, api_key=key, http_client=None if is_own_http else http)
            with pytest.raises(ClientClosedError, match="GET /v1/me: the client is closed"):
                await client.me.get()

    client: Any = None
    before = len(fake.requests())
    asyncio.run(work())
    assert len(fake.requests()) == before


def test_a_client_for_threads_that_is_closed_while_the_key_is_read_sends_nothing(fake: Fake) -> None:
    def key() -> str:
        client.close()
        return fake.key

    before = len(fake.requests())
    with httpx.Client() as http:
        client = BikeShare(base_url=fake.url, api_key=key, http_client=http)
        with pytest.raises(ClientClosedError, match="GET /v1/me: the client is closed"):
            client.me.get()
    assert len(fake.requests()) == before


ENDLESS = {"head": b"HTTP/1.1 200 OK\r\nx: ", "body": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;"}
"""The beginning of responses, after which any number of letters may follow."""


@pytest.mark.parametrize("kind", [BikeShare, AsyncBikeShare])
@pytest.mark.parametrize("part", ENDLESS)
def test_a_request_times_out_although_bytes_of_its_response_keep_coming(kind: Any, part: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(ENDLESS[part])
                # A byte each 20 ms, for at most 20 s, until the client hangs up.
                for _ in range(1000):
                    if select.select([connection], [], [], 0.02)[0]:
                        return
                    connection.sendall(b"a")

        thread, raised = in_thread(serve)
        client = kind(base_url=f"http://127.0.0.1:{server.getsockname()[1]}", api_key=KEY, timeout=0.5, max_retries=0)

        async def work() -> None:
            async with client:
                await client.me.get()

        with pytest.raises(TimeoutError, match="GET /v1/me: no response within 0.5 s"):
            if kind is BikeShare:
                with client:
                    client.me.get()
            else:
                asyncio.run(work())
        thread.join()
    assert [error for error in raised if not isinstance(error, OSError)] == []


def test_threads_share_the_limit_of_a_client(fake: Fake) -> None:
    key = fake.tell("/keys", {"rateLimit": 10})["key"]
    with BikeShare(base_url=fake.url, api_key=key, total_timeout=5) as client:
        client.me.get()
        raised = [in_thread(client.me.get) for _ in range(14)]
        for thread, _ in raised:
            thread.join()
    failures = [error for _, errors in raised for error in errors]
    # The service allows 10 of 15 requests. The others would wait for a minute, so they fail without sending a request.
    assert [(type(error), error.attempts) for error in failures] == [(TimeoutError, 0)] * 5  # type: ignore[attr-defined]
