"""Outputs that are written bit by bit: one run at a time, nothing thrown away unasked, no mixed settings."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]
Shell = Callable[..., subprocess.Popen[bytes]]


def lines(start: int, stop: int) -> str:
    return "".join(json.dumps({"id": f"d{i}", "text": f"sparse graph {i}"}) + "\n" for i in range(start, stop))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text(lines(0, 6))
    return path


def begin(shell: Shell, output: Path, *arguments: object, command: str = "generate") -> subprocess.Popen[bytes]:
    """A run that has written two results and waits for more documents."""
    form = () if command == "expand" else ("--input-format", "jsonl")
    process = shell(command, "-", *form, "--output", output, "--threads", 1, *arguments)
    assert process.stdin is not None
    process.stdin.write(lines(0, 2).encode())
    process.stdin.flush()
    part, deadline = output.with_name(output.name + ".part"), time.monotonic() + 30
    while not (part.exists() and part.read_bytes().count(b"\n") == 2):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    return process


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


def test_one_run_at_a_time(shell: Shell, run: Run, corpus: Path, tmp_path: Path) -> None:
    output, part = tmp_path / "o.jsonl", tmp_path / "o.jsonl.part"
    first = begin(shell, output)
    before = part.read_bytes()
    for more in ((), ("--resume",)):
        result = run("generate", corpus, "--output", output, *more)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.splitlines() == [
            f"erukg: {part} is being written by another run; wait for its end, or name another output."
        ]
        assert part.read_bytes() == before
    first.communicate(lines(2, 4).encode(), timeout=30)
    assert first.returncode == 0
    assert ids(output) == ["d0", "d1", "d2", "d3"]
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "o.jsonl"}


def test_the_work_of_a_killed_run_is_not_thrown_away(shell: Shell, run: Run, corpus: Path, tmp_path: Path) -> None:
    output, part = tmp_path / "o.jsonl", tmp_path / "o.jsonl.part"
    first = begin(shell, output)
    first.kill()
    first.communicate()
    before = part.read_bytes()
    for form in ("json", "csv"):
        result = run("generate", corpus, "--output", output, "--format", form)
        assert (result.exit_code, result.stdout) == (1, "")
        assert len(result.stderr.splitlines()) == 1
        assert "go on from there with --resume, or remove that file to begin anew" in result.stderr
        assert part.read_bytes() == before
    assert run("generate", corpus, "--output", output, "--resume").exit_code == 0
    assert ids(output) == [f"d{i}" for i in range(6)]
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "o.jsonl"}


@pytest.mark.parametrize(
    ("command", "first", "then", "changed"),
    [
        ("generate", ("-k", 10), ("-k", 2), "top_k 10, now 2"),
        ("generate", (), ("--style", "short"), "length_penalty"),
        ("generate", (), ("--explain",), "explain false, now true"),
        ("rank", ("--phrase", "sparse graph"), ("--phrase", "sea ice"), "phrases"),
        ("expand", (), ("--present", "2"), "present null, now 2"),
        ("encode", ("--terms", 9), ("--terms", 5), "terms 9, now 5"),
        ("encode", (), ("--format", "tokens"), 'form "indices", now "tokens"'),
    ],
)
def test_settings_are_not_mixed(
    shell: Shell,
    run: Run,
    corpus: Path,
    tmp_path: Path,
    command: str,
    first: tuple[object, ...],
    then: tuple[object, ...],
    changed: str,
) -> None:
    output, part = tmp_path / "o.jsonl", tmp_path / "o.jsonl.part"
    process = begin(shell, output, *first, command=command)
    process.kill()
    process.communicate()
    before = part.read_bytes()
    result = run(command, corpus, "--output", output, "--resume", *then)
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1
    assert "was begun with other settings" in result.stderr
    assert changed in result.stderr
    assert part.read_bytes() == before
    assert run(command, corpus, "--output", output, "--resume", "--threads", 2, *first).exit_code == 0
    assert ids(output) == [f"d{i}" for i in range(6)]
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "o.jsonl"}


def test_a_part_that_is_a_link_or_a_pipe_is_refused(run: Run, corpus: Path, tmp_path: Path) -> None:
    output, part, precious = tmp_path / "o.jsonl", tmp_path / "o.jsonl.part", tmp_path / "precious"
    precious.write_text("the only copy")
    part.symlink_to(precious)
    for more in ((), ("--resume",)):
        result = run("generate", corpus, "--output", output, *more)
        assert result.exit_code == 1
        assert "is a link, a folder or a pipe" in result.stderr
    assert precious.read_text() == "the only copy"
    part.unlink()
    os.mkfifo(part)
    assert run("generate", corpus, "--output", output).exit_code == 1
    part.unlink()
    (tmp_path / "o.jsonl.part.json").write_text("left behind")
    assert run("generate", corpus, "--output", output).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "o.jsonl", "precious"}


def test_a_finished_output_that_cannot_be_resumed_leaves_no_part(run: Run, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "o.jsonl"
    output.write_text("something else\n")
    assert run("generate", corpus, "--output", output, "--resume").exit_code == 1
    assert output.read_text() == "something else\n"
    assert not (tmp_path / "o.jsonl.part").exists()
