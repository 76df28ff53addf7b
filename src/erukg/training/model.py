"""The trained network: one BERT encoder giving term weights (Eq. 1), word classes and a dense vector.

Parameter names are those of `transformers.BertForMaskedLM`, so the same weights load there and in
`sentence_transformers.SparseEncoder`; the tag head adds names that begin with `tag.`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from erukg.errors import ModelError
from erukg.training.config import TAG_CLASSES
from erukg.training.pooling import compiled, max_pool_terms

__all__ = ["Outputs", "Shape", "TermModel"]

TAG_WIDTH = 256
# Tokens farther apart than this share one step of the relative bias.
_FARTHEST = 128
# Fields of `Shape` that have other names in Hugging Face's config.json.
_CONFIG_KEYS = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "max_positions": "max_position_embeddings",
    "eps": "layer_norm_eps",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a BERT encoder, as its `config.json` gives them."""

    vocab_size: int
    hidden_size: int
    layers: int
    heads: int
    intermediate_size: int
    max_positions: int = 512
    type_vocab_size: int = 2
    eps: float = 1e-12
    tag_width: int = TAG_WIDTH
    # MPNet adds a learned bias to attention, by how far apart two tokens are in so many steps; BERT has none.
    relative_buckets: int = 0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Shape:
        """Read a Hugging Face BERT configuration, refusing other architectures."""
        if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise ModelError(
                f"A base model must be BERT with GELU, but this one is {config.get('model_type')!r} with "
                f"{config.get('hidden_act')!r}; choose another base."
            )
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise ModelError("A base model must have absolute position embeddings; choose another base.")
        return cls(**{name: config[key] for name, key in cls._keys() if key in config})

    @classmethod
    def _keys(cls) -> list[tuple[str, str]]:
        return [(f.name, _CONFIG_KEYS.get(f.name, f.name)) for f in fields(cls)]

    def to_config(self) -> dict[str, Any]:
        """The Hugging Face configuration of `BertForMaskedLM` with these sizes."""
        return {
            "architectures": ["BertForMaskedLM"],
            "model_type": "bert",
            **{key: getattr(self, name) for name, key in self._keys() if name != "relative_buckets"},
            **({"relative_buckets": self.relative_buckets} if self.relative_buckets else {}),
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
            "initializer_range": 0.02,
            "pad_token_id": 0,
            "position_embedding_type": "absolute",
            "tie_word_embeddings": True,
        }


@dataclass(slots=True)
class Outputs:
    """What one pass gives: hidden states of every layer (first: embeddings) and the mask they came with."""

    hidden: list[torch.Tensor]
    mask: torch.Tensor


def _node(**children: nn.Module) -> Any:
    """Sub-modules under the names BERT gives them."""
    return nn.ModuleDict(children)


def _bert_layer(
    x: torch.Tensor, bias: torch.Tensor, heads: int, eps: float, dropout: float, weights: list[torch.Tensor]
) -> torch.Tensor:
    """One transformer layer as a plain function, so that all layers share one compiled graph per shape."""
    qw, qb, kw, kb, vw, vb, ow, ob, n1w, n1b, iw, ib, fw, fb, n2w, n2b = weights
    batch, length, width = x.shape
    qkv = F.linear(x, torch.cat((qw, kw, vw)), torch.cat((qb, kb, vb)))
    q, k, v = qkv.view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
    mask = bias.to(q.dtype).expand(batch, -1, length, length)
    a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
    a = F.linear(a.transpose(1, 2).reshape(batch, length, width), ow, ob)
    x = F.layer_norm(x + F.dropout(a, dropout), (width,), n1w, n1b, eps)
    h = F.linear(F.gelu(F.linear(x, iw, ib)), fw, fb)
    return F.layer_norm(x + F.dropout(h, dropout), (width,), n2w, n2b, eps)


