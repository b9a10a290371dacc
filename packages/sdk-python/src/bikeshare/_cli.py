"""The command line: `python -m bikeshare trigger ride.completed`."""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NoReturn, TextIO, cast, get_args

from ._version import __version__
from .errors import BikeShareError, UsageError
from .sandbox import SandboxClient
from .types import SandboxEventName, SandboxScenarioName

_EVENTS: tuple[str, ...] = get_args(SandboxEventName)
_SCENARIOS: tuple[str, ...] = get_args(SandboxScenarioName)

_DONE, _FAILED, _WRONG_USAGE = 0, 1, 2

_NAMES = f"""events:
  {", ".join(_EVENTS)}

scenarios:
  {", ".join(_SCENARIOS)}

The service's URL comes from BIKESHARE_BASE_URL, the key from BIKESHARE_API_KEY: a key of your sandbox, which begins with
bss_test_. Exit status: 0 done, 1 failed, 2 wrong usage.
"""


def run(args: Sequence[str], env: Mapping[str, str], out: TextIO = sys.stdout, err: TextIO = sys.stderr) -> int:
    """Runs the command line. Returns the exit status: 0 done, 1 failed, 2 wrong usage."""
    if any(re.match(r"--?(api-?)?key(=|$)", arg) for arg in args):
        print(
            "every user of this machine can read a key on the command line: set BIKESHARE_API_KEY, or give --api-key-file <path>",
            file=err,
        )
        return _WRONG_USAGE
    given = _parser().parse_args(args)
    try:
        with SandboxClient(
            base_url=given.base_url or _required(env, "BIKESHARE_BASE_URL", "--base-url <URL>"),
            api_key=_key(given.api_key_file, env),
            user_agent="bikeshare-sdk-cli",
        ) as client:
            result, resource = _trigger(client, given.name, given.station)
    except UsageError as error:
        print(error.message, file=err)
        return _WRONG_USAGE
    except BikeShareError as error:
        request = f" (request {_printable(error.request_id)})" if error.request_id else ""
        print(_printable(error.message) + request, file=err)
        return _FAILED
    if given.json:
        print(json.dumps(result), file=out)
        return _DONE
    for step in cast("list[str]", result["steps"]):
        print(f"- {_printable(step)}", file=out)
    if resource is not None:
        print(f"{given.name}: {_printable(resource)}", file=out)
    if result.get("key") is not None:
        print("--json shows the key that was made.", file=err)
    return _DONE


def _trigger(client: SandboxClient, name: str, station: str | None) -> tuple[Mapping[str, object], str | None]:
    """Causes an event, or plays a scenario. Returns the answer, and the resource's id of an event."""
    if name in _EVENTS:
        caused = client.sandbox.trigger(cast(SandboxEventName, name), station_id=station)
        return cast("Mapping[str, object]", caused), caused["resource_id"]
    if name not in _SCENARIOS:
        raise UsageError("no event or scenario has this name: `python -m bikeshare trigger --help` lists them")
    if station is not None:
        raise UsageError("--station is of events: a scenario chooses its stations")
    return cast("Mapping[str, object]", client.sandbox.scenario(cast(SandboxScenarioName, name))), None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse repeats arguments in its messages, and somebody may have typed the key.
        super().error(re.sub(r"bss_\w+", "[redacted]", message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m bikeshare", description="The Bike-Sharing Data Service at your terminal.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="<command>", required=True)
    summary = "cause an event in your sandbox, or play a scenario there"
    trigger = commands.add_parser(
        "trigger", help=summary, description=summary, epilog=_NAMES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    trigger.add_argument("name", metavar="<event or scenario>", help="one of those below")
    trigger.add_argument("--station", metavar="<id>", help="where the event happens; default: the sandbox chooses")
    trigger.add_argument("--base-url", metavar="<URL>", help="the service's URL; default: BIKESHARE_BASE_URL")
    trigger.add_argument("--api-key-file", metavar="<path>", help="a file with the API key; default: BIKESHARE_API_KEY")
    trigger.add_argument("--json", action="store_true", help="JSON on stdout")
    return parser


def _key(file: str | None, env: Mapping[str, str]) -> str:
    if file is None:
        return _required(env, "BIKESHARE_API_KEY", "--api-key-file <path>").strip()
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"--api-key-file: the file cannot be read: {reason}") from None


def _required(env: Mapping[str, str], name: str, option: str) -> str:
    value = env.get(name)
    if not value:
        raise UsageError(f"{name} is not set: set it, or give {option}")
    return value


def _printable(text: str) -> str:
    """Returns a text for a terminal. It replaces control characters, because others write texts such as station names."""
    hidden = ("Cc", "Cf", "Zl", "Zp")
    return "".join("\ufffd" if unicodedata.category(each) in hidden else each for each in text)
