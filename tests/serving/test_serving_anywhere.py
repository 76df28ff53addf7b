"""Starts in places like containers, without a home and anything to write to; the files that describe such places."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import erukg
from serving.serving_tools import Process

ROOT = Path(__file__).parents[2]
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env"]
# Where the interpreter lies in root's home: reads everything, and writes no more than that user.
WHO_READS = [*AS_NOBODY[:-1], "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "env"]
KERNEL = """
import warnings, numpy as np
warnings.simplefilter("always")
from erukg.core.hashing import _hash_strings
letters, ends, out = np.frombuffer(b"abc", np.uint8), np.array([0, 3]), np.empty(1, np.uint64)
_hash_strings(letters, ends, out)
print(out[0])
"""


@pytest.fixture(scope="module")
def as_nobody() -> list[str]:
    """What to put before a command, so that a user without rights runs it."""
    if not hasattr(os, "getuid") or os.getuid() or not shutil.which("setpriv"):
        pytest.skip("only root can become another user, with setpriv of util-linux")
    for before in (AS_NOBODY, WHO_READS):
        if not subprocess.run([*before, sys.executable, "-c", ""], capture_output=True, check=False).returncode:
            return before
    pytest.skip("other users cannot run the interpreter where it lies")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users can read, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def package(place: Path) -> Path:
    """The package's source where this process' user has nothing compiled yet, and others cannot write."""
    source = Path(erukg.__file__).parent
    shutil.copytree(source, place / "site" / "erukg", ignore=shutil.ignore_patterns("__pycache__", "assets"))
    return place / "site"


def warnings_of(place: Path, *before: str, **env: str) -> str:
    """What is said when a kernel is compiled there; its result is checked."""
    command = [*before, sys.executable, "-c", KERNEL]
    done = subprocess.run(
        command,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 16654208175385433931
    return done.stderr


def test_a_start_without_home_and_with_read_only_packages(tiny_model: Path, place: Path, as_nobody: list[str]) -> None:
    site, temporary = package(place), place / "tmp"
    for part in shutil.copytree(tiny_model, place / "model").iterdir():
        part.chmod(0o644)
    temporary.mkdir()
    temporary.chmod(0o1777)
    variables = [f"PYTHONPATH={site}", "HOME=/", f"TMPDIR={temporary}", "PYTHONDONTWRITEBYTECODE=1"]
    before = [*as_nobody, "-u", "NUMBA_CACHE_DIR", *variables]
    with Process("--model", place / "model", "--workers", 2, "--threads", 1, before=before) as server:
        answer = httpx.post(f"{server.url}/v1/rank", json={"text": "graph data", "phrases": ["graph data"]})
        assert answer.status_code == 200
        assert answer.json()["results"][0]["phrase"] == "graph data"
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        assert f"Uid:\t{NOBODY}" in status
        assert server.end() == 0


def test_compiled_code_goes_to_a_temporary_folder_and_then_nowhere(place: Path, as_nobody: list[str]) -> None:
    site, temporary = package(place), place / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)
    first = warnings_of(site, *as_nobody, HOME="/", TMPDIR=str(temporary))
    assert first.count("Compiled code can be written neither") == 1
    kept = temporary / f"erukg-{NOBODY}"
    assert f"kept in {kept}" in first
    assert list(kept.glob("*/*.nbi"))
    assert kept.stat().st_mode & 0o777 == 0o700
    # A folder of this name that others could have filled is not used.
    kept.chmod(0o777)
    foreign = warnings_of(site, *as_nobody, HOME="/", TMPDIR=str(temporary))
    assert foreign.count("is not kept (nor in a temporary folder") == 1
    assert foreign.count("Compiled code can be written neither") == 1


def test_what_was_compiled_before_is_used_though_it_cannot_be_written_to(place: Path, as_nobody: list[str]) -> None:
    site, ready, temporary = package(place), place / "ready", place / "tmp"
    assert not warnings_of(site, NUMBA_CACHE_DIR=str(ready))
    temporary.mkdir()
    temporary.chmod(0o1777)
    assert not warnings_of(site, *as_nobody, HOME="/", TMPDIR=str(temporary), NUMBA_CACHE_DIR=str(ready))
    copied = {file.name: file.stat().st_mtime_ns for file in temporary.rglob("*.nbc")}
    assert copied
    assert not warnings_of(site, *as_nobody, HOME="/", TMPDIR=str(temporary), NUMBA_CACHE_DIR=str(ready))
    # Nothing was compiled anew.
    assert copied == {file.name: file.stat().st_mtime_ns for file in temporary.rglob("*.nbc")}
    assert set(copied) == {file.name for file in ready.rglob("*.nbc")}


def test_a_damaged_cache_and_a_full_disk_only_cost_time(place: Path) -> None:
    site, cache = package(place), place / "cache"
    assert not warnings_of(site, NUMBA_CACHE_DIR=str(cache))
    for file in cache.rglob("*.nb?"):
        file.write_bytes(file.read_bytes()[:40])
    assert not warnings_of(site, NUMBA_CACHE_DIR=str(cache))
    if shutil.which("prlimit"):
        full = ["prlimit", "--fsize=100"]
        assert not warnings_of(site, *full, NUMBA_CACHE_DIR=str(place / "other"))


def test_the_unit_file_is_one(place: Path) -> None:
    unit = ROOT / "deploy" / "erukg.service"
    text = unit.read_text()
    assert "NUMBA_CACHE_DIR=%C/erukg" in text
    assert "DynamicUser=yes" in text
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    # The command is not installed where the unit expects it.
    written = place / unit.name
    written.write_text(text.replace("/opt/erukg/bin/erukg", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(written)], capture_output=True, text=True, timeout=30, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if unit.name in line]
    assert not complaints, complaints


def test_the_compose_file_is_one() -> None:
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["erukg"]
    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]
    assert (ROOT / service["build"] / "Dockerfile").is_file()


def _instructions(kind: str) -> list[str]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return [line.split(None, 1)[1] for line in text.splitlines() if line.startswith(f"{kind} ")]


@pytest.mark.doors
def test_the_steps_of_the_dockerfile_make_a_service_that_runs_read_only(place: Path, as_nobody: list[str]) -> None:
    """Its commands in an environment of their own, its entry point and its health check as the user it names."""
    build, home = place / "build", place / "opt"
    build.mkdir()
    for instruction in _instructions("COPY"):
        *sources, target = instruction.split()
        for source in sources if not instruction.startswith("--from") else ():
            original = ROOT / source
            if original.is_dir():
                shutil.copytree(original, build / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(original, build / target)
    (place / "bin").mkdir()
    (place / "bin" / "python").symlink_to(sys.executable)
    env = dict(pair.split("=", 1) for line in _instructions("ENV") for pair in line.split())
    env = {name: value.replace("/opt/erukg", str(home)) for name, value in env.items()}
    first, *others = (line.replace("/opt/erukg", str(home)) for line in _instructions("RUN"))
    for command in (first, *others):
        path = f"{home}/bin:{place}/bin:{os.environ['PATH']}"
        subprocess.run(command, shell=True, cwd=build, env={**os.environ, **env, "PATH": path}, check=True, timeout=500)
    temporary = place / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)
    (entry,) = _instructions("ENTRYPOINT")
    (check,) = _instructions("HEALTHCHECK")
    (user,) = _instructions("USER")
    assert user == f"{NOBODY}:{NOBODY}"
    read_only = f'mount --bind {home} {home} && mount -o remount,ro,bind {home} && exec "$@"'
    given = [f"{name}={value}" for name, value in env.items()]
    service = [
        *("unshare", "--mount", "sh", "-c", read_only, "sh"),
        *(*as_nobody, "-i", "HOME=/", f"TMPDIR={temporary}", *given),
        *(*json.loads(entry), "--port", "8000"),
    ]
    process = subprocess.Popen(service, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        lines = [json.loads(process.stderr.readline())]
        while lines[-1].get("event") != "listening":
            lines.append(json.loads(process.stderr.readline()))
        assert not [line for line in lines if "Compiled code" in line.get("message", "")]
        probe = json.loads(check[check.index("[") :])
        subprocess.run([f"{home}/bin/{probe[0]}", *probe[1:]], check=True, timeout=60)
        answer = httpx.post(
            "http://127.0.0.1:8000/v1/keyphrases", json={"text": "Sea ice thickness by radiometry"}, timeout=60
        )
        assert answer.json()["results"][0]["present"]
        page = b"<html><body><h1>Sea ice</h1><p>Its thickness by radiometry.</p></body></html>"
        kind = {"Content-Type": "text/html"}
        read = httpx.post("http://127.0.0.1:8000/v1/read", content=page, headers=kind, timeout=60)
        assert "Its thickness by radiometry." in read.json().get("text", ""), read.text
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
