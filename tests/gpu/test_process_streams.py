"""Long streams on a CPU: processes with a model each give what one thread gives, and leave nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.collection import Collection
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.core.inputs import InputDocument
from erukg.core.runner import Request
from erukg.core.settings import Settings
from erukg.errors import ErukgError, InputError
from erukg.gpu import processes as module
from erukg.gpu.processes import ProcessAnalyser, ProcessRunner
from erukg.io import read_documents

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes of streams need POSIX")
_FEW = 5


class Nouns:
    def tag(self, words: Sequence[str]) -> list[str]:
        return ["NN"] * len(words)


@pytest.fixture(scope="module")
def texts(tiny_corpus: Path) -> list[tuple[str | None, str]]:
    items = [(item.id, item.text) for item in read_documents([tiny_corpus]) if isinstance(item, InputDocument)]
    return [*items[:40], (None, ""), ("one", "networks"), ("long", " ".join(text for _, text in items[:20]))]


@pytest.fixture(scope="module")
def plain(tiny_encoder: OnnxBackend, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> KeyphraseGenerator:
    folder = tmp_path_factory.mktemp("processes") / "collection"
    build(folder, [tiny_corpus], ModelAnalyser(tiny_encoder))
    return KeyphraseGenerator(tiny_encoder, Collection.open(folder))


@pytest.fixture
def streaming(plain: KeyphraseGenerator) -> KeyphraseGenerator:
    return KeyphraseGenerator(plain.backend, plain.background, runner=ProcessRunner(_FEW))


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("a process was asked for")

    monkeypatch.setattr(module, "DeviceStream", refuse)


def children() -> set[str]:
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def test_results_are_those_of_one_thread_to_the_bit(
    streaming: KeyphraseGenerator, plain: KeyphraseGenerator, texts: list[tuple[str | None, str]]
) -> None:
    before = children()
    found = list(streaming.generate_batch(iter(texts), explain=True, threads=2))
    assert children() == before
    assert found == list(plain.generate_batch(texts, explain=True, threads=1))
    assert any(k.absent for k in found)
    alone = list(streaming.extract_batch(texts, 3, threads=2))
    assert alone == list(plain.extract_batch(texts, 3, threads=1))


def test_bad_items_are_answered_in_their_turn(streaming: KeyphraseGenerator, texts: Sequence[Any]) -> None:
    items = [*texts[:9], 7, *texts[9:20], {"abstract": 3}, *texts[20:30]]
    answers = list(streaming.stream(items, threads=2))
    assert [answer.item for answer in answers] == items
    bad = [answer for answer in answers if answer.error is not None]
    assert [answer.item for answer in bad] == [7, {"abstract": 3}]
    assert all(isinstance(answer.error, InputError) for answer in bad)


@pytest.mark.parametrize("after", [2, 25])
def test_an_error_of_the_caller_comes_behind_the_answers(
    streaming: KeyphraseGenerator, texts: Sequence[Any], after: int
) -> None:
    def broken() -> Iterator[Any]:
        yield from texts[:after]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(streaming.stream(broken(), threads=2))
    if after > _FEW:
        answers = streaming.stream(broken(), threads=2)
        assert [answer.item for answer in islice(answers, after)] == list(texts[:after])
        answers.close()  # type: ignore[attr-defined]


def test_few_items_need_no_process(streaming: KeyphraseGenerator, texts: Sequence[Any], no_processes: None) -> None:
    assert len(list(streaming.stream(texts[:_FEW], threads=2))) == _FEW
    assert len(list(streaming.stream(texts, threads=1))) == len(texts)
    with pytest.raises(AssertionError, match="a process was asked for"):
        list(streaming.stream(texts[: _FEW + 1], threads=2))


def test_what_a_process_cannot_be_given_is_done_in_threads(
    tiny_model: Path, plain: KeyphraseGenerator, texts: Sequence[Any], no_processes: None
) -> None:
    backend, wide, background = plain.backend, OnnxBackend.load(tiny_model, threads=2), None
    runner = ProcessRunner(_FEW)
    tagged = KeyphraseGenerator(backend, background, runner=runner, tagger=Nouns())
    for generator in (tagged, KeyphraseGenerator(wide, background, runner=runner)):
        assert len(list(generator.stream(texts[:10], threads=2))) == 10


def test_an_endless_stream_can_be_left(streaming: KeyphraseGenerator, texts: Sequence[Any]) -> None:
    before = children()
    answers = streaming.stream((texts[n % 40] for n in count()), threads=2)
    assert [answer.item for answer in islice(answers, 30)] == texts[:30]
    assert len(children() - before) == 2
    answers.close()  # type: ignore[attr-defined]
    assert children() == before


def test_a_killed_process_is_one_clear_error(streaming: KeyphraseGenerator, texts: Sequence[Any]) -> None:
    before = children()
    answers = streaming.stream((texts[n % 40] for n in count()), threads=2)
    next(iter(answers))
    os.kill(int(min(children() - before)), signal.SIGKILL)
    with pytest.raises(ErukgError, match=r"Worker process \d ended unexpectedly .* fewer of them \(--threads\)"):
        list(answers)
    assert children() == before


@pytest.mark.parametrize("weighed", [True, False])
def test_what_a_collection_keeps_is_the_same(
    tiny_encoder: OnnxBackend, texts: list[tuple[str | None, str]], weighed: bool
) -> None:
    given = [text for _, text in texts]
    one = ModelAnalyser(tiny_encoder, phrases=7, settings=Settings(), term_weights=weighed)
    many = ProcessAnalyser(tiny_encoder, phrases=7, settings=Settings(), term_weights=weighed, workers=2, few=_FEW)
    assert (many.choices, many.fingerprint, many.vocab_size) == (one.choices, one.fingerprint, one.vocab_size)
    before = children()
    for a, b in zip(many.encode(given), one.encode(given), strict=True):
        first, second = a.unwrap(), b.unwrap()
        assert first.phrases == second.phrases
        assert np.array_equal(first.term_ids, second.term_ids)
        assert np.array_equal(first.term_weights, second.term_weights)
    assert children() == before


def test_a_collection_that_has_changed_is_read_as_it_was(
    plain: KeyphraseGenerator, texts: Sequence[Any], monkeypatch: pytest.MonkeyPatch, no_processes: None
) -> None:
    background = plain.background
    assert isinstance(background, Collection)
    newer = type("Newer", (), {"number": background.manifest.number + 1})
    monkeypatch.setattr(module, "read_manifest", lambda folder: newer)
    runner = ProcessRunner(_FEW)
    request = Request(5, Settings())
    found = list(runner.generate(plain, texts[:10], request, 2))
    assert [answer.unwrap() for answer in found] == [plain.answer(t, request).unwrap() for t in texts[:10]]
