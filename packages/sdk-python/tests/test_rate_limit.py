"""Tests that the clients keep to a key's rate limit."""

from __future__ import annotations

import gc
import math
import tracemalloc
from collections import deque
from typing import Any

import anyio
import httpx
import pytest
from harness import AsyncSide, Handler, Side, SyncSide, VirtualTime, error, reply

from bikeshare import Hooks, RateLimitDetails, TimeoutError


class Limiter:
    """Counts like the service: at most `limit` requests in any 60 s; rejected requests do not count."""

    def __init__(self, time: VirtualTime, limit: int) -> None:
        self._time = time
        self._limit = limit
        self._counted: deque[float] = deque()
        self.refused: list[float] = []

    def take(self) -> dict[str, str]:
        """Counts a request, and returns the headers of its response."""
        now = self._time.now
        while self._counted and self._counted[0] <= now - 60:
            self._counted.popleft()
        is_refused = len(self._counted) >= self._limit
        if is_refused:
            self.refused.append(now)
        else:
            self._counted.append(now)
        reset = math.ceil(self._counted[0] + 60 - now)
        headers = {
            "ratelimit-policy": f'"default";q={self._limit};w=60',
            "ratelimit": f'"default";r={self._limit - len(self._counted)};t={reset}',
        }
        return {**headers, "retry-after": str(reset)} if is_refused else headers


def service(side: Side, time: VirtualTime, pages: int, limit: int = 60, size: int = 1) -> tuple[Handler, Limiter]:
    """Returns a service with some pages. Each request and each response takes 20 ms."""
    limits = Limiter(time, limit)

    def hear(request: httpx.Request) -> tuple[int, dict[str, str]]:
        refused = len(limits.refused)
        headers = {} if request.url.path == "/healthz" else limits.take()
        return (429 if len(limits.refused) > refused else 200), headers

    def answer(request: httpx.Request, status: int, headers: dict[str, str]) -> httpx.Response:
        if status == 429:
            return error(429, "rate_limited", headers)
        if request.url.path != "/v1/rides":
            return reply({"status": "ok"}, 200, headers)
        number = int(request.url.params.get("cursor", 1))
        body: dict[str, Any] = {"data": [{"id": f"ride-{number}-{n}", "note": "x" * 200} for n in range(size)]}
        if number == 1:
            body.update(page=1, total_pages=pages)
        if number < pages:
            body["next_cursor"] = str(number + 1)
        return reply(body, 200, headers)

    def handle(request: httpx.Request) -> httpx.Response:
        time.sleep(0.02)
        heard = hear(request)
        time.sleep(0.02)
        return answer(request, *heard)

    async def handle_async(request: httpx.Request) -> httpx.Response:
        await time.sleep_async(0.02)
        heard = hear(request)
        await time.sleep_async(0.02)
        return answer(request, *heard)

    return (handle_async if side.is_async else handle), limits


def test_reads_1000_pages_at_60_a_minute_without_a_429_in_the_time_that_the_limit_requires(
    side: Side, time: VirtualTime
) -> None:
    handler, limits = service(side, time, 1000)
    client = side.client(handler, time=time)
    assert len(side.items(client.rides.list())) == 1000
    assert limits.refused == []
    # 1,000 requests at 60 a minute need 16 whole windows, and 40 requests of the next.
    assert 16 * 60 < time.now < 17.2 * 60


def test_a_long_walk_needs_the_memory_of_a_page(time: VirtualTime) -> None:
    side = SyncSide()
    handler, _ = service(side, time, 300, limit=100_000, size=50)
    walk = iter(side.client(handler, time=time).rides.list())
    tracemalloc.start()
    try:
        kept = []
        for _ in range(3):
            for _ in range(100 * 50):
                next(walk)
            gc.collect()
            kept.append(tracemalloc.get_traced_memory()[0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        side.close()
    # All 15,000 items would need about 9 MB. The first pages also load things that stay, such as codecs.
    assert kept[2] - kept[1] < 50_000, kept
    assert peak < 3_000_000, peak


def test_is_learned_from_the_first_response_and_is_faster_where_it_is_higher(side: Side, time: VirtualTime) -> None:
    handler, limits = service(side, time, 500, limit=600)
    side.items(side.client(handler, time=time).rides.list())
    assert limits.refused == []
    assert time.now == pytest.approx(500 * 0.04)


def test_is_shared_by_all_tasks_of_a_client_in_the_order_of_their_calls() -> None:
    side, time = AsyncSide(), VirtualTime()
    handler, limits = service(side, time, 30, limit=7)
    client = side.client(handler, time=time, total_timeout=math.inf)
    counts: list[int] = []

    async def walk() -> None:
        counts.append(len([ride async for ride in client.rides.list()]))

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(walk)

    # The client learns the limit from the first response.
    side.do(client.me.get)
    side.do(work)
    side.close()
    assert counts == [30] * 8
    assert limits.refused == []


def test_leaves_room_for_others_with_the_same_key(side: Side, time: VirtualTime) -> None:
    handler, limits = service(side, time, 60)
    client = side.client(handler, time=time)
    for _ in range(40):
        limits.take()
    assert len(side.items(client.rides.list())) == 60
    assert limits.refused == []


def test_announces_each_wait_and_only_then(side: Side, time: VirtualTime) -> None:
    handler, _ = service(side, time, 61)
    notes: list[RateLimitDetails] = []
    client = side.client(handler, time=time, hooks=Hooks(on_rate_limit=notes.append))
    side.items(client.rides.list())
    # The first of 60 requests was answered at 40 ms and leaves the window 60 s later. The last was answered at 2,400 ms.
    assert [(note.operation, note.reason) for note in notes] == [("GET /v1/rides", "throttled")]
    assert notes[0].wait == pytest.approx(57.64)


def test_a_wait_that_ends_after_the_deadline_is_not_begun(side: Side, time: VirtualTime) -> None:
    handler, _ = service(side, time, 61)
    client = side.client(handler, time=time, total_timeout=30.0)
    error = side.caught(lambda: client.rides.list().to_list())
    assert (type(error), error.attempts, str(error)) == (
        TimeoutError,
        0,
        "GET /v1/rides: the rate limit requires a wait of 57.64 s",
    )
    assert error.retry_after == pytest.approx(57.64)
    assert time.now == pytest.approx(60 * 0.04)


def test_a_429_delays_all_calls_of_the_client() -> None:
    side, time = AsyncSide(), VirtualTime()
    sent: list[float] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        sent.append(time.now)
        return error(429, "rate_limited", {"retry-after": "30"}) if len(sent) == 1 else reply({"id": "x"})

    client = side.client(handle, time=time, random=lambda: 0.0)

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.rides.get, "r1")
            await time.sleep_async(1)
            group.start_soon(client.rides.get, "r2")

    side.do(work)
    side.close()
    assert sent == [0, 30, 30]


def test_calls_that_need_no_key_are_not_delayed(side: Side, time: VirtualTime) -> None:
    handler, _ = service(side, time, 1000, limit=1)
    client = side.client(handler, time=time)
    side.do(client.me.get)
    side.do(client.health.live)
    assert time.now == pytest.approx(0.08)
