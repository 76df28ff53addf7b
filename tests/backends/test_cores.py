"""The cores that a container leaves to a process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from erukg.backends import threads
from erukg.backends.threads import cores, cpu_quota


def lay(root: Path, **files: str) -> Path:
    for name, text in {"proc/self/cgroup": files.pop("group"), **files}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


V2, V1 = "sys/fs/cgroup/", "sys/fs/cgroup/cpu,cpuacct/"


@pytest.mark.parametrize(
    ("group", "files", "quota"),
    [
        ("0::/\n", {V2 + "cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {V2 + "cpu.max": "max 100000\n"}, None),
        ("0::/a/b\n", {V2 + "a/b/cpu.max": "max 100000\n", V2 + "a/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/../host/path\n", {V2 + "cpu.max": "200000 100000\n"}, 2.0),
        (
            "5:memory:/x\n3:cpu,cpuacct:/docker/c0ffee\n",
            {V1 + "cpu.cfs_quota_us": "300000\n", V1 + "cpu.cfs_period_us": "100000\n"},
            3.0,
        ),
        ("3:cpu,cpuacct:/\n", {V1 + "cpu.cfs_quota_us": "-1\n", V1 + "cpu.cfs_period_us": "100000\n"}, None),
        ("3:cpu,cpuacct:/\n", {V1 + "cpu.cfs_quota_us": "100000\n", V1 + "cpu.cfs_period_us": "0\n"}, None),
        ("nonsense\n", {V2 + "cpu.max": "\n"}, None),
    ],
)
def test_the_quota_of_a_container(tmp_path: Path, group: str, files: dict[str, str], quota: float | None) -> None:
    assert cpu_quota(lay(tmp_path, group=group, **files)) == quota


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None


@pytest.mark.parametrize(("quota", "expected"), [(0.2, 1), (1.0, 1), (1.5, 2), (10_000.0, None), (None, None)])
def test_cores_are_the_quota_rounded_up(monkeypatch: pytest.MonkeyPatch, quota: float | None, expected: int) -> None:
    monkeypatch.setattr(threads, "cpu_quota", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert cores() == (expected or 64)
