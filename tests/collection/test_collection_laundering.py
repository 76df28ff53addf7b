"""Damage is not copied into files with fresh checksums: sources are checked before they are merged or slimmed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from collection.samples import WordAnalyser, make_collection, make_records, write_jsonl
from erukg.collection import Writer, slim, verify
from erukg.collection.arrays import ArrayFile, FileEntry
from erukg.collection.build import add
from erukg.collection.manifest import read_manifest
from erukg.errors import CollectionError

RECORDS = make_records(120, seed=61)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine segments, so that an addition merges some, with removed documents."""
    folder = make_collection(tmp_path_factory.mktemp("sound") / "c", RECORDS, part=13)
    with Writer.open(folder) as writer:
        writer.remove([r.id for r in RECORDS[::10]])
    assert len(read_manifest(folder).segments) > 8
    return folder


def flip(folder: Path, entry: FileEntry, array: str, code: str) -> Path:
    """Change one bit of an array, so that nothing but a checksum tells."""
    path = folder / entry.name
    data = bytearray(path.read_bytes())
    found = ArrayFile(folder, entry).array(array, code)
    at = bytes(data).index(np.ascontiguousarray(found).tobytes())
    data[at + found.nbytes // 2] ^= 1
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("change", ["merge", "tidy", "add", "slim", "remove"])
@pytest.mark.parametrize("what", ["segment", "commit"])
def test_damage_is_named_and_nothing_is_published(sound: Path, tmp_path: Path, change: str, what: str) -> None:
    folder, out = Path(shutil.copytree(sound, tmp_path / "c")), tmp_path / "out"
    manifest = read_manifest(folder)
    if what == "segment":
        path = flip(folder, manifest.segments[-1].file, "weights", "u1")
    else:
        path = flip(folder, manifest.commit, "0.dead", "u1")
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert verify(folder) == [f"{path} has another checksum than when it was written."]

    def run() -> None:
        if change == "slim":
            slim(folder, out)
        elif change == "add":
            add(folder, [write_jsonl(tmp_path / "n.jsonl", make_records(3, prefix="n"))], WordAnalyser())
        else:
            with Writer.open(folder) as writer:
                writer.remove(["d1"]) if change == "remove" else getattr(writer, change)()

    if (change, what) == ("remove", "segment"):
        # The segment stays with its old checksum, so the damage stays known.
        run()
        assert verify(folder) == [f"{path} has another checksum than when it was written."]
        return
    with pytest.raises(CollectionError, match=rf"{path} is damaged \(it has another checksum than when it was written"):
        run()
    if (change, what) == ("add", "segment"):
        # What was added is in; merging it with the damaged segment is what was refused.
        assert len(read_manifest(folder).segments) == len(manifest.segments) + 1
        assert verify(folder) == [f"{path} has another checksum than when it was written."]
    else:
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert not (out / "manifest.json").exists()
