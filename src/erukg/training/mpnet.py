"""MPNet read as a BERT: its names, its vocabulary and its positions, with the relative bias of its attention."""

from __future__ import annotations

from typing import Any

import torch

from erukg.errors import ModelError

__all__ = ["bert_config", "bert_weights"]

# MPNet puts four special pieces before BERT's vocabulary and <mask> after it, and leaves two positions unused.
_SHIFT = 4
_POSITIONS = 2
_SPECIAL = {0: 1, 100: 3, 101: 0, 102: 2}  # [PAD], [UNK], [CLS], [SEP] of BERT and their pieces here
_MASK = 103
_NAMES = {
    "attention.attn.q.": "attention.self.query.",
    "attention.attn.k.": "attention.self.key.",
    "attention.attn.v.": "attention.self.value.",
    "attention.attn.o.": "attention.output.dense.",
    "attention.LayerNorm.": "attention.output.LayerNorm.",
}


def bert_config(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of an MPNet as that of a BERT with a relative bias; any other as it is."""
    if config.get("model_type") != "mpnet":
        return config
    try:
        words, positions = config["vocab_size"] - _SHIFT - 1, config["max_position_embeddings"] - _POSITIONS
    except (KeyError, TypeError) as error:
        raise ModelError(f"The config.json of the MPNet lacks its sizes ({error}); give its whole folder.") from error
    return {
        **config,
        "model_type": "bert",
        "vocab_size": words,
        "max_position_embeddings": positions,
        "type_vocab_size": 1,
        "relative_buckets": config.get("relative_attention_num_buckets", 32),
    }


def bert_weights(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights of an MPNetModel by BERT's names, with rows for BERT's vocabulary.

    Its masked-language head, if there is one, is left behind: the warm-up trains one.
    """
    out: dict[str, torch.Tensor] = {}
    for name, tensor in weights.items():
        bare = name.removeprefix("mpnet.")
        for theirs, ours in _NAMES.items():
            bare = bare.replace(theirs, ours)
        if bare.startswith(("embeddings.", "encoder.")) and not bare.endswith("position_ids"):
            out[f"bert.{bare}"] = tensor
    words, positions = (out.get(f"bert.embeddings.{name}_embeddings.weight") for name in ("word", "position"))
    if words is None or positions is None:
        raise ModelError("The weights are not those of an MPNet encoder; give its whole folder.")
    rows = torch.arange(len(words) - _SHIFT - 1) + _SHIFT
    for piece, row in _SPECIAL.items():
        rows[piece] = row
    rows[_MASK] = len(words) - 1
    out["bert.embeddings.word_embeddings.weight"] = words[rows]
    out["bert.embeddings.position_embeddings.weight"] = positions[_POSITIONS:]
    out["bert.embeddings.token_type_embeddings.weight"] = torch.zeros(1, words.shape[1])
    return out
