"""Which device a user means."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

from erukg.core.arguments import checked
from erukg.errors import InputError, require

__all__ = ["find_device"]

_PURPOSE = "Running a model on a GPU"


@checked
def find_device(device: str | None) -> str | None:
    """The device for torch, or None for the CPU, which needs no torch.

    `auto` is a GPU where torch is installed and sees one, else the CPU; a device that is named must be there.
    """
    if device is None or device == "cpu":
        return None
    if device == "auto":
        if importlib.util.find_spec("torch") is None or importlib.util.find_spec("onnx") is None:
            return None
        torch: Any = importlib.import_module("torch")
        return "cuda" if torch.cuda.is_available() else None
    if not re.fullmatch(r"cuda(:\d{1,3})?", device):
        raise InputError(f"There is no device '{device}'; use auto, cpu, cuda or cuda:NUMBER.")
    torch = require("torch", "gpu", _PURPOSE)
    require("onnx", "gpu", _PURPOSE)
    number = int(device.partition(":")[2] or 0)
    if number >= torch.cuda.device_count():
        raise InputError(f"torch sees no device '{device}' here ({torch.cuda.device_count()} in all); use cpu or auto.")
    return device
