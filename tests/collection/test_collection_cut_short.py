"""A file that is cut short while it is mapped: an error at the next search, not the end of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from collection.samples import make_collection, make_records

CUT_AND_SEARCH = """
import os, sys
from erukg.collection import Collection
from erukg.errors import CollectionError
text, *pairs = sys.argv[1:]
for folder, file in zip(pairs[::2], pairs[1::2]):
    collection = Collection.open(folder)
    assert len(collection.search(text, 5).documents)
    os.truncate(file, 100)
    for search in (collection.search, collection.neighbourhood):
        try:
            search(text, 5)
        except CollectionError as error:
            print(error)
"""


def test_a_file_cut_short_while_it_is_open(tmp_path: Path) -> None:
    records = make_records(300, seed=3)
    folders = [make_collection(tmp_path / kind, records) for kind in ("segment", "commit")]
    files = [next(folder.glob(f"{folder.name}-*.bin")) for folder in folders]
    arguments = [records[0].text, *(str(path) for pair in zip(folders, files, strict=True) for path in pair)]
    done = subprocess.run([sys.executable, "-c", CUT_AND_SEARCH, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = [
        line.partition(" is damaged (it was cut to 100 bytes while it was open)")[0]
        for line in done.stdout.splitlines()
    ]
    assert told == [str(file) for file in files for _ in range(2)]