class TermModel(nn.Module):  # type: ignore[misc]
    """BERT with the masked-language head read as term weights, a tag head and a pooled vector."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.dropout = 0.0
        self.compiled = False
        width, eps = shape.hidden_size, shape.eps

        def norm() -> nn.Module:
            return nn.LayerNorm(width, eps=eps)

        embeddings = _node(
            word_embeddings=nn.Embedding(shape.vocab_size, width, padding_idx=0),
            position_embeddings=nn.Embedding(shape.max_positions, width),
            token_type_embeddings=nn.Embedding(shape.type_vocab_size, width),
            LayerNorm=norm(),
        )
        layers = nn.ModuleList(
            _node(
                attention=_node(
                    self=_node(
                        query=nn.Linear(width, width), key=nn.Linear(width, width), value=nn.Linear(width, width)
                    ),
                    output=_node(dense=nn.Linear(width, width), LayerNorm=norm()),
                ),
                intermediate=_node(dense=nn.Linear(width, shape.intermediate_size)),
                output=_node(dense=nn.Linear(shape.intermediate_size, width), LayerNorm=norm()),
            )
            for _ in range(shape.layers)
        )
        encoder = _node(layer=layers)
        if shape.relative_buckets:
            encoder.add_module("relative_attention_bias", nn.Embedding(shape.relative_buckets, shape.heads))
        self.bert = _node(embeddings=embeddings, encoder=encoder)
        predictions = _node(transform=_node(dense=nn.Linear(width, width), LayerNorm=norm()))
        predictions.register_parameter("bias", nn.Parameter(torch.zeros(shape.vocab_size)))
        self.cls = _node(predictions=predictions)
        states = len(self.tag_layers) * width
        self.tag = _node(
            project=nn.Linear(states, 2 * shape.tag_width, bias=False), out=nn.Linear(shape.tag_width, len(TAG_CLASSES))
        )
        self.tag.register_parameter("bias", nn.Parameter(torch.zeros(shape.tag_width)))
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("LayerNorm.weight"):
                nn.init.ones_(parameter)
            else:
                nn.init.zeros_(parameter)

    # -- pieces of the network -------------------------------------------------------------------------------

    @property
    def word_embeddings(self) -> torch.Tensor:
        """The table [V, H] that serves look-up and, tied, the output head."""
        return self.bert.embeddings.word_embeddings.weight

    def _layer_weights(self) -> list[list[torch.Tensor]]:
        rows = []
        for layer in self.bert.encoder.layer:
            heads, out = layer.attention.get_submodule("self"), layer.attention.output
            modules = [heads.query, heads.key, heads.value, out.dense, out.LayerNorm]
            modules += [layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm]
            rows.append([tensor for module in modules for tensor in (module.weight, module.bias)])
        return rows

    def encode(self, ids: torch.Tensor, mask: torch.Tensor, stop: int | None = None) -> Outputs:
        """All hidden states of `ids` [batch, length] up to layer `stop`; `mask` is true on tokens, first in a row."""
        node, rows = self.bert.embeddings, F.embedding(ids, self.word_embeddings)
        x = rows + node.position_embeddings.weight[: rows.shape[1]] + node.token_type_embeddings.weight[0]
        x = F.layer_norm(x, (self.shape.hidden_size,), node.LayerNorm.weight, node.LayerNorm.bias, self.shape.eps)
        return self.encode_on(Outputs([F.dropout(x, self._dropout)], mask), stop)

    def encode_on(self, below: Outputs, stop: int | None = None) -> Outputs:
        """The hidden states of the layers above those given, up to layer `stop`, and the given ones before them."""
        hidden, x = [*below.hidden], below.hidden[-1]
        bias = (1.0 - below.mask[:, None, None, :].to(x.dtype)) * -30000.0
        if self.shape.relative_buckets:
            bias = bias + self._relative_bias(x.shape[1])
        layer = compiled(_bert_layer) if self.compiled else _bert_layer
        for weights in self._layer_weights()[len(hidden) - 1 : stop]:
            x = layer(x, bias, self.shape.heads, self.shape.eps, self._dropout, weights)
            hidden.append(x)
        return Outputs(hidden, below.mask)

    @property
    def _dropout(self) -> float:
        return self.dropout if self.training else 0.0

    def _relative_bias(self, length: int) -> torch.Tensor:
        """MPNet's addition to attention [1, heads, length, length]; kept as it came, which spares its gradient."""
        table = self.bert.encoder.relative_attention_bias.weight.detach()
        half = self.shape.relative_buckets // 2
        exact = half // 2
        at = torch.arange(length, device=table.device)
        ahead = at[None, :] - at[:, None]
        far = ahead.abs().clamp(min=1).float()
        steps = exact + (torch.log(far / exact) / math.log(_FARTHEST / exact) * (half - exact)).long()
        bucket = torch.where(ahead.abs() < exact, ahead.abs(), steps.clamp(max=half - 1)) + half * (ahead > 0)
        return table[bucket].permute(2, 0, 1)[None]

    def transform(self, hidden: torch.Tensor) -> torch.Tensor:
        """Dense, GELU, LayerNorm of the masked-language head: what the output embeddings are multiplied with."""
        node = self.cls.predictions.transform
        x = F.gelu(F.linear(hidden, node.dense.weight, node.dense.bias))
        return F.layer_norm(x, (self.shape.hidden_size,), node.LayerNorm.weight, node.LayerNorm.bias, self.shape.eps)

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Masked-language logits of transformed states."""
        return F.linear(states, self.word_embeddings, self.cls.predictions.bias)

    def terms(self, outputs: Outputs) -> torch.Tensor:
        """Term weights w [batch, V] = log(1 + relu(max over tokens of the logits)) (Eq. 1)."""
        states = self.transform(outputs.hidden[-1])
        return max_pool_terms(states, outputs.mask, self.word_embeddings, self.cls.predictions.bias, self.compiled)

    @property
    def tag_layers(self) -> tuple[int, int, int]:
        """Hidden states the tag head reads: spelling in the embeddings, syntax in the middle, sense at the end."""
        return 0, self.shape.layers // 2, self.shape.layers

    def tag_pieces(self, outputs: Outputs) -> torch.Tensor:
        """What each piece [batch, length, 2·width] gives to its word: half as first piece, half as last."""
        states = torch.cat([outputs.hidden[layer] for layer in self.tag_layers], dim=-1)
        return F.linear(states, self.tag.project.weight)

    def tags(self, outputs: Outputs, first: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """Logits [words, 4] of the classes of words given by their first and last piece.

        Pieces are counted through the whole batch: row · length + column. The end of a word often tells its
        class (-tion, -ive), which its first piece only hears of through attention.
        """
        pieces = self.tag_pieces(outputs).flatten(0, 1)
        width = self.shape.tag_width
        x = F.relu(pieces[first, :width] + pieces[last, width:] + self.tag.bias)
        return F.linear(x, self.tag.out.weight, self.tag.out.bias)

    def vector(self, outputs: Outputs) -> torch.Tensor:
        """Mean of the last layer over real tokens, scaled to length one."""
        mask = outputs.mask[:, :, None].to(torch.float32)
        total = (outputs.hidden[-1].float() * mask).sum(1)
        return F.normalize(total / mask.sum(1).clamp(min=1.0), dim=1)
