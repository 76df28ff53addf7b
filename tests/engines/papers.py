"""Two hundred short made-up papers and twenty queries: what the engines' tests index and search.

All fields stay below 40 words, up to where Lucene and tantivy keep lengths exactly, so that scores can be compared.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from erukg import KeyphraseGenerator
from erukg.core.expansion import best_phrases
from erukg.core.query_expansion import ExpandedQuery, SearchPhrase
from erukg.io.engines import document_lines
from erukg.io.lucene import lucene_query

TOPICS = (
    ("gene expression", "mouse liver", "protein folding", "cell culture", "enzyme activity", "viral genome"),
    ("virtual keypad", "touch screen", "mobile phone", "gesture input", "typing speed", "tactile feedback"),
    ("sea ice", "passive radar", "satellite image", "ocean current", "weather model", "glacier melting"),
    ("inverted index", "query expansion", "search engine", "relevance feedback", "document ranking", "word stemming"),
    ("bridge vibration", "steel beam", "concrete crack", "wind tunnel", "load sensor", "structural damage"),
)
TEMPLATES = (
    "We study {a} with {b}. Results on {c} show that {a} improves when {d} is measured.",
    "A new method for {a} and {b} is presented; it was tested on {c} over several years.",
    "This paper compares {a} to {d}. Both depend on {b}, and neither was running slower than {c}.",
    "Why does {a} fail? We trace the errors to {b} and describe cheaper {c} for {d}.",
)
Group = tuple[str, float]


def papers(count: int = 200, seed: int = 7) -> Iterator[dict[str, str]]:
    """Each is mostly about one topic and borrows from another."""
    chance = random.Random(seed)
    for i in range(count):
        own, other = chance.sample(TOPICS, 2)
        names = [*chance.sample(own, 3), chance.choice(other)]
        chance.shuffle(names)
        yield {"id": f"p{i}", "text": chance.choice(TEMPLATES).format(**dict(zip("abcd", names, strict=True)))}


def queries(count: int = 20, seed: int = 11) -> list[list[Group]]:
    """Groups of words with weights: the query itself with 1, and phrases that expand it with less."""
    chance = random.Random(seed)
    out = []
    for _ in range(count):
        own, other = chance.sample(TOPICS, 2)
        first, second = chance.sample(own, 2)
        out.append([(first, 1.0), (second, 0.3), (chance.choice(other), 0.15)])
    return [[("gene", 1.0), ("virtual keypad", 0.3)], *out[1:]]


def written(query: list[Group]) -> str:
    """A query as `erukg expand --queries --format lucene` writes it."""
    (text, _), *groups = query
    phrases = tuple(SearchPhrase(words, "absent", weight) for words, weight in groups)
    return lucene_query(ExpandedQuery(text, phrases))


def search_fields(generator: KeyphraseGenerator, row: dict[str, str]) -> dict[str, Any]:
    """A paper as `erukg expand --format lucene` writes it."""
    found = generator.generate(row["text"], 5, id=row["id"])
    (line,) = document_lines(row, *best_phrases(found, 5, 5), "lucene")
    return dict(json.loads(line))
