"""The clients of a sandbox, with methods that control it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

import httpx

from ._async import AsyncApi, AsyncDriver
from ._client import AsyncBikeShare, BikeShare
from ._core.call import Shared, call
from ._core.effects import Flow, Wait
from ._core.request import ApiRequest
from ._generated.resources import AsyncSandboxResource, SandboxResource
from ._generated.routes import SANDBOX_CLOCK
from ._sync import SyncApi, SyncDriver
from .errors import ClientClosedError, TimeoutError, UsageError
from .hooks import Hooks
from .options import RequestOptions

if TYPE_CHECKING:
    from .types import SandboxClock

__all__ = ["AsyncSandboxClient", "SandboxClient"]

_FIRST_DELAY = 0.05
_MAX_DELAY = 1.0
"""Maximum seconds between two requests for the clock. The delay starts at `_FIRST_DELAY` and doubles each time. Too low:
uses up the sandbox's rate limit of 600 requests a minute."""


class Sandbox(SandboxResource):
    """Controls a sandbox from a test. These calls have their own rate limit. `trigger`, `scenario`, `advance` and
    `add_fault` are retried after a 429 only, because after any other failure the service may have carried them out.
    """

    def __init__(self, shared: Shared, driver: SyncDriver) -> None:
        self._shared = shared.with_own_rate_limit()
        self._driver = driver
        super().__init__(SyncApi(self._shared, driver))

    def advance_and_wait(self, *, seconds: int, options: RequestOptions | None = None) -> SandboxClock:
        """Lets time pass, and waits until the work that became due is done: reservations have expired, deliveries have
        been tried.

        :raises TimeoutError: when the request, or the wait after it, takes longer than `total_timeout`
        """
        self.advance(seconds=seconds, options=options)
        return self.wait_until_ready(options=options)

    def wait_until_ready(self, *, options: RequestOptions | None = None) -> SandboxClock:
        """Waits until all work that is due is done.

        :raises TimeoutError: when that takes longer than `total_timeout`
        """
        return self._driver.run(_until_ready(self._shared, options))


class AsyncSandbox(AsyncSandboxResource):
    """`Sandbox` for tasks."""

    def __init__(self, shared: Shared, driver: AsyncDriver) -> None:
        self._shared = shared.with_own_rate_limit()
        self._driver = driver
        super().__init__(AsyncApi(self._shared, driver))

    async def advance_and_wait(self, *, seconds: int, options: RequestOptions | None = None) -> SandboxClock:
        """Lets time pass, and waits until the work that became due is done, as `Sandbox.advance_and_wait` does."""
        await self.advance(seconds=seconds, options=options)
        return await self.wait_until_ready(options=options)

    async def wait_until_ready(self, *, options: RequestOptions | None = None) -> SandboxClock:
        """Waits until all work that is due is done, as `Sandbox.wait_until_ready` does."""
        return await self._driver.run(_until_ready(self._shared, options))


class SandboxClient(BikeShare):
    """A client of your sandbox: all that `BikeShare` has, and `sandbox`.

    :raises UsageError: that names the wrong option, and for a live key

    >>> client = SandboxClient(base_url="https://bikes.example", api_key="bss_test_…")
    >>> held = client.reservations.create(station_id="station-007")
    >>> client.sandbox.advance_and_wait(seconds=900)
    >>> client.reservations.get(held["id"])["status"]
    'expired'
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
        _require_no_live_key(api_key)
        super().__init__(
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            total_timeout=total_timeout,
            max_retries=max_retries,
            http_client=http_client,
            user_agent=user_agent,
            hooks=hooks,
        )

    def _use(self, shared: Shared, driver: SyncDriver) -> None:
        super()._use(shared, driver)
        self.sandbox = Sandbox(shared, driver)
        """Controls the sandbox."""

    def __enter__(self) -> SandboxClient:
        return self


class AsyncSandboxClient(AsyncBikeShare):
    """`SandboxClient` for asyncio or trio."""

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
        _require_no_live_key(api_key)
        super().__init__(
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            total_timeout=total_timeout,
            max_retries=max_retries,
            http_client=http_client,
            user_agent=user_agent,
            hooks=hooks,
        )

    def _use(self, shared: Shared, driver: AsyncDriver) -> None:
        super()._use(shared, driver)
        self.sandbox = AsyncSandbox(shared, driver)
        """Controls the sandbox."""

    async def __aenter__(self) -> AsyncSandboxClient:
        return self


def _require_no_live_key(api_key: object) -> None:
    if isinstance(api_key, str) and api_key.startswith("bss_live_"):
        raise UsageError("api_key is a live key; the key of a sandbox begins with bss_test_")


def _until_ready(shared: Shared, options: RequestOptions | None) -> Flow[SandboxClock]:
    """Requests the clock until all due work is done. All requests together have the `total_timeout` of one call.

    :raises TimeoutError: when that takes longer
    """
    total_timeout = shared.limits.with_options(options).total_timeout
    deadline = shared.platform.now() + total_timeout
    delay = _FIRST_DELAY
    while (left := deadline - shared.platform.now()) > 0:
        given = cast(RequestOptions, {**(options or {}), "total_timeout": left})
        reply = yield from call(shared, ApiRequest(SANDBOX_CLOCK), given)
        if reply.body["ready"]:
            return cast("SandboxClock", reply.body)
        if shared.platform.now() + delay >= deadline:
            break
        yield Wait(delay, shared.create_wakeup())
        if shared.is_closed:
            raise ClientClosedError(f"{SANDBOX_CLOCK.operation}: the client is closed")
        delay = min(delay * 2, _MAX_DELAY)
    raise TimeoutError(f"{SANDBOX_CLOCK.operation}: not ready within {total_timeout:g} s")
