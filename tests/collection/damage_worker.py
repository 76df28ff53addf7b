"""Opens and searches the collections named on standard input, and prints a line about each."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by its path

from collection.samples import make_text
from erukg.collection import Collection
from erukg.errors import CollectionError

TEXTS = [make_text(random.Random(i), 40) for i in range(4)]


def attempt(folder: str) -> str:
    try:
        collection = Collection.open(folder)
        for text in TEXTS:
            near = collection.neighbourhood(text, 1_000, exclude="d17")
            collection.ids(near.documents)
            collection.sources(near, near.phrase_ids)
            collection.tags_of(near.documents)
        collection.tag_counts()
        every = np.arange(len(collection.glossary))
        collection.glossary.phrases(every)
        collection.glossary.terms(every)
        collection.glossary.counts(every)
    except CollectionError as error:
        return f"refused: {error}"
    return "opened"


if __name__ == "__main__":
    for line in sys.stdin:
        print(attempt(line.strip()).replace("\n", " "), flush=True)
