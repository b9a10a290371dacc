"""What a call asks its client to do. `_sync` and `_async` carry these out; all decisions are made here, without I/O."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, Union


class Wakeup(Protocol):
    """What ends a wait early: `threading.Event` or `anyio.Event`."""

    def set(self) -> object:
        """Ends the wait."""
        ...


@dataclass(frozen=True)
class Key:
    """Answer with `Secret`: the API key, which may come from a function."""


@dataclass(frozen=True)
class Send:
    """Send a request once and answer with `Received` or `Failed`."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)
    seconds: float
    """The most that may pass until the last byte of the response."""


@dataclass(frozen=True)
class Wait:
    """Wait some seconds, or until `wakeup` is set. Answer with nothing."""

    seconds: float
    wakeup: Wakeup


# The fields without a representation may hold the key: frames of a traceback show what they hold.


@dataclass(frozen=True)
class Secret:
    """The API key."""

    value: object = field(repr=False)


@dataclass(frozen=True)
class Received:
    """A response, read to its end."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Failed:
    """No response."""

    message: str = field(repr=False)
    is_timeout: bool = False


MAX_RESPONSE_BYTES = 64 * 1024 * 1024
"""The most that is read of a response, unpacked: the service's own have less than a hundredth of it. Without a bound, whatever
answers in its place, and never ends, takes all memory."""

TOO_LARGE = Failed("the response is larger than 64 MiB")


Effect = Union[Key, Send, Wait]

Result = TypeVar("Result")

Flow = Generator[Effect, object, Result]
"""A piece of work in progress."""
