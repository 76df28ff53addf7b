"""Collections built by streams are those built one text at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from typer.testing import CliRunner  # noqa: E402

from erukg.backends import OnnxBackend  # noqa: E402
from erukg.backends.torch.backend import TorchBackend  # noqa: E402
from erukg.cli.collection import app  # noqa: E402
from erukg.collection import Collection, verify  # noqa: E402
from erukg.collection.analyser import ModelAnalyser  # noqa: E402
from erukg.collection.build import add, build  # noqa: E402
from erukg.collection.encoded import EncodedDocument  # noqa: E402
from erukg.collection.manifest import read_manifest  # noqa: E402
from erukg.core.settings import Settings  # noqa: E402
from erukg.core.streams import Answer, attempt  # noqa: E402
from erukg.errors import InputError  # noqa: E402
from erukg.gpu import DeviceAnalyser  # noqa: E402
from erukg.io import BadDocument  # noqa: E402
from tiny_bert import write_bert  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert") / "fp32")


@pytest.fixture(scope="module")
def analyser(bert: Path) -> DeviceAnalyser:
    return DeviceAnalyser(TorchBackend.load(bert, device="cpu"), workers=1)


def test_same_documents(bert: Path, analyser: DeviceAnalyser) -> None:
    texts = ["Deep neural networks for sea ice.", "", "a radar image of 7 graphs " * 30, "xylophone"]
    expected = ModelAnalyser(OnnxBackend.load(bert)).encode(texts)
    for ours, theirs in zip(analyser.encode(texts), expected, strict=True):
        assert ours.item == theirs.item
        a, b = ours.unwrap(), theirs.unwrap()
        order = np.argsort(a.term_ids)
        np.testing.assert_array_equal(np.asarray(a.term_ids)[order], b.term_ids)
        np.testing.assert_allclose(np.asarray(a.term_weights)[order], b.term_weights, atol=1e-4)
        assert list(a.phrases) == list(b.phrases)


def test_same_collection(bert: Path, analyser: DeviceAnalyser, tiny_corpus: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in tiny_corpus.read_text().splitlines()]
    lines = [json.dumps({**row, "subjects": row["title"].split()[:3]}) for row in rows]
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("\n".join([*lines[:50], "no JSON", *lines[50:80], "{}"]) + "\n")
    second.write_text("\n".join(lines[80:]) + "\n")
    for name, made in (("stream", analyser), ("plain", ModelAnalyser(OnnxBackend.load(bert)))):
        bad: list[BadDocument] = []
        report = build(tmp_path / name, [first], made, tags="subjects", on_bad=bad.append)
        assert (report.added, report.bad, report.rows) == (80, 2, 82)
        assert [b.place.rpartition(":")[2] for b in bad] == ["51", "82"]
        assert add(tmp_path / name, [second], made).added == 40
        assert verify(tmp_path / name) == []
    ours, theirs = (Collection.open(tmp_path / name) for name in ("stream", "plain"))
    assert ours.tags_of(ours.documents()) == theirs.tags_of(theirs.documents())
    assert all(theirs.tags_of(theirs.documents()))
    assert len(ours.glossary) == len(theirs.glossary) > 0
    every = np.arange(len(ours.glossary))
    assert ours.glossary.phrases(every) == theirs.glossary.phrases(every)
    a, b = (c.neighbourhood(json.loads(lines[3])["abstract"], 10) for c in (ours, theirs))
    np.testing.assert_array_equal(a.documents, b.documents)
    np.testing.assert_array_equal(a.phrase_ids, b.phrase_ids)


def test_the_papers_collection(bert: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    by_f = Settings.paper_collection()
    device = DeviceAnalyser(TorchBackend.load(bert, device="cpu"), workers=1, settings=by_f)
    for name, made in (("stream", device), ("plain", ModelAnalyser(OnnxBackend.load(bert), settings=by_f))):
        build(tmp_path / name, [tiny_corpus], made, most_terms=255, glossary_documents=3)
        assert read_manifest(tmp_path / name).paper
    ours, theirs = (Collection.open(tmp_path / name).glossary for name in ("stream", "plain"))
    assert ours.phrases(np.arange(len(ours))) == theirs.phrases(np.arange(len(theirs)))
    assert len(ours) > 0


class Picky:
    """A stream that takes three texts ahead and refuses one of them."""

    fingerprint = "0" * 64
    vocab_size = 10
    choices: ClassVar[dict[str, Any]] = {}

    def encode(self, texts: Iterable[str]) -> Iterator[Answer[str, EncodedDocument]]:
        taken: list[str] = []
        source = iter(texts)
        while True:
            taken.extend(islice(source, 3 - len(taken)))
            if not taken:
                return
            yield attempt(self._encode, taken.pop(0))

    @staticmethod
    def _encode(text: str) -> EncodedDocument:
        if "refuse" in text:
            raise InputError("It is refused.")
        return EncodedDocument(np.array([1]), np.array([0.5]), [])


def test_a_refused_document_is_a_bad_row(tmp_path: Path) -> None:
    names = ["a", "refuse b", "c", "d", "refuse e", "refuse f", "g"]
    rows = [json.dumps({"id": name[-1], "text": name}) for name in names]
    (tmp_path / "rows.jsonl").write_text("\n".join([*rows[:2], "bad", *rows[2:]]) + "\n")
    bad: list[BadDocument] = []
    report = build(tmp_path / "c", [tmp_path / "rows.jsonl"], Picky(), on_bad=bad.append)
    assert (report.added, report.bad) == (4, 4)
    assert [b.message for b in bad].count("It is refused.") == 3
    found = Collection.open(tmp_path / "c")
    assert found.ids(np.arange(4)) == ["a", "c", "d", "g"]


def test_the_command_says_which_device(bert: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    made = run(app, ["build", str(tmp_path / "c"), str(tiny_corpus), "--model", str(bert)])
    assert made.exit_code == 0
    if not torch.cuda.is_available():
        assert "The model runs on the CPU." in made.stderr
        with pytest.raises(InputError, match="sees no device 'cuda'"):
            run(
                app,
                ["build", str(tmp_path / "d"), str(tiny_corpus), "--device", "cuda", "--model", str(bert)],
                catch_exceptions=False,
            )
