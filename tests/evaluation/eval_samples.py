"""Two small test sets on disk, of documents whose words the tiny model knows."""

from __future__ import annotations

import json
from pathlib import Path

TEXTS = [
    ("Sparse retrieval", "We propose a fast search engine for large document collections.", ["search engine", "index"]),
    ("Sea ice temperature", "Passive satellite radar images of sea ice.", ["radar images", "climate", "sea ice"]),
    ("Random graphs", "Vertex set algorithms for random graphs.", ["random graph", "vertex set", "sampling"]),
    ("Neural language models", "Deep learning with neural networks.", ["language model", "deep learning"]),
]


def write_sets(folder: Path) -> Path:
    """The folder with the sets inspec (four documents) and nus (the last three)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, first in (("inspec", 0), ("nus", 1)):
        rows = [
            {"id": f"d{i}", "title": title, "abstract": abstract, "keyphrases": gold}
            for i, (title, abstract, gold) in enumerate(TEXTS)
        ][first:]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
