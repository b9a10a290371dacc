"""The faults of faults.json, with which the TypeScript client is tested too, on the same scripted fake."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from harness import ROOT, Fake, Side

from bikeshare import BikeShareError

FAULTS = json.loads((ROOT / "packages/sdk/test/faults.json").read_text("utf-8"))


def options_of(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of a call under the names of this package."""
    seconds = {"timeoutMs": "timeout", "totalTimeoutMs": "total_timeout"}
    return {seconds.get(name, "max_retries"): value / 1000 if name in seconds else value for name, value in options.items()}


@pytest.mark.parametrize("fault", FAULTS, ids=[fault["name"] for fault in FAULTS])
def test_fault(fault: dict[str, Any], fake: Fake, side: Side) -> None:
    client = side.client(base_url=fake.url, api_key=fake.key, random=lambda: 0.0)
    options = options_of(fault.get("options", {}))
    name, expected = fault["call"], dict(fault["expect"])
    station = fake.station(bikes=2)
    bike = fake.rides(5) if name == "walk" else ""
    held: Any = side.do(lambda: client.reservations.create(station_id=station)) if name in ("extend", "cancel") else {}
    before = len(fake.requests())
    fake.script(*fault["answers"])

    calls = {
        "get": lambda: client.stations.get(station, options=options),
        "walk": lambda: client.rides.list(bike_id=bike, limit=2, options=options).to_list(),
        "changes": lambda: client.bikes.changes_since(None, options=options).to_list(),
        "create": lambda: client.reservations.create(station_id=station, options=options),
        "extend": lambda: client.reservations.extend(held["id"], hold_minutes=5, options=options),
        "cancel": lambda: client.reservations.cancel(held["id"], options=options),
    }
    if "error" in expected:
        error = side.caught(calls[name])
        assert isinstance(error, BikeShareError), repr(error)
        seen = (type(error).__name__, error.code, error.status)
        assert seen == (expected["error"], expected.get("code"), expected.get("status"))
        if "retryAfterSeconds" in expected:
            assert error.retry_after == expected["retryAfterSeconds"]
    else:
        result = side.do(calls[name])
        if "items" in expected:
            assert len({item["id"] for item in result}) == len(result) == expected["items"]
    assert len(fake.requests()) - before == expected["requests"]
    if "reservations" in expected:
        active = side.do(lambda: client.reservations.list(status="active", limit=200).to_list())
        assert len([each for each in active if each["station_id"] == station]) == expected["reservations"]
    if "minutes" in expected:
        now = side.do(lambda: client.reservations.get(held["id"]))
        ends, ended = (datetime.fromisoformat(each["expires_at"][:-1]) for each in (now, held))
        assert (ends - ended).total_seconds() == expected["minutes"] * 60


def test_all_faults_are_here() -> None:
    assert len(FAULTS) == 35
