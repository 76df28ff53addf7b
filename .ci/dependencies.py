"""What the package needs, as installed in this environment.

    python .ci/dependencies.py lock > .ci/dev.lock        every package of a development environment, pinned
    python .ci/dependencies.py sbom serve > sbom.json     what runs with these extras, as CycloneDX JSON
    python .ci/dependencies.py lowest FOLDER serve pdf    the lowest versions that pyproject.toml allows, with these
                                                          extras, in an environment of their own; the tests that need
                                                          no more than these are run in it
    python .ci/dependencies.py audit serve                known weaknesses of what runs with these extras (pip-audit,
                                                          which asks a database on the network)

A development environment like the one that was tested: pip install -r .ci/dev.lock -e . --no-deps
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import tomllib
import uuid
import venv
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
DEVELOPMENT = ("dev", "train", "browser")
#: Run with the lowest versions: what every installation has, and what an extra adds.
TOOLS = ("pytest>=8.2", "hypothesis>=6.100", "onnx==1.17.0", "httpx>=0.27", "nltk>=3.9")
TESTS = (
    *("tests/core", "tests/collection/test_collection_build.py", "tests/collection/test_collection_damage.py"),
    *("tests/collection/test_collection_changes.py", "tests/collection/test_collection_strangers.py"),
    *("tests/backends/test_onnx_backend.py", "tests/backends/test_batch.py", "tests/cli/test_cli_generate.py"),
    *("tests/subjects/test_vocabulary.py", "tests/subjects/test_suggest.py"),
)
TESTS_OF_EXTRAS = {
    "serve": ("tests/serving/test_serving_api.py", "tests/serving/test_serving_limits.py"),
    "parquet": ("tests/io/test_io_sources.py",),
    "pdf": ("tests/io/test_io_inputs.py",),
    "skos": ("tests/subjects/test_vocabulary_readers.py",),
}


def required(extras: Iterable[str]) -> Iterator[Requirement]:
    """The requirements in pyproject.toml, with those of these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        if extra not in project["optional-dependencies"]:
            sys.exit(f"There is no extra '{extra}'; there are: {', '.join(project['optional-dependencies'])}.")
        lines += project["optional-dependencies"][extra]
    for requirement in map(Requirement, lines):
        if canonicalize_name(requirement.name) == project["name"]:
            yield from required(sorted(requirement.extras))
        else:
            yield requirement


def installed(wanted: Iterable[Requirement]) -> dict[str, Distribution]:
    """The packages that meet the requirements, and those that they require in turn, by name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(requirement, extra) for requirement in wanted for extra in ("", *sorted(requirement.extras))]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        if name not in found:
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                sys.exit(f"{name} is not installed here; install the package with its extras first.")
        for line in found[name].requires or ():
            further = Requirement(line)
            if further.marker is None or further.marker.evaluate({"extra": extra}):
                waiting += [(further, each) for each in ("", *sorted(further.extras))]
    return dict(sorted(found.items()))


def of_this_platform(requirements: Iterable[Requirement]) -> list[Requirement]:
    return [each for each in requirements if each.marker is None or each.marker.evaluate()]


def lock() -> str:
    packages = installed(of_this_platform(required(DEVELOPMENT)))
    head = f"# Written by `python .ci/dependencies.py lock` on {platform.system()}, Python {platform.python_version()}."
    return "\n".join([head, *(f"{name}=={Version(each.version).public}" for name, each in packages.items())])


def component(name: str, package: Distribution) -> dict[str, Any]:
    version, about = Version(package.version).public, package.metadata
    licence = about.get("License-Expression") or (about.get("License") or "").partition("\n")[0].strip()
    address = f"pkg:pypi/{name}@{version}"
    named = {"licenses": [{"license": {"name": licence}}]} if licence else {}
    return {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address, **named}


def bill_of_materials(extras: Iterable[str]) -> str:
    version: dict[str, str] = {}
    exec((ROOT / "src" / "erukg" / "_version.py").read_text("utf-8"), version)
    packages = installed(of_this_platform(required(extras)))
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "erukg", "version": version["__version__"]}},
        "components": [component(name, package) for name, package in packages.items()],
    }
    return json.dumps(bill, indent=1)


def lowest(requirement: Requirement) -> str:
    """The requirement at its lower bound."""
    bounds = [bound.version for bound in requirement.specifier if bound.operator in (">=", "==")]
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}=={max(bounds, key=Version)}"


def test_lowest(folder: Path, extras: Sequence[str]) -> int:
    """The exit code of the tests with the lowest versions, in an environment in `folder`, which is made."""
    pins = [lowest(each) for each in of_this_platform(required(extras))]
    print(" ".join(pins), flush=True)
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *pins, *TOOLS], check=True)
    tests = [*TESTS, *(path for extra in extras for path in TESTS_OF_EXTRAS.get(extra, ()))]
    line = [python, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.run(line, cwd=ROOT, env=environment, check=False).returncode


def audit(extras: Iterable[str]) -> int:
    """The exit code of pip-audit on the packages that run with these extras, as they are installed here."""
    if find_spec("pip_audit") is None:
        sys.exit("pip-audit is not installed here; install it with: pip install pip-audit")
    packages = installed(of_this_platform(required(extras)))
    lines = "".join(f"{name}=={Version(each.version).public}\n" for name, each in packages.items())
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(lines)
        file.flush()
        # Strict: a package that the database cannot be asked about is no package without weaknesses.
        line = [sys.executable, "-m", "pip_audit", "--strict", "--no-deps", "--disable-pip", "--requirement", file.name]
        return subprocess.run(line, check=False).returncode


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["lock"]:
            print(lock())
        case ["sbom", *extras]:
            print(bill_of_materials(extras))
        case ["lowest", folder, *extras]:
            sys.exit(test_lowest(Path(folder), extras))
        case ["audit", *extras]:
            sys.exit(audit(extras))
        case _:
            sys.exit(__doc__)
