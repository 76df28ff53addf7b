"""Anything at all, at every door: a result, or one sentence; never an error from inside, a crash or a hang."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import random
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from campaign.guided import Guided
from campaign.inputs import mutated, strange_value, text
from campaign.kinds import Batch, Kind, Outcome
from campaign.samples import Samples, has
from core.test_arguments import fault, public_entries
from doors import document_samples
from erukg import KeyphraseGenerator, Keyphrases
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.errors import ErukgError, InputError
from erukg.io import FORMS, BadDocument, Limits, read_documents, read_phrases
from erukg.io.extraction import KINDS as EXTRACTED
from erukg.subjects import readers as vocabularies
from erukg.subjects.vocabulary import Vocabulary
from serving import pdf_samples
from subjects import vocabulary_files

__all__ = ["Fuzz"]


def is_sentence(said: str) -> bool:
    return bool(said) and "\n" not in said.strip() and "Traceback" not in said


class Texts(Batch):
    """Texts through parsing, and some through all there is."""

    size = 1_500

    def strike(self, rng: random.Random, scratch: Path) -> str:
        given = text(rng)
        document = Document.parse(given)
        fold(given)
        if rng.random() < 0.97:
            return "texts: parsed" if document is not None else ""
        generator = self.samples.generator
        try:
            found = generator.generate(given, explain=rng.random() < 0.5)
            self._check(given, found)
            generator.rank(given, [text(rng, 4) or "a", "neural network"])
            generator.expand_query(given)
            generator.encode(given)
        except InputError as error:
            assert is_sentence(str(error)), f"{given!r}: {error}"
            return "texts: refused"
        return "texts: keyphrases"

    def _check(self, given: str, found: Keyphrases) -> None:
        line = found.to_json()
        assert Keyphrases.from_json(line).to_json() == line, f"{given!r}: another result from its JSON"
        for phrase in found.present:
            assert phrase.spans and all(0 <= a < b <= len(given) for a, b in phrase.spans), f"{given!r}: {phrase}"


class Files(Batch):
    """Files of every form that is read, plain and compressed, from a stream and from a disk."""

    size = 3_000

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        lines = b'{"id": "a", "title": "On graphs", "text": "sparse graph data"}\n{"text": "sea ice", "tags": ["x"]}\n'
        table = b'id,title,abstract\n1,On graphs,"sparse, ""graph"" data"\n2,Ice,sea ice\n'
        self._seeds = {
            "text": [b"Sparse graph data.\n\nSea ice.", "Größe – 漢字".encode(), "utf".encode("utf-16")],
            "markdown": [
                b"---\ntitle: x\n---\n# Graphs\n\n```\ncode\n```\n[a](b) `c` <i>d</i>\n\n| a | b |\n|---|---|\n"
            ],
            "jsonl": [lines, lines.decode().encode("utf-16"), b"[1]\n{}\n" + lines],
            "json": [b"[" + lines.replace(b"}\n{", b"},{") + b', "a text"]', lines],
            "csv": [table, table.replace(b",", b"\t"), table.replace(b",", b";")],
        }
        missing = set(EXTRACTED)  # have a way of their own
        if has("pyarrow"):
            self._seeds["parquet"] = [_parquet()]
        else:
            missing.add("parquet")
        # Forms that have no seed of their own are given all the others'.
        every = [seed for seeds in self._seeds.values() for seed in seeds]
        self._seeds = {name: self._seeds.get(name, every) for name in FORMS if name not in missing}
        self._limits = Limits()

    def strike(self, rng: random.Random, scratch: Path) -> str:
        form = rng.choice(sorted(self._seeds))
        data = mutated(rng, self._seeds[form])
        if rng.random() < 0.95:
            items = read_documents(["-"], form=form, stdin=io.BytesIO(data), limits=self._limits)
        else:
            ending, pack = rng.choice((("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)))
            packed = pack(data)
            path = scratch / f"a{FORMS[form].suffixes[0]}{ending}"
            path.write_bytes(mutated(rng, [packed]) if rng.random() < 0.5 else packed)
            items = read_documents([path], limits=self._limits)
        bad = 0
        for item in items:
            if isinstance(item, BadDocument):
                bad += 1
                assert is_sentence(item.message), f"{item.message!r} of {form} {data!r}"
            else:
                assert isinstance(item.text, str)
        return f"files: {form}, {'refused' if bad else 'read'}"


def _parquet() -> bytes:
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    table = pyarrow.table({"id": ["a", "b"], "text": ["sparse graph data", "sea ice"], "year": [1, 2]})
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


class Extracted(Batch):
    """PDF, HTML, office documents and books, in the function that the child process of the reader runs, and some
    through that process."""

    size = 300
    seconds = 240.0

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self._seeds: dict[str, list[bytes]] = {}
        if has("pypdf"):
            page = pdf_samples.page("a (nested) text")
            self._seeds["pdf"] = [pdf_samples.good(), pdf_samples.pdf([page] * 3), pdf_samples.many_pages(8)]
        if has("xberg"):
            self._seeds |= {kind: [make()] for kind, make in document_samples.MAKERS.items()}
        self._seeds["html"] = [document_samples.html()]

    def strike(self, rng: random.Random, scratch: Path) -> str:
        from erukg.io.extraction import KINDS, parse_document
        from erukg.io.extraction_worker import extracted

        kind = rng.choice(sorted(self._seeds))
        data = self._changed(rng, kind)
        if rng.random() < 0.02:
            try:
                return f"{kind}: read, {parse_document(data, Limits(pdf_seconds=10), kind).pages} pages"
            except InputError as error:
                assert is_sentence(str(error)), error
                return f"{kind}: refused"
        try:
            found = extracted(data, KINDS[kind].media_type, 500, 10**6)
        except Exception as error:  # the process that this runs in makes one sentence of them all
            return f"{kind}: damaged ({type(error).__name__})"
        assert is_sentence(str(found.get("error", "It is fine."))), found
        return f"{kind}: {'read' if 'text' in found else 'refused'}"

    def _changed(self, rng: random.Random, kind: str) -> bytes:
        """A file with something changed in it; of packed ones mostly in a part, since the packing tells of the rest."""
        seeds = self._seeds[kind]
        if kind in ("pdf", "html") or rng.random() < 0.3:
            return mutated(rng, seeds)
        with zipfile.ZipFile(io.BytesIO(rng.choice(seeds))) as packed:
            parts = {name: packed.read(name) for name in packed.namelist()}
        name = rng.choice(sorted(parts))
        return document_samples.packed({**parts, name: mutated(rng, [parts[name]])})


class Types(Batch):
    """Any value for any argument of any public function."""

    size = 250

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self._place = samples.folder / "types"

    def enter(self, scratch: Path) -> None:
        self._scratch = Path(tempfile.mkdtemp(dir=scratch))
        samples = self.samples
        self._entries = public_entries(samples.model, samples.collection, samples.corpus, self._scratch)
        (scratch / "here").mkdir()
        os.chdir(scratch / "here")

    def strike(self, rng: random.Random, scratch: Path) -> str:
        entry = rng.choice(self._entries)
        name, value = rng.choice(sorted(entry.arguments)), strange_value(rng)
        found = fault(entry, name, value)
        assert found is None, f"{entry.name}({name}={value!r}): {found}"
        left = Path("lock").exists() and not Path("manifest.json").exists()
        assert not left, f"{entry.name}({name}={value!r}): a lock where there is no collection"
        if rng.random() < 0.05:
            for path in self._scratch.iterdir():
                shutil.rmtree(path, ignore_errors=True)
        return "types: answered"


class Lists(Batch):
    """Vocabularies in every form, lists of phrases, and results read back."""

    size = 400

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        f = vocabulary_files
        self._seeds = {
            "tsv": [f.ANNIF.encode(), f.SYNONYMS.encode(), f.NAMED.encode()],
            "csv": [f.TABLE.encode()],
            "jsonl": [f.JSON_LINES.encode()],
            "list": [f.TAGS.encode()],
        }
        if has("rdflib"):
            self._seeds |= {"turtle": [f.TURTLE.encode()], "rdfxml": [f.RDF_XML], "ntriples": [f.N_TRIPLES.encode()]}
        generator: KeyphraseGenerator = samples.generator
        found = generator.generate("Sparse graph data for a neural network of sea ice.", explain=True)
        self._results = [found.to_json().encode()]

    def strike(self, rng: random.Random, scratch: Path) -> str:
        ways = {"vocabulary": self._vocabulary, "phrases": self._phrases, "result": self._result}
        name = rng.choice(sorted(ways))
        try:
            ways[name](rng, scratch)
        except ErukgError as error:
            assert is_sentence(str(error)), error
            return f"{name}: refused"
        return f"{name}: read"

    def _vocabulary(self, rng: random.Random, scratch: Path) -> None:
        form = rng.choice(sorted(self._seeds))
        path = scratch / f"v{vocabularies.FORMS[form].suffixes[0]}"
        path.write_bytes(mutated(rng, self._seeds[form]))
        found = Vocabulary.read(path, form=form)
        for concept in found:
            assert concept.label
            assert found.find(concept.uri) >= 0

    def _phrases(self, rng: random.Random, scratch: Path) -> None:
        ending, seed = rng.choice(
            (
                (".txt", b"sparse graph\nsea ice\n"),
                (".csv", b"phrase,x\nsea ice,1\n"),
                (".jsonl", b'{"phrase": "ice"}\n'),
            )
        )
        path = scratch / f"p{ending}"
        path.write_bytes(mutated(rng, [seed]))
        read_phrases(path)

    def _result(self, rng: random.Random, scratch: Path) -> None:
        Keyphrases.from_json(mutated(rng, self._results).decode("utf-8", "replace")).to_json()


class Fuzz(Kind):
    """The ways above in turn, and those of the service, of agents, of commands and of a fuzzer guided by coverage."""

    share = 18.0

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        from campaign.fuzz_doors import Agents, Commands, Requests

        ways: list[tuple[float, Callable[[Samples], Kind]]] = [
            (4, Texts),
            (6, Files),
            (2, Types),
            (2, Lists),
            (1, Commands),
            (1, Extracted),
        ]
        if has("starlette") and has("httpx"):
            ways.append((2, Requests))
        if has("mcp"):
            ways.append((1, Agents))
        if has("atheris"):
            ways.append((2, Guided))
        self._ways = [(weight, make(samples)) for weight, make in ways]

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        (way,) = rng.choices([way for _, way in self._ways], [weight for weight, _ in self._ways])
        return way.blow(rng, number, scratch)
