"""The option --device."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from erukg.cli._common import choose_device
from erukg.errors import InputError


def test_the_cpu_needs_no_torch(tiny_model: Path) -> None:
    code = (
        "import sys\n"
        "from erukg.cli import main\n"
        f"sys.argv = ['erukg', 'extract', '-', '--model', {str(tiny_model)!r}, '--format', 'json']\n"
        "try:\n    main()\nfinally:\n    assert 'torch' not in sys.modules and 'onnx' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"deep neural networks", capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b'"present"' in done.stdout


def test_what_auto_has_come_to_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert choose_device("cpu") is None
    assert capsys.readouterr().err == ""
    found = choose_device("auto")
    assert capsys.readouterr().err == f"erukg: The model runs on {found or 'the CPU'}.\n"
    with pytest.raises(InputError, match="no device 'gpu'"):
        choose_device("gpu")


@pytest.mark.parametrize("command", [["generate", "--no-collection"], ["extract"]])
def test_a_device_that_is_not_there(command: list[str], tiny_model: Path) -> None:
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.device_count() > 99:
            return
    arguments = [sys.executable, "-m", "erukg.cli", *command, "-", "--model", str(tiny_model), "--device", "cuda:99"]
    done = subprocess.run(arguments, input=b"deep neural networks", capture_output=True)
    assert done.returncode == 1
    assert done.stderr.startswith(b"erukg: ")
    assert done.stderr.count(b"\n") == 1
