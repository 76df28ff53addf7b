"""What the package needs, as installed in this environment.

    python .ci/dependencies.py lock > .ci/dev.lock        every package of a development environment, pinned
    python .ci/dependencies.py sbom serve > sbom.json     what runs with these extras, as CycloneDX JSON

A development environment like the one that was tested: pip install -r .ci/dev.lock -e . --no-deps
"""

from __future__ import annotations

import json
import platform
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
DEVELOPMENT = ("dev", "train", "browser")


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


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["lock"]:
            print(lock())
        case ["sbom", *extras]:
            print(bill_of_materials(extras))
        case _:
            sys.exit(__doc__)
