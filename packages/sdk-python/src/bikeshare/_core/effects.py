"""The effects that a call asks its client to perform. `_sync` and `_async` perform them; `_core` itself does no I/O."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, Union


class Wakeup(Protocol):
    """An event that ends a wait early: `threading.Event` or `anyio.Event`."""

    def set(self) -> object:
        """Ends the wait."""
        ...


@dataclass(frozen=True)
class Key:
    """Answer with `Secret`: the API key, which may come from a function."""


# Fields with `repr=False` may contain the key. Some tools print the variables of a traceback's frames.


@dataclass(frozen=True)
class Send:
    """Send a request once and answer with `Received` or `Failed`."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)
    seconds: float
    """Maximum seconds until the last byte of the response."""


@dataclass(frozen=True)
class Wait:
    """Wait some seconds, or until `wakeup` is set. Answer with nothing."""

    seconds: float
    wakeup: Wakeup


@dataclass(frozen=True)
class Secret:
    """The API key."""

    value: object = field(repr=False)


@dataclass(frozen=True)
class Received:
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Failed:
    """No response came, or it was too large to be read to its end."""

    message: str = field(repr=False)
    is_timeout: bool = False


MAX_RESPONSE_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a decompressed response. The service's responses have less than a hundredth of it. Without a bound,
an endless response of another server, such as a proxy, could fill the memory."""

TOO_LARGE = Failed("the response is larger than 64 MiB")


Effect = Union[Key, Send, Wait]

Result = TypeVar("Result")

Flow = Generator[Effect, object, Result]
"""A call in progress: a generator that yields effects and returns the call's result."""
