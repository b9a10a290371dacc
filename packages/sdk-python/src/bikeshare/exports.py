"""Downloads the files of exports."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

import httpx

from .errors import ConnectionError, UnexpectedResponseError, api_error_class
from .types import Export

__all__ = ["download_export", "download_export_async"]

CHUNK_BYTES = 65_536
"""Bytes that are read at a time. Too low: costs time. Too high: costs memory."""


def download_export(file: Export, to: BinaryIO, *, http_client: httpx.Client | None = None) -> None:
    """Downloads the file of an export, which `client.exports` returns, and compares its checksum.

    :param to: gets the bytes. Do not use them before this function has returned, because it checks them at the end
    :raises ApiError: for an error status, such as when the link is no longer valid: read the export again
    :raises ConnectionError: when there is no connection, or it broke
    :raises UnexpectedResponseError: when the checksum differs, or for a redirect
    """
    http = http_client or httpx.Client()
    transfer = _Transfer(file, to)
    try:
        with http.stream("GET", file["download_url"]) as response:
            transfer.check_status(response)
            for chunk in response.iter_bytes(CHUNK_BYTES):
                transfer.write(chunk)
    except httpx.RequestError as error:
        raise transfer.broken(error) from None
    finally:
        if http_client is None:
            http.close()
    transfer.check_sum()


async def download_export_async(file: Export, to: BinaryIO, *, http_client: httpx.AsyncClient | None = None) -> None:
    """Like `download_export`, for tasks. Writing to `to` blocks the event loop."""
    http = http_client or httpx.AsyncClient()
    transfer = _Transfer(file, to)
    try:
        async with http.stream("GET", file["download_url"]) as response:
            transfer.check_status(response)
            async for chunk in response.aiter_bytes(CHUNK_BYTES):
                transfer.write(chunk)
    except httpx.RequestError as error:
        raise transfer.broken(error) from None
    finally:
        if http_client is None:
            await http.aclose()
    transfer.check_sum()


class _Transfer:
    """The part of a download that both functions share: checks the status, writes the bytes and compares the checksum."""

    def __init__(self, file: Export, to: BinaryIO) -> None:
        self._file = file
        self._to = to
        self._sum = hashlib.sha256()

    def check_status(self, response: httpx.Response) -> None:
        status = response.status_code
        # A link is a secret, so the error contains neither the link nor the response's text.
        if status != 200:
            kind = api_error_class(status, None) if status >= 400 else UnexpectedResponseError
            raise kind(f"export {self._file['id']}: status {status}: read the export again", attempts=1, status=status)

    def write(self, chunk: bytes) -> None:
        self._sum.update(chunk)
        self._to.write(chunk)

    def broken(self, error: httpx.RequestError) -> ConnectionError:
        return ConnectionError(f"export {self._file['id']}: {error or type(error).__name__}", attempts=1)

    def check_sum(self) -> None:
        if self._sum.hexdigest() != self._file["sha256"]:
            raise UnexpectedResponseError(f"export {self._file['id']} has another SHA-256: download it again", attempts=1)
