"""Weights of models: from a Hugging Face folder, an ONNX export or a larger model, random ones, and to a folder."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import torch

from erukg.errors import ModelError, SettingsError, require
from erukg.training.folders import read_json, write_json
from erukg.training.model import Shape, TermModel
from erukg.training.mpnet import bert_config, bert_weights

__all__ = [
    "TAGS",
    "float_state",
    "from_onnx",
    "load_base",
    "matching_tag_head",
    "random_base",
    "read_weights",
    "save_base",
    "shrink",
    "split_weights",
]

TAGS = "tags.safetensors"
_WEIGHTS = "model.safetensors"
_MAX_BYTES = 2 << 30


def read_weights(folder: str | Path) -> dict[str, torch.Tensor]:
    """Tensors of model.safetensors in `folder`, whole or in parts (`split_weights`), and of tags.safetensors."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    folder = Path(folder)
    found = [folder / _WEIGHTS] if (folder / _WEIGHTS).is_file() else sorted(folder.glob(f"{_WEIGHTS}.part*"))
    tags = [folder / TAGS] if (folder / TAGS).is_file() else []
    if not found or sum(path.stat().st_size for path in found + tags) > _MAX_BYTES:
        raise ModelError(f"{folder} holds no {_WEIGHTS}, or more than 2 GB; give a folder with the weights of a BERT.")
    tensors: dict[str, torch.Tensor] = {}
    for paths in filter(None, (found, tags)):
        try:
            tensors |= load(b"".join(path.read_bytes() for path in paths))
        except SafetensorError as error:
            raise ModelError(f"{paths[0]} is damaged or lacks its other parts ({error}); copy them again.") from error
    return tensors


def split_weights(state: dict[str, torch.Tensor], folder: str | Path, limit: int = 15 << 20) -> list[Path]:
    """Write `state` in half precision as model.safetensors.part000, … of at most `limit` bytes each.

    They are for places that move only small files; joined (`cat`), they are the model.safetensors.
    """
    from safetensors.torch import save

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    data = save(float_state(state, torch.float16), {"format": "pt"})
    paths = []
    for number, start in enumerate(range(0, len(data), limit)):
        paths.append(folder / f"{_WEIGHTS}.part{number:03d}")
        paths[-1].write_bytes(data[start : start + limit])
    return paths


