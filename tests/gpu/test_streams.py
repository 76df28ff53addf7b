"""Streams through real processes, with torch on the CPU in the place of a GPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")


from erukg import KeyphraseGenerator  # noqa: E402
from erukg.backends import OnnxBackend  # noqa: E402
from erukg.backends.torch.backend import TorchBackend  # noqa: E402
from erukg.collection import Collection  # noqa: E402
from erukg.collection.analyser import ModelAnalyser  # noqa: E402
from erukg.collection.build import build  # noqa: E402
from erukg.core.inputs import InputDocument  # noqa: E402
from erukg.core.notices import NOT_ENGLISH  # noqa: E402
from erukg.core.results import Keyphrase, Keyphrases, Notice  # noqa: E402
from erukg.core.runner import Request  # noqa: E402
from erukg.core.settings import Settings  # noqa: E402
from erukg.errors import CollectionError, ErukgError, InputError  # noqa: E402
from erukg.gpu import DeviceRunner, DeviceStream  # noqa: E402
from erukg.gpu.compact import compact, restore  # noqa: E402
from erukg.gpu.runner import SearchOn  # noqa: E402
from erukg.io import read_documents  # noqa: E402
from erukg.languages import language_of  # noqa: E402
from tiny_bert import write_bert  # noqa: E402
from tiny_ranker import write_ranked  # noqa: E402

torch.set_num_threads(1)
SEARCHES: tuple[SearchOn, ...] = ("device", "workers")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert") / "fp32")


@pytest.fixture(scope="module")
def collection(bert: Path, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collections") / "bert"
    build(folder, [tiny_corpus], ModelAnalyser(OnnxBackend.load(bert)))
    return folder


@pytest.fixture(scope="module")
def plain(bert: Path, collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator(OnnxBackend.load(bert), Collection.open(collection))


@pytest.fixture(scope="module")
def generator(bert: Path, collection: Path) -> KeyphraseGenerator:
    return on_device(bert, Collection.open(collection))


def on_device(model: Path, collection: Collection | None = None, **options: Any) -> KeyphraseGenerator:
    backend = TorchBackend.load(model, device="cpu")
    return KeyphraseGenerator(backend, collection, runner=DeviceRunner(backend, collection), **options)


def runner_of(generator: KeyphraseGenerator, search: SearchOn | None = None, chunk: int = 64) -> DeviceRunner:
    backend, collection = generator.backend, generator.background
    assert isinstance(backend, TorchBackend)
    assert collection is None or isinstance(collection, Collection)
    return DeviceRunner(backend, collection, search=search, chunk=chunk)


def stream_keyphrases(
    generator: KeyphraseGenerator,
    items: Iterable[Any],
    top_k: int,
    settings: Settings,
    *,
    workers: int,
    chunk: int = 64,
    search: SearchOn | None = None,
) -> Iterator[Keyphrases]:
    answers = runner_of(generator, search, chunk).generate(generator, items, Request(top_k, settings), workers)
    for answer in answers:
        yield answer.unwrap()


@pytest.fixture(scope="module")
def texts(tiny_corpus: Path) -> list[tuple[str | None, str]]:
    items = [(item.id, item.text) for item in read_documents([tiny_corpus]) if isinstance(item, InputDocument)]
    # Of other lengths too: nothing, a word, and more than a window.
    return [*items[:70], (None, ""), ("one", "networks"), ("long", " ".join(text for _, text in items[:20]))]


@pytest.fixture(scope="module")
def by_one_worker(generator: KeyphraseGenerator, texts: list[tuple[str | None, str]]) -> list[Keyphrases]:
    """Five phrases of every text, by one worker that searches itself."""
    return list(stream_keyphrases(generator, texts, 5, Settings(), workers=1, search="workers"))


def processes() -> set[str]:
    """The processes that this one has started and that still are there, zombies included."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return set(children.read_text().split())


@pytest.mark.parametrize("search", SEARCHES)
def test_same_results_ordered_map(
    generator: KeyphraseGenerator,
    plain: KeyphraseGenerator,
    texts: list[tuple[str | None, str]],
    search: SearchOn,
) -> None:
    before = processes()
    found = list(stream_keyphrases(generator, texts, 10, Settings(), workers=2, chunk=8, search=search))
    assert processes() == before
    expected = list(plain.generate_batch(texts, threads=1))
    assert [k.id for k in found] == [id for id, _ in texts]
    assert any(k.absent for k in expected)
    for a, b in zip(found, expected, strict=True):
        for one, other in ((a.present, b.present), (a.absent, b.absent)):
            assert [k.phrase for k in one] == [k.phrase for k in other]
            assert [k.score for k in one] == pytest.approx([k.score for k in other], rel=1e-3)
            assert [(k.spans, [(s.id, s.title) for s in k.sources]) for k in one] == [
                (k.spans, [(s.id, s.title) for s in k.sources]) for k in other
            ]
        assert a.notices == b.notices
    assert [notice.code for k in found for notice in k.notices] == ["too-short", "too-short"]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_learned_ranking_counts_in_the_workers_too(
    bert: Path, collection: Path, texts: list[tuple[str | None, str]], search: SearchOn, tmp_path: Path
) -> None:
    model, background = write_ranked(bert, tmp_path / "ranked"), Collection.open(collection)
    plain = KeyphraseGenerator(OnnxBackend.load(model), background)
    found = list(stream_keyphrases(on_device(model, background), texts, 10, Settings(), workers=1, search=search))
    expected = list(plain.generate_batch(texts, threads=1))
    without = list(plain.generate_batch(texts, settings=Settings(absent_learned=0), threads=1))
    assert [[k.phrase for k in r.absent] for r in found] == [[k.phrase for k in r.absent] for r in expected]
    for one, other in zip(found, expected, strict=True):
        assert [k.score for k in one.absent] == pytest.approx([k.score for k in other.absent], rel=1e-3)
    assert [[k.phrase for k in r.absent] for r in found] != [[k.phrase for k in r.absent] for r in without]


