"""The figures that docs/scale.md derives its plans from: python tests/integrations/sizing.py [archive.jsonl.xz]

Rates are documents per second of CPU time on one core, so that whatever else the machine does hardly counts. Without an
archive it uses made-up texts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from erukg import KeyphraseGenerator
from erukg.collection import Collection, DocumentRecord, Writer, slim
from erukg.collection.distributed import combine_parts
from erukg.collection.encoded import Analyser, EncodedDocument
from erukg.collection.manifest import SegmentEntry
from erukg.generator import load_analyser
from erukg.integrations.ray.partitions import list_inputs, scan
from erukg.io import InputDocument, read_documents
from erukg.io.sources import SourceFile
from erukg.research.benchmark.texts import documents as made_up

_WORKER = """
import re
from pathlib import Path
from erukg import KeyphraseGenerator
generator = KeyphraseGenerator.from_pretrained({name!r})
for _ in range(20):
    generator.generate({text!r})
print(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
Texts = list[tuple[str, str]]


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    out = work()
    return time.process_time() - start, out


def read(path: Path | None, count: int) -> Texts:
    if path is None:
        return [(f"text {i}", text) for i, text in enumerate(made_up(count, 200))]
    items = (item for item in read_documents([path]) if isinstance(item, InputDocument))
    return [(item.id, item.text) for item in islice(items, count)]


def encode(analyser: Analyser, texts: Texts) -> list[EncodedDocument]:
    return [answer.unwrap() for answer in analyser.encode(text for _, text in texts)]


def copy_file(source: Path, path: Path) -> None:
    shutil.copyfile(source, path)


def rate(generator: KeyphraseGenerator, texts: Texts) -> float:
    list(generator.generate_batch(texts[:5], threads=1))
    seconds, _ = cpu(lambda: list(generator.generate_batch(texts, threads=1)))
    return len(texts) / seconds


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archive", type=Path, nargs="?")
    arguments.add_argument("--documents", type=int, default=300, help="to encode")
    arguments.add_argument("--copies", type=int, default=100, help="of each, in the collection that is put together")
    given = arguments.parse_args()
    texts = read(given.archive, given.documents)
    out: dict[str, float] = {"documents": len(texts), "bytes of text per document": 0.0}
    out["bytes of text per document"] = sum(len(text.encode()) for _, text in texts) / len(texts)
    for name in ("small", "tiny"):
        generator = KeyphraseGenerator.from_pretrained(name)
        out[f"generate, {name}: documents per core second"] = rate(generator, texts)
        analyser = load_analyser(name, threads=1)
        encode(analyser, texts[:5])
        seconds, encoded = cpu(partial(encode, analyser, texts))
        out[f"encode for a collection, {name}: documents per core second"] = len(texts) / seconds
        code = _WORKER.format(name=name, text=texts[0][1])
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        out[f"worker, {name}: MB of its own memory"] = int(done.stdout) / 1e3
    results = [found.to_json() for found in generator.generate_batch(texts, threads=1)]
    out["bytes of JSON Lines per document"] = sum(len(line.encode()) + 1 for line in results) / len(results)
    folder = Path(tempfile.mkdtemp(prefix="erukg-sizing-"))
    try:
        part_documents = 16_384
        parts: list[tuple[SegmentEntry, Callable[[Path], None]]] = []
        total = len(texts) * given.copies
        seconds = 0.0
        with Writer.create(
            folder / "parts", fingerprint=analyser.fingerprint, vocab_size=analyser.vocab_size
        ) as writer:
            writer.part_documents = part_documents
            for copy in range(given.copies):
                start = time.process_time()
                for (id, text), document in zip(texts, encoded, strict=True):
                    if writer.add(DocumentRecord(f"{copy}/{id}", text), document):
                        writer.commit(glossary=False)
                seconds += time.process_time() - start
            spent, _ = cpu(lambda: writer.commit(glossary=False))
            out["segments: documents per core second"] = total / (seconds + spent)
            for entry in writer.manifest.segments:
                source = folder / "parts" / entry.file.name
                parts.append((replace(entry), partial(copy_file, source)))
            whole = folder / "whole"
            fingerprint, size = analyser.fingerprint, analyser.vocab_size
            seconds, _ = cpu(
                lambda: combine_parts(whole, parts, fingerprint=fingerprint, vocab_size=size, key="sizing")
            )
        out["joining: documents per core second"] = total / seconds
        size = sum(path.stat().st_size for path in whole.iterdir())
        out["collection: bytes per document"] = size / total
        slim(whole, folder / "slim")
        out["slim collection: bytes per document"] = sum(p.stat().st_size for p in (folder / "slim").iterdir()) / total
        collection = Collection.open(folder / "slim")
        collection.search(texts[0][1], 100)
        searched = texts[:100]
        seconds, _ = cpu(lambda: [collection.search(text, 100) for _, text in searched])
        out[f"search among {total} documents: ms per query"] = seconds / len(searched) * 1e3
        lines = folder / "lines.jsonl"
        with lines.open("w") as file:
            for _ in range(given.copies):
                file.writelines(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts)
        (listed,) = list_inputs([str(lines)])
        assert isinstance(listed, SourceFile)
        seconds, _ = cpu(lambda: scan(listed, 10_000))
        out["planning: MB per core second"] = lines.stat().st_size / 1e6 / seconds
    finally:
        shutil.rmtree(folder)
    print(json.dumps({name: round(value, 2) for name, value in out.items()}, indent=2))


if __name__ == "__main__":
    main()
