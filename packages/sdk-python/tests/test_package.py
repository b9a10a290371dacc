"""Tests of the published package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from harness import ROOT, Fake

import bikeshare

PACKAGE = ROOT / "packages/sdk-python"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the sdist, and from it the wheel, as they are published."""
    pytest.importorskip("build", reason="no `build`")
    pytest.importorskip("hatchling", reason="no `hatchling`")
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--outdir", str(directory), str(PACKAGE)]
    subprocess.run(command, check=True, capture_output=True)
    return directory


def test_the_version_is_that_of_the_workspace() -> None:
    assert bikeshare.__version__ == json.loads((PACKAGE / "package.json").read_text("utf-8"))["version"]


def test_the_wheel_and_the_sdist_have_the_sources_the_types_and_the_readme_and_nothing_else(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    assert wheel.name == f"bikeshare_sdk-{bikeshare.__version__}-py3-none-any.whl"
    sources = {f"bikeshare/{path.relative_to(PACKAGE / 'src/bikeshare')}" for path in (PACKAGE / "src").rglob("*.py")}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(name for name in names if name.endswith("/METADATA"))
        text = archive.read(metadata).decode()
    assert {name for name in names if ".dist-info/" not in name} == {*sources, "bikeshare/py.typed"}
    for line in ("Requires-Python: >=3.10", "License: MIT", "Description-Content-Type: text/markdown"):
        assert line in text
    assert "# bikeshare-sdk for Python" in text
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "PKG-INFO", "src/bikeshare/py.typed"} <= inside
    assert not [name for name in inside if name.startswith(("tests", "test", "tools", "node_modules"))]


def test_the_metadata_are_accepted_by_the_index(built: Path) -> None:
    pytest.importorskip("twine", reason="no `twine`")
    files = [str(path) for path in built.iterdir()]
    command = [sys.executable, "-W", "ignore", "-m", "twine", "check", "--strict", *files]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_wheel_is_installed_into_an_environment_of_its_own_and_works_there(
    built: Path, tmp_path: Path, fake: Fake
) -> None:
    pytest.importorskip("pip", reason="no `pip`")
    # The environment uses the machine's packages as dependencies, because a package index is not always reachable.
    venv.create(tmp_path / "env", system_site_packages=True)
    python = str(tmp_path / "env/bin/python")
    (wheel,) = built.glob("*.whl")
    options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    install = ["-m", "pip", "--python", python, "install", *options, str(wheel)]
    subprocess.run([sys.executable, *install], check=True, capture_output=True)
    program = (
        "import bikeshare, sys\n"
        "assert bikeshare.__file__.startswith(sys.prefix), bikeshare.__file__\n"
        "with bikeshare.BikeShare(base_url=sys.argv[1], api_key=sys.argv[2]) as client:\n"
        "    print(sum(1 for _ in client.stations.list()) > 2)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, "-c", program, fake.url, fake.key]
    result = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert result.stdout == "True\n"