def test_a_device_with_too_little_memory_leaves_the_search_to_the_workers(
    generator: KeyphraseGenerator, texts: list[tuple[str | None, str]], by_one_worker: list[Keyphrases]
) -> None:
    expected = by_one_worker
    plan, job = runner_of(generator, "device").plan(generator, Request(5, Settings()))
    assert plan.search is not None
    for memory in (1, None):
        stream = DeviceStream(replace(plan, search=replace(plan.search, memory=memory)), job, workers=1)
        found = [answer.unwrap() for answer in stream.run(texts)]
        assert [[k.phrase for k in r] for r in found] == [[k.phrase for k in r] for r in expected]
        for one, other in zip(found, expected, strict=True):
            assert [k.score for k in one] == pytest.approx([k.score for k in other], rel=1e-4)
        stats, seconds = stream.stats()
        assert stats.on_device == (memory is None)
        assert stats.encoded_texts == len(texts)
        assert stats.searched_texts == (len(texts) if stats.on_device else 0)
        assert len(seconds) == 2
        assert min(seconds) > 0
        stream.close()


def test_the_language_is_told_in_the_workers(bert: Path, collection: Path) -> None:
    generator = on_device(bert, Collection.open(collection), language_of=language_of)
    german = "Die neue graph Suche findet nach wenigen Stunden auch das search network der Stadt und die network data."
    (found,) = generator.generate_batch([german], threads=1)
    assert [notice.code for notice in found.notices] == [NOT_ENGLISH]
    assert "German" in found.notices[0].message
    assert found.absent == ()
    unasked = on_device(bert, Collection.open(collection))
    (found,) = unasked.generate_batch([german], threads=1)
    assert found.notices == ()
    assert found.absent


def test_without_neighbours_nothing_is_searched(generator: KeyphraseGenerator) -> None:
    plan, _ = runner_of(generator, "device").plan(generator, Request(5, Settings().extraction()))
    assert plan.search is None
    with pytest.raises(InputError, match="no stream"):
        runner_of(generator).open(generator, Request(5, Settings())).stats()


def test_batches_of_a_generator_on_a_device_are_streams(
    generator: KeyphraseGenerator, plain: KeyphraseGenerator, texts: list[tuple[str | None, str]]
) -> None:
    found = list(generator.extract_batch((text for _, text in texts[:9]), 3, explain=True, threads=1))
    expected = [plain.extract(text, 3, explain=True) for _, text in texts[:9]]
    assert [[k.phrase for k in r] for r in found] == [[k.phrase for k in r] for r in expected]
    assert found[0].present[0].explanation is not None
    assert generator.generate(texts[0][1]).present[0].phrase == plain.generate(texts[0][1]).present[0].phrase


@pytest.mark.parametrize("search", SEARCHES)
def test_a_bad_item_is_answered_in_its_turn_and_ends_nothing(
    generator: KeyphraseGenerator, texts: list[tuple[str | None, str]], search: SearchOn
) -> None:
    before = processes()
    bad: list[Any] = [None, *texts[:20], (None, 7), *texts[20:40], {"id": "x", "text": "sea ice"}, {"body": ""}]
    with runner_of(generator, search).open(generator, Request(5, Settings()), 2) as stream:
        answers = list(stream.run(bad, 16))
        sound = list(stream.run(texts[:40], 16))
        nothing = list(stream.run([None, 5], 16))
    assert processes() == before
    assert [answer.item for answer in answers] == bad
    assert [i for i, answer in enumerate(answers) if answer.error is not None] == [0, 21, 43]
    assert str(answers[21].error) == "A pair must be an id and a text, not None and a number."
    assert [a.result for a in answers if a.error is None][:40] == [answer.result for answer in sound]
    assert nothing[1].error is not None


def test_an_error_of_the_caller_comes_behind_the_results(
    generator: KeyphraseGenerator, texts: list[tuple[str | None, str]]
) -> None:
    def broken() -> Iterator[str]:
        yield from (text for _, text in texts[:5])
        raise OSError("the disk is gone")

    stream = generator.generate_batch(broken(), threads=1)
    assert len(list(islice(stream, 5))) == 5
    with pytest.raises(OSError, match="the disk is gone"):
        next(stream)


