"""Files in a collection's folder that are not the collection's: never removed, never written to."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collection.samples import VOCAB_SIZE, WordAnalyser, encode_words, make_collection, make_records, write_jsonl
from erukg.cli import app
from erukg.collection import Collection, Writer, slim, verify
from erukg.collection.build import add, build
from erukg.errors import CollectionError

RECORDS = make_records(40, seed=51)


def state(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with what it holds; None for what is no plain file."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize(
    "name",
    ["pytorch_model.bin", "notes.txt", "lock", "segment-00000001.bin", ".manifest.json.12.part", "segment-1.bin"],
)
def test_a_folder_with_files_of_others_is_refused_untouched(tmp_path: Path, name: str) -> None:
    source = write_jsonl(tmp_path / "docs.jsonl", RECORDS)
    sound = make_collection(tmp_path / "sound", RECORDS)
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_bytes(b"the only copy of something\n")
    before = state(out)
    with pytest.raises(CollectionError, match=rf"holds files that are no part of a collection \({name}\)"):
        build(out, [source], WordAnalyser())
    with pytest.raises(CollectionError, match="holds files that are no part of a collection"):
        slim(sound, out)
    assert state(out) == before


def test_the_command_refuses_with_one_sentence(tiny_model: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "pytorch_model.bin").write_bytes(b"x\n")
    arguments = ["collection", "build", str(tmp_path / "out"), str(tiny_corpus), "--model", str(tiny_model)]
    result = CliRunner().invoke(app, [*arguments, "--device", "cpu"])
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert "pytorch_model.bin" in result.stderr
    assert state(tmp_path / "out") == {"pytorch_model.bin": b"x\n"}


def test_strangers_in_a_collection_are_left_alone(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", RECORDS, part=15)
    elsewhere = tmp_path / "elsewhere.bin"
    elsewhere.write_bytes(b"erukg arrays 1\n".ljust(64, b"\0"))
    strange = {
        "pytorch_model.bin": b"weights",
        "segment-99999999.bin": b"not of a collection",
        "commit-00000077.bin": b"\0" * 100,
        ".manifest.json.99.part": b"a draft",
        "segment-1.bin": b"",
    }
    for name, data in strange.items():
        (folder / name).write_bytes(data)
    (folder / "x.bin").mkdir()
    (folder / "segment-88888888.bin").mkdir()
    (folder / "segment-77777777.bin").symlink_to(elsewhere)
    # The next number is taken, too.
    with Writer.open(folder) as writer:
        taken = f"segment-{writer.manifest.next_file + 1:08d}.bin"
    (folder / taken).write_bytes(b"taken")
    add(folder, [write_jsonl(tmp_path / "new.jsonl", make_records(5, seed=52, prefix="n"))], WordAnalyser())
    with Writer.open(folder) as writer:
        writer.remove(["d1"])
        writer.merge()
        writer.reset(fingerprint="words-1", vocab_size=VOCAB_SIZE, glossary_documents=3)
        writer.add(RECORDS[0], encode_words(RECORDS[0].text))
        writer.commit()
    assert {name: (folder / name).read_bytes() for name in strange} == strange
    assert (folder / taken).read_bytes() == b"taken"
    assert (folder / "x.bin").is_dir()
    assert (folder / "segment-88888888.bin").is_dir()
    assert (folder / "segment-77777777.bin").readlink() == elsewhere
    assert verify(folder) == []
    assert len(Collection.open(folder)) == 1


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", RECORDS, part=15)
    needed = set(state(folder))
    segment = next(folder.glob("segment-*.bin")).read_bytes()
    left = {
        "segment-00000090.bin": segment[:200],
        "segment-00000091.bin": segment[:30],
        "commit-00000092.bin": b"",
        ".manifest.json.4242.part": (folder / "manifest.json").read_bytes()[:99],
        ".manifest.json.4243.part": b"",
    }
    for name, data in left.items():
        (folder / name).write_bytes(data)
    Writer.open(folder).close()
    assert set(state(folder)) == needed
    # The same in a folder where the first commit never came about.
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    for name, data in {**left, "lock": b"process 12 on host since 2026-01-01T00:00:00+00:00\n"}.items():
        (fresh / name).write_bytes(data)
    make_collection(fresh, RECORDS[:3])
    assert verify(fresh) == []
    assert not set(left) & set(state(fresh))


def test_a_lock_that_was_half_written_is_still_ours(tmp_path: Path) -> None:
    said = b"process 12 on host since 2026-01-01T00:00:00+00:00\n"
    source = write_jsonl(tmp_path / "docs.jsonl", RECORDS)
    for length in range(0, len(said), 7):
        out = tmp_path / str(length)
        out.mkdir()
        (out / "lock").write_bytes(said[:length])
        build(out, [source], WordAnalyser())
        (out / "lock").write_bytes(said[:length])
        with Writer.open(out) as writer:
            assert writer.remove(["d1"]) == []


def test_what_cannot_be_removed_is_left_to_the_next_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_collection(tmp_path / "c", RECORDS, part=9)

    def fail(path: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patched, Writer.open(folder) as writer:
        patched.setattr(Path, "unlink", fail)
        writer.remove(["d1"])
    assert len(list(folder.glob("commit-*.bin"))) == 2
    assert verify(folder) == []
    with Writer.open(folder):
        assert len(list(folder.glob("commit-*.bin"))) == 1


@pytest.mark.parametrize("change", ["add", "calibrate", "merge", "remove", "slim", "verify"])
def test_nothing_is_left_where_there_is_no_collection(tiny_model: Path, tmp_path: Path, change: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("sea ice")
    more = {
        "add": [str(tmp_path / "mine"), "--model", str(tiny_model)],
        "remove": ["id"],
        "slim": [str(tmp_path / "s")],
    }
    done = CliRunner().invoke(app, ["collection", change, str(tmp_path / "mine"), *more.get(change, ())])
    assert done.exit_code == 1
    assert "holds no collection" in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "notes.txt"]
