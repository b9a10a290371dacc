"""The two clients: `BikeShare` for threads, `AsyncBikeShare` for tasks."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from types import TracebackType

import anyio
import httpx

from ._async import AsyncApi, AsyncDriver
from ._core.call import Platform, Shared
from ._core.effects import Wakeup
from ._core.rate_limiter import RateLimiter
from ._core.request import parse_base_url, require_header_value
from ._generated.resources import AsyncResources, Resources
from ._sync import SyncApi, SyncDriver
from .hooks import Hooks
from .options import Limits

_PLATFORM = Platform(now=time.monotonic, random=random.random, new_id=lambda: str(uuid.uuid4()))


def create_shared(
    base_url: str,
    api_key: object,
    limits: Limits,
    hooks: Hooks | None,
    user_agent: str | None,
    create_wakeup: Callable[[], Wakeup],
    platform: Platform = _PLATFORM,
) -> Shared:
    """Returns the settings and the state that all calls of a client share.

    :raises UsageError: that names the wrong option. It never contains a key
    """
    if not callable(api_key):
        require_header_value("api_key", api_key)
    if user_agent is not None:
        require_header_value("user_agent", user_agent)
    return Shared(
        base_url=parse_base_url(base_url),
        user_agent=user_agent,
        limits=limits,
        hooks=hooks or Hooks(),
        platform=platform,
        create_wakeup=create_wakeup,
        rate_limiter=RateLimiter(platform.now, create_wakeup),
    )


class BikeShare(Resources):
    """A client of the Bike-Sharing Data Service. Make one for each key and keep it: its calls, also from several threads,
    share the key's rate limit.

    :param base_url: the service's URL: https, or http on this machine
    :param api_key: the API key, or a function that returns it. The function is called before each request
        that needs a key
    :param timeout: seconds for one request. Default 30. `RequestOptions` explains this option and the next two
    :param total_timeout: seconds for a call in total. Default 300
    :param max_retries: how often a failed request is sent again. Default 4
    :param http_client: sends the requests, to use your own proxy or certificates. Close it yourself
    :param user_agent: names your program to the operator, as in `acme-planner/2.1`
    :param hooks: functions that the client calls. They never get the key
    :raises UsageError: that names the wrong option

    >>> client = BikeShare(base_url="https://bikes.example", api_key=key)
    >>> for station in client.stations.list():
    ...     print(station["name"], station["num_bikes_available"])
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | Callable[[], str],
        timeout: float | None = None,
        total_timeout: float | None = None,
        max_retries: int | None = None,
        http_client: httpx.Client | None = None,
        user_agent: str | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        limits = Limits(timeout, total_timeout, max_retries)
        shared = create_shared(base_url, api_key, limits, hooks, user_agent, threading.Event)
        self._use(shared, SyncDriver(shared, http_client, api_key))

    def _use(self, shared: Shared, driver: SyncDriver) -> None:
        """Sets up the resources. `SandboxClient` adds its own, and tests pass a driver with their own clock."""
        self._driver = driver
        super().__init__(SyncApi(shared, driver))

    def close(self) -> None:
        """Ends the waits of other threads and, unless `http_client` was given, their requests and all connections. The calls
        of other threads raise `ClientClosedError`.
        """
        self._driver.close()

    def __enter__(self) -> BikeShare:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncBikeShare(AsyncResources):
    """`BikeShare` for asyncio or trio: await calls, and iterate over lists with `async for`. Use it in one event loop."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | Callable[[], str | Awaitable[str]],
        timeout: float | None = None,
        total_timeout: float | None = None,
        max_retries: int | None = None,
        http_client: httpx.AsyncClient | None = None,
        user_agent: str | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        limits = Limits(timeout, total_timeout, max_retries)
        shared = create_shared(base_url, api_key, limits, hooks, user_agent, anyio.Event)
        self._use(shared, AsyncDriver(shared, http_client, api_key))

    def _use(self, shared: Shared, driver: AsyncDriver) -> None:
        self._driver = driver
        super().__init__(AsyncApi(shared, driver))

    async def close(self) -> None:
        """Ends the requests and waits of other tasks, whose calls raise `ClientClosedError`. Closes all connections, unless
        `http_client` was given.
        """
        await self._driver.close()

    async def __aenter__(self) -> AsyncBikeShare:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
