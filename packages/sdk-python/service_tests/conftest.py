"""Fixtures with both clients of a running service, whose address and key come from environment variables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

import anyio.from_thread
import pytest

from bikeshare import AsyncBikeShare, BikeShare
from bikeshare.sandbox import AsyncSandboxClient, SandboxClient

URL = os.environ["BIKESHARE_BASE_URL"]
KEY = os.environ["BIKESHARE_API_KEY"]
IS_SANDBOX = KEY.startswith("bss_test_")

needs_sandbox = pytest.mark.skipif(not IS_SANDBOX, reason="live data have no faults and no clock")


@dataclass
class Side:
    """One of the two clients. A test is written once, and runs with each, in real time."""

    client: Any
    _portal: Any

    def do(self, call: Any) -> Any:
        """Calls a function and returns its result. If this is awaitable, it is awaited."""

        async def work() -> Any:
            result = call()
            return await result if isawaitable(result) else result

        return self._portal.call(work) if self._portal else call()

    def items(self, iterable: Any) -> list[Any]:
        """Returns all items of an iterable."""
        return self.do(lambda: _collect(iterable)) if self._portal else list(iterable)  # type: ignore[no-any-return]

    def raises(self, error: type[Exception], call: Any) -> Any:
        """Returns the error that a call raises."""
        with pytest.raises(error) as caught:
            self.do(call)
        return caught.value


async def _collect(iterable: Any) -> list[Any]:
    return [item async for item in iterable]


@pytest.fixture(params=["sync", "async"])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    settings = {"base_url": URL, "api_key": KEY, "user_agent": "service-tests"}
    if request.param == "sync":
        with (SandboxClient if IS_SANDBOX else BikeShare)(**settings) as client:
            yield Side(client, None)
        return
    entered: AbstractContextManager[Any] = anyio.from_thread.start_blocking_portal()
    with entered as portal:
        made = portal.call(lambda: (AsyncSandboxClient if IS_SANDBOX else AsyncBikeShare)(**settings))
        yield Side(made, portal)
        portal.call(made.close)
