"""The model folder the package reads: configuration, tokenizer, graph and head, with checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from erukg.backends.folder import ModelFolder
from erukg.errors import ModelError
from erukg.training.base import load_base
from erukg.training.config import TAG_CLASSES, WINDOW
from erukg.training.export.card import model_card
from erukg.training.export.onnx import EXACT_NODES, check_onnx, quantise_onnx, quantise_rows, write_onnx
from erukg.training.export.sparse_encoder import plain_tokenizer, write_sparse_encoder
from erukg.training.folders import list_files, new_folder, read_json, write_json
from erukg.training.model import TermModel

__all__ = ["LAYOUTS", "export", "fingerprint", "write_model_folder"]

# A text of 32 words has hundreds of terms with a weight, or, once training has gone wrong, one or none.
_FEWEST_TERMS = 5.0

LAYOUTS = ("int8", "fp32", "sparse-encoder")


def fingerprint(model: TermModel) -> str:
    """SHA-256 over names and fp32 bytes of all weights, in order of name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy(), dtype="<f4").tobytes())
    return digest.hexdigest()


def write_model_folder(
    model: TermModel,
    tokenizer: str | Path,
    target: str | Path,
    name: str,
    precision: str = "fp32",
    card: str | None = None,
    window: int = WINDOW,
    overwrite: bool = False,
    exclude: Sequence[str] = (),
    seven_bits: bool = True,
    term_space: str | None = None,
) -> Path:
    """Write the folder in fp32 or int8; the fp32 graph is checked against torch (≤ 1e-4) either way.

    `exclude` names more nodes of the graph (such as layer.5.outer) that int8 leaves exact; `term_space` is the
    fingerprint of the model whose term weights this one was trained to give.
    """
    from safetensors.numpy import save_file

    if precision not in ("fp32", "int8"):
        raise ModelError(f"There is no precision '{precision}'; use fp32 or int8.")
    model = model.cpu().float().eval()
    table = model.word_embeddings.detach().numpy()
    parts = {
        "bias": model.cls.predictions.bias,
        "tag_bias": model.tag.bias,
        "tag_out": model.tag.out.weight,
        "tag_out_bias": model.tag.out.bias,
    }
    head: dict[str, Any] = {key: tensor.detach().numpy().astype(np.float32) for key, tensor in parts.items()}
    with new_folder(Path(target), overwrite) as part:
        graph = part / "encoder.onnx"
        write_onnx(model, graph)
        check_onnx(model, graph)
        if precision == "int8":
            quantise_onnx(graph, part / "encoder.int8.onnx", (*EXACT_NODES, *exclude), seven_bits)
            graph.unlink()
            head["embeddings"], head["scales"] = quantise_rows(table)
        else:
            head["embeddings"] = table.astype(np.float32)
        save_file(head, part / "head.safetensors")
        compact = json.dumps(plain_tokenizer(Path(tokenizer)), ensure_ascii=False, separators=(",", ":"))
        (part / "tokenizer.json").write_text(compact, "utf-8")
        if card is not None:
            (part / "README.md").write_text(card, "utf-8")
        config = {
            "format": "erukg-model",
            "version": 1,
            "name": name,
            "architecture": "bert",
            "vocab_size": model.shape.vocab_size,
            "hidden_size": model.shape.hidden_size,
            "layers": model.shape.layers,
            "max_length": model.shape.max_positions,
            "window": min(window, model.shape.max_positions),
            "tag_classes": list(TAG_CLASSES),
            "weights": fingerprint(model),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": list_files(part),
        }
        if term_space is not None:
            config["term_space"] = term_space
        write_json(part / "config.json", config)
    return Path(target)


def _refuse_collapsed(model: TermModel, source: Path) -> None:
    """Refuse a model that regularisation has emptied: texts have hardly a term, so there is nothing to rank by."""
    length = min(32, model.shape.max_positions)
    ids = torch.from_numpy(np.random.default_rng(0).integers(0, model.shape.vocab_size, (8, length)))
    model = model.cpu().float().eval()
    with torch.no_grad():
        terms = float((model.terms(model.encode(ids, torch.ones_like(ids))) > 0).sum(1, dtype=torch.float32).mean())
    if not terms >= _FEWEST_TERMS:
        raise ModelError(
            f"{source} has collapsed: it gives a text of {length} words only {terms:.1f} terms with a weight; train it "
            "again with a lower lambda_document and lambda_reference."
        )


def export(
    source: str | Path,
    target: str | Path,
    name: str,
    layouts: tuple[str, ...] = LAYOUTS,
    tokenizer: str | Path | None = None,
    base: str = "",
    base_licence: str = "",
    half: bool = False,
    overwrite: bool = False,
    exclude: Sequence[str] = (),
    seven_bits: bool = True,
    collections_of: str | Path | None = None,
) -> dict[str, Path]:
    """Export a trained model (the folder that a run ends with) to target/<layout> for each layout.

    A single layout is written to `target` itself. The model card is made from the run's run.json. A model trained to
    give the term weights of another may read that one's collections: `collections_of` is its exported folder.
    """
    source = Path(source)
    model, has_head = load_base(source)
    if not has_head:
        raise ModelError(f"{source} has no term-weight head; train the model before exporting it.")
    if model.shape.relative_buckets:
        raise ModelError(f"{source} has MPNet's attention, which no exported model has; use it as a teacher instead.")
    tokens = Path(tokenizer) if tokenizer else source / "tokenizer.json"
    if not tokens.is_file():
        raise ModelError(f"There is no {tokens}; give the tokenizer.json the model was trained with.")
    run = source / "run.json"
    summary = read_json(run) if run.is_file() else {}
    card = model_card(name, summary, model.shape, base, base_licence)
    unknown = [layout for layout in layouts if layout not in LAYOUTS]
    if unknown or not layouts:
        raise ModelError(f"There is no layout '{', '.join(unknown)}'; use int8, fp32 or sparse-encoder.")
    _refuse_collapsed(model, source)
    term_space = ModelFolder.open(Path(collections_of)).term_space if collections_of is not None else None
    written = {}
    for layout in layouts:
        folder = Path(target) if len(layouts) == 1 else Path(target) / layout
        if layout == "sparse-encoder":
            written[layout] = write_sparse_encoder(model, tokens, folder, half, card, overwrite)
        else:
            written[layout] = write_model_folder(
                model, tokens, folder, name, layout, card, WINDOW, overwrite, exclude, seven_bits, term_space
            )
    return written
