"""Checking a collection that is being written, and odd things where its files should be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from collection.samples import encode_words, make_collection, make_records
from erukg.collection import Collection, Writer, info, slim, verify
from erukg.collection.manifest import read_manifest
from erukg.errors import CollectionError

RECORDS = make_records(60, seed=71)


def test_no_false_alarm_while_a_writer_commits(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", RECORDS, part=20)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            with Writer.open(folder) as writer:
                for record in make_records(3, seed=number, prefix=f"w{number}-"):
                    writer.add(record, encode_words(record.text))
                writer.commit()
                writer.merge()
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        last, seen = read_manifest(folder).number + 24, []
        while read_manifest(folder).number < last and writer.is_alive():
            seen.append(verify(folder))
        slim(folder, tmp_path / "slim")
    finally:
        stop.set()
        writer.join()
    assert [faults for faults in seen if faults] == []
    assert len(seen) > 3
    assert verify(tmp_path / "slim") == []


def test_a_commit_that_ends_in_the_midst_of_checking(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", RECORDS, part=20)
    merged: list[str] = []

    def merge(name: str) -> None:
        if not merged:
            merged.append(name)
            with Writer.open(folder) as writer:
                writer.merge()

    assert verify(folder, merge) == []
    assert merged
    assert verify(folder) == []


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    folder, precious = make_collection(tmp_path / "c", RECORDS), tmp_path / "precious"
    precious.write_text("the only copy")
    (folder / "lock").unlink()
    (folder / "lock").symlink_to(precious)
    with pytest.raises(CollectionError, match=r"cannot be written to: lock is a link, a folder or a pipe"):
        Writer.open(folder)
    assert precious.read_text() == "the only copy"
    (folder / "lock").unlink()
    (folder / "lock").write_text("notes of mine")
    with pytest.raises(CollectionError, match=r"lock is not the lock of a collection"):
        Writer.open(folder)
    assert (folder / "lock").read_text() == "notes of mine"
    for make in (os.mkfifo, os.mkdir):
        (folder / "lock").unlink()
        make(folder / "lock")
        with pytest.raises(CollectionError, match=r"cannot be written to: lock is a link, a folder or a pipe"):
            Writer.open(folder)


@pytest.mark.parametrize("name", ["manifest.json", "segment", "commit"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_pipes_and_folders_in_place_of_files(tmp_path: Path, name: str, kind: str) -> None:
    folder = make_collection(tmp_path / "c", RECORDS)
    path = next(folder.glob(f"{name}*"))
    path.unlink()
    (os.mkfifo if kind == "pipe" else os.mkdir)(path)
    # In a process of its own, as opening a pipe may wait for ever.
    script = """
import sys
from erukg.collection import Collection, Writer, info, verify
from erukg.errors import CollectionError
for act in (Collection.open, Writer.open, info, verify):
    try:
        print(len(act(sys.argv[1])))
    except CollectionError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stderr == ""
    answers = done.stdout.splitlines()
    assert len(answers) == 4
    assert all("cannot be" in answer and "Errno" not in answer for answer in answers[:3]), answers
    assert answers[3] == "1" or "cannot be" in answers[3]


def test_a_folder_named_like_a_file_is_no_hindrance(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", RECORDS)
    (folder / "x.bin").mkdir()
    with Writer.open(folder) as writer:
        writer.remove(["d1"])
    assert (folder / "x.bin").is_dir()
    assert info(folder).documents == len(Collection.open(folder)) == 59
    shutil.rmtree(folder)
