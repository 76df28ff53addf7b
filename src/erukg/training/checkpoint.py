"""Checkpoints: weights and optimiser as safetensors, the rest as JSON, published by one rename."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from erukg.errors import TrainingError
from erukg.training.folders import read_json, replace_folder, write_json

__all__ = ["State", "latest", "load_into", "save"]

_KEPT = 2


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


def save(folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None, state: State) -> None:
    """Write folder/<stage>-<step> and remove all but the newest checkpoints."""
    from safetensors.torch import save_file

    target = folder / f"{state.stage}-{state.step:08d}"
    with replace_folder(target) as part:
        save_file({k: v.detach().cpu().contiguous() for k, v in model.state_dict().items()}, part / "model.safetensors")
        if optimizer is not None:
            tensors = {
                f"{name}@{key}": torch.as_tensor(value).detach().cpu().contiguous()
                for name, parameter in model.named_parameters()
                for key, value in optimizer.state.get(parameter, {}).items()
            }
            save_file(tensors, part / "optimizer.safetensors")
        write_json(part / "state.json", asdict(state))
    for old in _complete(folder)[:-_KEPT]:
        if old != target:
            shutil.rmtree(old, ignore_errors=True)


def _complete(folder: Path) -> list[Path]:
    found = [path for path in folder.glob("*-*") if (path / "state.json").is_file() and not path.name.startswith(".")]
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def latest(folder: Path) -> tuple[Path, State] | None:
    """The newest whole checkpoint under `folder`, or None."""
    found = _complete(folder)
    if not found:
        return None
    try:
        return found[-1], State(**read_json(found[-1] / "state.json"))
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
    parameters = dict(model.named_parameters())
    for full, tensor in load_file(path / "optimizer.safetensors").items():
        name, key = full.rsplit("@", 1)
        parameter = parameters[name]
        # `step` stays where the fused kernels want it: with its parameter.
        optimizer.state[parameter][key] = tensor.to(parameter.device)
