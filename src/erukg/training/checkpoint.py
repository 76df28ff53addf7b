"""Checkpoints: weights and optimiser as safetensors, the rest as JSON, published by one rename."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from erukg.errors import TrainingError

__all__ = ["State", "latest", "load_into", "save", "save_json"]


@dataclass(slots=True)
class State:
    """Where a run stands: stage, steps and seconds in it, best dev score, last figures of each stage."""

    stage: str = ""
    step: int = 0
    elapsed: float = 0.0
    best: float = -1.0
    best_step: int = 0
    done: bool = False
    stages: dict[str, dict[str, float]] = field(default_factory=dict)


def save_json(path: Path, values: Any) -> None:
    """Write JSON so that a reader sees the old file or the new one, never half of it."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
    part.replace(path)


def save(
    folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None, state: State, keep: int = 2
) -> Path:
    """Write folder/<stage>-<step> and remove all but the `keep` newest checkpoints."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{state.stage}-{state.step:08d}"
    part = folder / f".part-{target.name}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    save_file({k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}, part / "model.safetensors")
    if optimizer is not None:
        save_file(_optimizer_tensors(model, optimizer), part / "optimizer.safetensors")
    save_json(part / "state.json", asdict(state))
    for path in part.iterdir():
        _sync(path)
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    _sync(folder)
    if keep:
        for old in _complete(folder)[:-keep]:
            if old != target:
                shutil.rmtree(old, ignore_errors=True)
    return target


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _optimizer_tensors(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    tensors = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{name}@{key}"] = torch.as_tensor(value).detach().cpu().contiguous()
    return tensors


def _complete(folder: Path) -> list[Path]:
    found = [path for path in folder.glob("*-*") if (path / "state.json").is_file() and not path.name.startswith(".")]
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def latest(folder: Path) -> tuple[Path, State] | None:
    """The newest whole checkpoint under `folder`, or None."""
    if not folder.is_dir():
        return None
    found = _complete(folder)
    if not found:
        return None
    try:
        values = json.loads((found[-1] / "state.json").read_text("utf-8"))
        return found[-1], State(**values)
    except (OSError, ValueError, TypeError) as error:
        raise TrainingError(f"Checkpoint {found[-1]} cannot be read ({error}); remove it to resume earlier.") from error


def load_into(path: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None) -> None:
    """Fill `model`, and `optimizer` where one is given, from a checkpoint folder."""
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(path / "model.safetensors"))
    except (OSError, RuntimeError) as error:
        raise TrainingError(f"Checkpoint {path} does not fit this model ({error}); remove it to start anew.") from error
    if optimizer is None:
        return
    tensors = load_file(path / "optimizer.safetensors")
    parameters = dict(model.named_parameters())
    for full, tensor in tensors.items():
        name, key = full.rsplit("@", 1)
        parameter = parameters[name]
        # `step` stays where the fused kernels want it: with its parameter.
        optimizer.state[parameter][key] = tensor.to(parameter.device)
