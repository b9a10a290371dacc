"""Downloads of exports."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import anyio
import httpx
import pytest

import bikeshare
from bikeshare import download_export, download_export_async

BYTES = bytes(range(256)) * 1000
FILE: Any = {
    "id": "export_1",
    "download_url": "https://bikes.example/files/secret-link",
    "sha256": hashlib.sha256(BYTES).hexdigest(),
}


@pytest.fixture(params=["sync", "async"])
def download(request: pytest.FixtureRequest) -> Any:
    """Downloads an export from a handler, and returns its bytes."""

    def get(handler: Any, file: Any = FILE) -> bytes:
        to, transport = io.BytesIO(), httpx.MockTransport(handler)

        async def work() -> None:
            async with httpx.AsyncClient(transport=transport) as http:
                await download_export_async(file, to, http_client=http)

        if request.param == "async":
            anyio.run(work)
        else:
            with httpx.Client(transport=transport) as http:
                download_export(file, to, http_client=http)
        return to.getvalue()

    return get


def test_gives_the_bytes_of_the_file_and_sends_no_key(download: Any) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, content=BYTES)

    assert download(answer) == BYTES
    assert (str(sent[0].url), "authorization" in sent[0].headers) == (FILE["download_url"], False)


def broken(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("reset")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda _: httpx.Response(410), bikeshare.InvalidRequestError),
        (lambda _: httpx.Response(503), bikeshare.ServerError),
        (lambda _: httpx.Response(302, headers={"location": "https://evil.example"}), bikeshare.UnexpectedResponseError),
        (lambda _: httpx.Response(200, content=BYTES[1:]), bikeshare.UnexpectedResponseError),
        (broken, bikeshare.ConnectionError),
    ],
    ids=["an ended link", "a failure", "a redirect", "other bytes", "a broken connection"],
)
def test_raises_for_and_shows_no_link(download: Any, answer: Any, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught:
        download(answer)
    assert type(caught.value) is expected
    assert "secret-link" not in str(caught.value)
