"""Adding, removing and merging: always the same as having built from the survivors; one writer; steady
readers.
"""

from __future__ import annotations

import errno
import random
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collection.samples import VOCAB_SIZE, contents, encode_words, make_collection, make_records, make_text
from erukg.collection import Collection, DocumentRecord, EncodedDocument, Phrase, Writer, info, slim, verify
from erukg.errors import CollectionError, InputError

QUERIES = [make_text(random.Random(100 + i), 25) for i in range(5)]
POOL = [replace(record, title=record.id if i % 3 else "") for i, record in enumerate(make_records(40, seed=4))]

operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.integers(0, len(POOL) - 1), min_size=1, max_size=12, unique=True)),
        st.tuples(st.just("replace"), st.lists(st.integers(0, len(POOL) - 1), min_size=1, max_size=5, unique=True)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, len(POOL) - 1), min_size=1, max_size=8, unique=True)),
        st.tuples(st.just("merge"), st.just([])),
        st.tuples(st.just("tidy"), st.just([])),
    ),
    min_size=1,
    max_size=8,
)


def apply(writer: Writer, kind: str, numbers: list[int], alive: dict[str, DocumentRecord]) -> None:
    if kind in ("add", "replace"):
        for i in numbers:
            record = POOL[i]
            if kind == "replace":
                record = DocumentRecord(record.id, record.text + f" kaka lolo {record.id}")
                alive.pop(record.id, None)
            elif record.id in alive:
                with pytest.raises(InputError, match="in the collection already"):
                    writer.add(record, encode_words(record.text))
                continue
            writer.add(record, encode_words(record.text), replace=kind == "replace")
            alive[record.id] = record
        writer.commit()
    elif kind == "remove":
        ids = [POOL[i].id for i in numbers]
        assert writer.remove(ids) == [i for i in ids if i not in alive]
        for id in ids:
            alive.pop(id, None)
    else:
        getattr(writer, kind)()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(operations)
