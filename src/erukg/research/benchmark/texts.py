"""Documents to measure with where the user gives none: any number, of any length, the same on every machine.

Sentences with gaps are filled with the terms of one field per document, so that a text has phrases which come again, as
real ones have, and no two documents are the same. They say nothing about quality, only about time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

__all__ = ["document", "documents", "read_texts"]

_FIELDS = tuple(
    tuple(line.split(", "))
    for line in (
        "sparse retrieval model, inverted index, query expansion, term weighting, document ranking, relevance "
        "feedback, search engine, vocabulary mismatch, dense encoder, passage retrieval, test collection, "
        "language model",
        "sea ice thickness, passive microwave radiometer, satellite altimetry, Arctic ocean, snow depth, "
        "surface temperature, melt pond, freeboard measurement, climate reanalysis, ice drift, brightness "
        "temperature, seasonal forecast",
        "peer-to-peer network, distributed hash table, routing protocol, network latency, file sharing, "
        "replication factor, node failure, consensus algorithm, bandwidth allocation, overlay topology, trust "
        "management, load balancing",
        "gene expression, regulatory network, single-cell sequencing, transcription factor, protein folding, "
        "cell differentiation, stem cell, mutation rate, metabolic pathway, immune response, signalling "
        "cascade, membrane receptor",
        "convex optimization, stochastic gradient descent, sparse matrix, eigenvalue problem, convergence "
        "rate, finite element method, boundary condition, numerical stability, random graph, interior point "
        "method, Krylov subspace, error bound",
        "urban transport, travel demand, traffic simulation, public transit, road pricing, mobility survey, "
        "route choice, travel time reliability, congestion charge, land use, commuter behaviour, electric "
        "vehicle",
    )
)

_TITLES = (
    "{a} and {b}: a closer look",
    "Towards a better {a} for the {b}",
    "On the role of {a} in {b}",
    "A fast method for {a} with limited {b}",
)

_SENTENCES = (
    "We study how the {a} depends on the {b} when little data is available.",
    "The {a} has been known for decades, yet its link with the {b} is poorly understood.",
    "In this paper a new approach to the {a} is proposed that needs no labelled examples.",
    "Earlier work treated the {a} and the {b} as separate problems.",
    "Our experiments show that a careful choice of the {a} improves the {b} by a wide margin.",
    "We compare three variants of the {a} on five public data sets.",
    "The results suggest that the {b} limits what can be gained from a larger {a}.",
    "A simple analysis explains why the {a} fails whenever the {b} is noisy.",
    "Measurements were taken over 12 months, and the {a} was recorded every hour.",
    "For this purpose we derive an upper bound that holds for every {a} of practical size.",
    "The method runs in linear time and keeps only a small part of the {b} in memory.",
    "Users of the {a} often ask for an explanation; the {b} gives one at no extra cost.",
    "Both the {a} and the {b} were calibrated against independent observations.",
    "However, the {a} alone does not account for the differences between the two groups.",
    "A detailed error analysis reveals two causes: an outdated {a} and a biased {b}.",
    "We release the source code, the trained parameters, and a reference implementation of the {a}.",
    "This finding contradicts the common belief that the {b} is independent of the {a}.",
    "Finally, we discuss open questions, such as the influence of the {b} on long-term behaviour.",
    "The proposed {a} is evaluated in a realistic setting with 1,500 participants.",
    "It remains robust even if a third of the {b} is missing or wrong.",
)


def document(words: int, number: int = 0) -> str:
    """The built-in document of this number, a title line and sentences, at least `words` words long."""
    rng = random.Random(f"{number}:{words}")
    terms = _FIELDS[number % len(_FIELDS)]

    def fill(pattern: str) -> str:
        a, b = rng.sample(terms, 2)
        return pattern.format(a=a, b=b)

    title = fill(rng.choice(_TITLES))
    count = len(title.split())
    sentences: list[str] = []
    while count < words or not sentences:
        sentences.append(fill(rng.choice(_SENTENCES)))
        count += len(sentences[-1].split())
    return f"{title[0].upper()}{title[1:]}\n{' '.join(sentences)}"


def documents(count: int, words: int = 200) -> list[str]:
    """The first `count` built-in documents."""
    return [document(words, number) for number in range(count)]


def read_texts(paths: Iterable[str | Path], bad: Callable[[str], None] = lambda line: None) -> Iterator[str]:
    """The texts of files and folders that are not blank; `bad` is told where one cannot be read, and why."""
    from erukg.io import BadDocument, read_documents

    for item in read_documents(paths):
        if isinstance(item, BadDocument):
            bad(f"{item.place}: {item.message}")
        elif item.text.strip():
            yield item.text
