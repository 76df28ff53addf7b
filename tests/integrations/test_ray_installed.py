"""The one test that is skipped where Ray is not installed, and what the package says there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_ray_is_installed() -> None:
    pytest.importorskip(
        "ray", reason="Ray is not installed, so tests/integrations is not run: pip install 'erukg[ray]'"
    )


def test_without_the_extra_there_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "sea ice"}\n')
    code = "import sys; sys.modules['ray'] = None; from erukg.cli import main; main()"
    for command in ("generate", "extract", "expand", "collection"):
        arguments = ["build", "c", "a.jsonl"] if command == "collection" else ["a.jsonl", "-o", "out"]
        line = [sys.executable, "-c", code, command, *arguments, "--engine", "ray"]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        expected = "erukg: --engine ray needs the package 'ray'; install it with: pip install 'erukg[ray]'"
        assert (done.returncode, done.stderr.strip()) == (1, expected)


def test_nothing_of_ray_is_loaded_without_it() -> None:
    code = (
        "import sys; import erukg.integrations.ray, erukg.cli.generate, erukg.cli.expand, erukg.cli.collection; "
        "sys.exit(bool({'ray', 'pyarrow', 'pandas', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
