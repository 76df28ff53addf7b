"""The figures that docs/scale.md derives its plans from: python tests/integrations/sizing.py [archive.jsonl.xz]

Rates are documents a second of one core's time (CPU seconds, not those of the clock), so that whatever else the machine
does hardly counts. Without an archive it works on made-up texts.
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
from itertools import islice
from pathlib import Path
from typing import Any

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend, find_model
from erukg.collection import Collection, DocumentRecord, Writer, slim
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.distributed import combine_parts
from erukg.collection.manifest import SegmentEntry
from erukg.integrations.ray.partitions import InputFile, list_inputs, scan
from erukg.io import InputDocument, read_documents
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
    out: dict[str, float] = {"documents": len(texts), "bytes of text a document": 0.0}
    out["bytes of text a document"] = sum(len(text.encode()) for _, text in texts) / len(texts)
    for name in ("small", "tiny"):
        generator = KeyphraseGenerator.from_pretrained(name)
        out[f"generate, {name}: documents a core second"] = rate(generator, texts)
        analyser = ModelAnalyser(OnnxBackend.load(find_model(name)))
        encode = analyser.encode
        list(encode([text for _, text in texts[:5]]))
        seconds, answers = cpu(lambda: list(encode([text for _, text in texts])))  # noqa: B023 (called here)
        encoded = [answer.unwrap() for answer in answers]
        out[f"encode for a collection, {name}: documents a core second"] = len(texts) / seconds
        code = _WORKER.format(name=name, text=texts[0][1])
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        out[f"worker, {name}: MB of its own memory"] = int(done.stdout) / 1e3
    results = [found.to_json() for found in generator.generate_batch(texts, threads=1)]
    out["bytes of JSON Lines a document"] = sum(len(line.encode()) + 1 for line in results) / len(results)
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
            out["segments: documents a core second"] = total / (seconds + spent)
            for entry in writer.manifest.segments:
                source = folder / "parts" / entry.file.name
                parts.append((replace(entry), lambda path, source=source: shutil.copyfile(source, path) and None))
            name = folder / "whole"
            key = {"fingerprint": analyser.fingerprint, "vocab_size": analyser.vocab_size, "key": "sizing"}
            seconds, _ = cpu(lambda: combine_parts(name, parts, **key))  # type: ignore[arg-type]
        out["putting together: documents a core second"] = total / seconds
        size = sum(path.stat().st_size for path in name.iterdir())
        out["collection: bytes a document"] = size / total
        slim(name, folder / "slim")
        out["slim collection: bytes a document"] = sum(p.stat().st_size for p in (folder / "slim").iterdir()) / total
        collection = Collection.open(folder / "slim")
        collection.search(texts[0][1], 100)
        searched = texts[:100]
        seconds, _ = cpu(lambda: [collection.search(text, 100) for _, text in searched])
        out[f"search among {total} documents: ms a query"] = seconds / len(searched) * 1e3
        lines = folder / "lines.jsonl"
        with lines.open("w") as file:
            for _ in range(given.copies):
                file.writelines(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts)
        (listed,) = list_inputs([str(lines)])
        assert isinstance(listed, InputFile)
        seconds, _ = cpu(lambda: scan(listed, 10_000))
        out["planning: MB a core second"] = lines.stat().st_size / 1e6 / seconds
    finally:
        shutil.rmtree(folder)
    print(json.dumps({name: round(value, 2) for name, value in out.items()}, indent=2))


if __name__ == "__main__":
    main()