def test_an_endless_stream_can_be_left(generator: KeyphraseGenerator) -> None:
    before = processes()
    taken = count()

    def endless() -> Iterator[str]:
        while True:
            next(taken)
            yield "deep neural networks for sea ice radar images"

    stream = stream_keyphrases(generator, ((None, text) for text in endless()), 5, Settings(), workers=1, chunk=4)
    assert len(list(islice(stream, 10))) == 10
    stream.close()  # type: ignore[attr-defined]
    assert processes() == before
    assert next(taken) < 60


def test_a_killed_process_is_one_clear_error(generator: KeyphraseGenerator) -> None:
    before = processes()
    for victim, message in ((0, "process that runs the model on cpu ended"), (1, "Worker process 1 ended")):
        texts = (f"neural network {i}" for i in count())
        items = ((None, text) for text in texts)
        stream = stream_keyphrases(generator, items, 5, Settings(), workers=2, chunk=4, search="device")
        next(stream)
        os.kill(sorted(map(int, processes() - before))[victim], signal.SIGKILL)
        with pytest.raises(ErukgError, match=message):
            for _ in stream:
                pass
        assert processes() == before


def test_a_model_that_cannot_be_loaded(bert: Path, tmp_path: Path) -> None:
    generator = on_device(write_bert(tmp_path / "m"))
    (tmp_path / "m" / "encoder.onnx").write_bytes(b"nothing")
    with pytest.raises(ErukgError, match="bytes where"):
        list(generator.generate_batch(["a network"], threads=1))


def test_a_collection_that_has_changed(bert: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    from erukg.collection import Writer

    build(tmp_path / "c", [tiny_corpus], ModelAnalyser(OnnxBackend.load(bert)))
    generator = on_device(bert, Collection.open(tmp_path / "c"))
    with Writer.open(tmp_path / "c") as writer:
        writer.remove(["doc:1"])
    for search in SEARCHES:
        with pytest.raises(CollectionError, match="has changed"):
            list(stream_keyphrases(generator, [(None, "a network")], 5, Settings(), workers=1, search=search))


def test_what_cannot_stream_is_refused(bert: Path, tiny_generator: KeyphraseGenerator) -> None:
    class Nouns:
        def tag(self, words: Sequence[str]) -> list[str]:
            return ["NN"] * len(words)

    with pytest.raises(InputError, match="tagger"):
        on_device(bert, tagger=Nouns()).generate_batch(["a"])
    with pytest.raises(InputError, match="another model or collection"):
        DeviceRunner(TorchBackend.load(bert, device="cpu")).generate(tiny_generator, [], Request(5, Settings()), None)


def test_an_interrupted_program_leaves_nothing_behind(bert: Path, tmp_path: Path) -> None:
    """Ctrl-C in a script that has no `if __name__` guard; its children end with it."""
    script = tmp_path / "script.py"
    script.write_text(
        "import itertools, sys\n"
        "from erukg import KeyphraseGenerator\n"
        "from erukg.backends.torch.backend import TorchBackend\n"
        "from erukg.gpu import DeviceRunner\n"
        f"backend = TorchBackend.load({str(bert)!r}, device='cpu')\n"
        "generator = KeyphraseGenerator(backend, runner=DeviceRunner(backend))\n"
        "for n, _ in enumerate(generator.generate_batch(itertools.repeat('a neural network'), threads=1)):\n"
        "    if not n:\n"
        "        print('started', flush=True)\n"
    )
    program = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "started\n"
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    assert len(children) == 2
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=20)
    assert errors.strip().endswith("KeyboardInterrupt")
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_results_survive_the_way(plain: KeyphraseGenerator, texts: list[tuple[str | None, str]]) -> None:
    for id, text in texts:
        result = plain.generate(text, explain=True, id=id)
        assert restore(compact(result)) == result
    withheld = Keyphrases(absent=(Keyphrase("a", 0.5, 0.1, related=True),), notices=(Notice("code", "Words."),))
    assert restore(compact(withheld)) == withheld


def test_processes_that_stay_serve_one_stream_after_the_other(
    generator: KeyphraseGenerator, texts: list[tuple[str | None, str]], by_one_worker: list[Keyphrases]
) -> None:
    before = processes()
    expected = by_one_worker
    stream = runner_of(generator).open(generator, Request(5, Settings()), workers=1)

    def run(items: Iterable[Any]) -> list[Keyphrases]:
        return [answer.unwrap() for answer in stream.run(items)]

    assert run(texts) == expected
    first = processes() - before
    assert run(texts[:20]) == expected[:20]
    assert processes() - before == first

    # A stream that ends before its time takes its processes along; the next has new ones.
    def broken() -> Iterator[Any]:
        yield from texts[:3]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        run(broken())
    assert processes() == before
    assert run(texts[:3]) == expected[:3]
    assert not (processes() - before) & first
    stream.close()
