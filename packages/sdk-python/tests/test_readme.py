"""Runs the programs of the README."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest
from harness import ROOT, Fake

from bikeshare import BikeShare
from bikeshare.webhooks import sign

README = (ROOT / "packages/sdk-python/README.md").read_text("utf-8")
# The program about sandboxes is not run here, but in service_tests.
MIRROR, CALLS, TASKS, _, RECEIVE = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def run(program: str, fake: Fake) -> dict[str, Any]:
    """Runs a program, and returns its global names."""
    names: dict[str, Any] = {"__name__": "readme", "base_url": fake.url, "api_key": fake.key}
    exec(compile(program, "README.md", "exec", dont_inherit=True), names)
    return names


def test_the_mirror_keeps_a_copy_up_to_date_and_begins_anew_when_its_checkpoint_is_lost(fake: Fake) -> None:
    mirror = run(MIRROR, fake)["mirror"]
    copy = sqlite3.connect(":memory:")
    count = lambda: copy.execute("select count(*) from stations").fetchone()[0]  # noqa: E731
    with BikeShare(base_url=fake.url, api_key=fake.key) as client:
        everything = mirror(client, copy)
        assert (everything, mirror(client, copy)) == (count(), 0)
        added = fake.station()
        assert (mirror(client, copy), count()) == (1, everything + 1)
        fake.tell("/stations/remove", {"id": added})
        assert (mirror(client, copy), count()) == (1, everything)
        fake.script({"status": 410, "error": "checkpoint_lost"})
        assert (mirror(client, copy), count()) == (0, 0)
        assert mirror(client, copy) >= everything == count()
    copy.close()


def test_the_program_on_calls(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(CALLS, fake)
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d+ of \d+ pages", lines[0])
    assert lines[1].endswith(" cancelled")
    assert re.fullmatch(r"\[\] event_\w+", lines[2])
    assert names["rides"].checkpoint() and names["rest"]


def test_the_program_on_tasks(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    run(TASKS, fake)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 2 and int(lines[-1]) > 0


def test_the_program_on_webhooks(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    import time

    receive = run(RECEIVE, fake)["receive"]
    instant = "2026-06-01T12:00:00.000Z"
    body = (
        f'{{"event":"ride.completed","delivery_id":"d","occurred_at":"{instant}","sent_at":"{instant}",'
        '"data":{"duration_seconds":60}}'
    ).encode()
    assert receive(body, sign(body, "whsec_x", int(time.time())), "whsec_x") == 200
    assert receive(body, None, "whsec_x") == 400
    assert capsys.readouterr().out.splitlines()[0] == "60"
