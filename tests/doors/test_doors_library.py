"""The library as people hold it: one line, readable results, choices, copies, processes and asyncio."""

from __future__ import annotations

import asyncio
import copy
import multiprocessing
import os
import pickle
import re
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import erukg.generator
from erukg import KeyphraseGenerator, Keyphrases, Settings, fold
from erukg.backends.folder import bundled_models, find_model
from erukg.collection.reader import _reopen
from erukg.core.results import Keyphrase, Notice
from erukg.errors import InputError, ModelError, SettingsError
from tiny import write_model

TEXT = "Neural networks for radar images\nWe propose a fast algorithm: a neural network, and a search engine. Sea ice."


@pytest.fixture(scope="module")
def generator(tiny_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection, settings=Settings(abstain=False))


def phrases_in(job: tuple[KeyphraseGenerator, str]) -> list[str]:
    """For other processes, which find it by its name."""
    generator, text = job
    return generator.generate(text, 3).phrases


def test_one_line() -> None:
    result = erukg.generate("Sea ice from passive microwave radiometry", 3, exclude=["radiometry"], id=7)
    assert result.id == "7"
    assert "Sea ice" in result.phrases
    assert not any("radiometry" in phrase for phrase in result.phrases)
    assert erukg.extract("Sea ice thickness", top_k=1).phrases == ["Sea ice thickness"]