def test_any_history_equals_building_from_the_survivors(history: list[tuple[str, list[int]]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "grown"
        alive: dict[str, DocumentRecord] = {}
        Writer.create(folder, fingerprint="words-1", vocab_size=VOCAB_SIZE, glossary_documents=2).close()
        for kind, numbers in history:
            with Writer.open(folder) as writer:
                apply(writer, kind, numbers, alive)
            assert len(Collection.open(folder)) == len(alive)
        assert verify(folder) == []
        grown = contents(Collection.open(folder), QUERIES)
        if alive:
            built = make_collection(Path(temporary) / "built", alive.values(), least=2)
            assert grown == contents(Collection.open(built), QUERIES)
            with Writer.open(folder) as writer:
                writer.merge()
            assert info(folder).segments == 1
            assert info(folder).removed == 0
            # Merged, it is the same to the byte, whatever happened before.
            data = [next(f.glob("segment-*.bin")).read_bytes() for f in (folder, built)]
            assert data[0] == data[1]


@pytest.mark.parametrize("operation", ["remove", "merge", "tidy"])
def test_gathered_documents_are_not_lost(tmp_path: Path, operation: str) -> None:
    records = make_records(12, seed=8)
    folder = make_collection(tmp_path / "c", records[:10], part=5)
    with Writer.open(folder) as writer:
        for record in records[10:]:
            writer.add(record, encode_words(record.text))
        assert writer.gathered == 2
        if operation == "remove":
            assert writer.remove(["d11"]) == []
        else:
            getattr(writer, operation)()
        assert writer.gathered == 0
    assert len(Collection.open(folder)) == (11 if operation == "remove" else 12)
    assert verify(folder) == []


def test_tidy_keeps_segments_few(tmp_path: Path) -> None:
    records = make_records(60, seed=8)
    folder = make_collection(tmp_path / "c", records[:20])
    for i in range(20, 60, 2):
        with Writer.open(folder) as writer:
            for record in records[i : i + 2]:
                writer.add(record, encode_words(record.text))
            writer.commit()
            writer.tidy()
    assert info(folder).segments <= 8
    built = make_collection(tmp_path / "built", records)
    assert contents(Collection.open(folder), QUERIES) == contents(Collection.open(built), QUERIES)


def test_readers_keep_their_commit(tmp_path: Path) -> None:
    records = make_records(90, seed=2)
    folder = make_collection(tmp_path / "c", records[:50], part=20)
    before = Collection.open(folder)
    expected = contents(before, QUERIES)
    with Writer.open(folder) as writer:
        writer.remove([r.id for r in records[:30]])
        for record in records[50:]:
            writer.add(record, encode_words(record.text))
        writer.commit()
        between = Collection.open(folder)
        assert len(between) == 60
        seen = contents(between, QUERIES)
        writer.merge()
    assert contents(before, QUERIES) == expected
    assert contents(between, QUERIES) == seen == contents(Collection.open(folder), QUERIES)


def test_opening_while_a_writer_commits(tmp_path: Path) -> None:
    records = make_records(40, seed=3)
    folder = make_collection(tmp_path / "c", records[:10])
    sizes: list[int] = []
    problems: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                sizes.append(len(Collection.open(folder)))
        except BaseException as error:  # reported by the main thread
            problems.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    with Writer.open(folder) as writer:
        for i in range(10, 40):
            writer.add(records[i], encode_words(records[i].text))
            writer.commit()
            writer.merge()
    done.set()
    thread.join()
    assert not problems
    assert sizes == sorted(sizes)
    assert len(Collection.open(folder)) == 40


HOLD = """
import sys
from erukg.collection import Writer
with Writer.open(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_second_writer_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", make_records(5))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(CollectionError, match=rf"being written by process {holder.pid} on "):
        Writer.open(folder)
    assert len(Collection.open(folder)) == 5
    holder.communicate("\n")
    with Writer.open(folder) as writer:
        assert len(writer) == 5
        with pytest.raises(CollectionError, match="being written by process"):
            Writer.open(folder)
    assert (folder / "lock").read_bytes() == b""


def test_slim_copy_gives_the_same_results_and_is_read_only(tmp_path: Path) -> None:
    records = make_records(300, seed=6)
    folder = make_collection(tmp_path / "c", records, part=90)
    with Writer.open(folder) as writer:
        writer.remove([r.id for r in records[::7]])
    slim(folder, tmp_path / "slim")
    copy = Collection.open(tmp_path / "slim")
    assert contents(copy, QUERIES) == contents(Collection.open(folder), QUERIES)
    assert verify(tmp_path / "slim") == []
    assert info(tmp_path / "slim").bytes < info(folder).bytes
    with pytest.raises(CollectionError, match="can only be read"):
        Writer.open(tmp_path / "slim")
    with pytest.raises(CollectionError, match="already holds a collection"):
        slim(folder, tmp_path / "slim")


def test_another_model_is_refused(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", make_records(5))
    assert len(Collection.open(folder, fingerprint="words-1")) == 5
    with pytest.raises(CollectionError, match="made with model words-1, not with other"):
        Collection.open(folder, fingerprint="other")
    with pytest.raises(CollectionError, match="made with model words-1, not with other"):
        Writer.open(folder, fingerprint="other")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (EncodedDocument(np.array([1, 2]), np.array([1.0]), ()), "2 term ids but 1 term weights"),
        (EncodedDocument(np.array([VOCAB_SIZE]), np.array([1.0]), ()), "distinct numbers below"),
        (EncodedDocument(np.array([3, 3]), np.array([1.0, 2.0]), ()), "distinct numbers below"),
        (EncodedDocument(np.array([3]), np.array([np.nan]), ()), "finite"),
        (EncodedDocument(np.array([3]), np.array([-1.0]), ()), "at least 0"),
        (EncodedDocument(np.array([3]), np.array([1.0]), [Phrase("", "x", (1,))]), "no fold"),
        (
            EncodedDocument(np.array([3]), np.array([1.0]), [Phrase("x", "x", (VOCAB_SIZE,))]),
            "beyond the vocabulary",
        ),
    ],
)
def test_bad_encodings_are_refused_and_leave_no_trace(tmp_path: Path, document: EncodedDocument, message: str) -> None:
    folder = make_collection(tmp_path / "c", make_records(5))
    with Writer.open(folder) as writer:
        with pytest.raises(InputError, match=message):
            writer.add(DocumentRecord("new", "some text"), document)
        writer.add(DocumentRecord("new", "some text"), encode_words("some text"))
        writer.commit()
    assert len(Collection.open(folder)) == 6
    assert verify(folder) == []


def test_weights_survive_within_their_precision(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    records = [DocumentRecord(str(i), f"kalo miren{i}") for i in range(30)]
    weights = [np.zeros(VOCAB_SIZE) for _ in records]
    folder = tmp_path / "c"
    with Writer.create(folder, fingerprint="f", vocab_size=VOCAB_SIZE) as writer:
        for i, record in enumerate(records):
            ids = rng.choice(VOCAB_SIZE, int(rng.integers(0, 300)), replace=False)
            values = rng.gamma(1.0, 0.7, len(ids))
            writer.add(record, EncodedDocument(ids, values, ()))
            kept = np.argsort(-values)[:128]
            weights[i][ids[kept]] = values[kept]
        writer.commit()
    collection = Collection.open(folder)
    near = collection.neighbourhood("kalo tuvas", 30)
    expected = sum(s * weights[d] for s, d in zip(near.shares.tolist(), near.documents.tolist(), strict=True))
    found = np.zeros(VOCAB_SIZE)
    found[near.term_ids] = near.term_weights
    np.testing.assert_allclose(found, expected, rtol=0.03, atol=2e-3)


@pytest.mark.parametrize("change", ["commit", "remove", "merge"])
def test_a_disk_that_fails_just_after_publishing_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """The new commit is there, though the writer was told of an error: its files stay, and it can be read."""
    records = make_records(30, seed=5)
    folder = make_collection(tmp_path / "c", records[:20], part=7)
    number = Collection.open(folder).manifest.number

    def fail(folder: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Writer.open(folder) as writer:
        if change == "commit":
            for record in records[20:]:
                writer.add(record, encode_words(record.text))
        arguments = [["d3"]] if change == "remove" else []
        with monkeypatch.context() as patched:
            patched.setattr("erukg.io.publish.sync_folder", fail)
            with pytest.raises(CollectionError, match="cannot be written to"):
                getattr(writer, change)(*arguments)
    assert verify(folder) == []
    found = Collection.open(folder)
    assert found.manifest.number == number + 1
    assert len(found) == {"commit": 30, "remove": 19, "merge": 20}[change]
