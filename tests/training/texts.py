"""Small texts about made-up research, and a word-piece tokenizer that knows some of their words."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PAPERS: list[dict[str, Any]] = [
    {
        "id": "arxiv:2001.00001",
        "title": "Sparse tide tables for small harbours",
        "abstract": "We predict tides of small harbours from few readings. A table keeps the main waves.",
    },
    {
        "id": "doi:10.1000/Harbour.7",
        "title": "Gauges that float",
        "abstract": "A floating gauge reads the water level every minute and sends it to a station.",
    },
    {
        "id": "https://openalex.org/W77",
        "title": "Moonlight and the feeding of crabs",
        "abstract": "Crabs feed longer in moonlight. We counted crabs on four beaches for nine months.",
    },
    {
        "id": "arxiv:2001.00002",
        "title": "A kernel for wave forecasts",
        "abstract": "Kernel methods forecast waves well when data are few. Ours has a $24$ hour cycle.",
    },
    {
        "id": "arxiv:2001.00003",
        "title": "Errata",
        "abstract": "Withdrawn.",
    },
]


def write_rows(path: Path, rows: Iterable[object]) -> Path:
    """Rows as JSON Lines; strings are written as they are. Compressed when the name says so."""
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    data = text.encode("utf-8")
    if path.suffix == ".xz":
        data = lzma.compress(data)
    elif path.suffix == ".gz":
        data = gzip.compress(data)
    path.write_bytes(data)
    return path


def write_tokenizer(path: Path) -> Path:
    """A BERT-like tokenizer: some words whole, all else by letters; with truncation set, as many have."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    characters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = [
        "tide",
        "tides",
        "harbour",
        "wave",
        "waves",
        "crab",
        "crabs",
        "gauge",
        "table",
        "the",
        "of",
        "we",
    ]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,;:()-'$?!/[]", *characters]
    pieces += [*(f"##{c}" for c in characters), *(w for w in words if len(w) > 1)]
    model = models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(path))
    return path