def test_the_default_is_loaded_once(monkeypatch: pytest.MonkeyPatch, generator: KeyphraseGenerator) -> None:
    from erukg import generator as home

    loads = []

    def load() -> KeyphraseGenerator:
        time.sleep(0.05)
        loads.append(threading.get_ident())
        return generator

    monkeypatch.setattr(home._Default, "loaded", None)
    monkeypatch.setattr(KeyphraseGenerator, "from_pretrained", load)
    threads = [threading.Thread(target=home.default_generator) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert home.default_generator() is generator


def test_results_are_readable(generator: KeyphraseGenerator) -> None:
    result = generator.generate(TEXT, 2, id="a")
    present, absent = ([k.phrase for k in kind] for kind in (result.present, result.absent))
    assert result.phrases == present + absent
    assert len(absent) == 2
    assert repr(result) == f"Keyphrases(id='a', present={present!r}, absent={absent!r})"
    assert str(result.present[0]) == present[0]
    assert re.fullmatch(r"Keyphrase\('.+', score=[\d.e-]+, confidence=[\d.e-]+\)", repr(result.present[0]))
    assert repr(Keyphrases(error="No.")) == "Keyphrases(error='No.')"
    assert "notices=['too-short']" in repr(generator.generate(""))
    assert repr(generator) == "KeyphraseGenerator(model='tiny', collection=<120 documents>)"


def test_results_as_tables(generator: KeyphraseGenerator) -> None:
    result = generator.generate(TEXT, 3, id="a")
    table = result.to_pandas()
    assert list(table["phrase"]) == result.phrases
    assert list(table["kind"]) == ["present"] * 3 + ["absent"] * 3
    assert list(table["rank"]) == [1, 2, 3, 1, 2, 3]
    assert table["spans"][0] == [list(span) for span in result.present[0].spans]
    assert list(Keyphrases().to_pandas().columns) == list(table.columns)
    ranked = next(iter(generator.rank_batch([TEXT], ["search engine", "memory cache"]))).to_pandas()
    assert list(ranked["kind"]) == ["present", "absent"]
    assert list(ranked["rank"]) == [1, 2]


class Page(HTMLParser):
    """What a browser makes of the HTML: its elements, its text, and what is marked."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text, self.marked = "", list[str]()
        self._open: list[str] = []
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style", "title"}
        self.tags.add(tag)
        self._open.append(tag)
        if tag == "mark":
            self.marked.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "mark" in self._open:
            self.marked[-1] += data


def test_notebooks_show_the_text_and_both_lists(generator: KeyphraseGenerator) -> None:
    result = generator.generate(TEXT, 3)
    page = Page(result._repr_html_())
    assert TEXT in page.text
    assert {fold(mark) for mark in page.marked} == {fold(k.phrase) for k in result.present}
    lists = page.text.split("In the text")[1]
    assert all(phrase in lists for phrase in result.phrases)
    (batch,) = generator.generate_batch([TEXT], 3)
    assert batch._repr_html_() == result._repr_html_()
    assert "none" in Page(generator.extract(TEXT)._repr_html_()).text.split("Not in the text")[1]


def test_notebooks_run_nothing_of_the_text() -> None:
    evil = "</div><script>alert('1')</script> <img src=x onerror=\"alert(2)\"> \ud800"
    phrase = Keyphrase(evil[:20], 1.0, 0.5, variants=(evil,), spans=((0, 20), (5, 30), (10_000, 10_010)))
    result = Keyphrases((phrase,), (Keyphrase(evil, 1.0),), notices=(Notice("x", evil),), text=evil)
    page = Page(result._repr_html_())
    assert page.tags <= {"div", "p", "em", "mark", "span", "table", "tr", "td"}
    assert page.marked == [evil[:20]]
    assert evil.replace("\ud800", "?") in page.text
    assert Page(Keyphrases(error=evil)._repr_html_()).tags == {"div", "p"}


def test_notebooks_stay_quick_with_long_texts() -> None:
    result = Keyphrases((Keyphrase("word", 1.0, spans=((0, 4), (900_000, 900_004))),), text="word " * 200_000)
    assert len(result._repr_html_()) < 25_000


def test_excluded_words_are_in_no_phrase(generator: KeyphraseGenerator) -> None:
    plain = generator.generate(TEXT, 10)
    assert any("network" in phrase.lower() for phrase in plain.phrases)
    result = generator.generate(TEXT, 10, exclude={"Networks", "searching engine"})
    assert not any("network" in f"{k.phrase} {k.variants}".lower() for k in result)
    assert not any("search engine" in fold(k.phrase) for k in result)
    assert {fold(k.phrase) for k in result.present} >= {"radar image", "sea ice"}
    assert len(result.absent) == len(plain.absent) == 10
    # Parts of words do not count.
    assert generator.generate(TEXT, 10, exclude=["net", "", "!"]) == plain


def test_what_must_be_there_is(generator: KeyphraseGenerator) -> None:
    plain = generator.generate(TEXT, 50, min_confidence=0)
    last, weak = plain.present[-1], plain.absent[-1]
    wanted = [last.phrase.upper(), f"{weak.phrase}s", "Quantum  chromodynamics", "we propose"]
    for must in (wanted, tuple(wanted)):
        result = generator.generate(TEXT, 3, must_have=must, exclude=["quantum"], explain=True)
        found = {fold(k.phrase): k for k in result}
        assert found.keys() >= {fold(phrase) for phrase in wanted}
        assert (len(result.present), len(result.absent)) == (3, 3)
    assert found[fold(last.phrase)].score == pytest.approx(last.score)
    assert found[fold(last.phrase)].spans == last.spans
    assert found[fold(last.phrase)].explanation is not None
    assert found[fold(weak.phrase)].score == pytest.approx(weak.score)
    assert found[fold(weak.phrase)].sources == weak.sources
    unknown = found["quantum chromodynamic"]
    assert (unknown.phrase, unknown.score, unknown.confidence) == ("Quantum chromodynamics", 0, None)
    (span,) = found["we propose"].spans
    assert TEXT[slice(*span)] == "We propose"
    assert len(generator.extract(TEXT, 1, must_have=wanted).present) == 2
    assert generator.generate(TEXT, 3, must_have=[plain.present[0].phrase]) == generator.generate(TEXT, 3)


def test_what_must_be_there_is_no_variant() -> None:
    text = (
        "Percutaneous coronary intervention (PCI) saves lives. PCI is quick, percutaneous coronary intervention is not."
    )
    plain, result = erukg.extract(text), erukg.extract(text, must_have=["PCI"])
    assert "PCI" not in plain.phrases
    assert any("PCI" in k.variants for k in plain)
    assert "PCI" in result.phrases
    assert not any("PCI" in k.variants for k in result)


def test_choices_are_arguments_everywhere(generator: KeyphraseGenerator) -> None:
    wanted: dict[str, Any] = {"min_confidence": 0.1, "diversity": 0.9, "exclude": ["radar"], "must_have": ["tree"]}
    one = generator.generate(TEXT, 4, **wanted)
    assert one == generator.generate(
        TEXT, 4, generator.settings.replace(min_confidence=0.1, diversity=0.9), exclude=["radar"], must_have=["tree"]
    )
    assert one != generator.generate(TEXT, 4)
    assert list(generator.generate_batch([TEXT], 4, **wanted)) == [one]
    assert [answer.result for answer in generator.stream([TEXT], 4, **wanted)] == [one]
    assert asyncio.run(generator.agenerate(TEXT, 4, **wanted)) == one
    alone = generator.extract(TEXT, 4, **wanted)
    assert list(generator.extract_batch([TEXT], 4, **wanted)) == [alone]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"exclude": "radar"}, "exclude must be a list or set, each a string or None, not a string."),
        ({"must_have": ["tree", 1]}, "must_have must be a list or set, each a string or None, not a list."),
        ({"must_have": ["?!"]}, "must_have has a phrase without words: '?!'."),
        ({"diversity": "high"}, "diversity must be a number or None, not a string."),
        ({"min_confidence": 2}, "Setting 'min_confidence' must be a number from 0 to 1, not 2."),
    ],
)
def test_choices_that_are_none(generator: KeyphraseGenerator, wanted: dict[str, Any], words: str) -> None:
    with pytest.raises((InputError, SettingsError)) as error:
        generator.generate(TEXT, **wanted)
    assert str(error.value) == words


def test_names_of_models_are_not_shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "tiny")
    write_model(tmp_path / "mine")
    assert find_model("tiny").parent.name == "models"
    assert find_model("./tiny") == find_model(Path("tiny")) == Path("tiny")
    assert find_model("mine") == Path("mine")
    with pytest.raises(ModelError) as error:
        KeyphraseGenerator.from_pretrained("smal")
    assert all(name in str(error.value) for name in bundled_models())


def test_copies(generator: KeyphraseGenerator) -> None:
    want = generator.generate(TEXT)
    data = pickle.dumps(generator)
    assert len(data) < 4000
    for other in (pickle.loads(data), copy.deepcopy(generator), copy.copy(generator)):
        assert other is not generator
        assert other.settings == generator.settings
        assert other.generate(TEXT) == want
    shared = copy.deepcopy(generator)
    assert (shared.backend, shared.background) == (generator.backend, generator.background)
    assert pickle.loads(pickle.dumps(want)) == want


def test_bundled_parts_are_found_on_any_machine() -> None:
    data = pickle.dumps(erukg.generator.default_generator())
    assert str(find_model("small")).encode() not in data
    collection = erukg.generator.default_generator().background
    assert collection is not None
    assert len(_reopen(Path("nowhere"), collection.fingerprint, 1)) == len(collection)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(generator: KeyphraseGenerator, method: str) -> None:
    jobs = [(generator, TEXT), (generator, "A search engine for radar images.")]
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map_async(phrases_in, jobs).get(60) == [phrases_in(job) for job in jobs]


def test_a_forked_process_goes_on_with_what_is_loaded(tiny_model: Path) -> None:
    generator = KeyphraseGenerator.from_pretrained(tiny_model, threads=2)
    want = phrases_in((generator, TEXT))
    assert asyncio.run(generator.agenerate(TEXT, 3)).phrases == want
    here, there = multiprocessing.Pipe()

    def work() -> None:
        found = [phrases_in((generator, TEXT)), asyncio.run(generator.agenerate(TEXT, 3)).phrases]
        there.send((os.getpid(), *found))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    assert here.poll(60)
    pid, *found = here.recv()
    process.join()
    assert found == [want, want]
    assert pid != os.getpid()


def test_asyncio(generator: KeyphraseGenerator) -> None:
    texts = [TEXT, "A search engine for radar images.", ""] * 10

    async def work() -> tuple[list[Keyphrases], int]:
        turns = 0

        async def turn() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(turn())
        found = await asyncio.gather(*(generator.agenerate(text, 3) for text in texts))
        other.cancel()
        return found, turns

    found, turns = asyncio.run(work())
    assert found == [generator.generate(text, 3) for text in texts]
    assert turns > 1
    with pytest.raises(InputError, match="not None"):
        asyncio.run(generator.agenerate(None))  # type: ignore[arg-type]
