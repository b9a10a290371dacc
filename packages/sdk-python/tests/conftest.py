"""Fixtures with the fake service and both clients, and a file with the tests' results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from harness import AsyncSide, Fake, Side, SyncSide, VirtualTime


@pytest.fixture(scope="session")
def fake() -> Iterator[Fake]:
    """Starts the fake of @bikeshare/sdk, which is called over HTTP."""
    service = Fake.start()
    yield service
    service.stop()


@pytest.fixture(params=["sync", "async"])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    """Makes clients of one kind, for threads or for tasks, and runs their calls in virtual time."""
    made = SyncSide() if request.param == "sync" else AsyncSide()
    yield made
    made.close()


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Writes each result as a line of JSON, for test/python.test.ts."""
    path = os.environ.get("BIKESHARE_PYTEST_RESULTS")
    is_result = report.when == "call" or report.outcome != "passed"
    if path is None or not is_result:
        return
    # For a skipped test, `longrepr` is a tuple of the file, the line and the reason.
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    result = {"name": report.nodeid, "outcome": report.outcome, "when": report.when, "reason": str(reason)}
    with open(path, "a", encoding="utf-8") as results:
        results.write(json.dumps({**result, "seconds": report.duration}) + "\n")
