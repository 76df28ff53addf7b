"""Weights in several small safetensors files, for places that move only small files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from erukg.errors import ModelError

__all__ = ["TAGS", "join_parts", "read_weights", "write_parts"]

TAGS = "tags.safetensors"
_MAX_BYTES = 2 << 30


def write_parts(
    state: Mapping[str, torch.Tensor], folder: str | Path, limit: int = 15 << 20, half: bool = True
) -> list[Path]:
    """Write `state` as model.part0.safetensors, model.part1… of at most `limit` bytes; returns their paths.

    A tensor larger than the limit is cut by rows; pieces are called name#0, name#1 …
    """
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    room = limit - (64 << 10)  # names and offsets at the head of each file
    pieces: list[tuple[str, torch.Tensor]] = []
    for name, tensor in state.items():
        plain = tensor.detach().cpu()
        if plain.is_floating_point():
            plain = plain.to(torch.float16 if half else torch.float32)
        plain = plain.contiguous()
        if plain.nbytes <= room:
            pieces.append((name, plain))
            continue
        rows = max(1, room // max(1, plain[0].nbytes) // 2)
        pieces += [(f"{name}#{i}", part.contiguous()) for i, part in enumerate(plain.split(rows))]
    files: list[dict[str, torch.Tensor]] = [{}]
    used = 0
    for name, tensor in sorted(pieces, key=lambda item: -item[1].nbytes):
        if used + tensor.nbytes > room:
            files.append({})
            used = 0
        files[-1][name] = tensor.clone()
        used += tensor.nbytes
    paths = []
    for number, tensors in enumerate(files):
        path = folder / f"model.part{number}.safetensors"
        save_file(tensors, path, metadata={"parts": str(len(files))})
        path.chmod(0o644)
        paths.append(path)
    return paths


def join_parts(folder: str | Path) -> dict[str, torch.Tensor]:
    """All tensors of the files `write_parts` made, refusing an incomplete set."""
    from safetensors import safe_open

    folder = Path(folder)
    paths = sorted(folder.glob("model.part*.safetensors"))
    if not paths or sum(path.stat().st_size for path in paths) > _MAX_BYTES:
        raise ModelError(f"{folder} holds no model.part files, or more than 2 GB; give a folder with weights.")
    found: dict[str, torch.Tensor] = {}
    for path in paths:
        with safe_open(str(path), framework="pt") as file:
            expected = int((file.metadata() or {}).get("parts", "0"))
            if expected != len(paths):
                raise ModelError(f"{folder} holds {len(paths)} of {expected} model.part files; fetch the others.")
            found |= {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    state = {name: tensor for name, tensor in found.items() if "#" not in name}
    for name in sorted({name.split("#")[0] for name in found if "#" in name}):
        count = sum(other.startswith(f"{name}#") for other in found)
        try:
            state[name] = torch.cat([found[f"{name}#{i}"] for i in range(count)])
        except KeyError as error:
            raise ModelError(f"Piece {error} is missing in {folder}; fetch the files again.") from error
    return state


def read_weights(folder: str | Path) -> dict[str, torch.Tensor]:
    """Tensors of model.safetensors in `folder` (and tags.safetensors beside it), or of its model.part files."""
    from safetensors.torch import load_file

    path = Path(folder) / "model.safetensors"
    if not path.is_file():
        return join_parts(folder)
    tensors: dict[str, torch.Tensor] = {}
    for file in (path, path.with_name(TAGS)):
        if file.is_file():
            if file.stat().st_size > _MAX_BYTES:
                raise ModelError(f"{file} is larger than 2 GB; a BERT base is smaller, so give another folder.")
            tensors.update(load_file(file))
    return tensors