def float_state(state: dict[str, torch.Tensor], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """The tensors as `dtype` in main memory, as safetensors wants them."""
    return {name: tensor.detach().cpu().to(dtype).contiguous() for name, tensor in state.items()}


def load_base(folder: str | Path, seed: int = 0) -> tuple[TermModel, bool]:
    """The model in `folder` and whether its masked-language head came with it.

    Reads config.json and model.safetensors (`read_weights`) of BertModel, BertForMaskedLM or MPNetModel, of any
    float type. A missing head is drawn at random from `seed` and needs the MLM warm-up; so is a tag head that is
    missing or of another shape, which needs training.
    """
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise ModelError(f"There is no config.json in {folder}; give a folder in Hugging Face layout.")
    config = read_json(folder / "config.json")
    model = random_base(Shape.from_config(bert_config(config)), seed)
    weights = read_weights(folder)
    if config.get("model_type") == "mpnet":
        weights = bert_weights(weights)
    found: dict[str, torch.Tensor] = {}
    for name, tensor in weights.items():
        bare = name.removeprefix("bert.")
        if name.startswith(("cls.", "tag.")):
            found[name] = tensor.float()
        elif bare.startswith(("embeddings.", "encoder.")):
            found[f"bert.{bare}"] = tensor.float()
    own = model.state_dict()
    found = matching_tag_head(found, own, folder)
    has_head = all(name in found for name in own if name.startswith("cls."))
    for name, tensor in own.items():
        if name not in found:
            if name.startswith("bert."):
                raise ModelError(f"{folder} has no tensor '{name}'; it does not hold a BERT encoder.")
            continue
        if found[name].shape != tensor.shape:
            raise ModelError(
                f"Tensor '{name}' in {folder} is {list(found[name].shape)} where config.json says "
                f"{list(tensor.shape)}; give a whole model folder."
            )
        tensor.copy_(found[name])
    return model, has_head


def matching_tag_head(
    found: dict[str, torch.Tensor], own: dict[str, torch.Tensor], source: Path
) -> dict[str, torch.Tensor]:
    """`found`, but with a warning and without its tag head where that has other shapes than the one in `own`."""
    theirs, ours = (
        {name: tensor.shape for name, tensor in state.items() if name.startswith("tag.")} for state in (found, own)
    )
    if not theirs or theirs == ours:
        return found
    warnings.warn(
        f"The tag head in {source} has another shape and starts anew; train it in the stage 'tags'.", stacklevel=3
    )
    return {name: tensor for name, tensor in found.items() if name not in theirs}


def random_base(shape: Shape, seed: int = 0) -> TermModel:
    """A model with random weights, the same for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TermModel(shape)


def save_base(model: TermModel, folder: str | Path, tokenizer: str | Path, half: bool = False) -> None:
    """Write config.json, model.safetensors (BertForMaskedLM names, and the tag head) and tokenizer.json."""
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = float_state(model.state_dict(), torch.float16 if half else torch.float32)
    save_file(tensors, folder / _WEIGHTS, metadata={"format": "pt"})
    write_json(folder / "config.json", model.shape.to_config())
    if Path(tokenizer).resolve() != (folder / "tokenizer.json").resolve():
        shutil.copyfile(tokenizer, folder / "tokenizer.json")


def from_onnx(path: str | Path, config: str | Path) -> TermModel:
    """Rebuild BERT weights from an ONNX export of BertModel (fp32, as optimum and transformers.js write it).

    Exports keep the names of biases, norms and embeddings but not of matrix weights: each matrix is found by
    following the graph from its named bias back to the MatMul that feeds the same Add. `config` is the path
    of the model's config.json. The masked-language head is random afterwards.
    """
    onnx = require("onnx", "train", "Reading an ONNX model")
    shape = Shape.from_config(read_json(Path(config)))
    if Path(path).stat().st_size > _MAX_BYTES:
        raise ModelError(f"{path} is larger than 2 GB and cannot be a BERT base; give another file.")
    graph = onnx.load(str(path)).graph
    named = {t.name: t for t in graph.initializer}
    makers = {output: node for node in graph.node for output in node.output}

    def values(name: str) -> torch.Tensor:
        array = onnx.numpy_helper.to_array(named[name])
        return torch.from_numpy(array.copy()).float()

    def matrix(bias: str) -> torch.Tensor:
        for node in graph.node:
            if node.op_type == "Gemm" and bias in node.input:
                weight = values(node.input[1])
                transposed = any(a.name == "transB" and a.i for a in node.attribute)
                return weight if transposed else weight.T
            if node.op_type == "Add" and bias in node.input:
                other: Any = next(name for name in node.input if name != bias)
                maker = makers.get(other)
                if maker is not None and maker.op_type == "MatMul" and maker.input[1] in named:
                    return values(maker.input[1]).T
        raise ModelError(f"No matrix weight belongs to the bias '{bias}' in {path}; it is no plain fp32 BERT export.")

    model = random_base(shape)
    for name, tensor in model.state_dict().items():
        if not name.startswith("bert."):
            continue
        bare = name.removeprefix("bert.")
        key = next((k for k in (bare, name) if k in named), None)
        if key is not None:
            source = values(key)
        elif bare.endswith(".weight") and tensor.dim() == 2:
            bias = bare.removesuffix("weight") + "bias"
            source = matrix(bias if bias in named else f"bert.{bias}")
        else:
            raise ModelError(f"{path} has no tensor '{bare}'; it does not hold a BERT encoder.")
        if source.shape != tensor.shape:
            raise ModelError(f"Tensor '{bare}' in {path} is {list(source.shape)}, not {list(tensor.shape)}.")
        tensor.copy_(source)
    return model


def shrink(
    model: TermModel, layers: int, width: int, heads: int, inner: int, tag_width: int, seed: int = 0
) -> TermModel:
    """A model of the sizes given whose embeddings are those of `model` along their `width` strongest directions.

    Its layers are random: train it, best with `model` as its teacher.
    """
    old = model.shape
    if not 1 <= width <= old.hidden_size or heads < 1 or width % heads:
        raise SettingsError(f"The width must be a multiple of the heads ({heads}) and at most {old.hidden_size}.")
    if layers < 1 or inner < 1 or tag_width < 1:
        raise SettingsError("A model needs at least one layer, one inner unit and one unit of its tag head.")
    small = random_base(
        Shape(old.vocab_size, width, layers, heads, inner, old.max_positions, old.type_vocab_size, old.eps, tag_width),
        seed,
    )
    source, target = model.state_dict(), small.state_dict()
    directions = torch.linalg.svd(model.word_embeddings.detach().float(), full_matrices=False).Vh[:width].T
    for name in ("word_embeddings", "position_embeddings", "token_type_embeddings"):
        key = f"bert.embeddings.{name}.weight"
        target[key].copy_(source[key].float() @ directions)
    target["cls.predictions.bias"].copy_(source["cls.predictions.bias"])
    return small
