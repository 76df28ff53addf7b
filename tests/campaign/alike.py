"""The same answers whatever way a text takes, and time that grows as texts do."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from campaign.children import in_child
from campaign.folders import fresh, state_of
from campaign.kinds import Kind, Outcome
from campaign.samples import Samples, warmed
from collection.samples import WordAnalyser, make_collection, make_records, write_jsonl
from erukg import Collection, KeyphraseGenerator
from erukg.collection import Writer, verify
from erukg.collection.build import add
from tiny import ADJECTIVES, NOUNS, OTHERS

__all__ = ["Growth", "Same"]

WORDS = (*NOUNS, *ADJECTIVES, *OTHERS)


class Same(Kind):
    """Alone, in batches, in threads, in processes; in parts, in other parts, merged: equal bits."""

    share = 1.5

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        ranked = KeyphraseGenerator.from_pretrained(samples.ranked, samples.collection)
        self._generators = [samples.generator, warmed(ranked)]

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        ways: list[Callable[[random.Random, Path], str]] = [self._texts, self._parts]
        return Outcome(Counter([rng.choice(ways)(rng, scratch)]))

    def _texts(self, rng: random.Random, scratch: Path) -> str:
        generator = rng.choice(self._generators)
        texts = [_text(rng) for _ in range(12)]
        alone = [generator.generate(text, explain=True).to_json() for text in texts]
        order = rng.sample(range(len(texts)), len(texts))
        shuffled = generator.generate_batch([texts[i] for i in order], explain=True, threads=1)
        assert [found.to_json() for found in shuffled] == [alone[i] for i in order], "in a batch"
        threads = generator.generate_batch(texts, explain=True, threads=rng.choice((2, 3)))
        assert [found.to_json() for found in threads] == alone, "in threads of a stream"
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda text: generator.generate(text, explain=True).to_json(), texts))
        assert found == alone, "in threads of the caller"
        assert in_child(lambda: _answers(generator, texts), 60) == alone, "in another process"
        return "texts"

    def _parts(self, rng: random.Random, scratch: Path) -> str:
        records = make_records(rng.randint(20, 90), seed=rng.randrange(10**6))
        half = len(records) // 2
        query = rng.choice(records).text
        states, answers = set(), set()
        for i in range(2):
            folder = make_collection(fresh(scratch / str(i)) / "c", records[:half], part=rng.randint(5, 60))
            source = write_jsonl(scratch / f"{i}.jsonl", records[half:])
            add(folder, [source], WordAnalyser(), part_documents=rng.randint(5, 60))
            answers.add(_hits(folder, query))
            with Writer.open(folder) as writer:
                writer.merge()
            assert verify(folder) == []
            answers.add(_hits(folder, query))
            states.add(state_of(folder))
        assert len(states) == 1, "merged collections of the same documents differ"
        assert len(answers) == 1, "answers depend on parts"
        return "parts of a collection"


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(0, 200)))


def _answers(generator: KeyphraseGenerator, texts: Sequence[str]) -> list[str]:
    return [generator.generate(text, explain=True).to_json() for text in texts]


def _hits(folder: Path, query: str) -> tuple[tuple[str, float], ...]:
    collection = Collection.open(folder)
    hits = collection.search(query, 50)
    return tuple(sorted(zip(collection.ids(hits.documents), hits.scores.tolist(), strict=True)))


class Growth(Kind):
    """A random sentence repeated, and four times as often: a doubling takes no more than 2.2 times as long.

    Measured in processor time, the least of several texts with other words, which no cache knows; and again with more
    text before it counts as a failure, since what else the machine does is in a measurement too.
    """

    share = 1.0
    _MOST = 2.2

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        words = [rng.choice((rng.choice(NOUNS), rng.choice(ADJECTIVES), rng.choice(OTHERS), "x{i}")) for _ in range(8)]
        sentence = " ".join(words) + rng.choice((". ", " ", "\n", ", ", " (X{i}) ", "\t", "; "))
        ratio = 0.0
        for count in (300, 500, 900, 1_500):
            short, long = (self._seconds(rng, sentence, times * count) for times in (1, 4))
            ratio = math.sqrt(long / short)
            if ratio <= self._MOST:
                return Outcome(Counter(["at most 2.2 times a doubling"]))
        raise AssertionError(f"{sentence!r} takes {ratio:.2f} times as long per doubling")

    def _seconds(self, rng: random.Random, sentence: str, count: int) -> float:
        times = []
        for _ in range(2):
            first = rng.randrange(10**6, 10**7)
            text = "".join(sentence.format(i=i) for i in range(first, first + count))
            start = time.process_time()
            self.samples.generator.generate(text)
            times.append(time.process_time() - start)
        return min(times)
