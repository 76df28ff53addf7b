"""The same weights as a `sentence_transformers.SparseEncoder` folder.

The layout is written by hand: MLMTransformer and SpladePooling under the names every version since 5.0 loads,
where the library itself would write what only its own version reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from erukg.errors import ModelError
from erukg.training.base import TAGS, float_state
from erukg.training.folders import new_folder, read_json, write_json
from erukg.training.model import TermModel

__all__ = ["plain_tokenizer", "write_sparse_encoder"]

_MODULES = "sentence_transformers.sparse_encoder.models"


def write_sparse_encoder(
    model: TermModel,
    tokenizer: str | Path,
    target: str | Path,
    half: bool = False,
    card: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write `model` so that `SparseEncoder(str(target))` loads it and gives the same term weights (Eq. 1).

    The tag head has no place in that layout and lies beside it in tags.safetensors, so that the folder is the
    whole trained model: `erukg train` starts from it and exports it. With `half` weights take half the room; load
    them with model_kwargs={"dtype": "float32"} to compute in full precision.
    """
    from safetensors.torch import save_file

    dtype = torch.float16 if half else torch.float32
    state = float_state(model.state_dict(), dtype)
    tags = {name: state.pop(name) for name in list(state) if name.startswith("tag.")}
    length = model.shape.max_positions
    files: dict[str, Any] = {
        "config.json": {**model.shape.to_config(), "dtype": str(dtype).removeprefix("torch.")},
        "tokenizer.json": _bert_tokenizer(Path(tokenizer)),
        "tokenizer_config.json": {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": True,
            "model_max_length": length,
            "unk_token": "[UNK]",
            "sep_token": "[SEP]",
            "pad_token": "[PAD]",
            "cls_token": "[CLS]",
            "mask_token": "[MASK]",
        },
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": f"{_MODULES}.MLMTransformer"},
            {"idx": 1, "name": "1", "path": "1_SpladePooling", "type": f"{_MODULES}.SpladePooling"},
        ],
        "sentence_bert_config.json": {"max_seq_length": length, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "model_type": "SparseEncoder",
            "prompts": {"query": "", "document": ""},
            "default_prompt_name": None,
            "similarity_fn_name": "dot",
        },
        "1_SpladePooling/config.json": {"pooling_strategy": "max", "activation_function": "relu"},
    }
    with new_folder(Path(target), overwrite) as part:
        (part / "1_SpladePooling").mkdir()
        for name, values in files.items():
            write_json(part / name, values)
        for name, tensors in (("model.safetensors", state), (TAGS, tags)):
            save_file(tensors, part / name, metadata={"format": "pt"})
            (part / name).chmod(0o644)
        if card is not None:
            (part / "README.md").write_text(card, "utf-8")
    return Path(target)


def plain_tokenizer(path: Path) -> dict[str, Any]:
    """A tokenizer.json that neither truncates nor pads: who encodes does both."""
    try:
        values: dict[str, Any] = read_json(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"The tokenizer {path} cannot be read ({error}); give a tokenizer.json.") from error
    return {**values, "truncation": None, "padding": None}


def _bert_tokenizer(path: Path) -> dict[str, Any]:
    """The tokenizer, made to put [CLS] and [SEP] around a text where its file does not say so."""
    values = plain_tokenizer(path)
    if values.get("post_processor") is None:
        vocabulary = values["model"]["vocab"]
        values["post_processor"] = {
            "type": "BertProcessing",
            "sep": ["[SEP]", vocabulary["[SEP]"]],
            "cls": ["[CLS]", vocabulary["[CLS]"]],
        }
    return values
