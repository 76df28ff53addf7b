"""Batches: functions of seed and step alone, cut and padded as the format says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erukg.errors import TrainingError
from erukg.training.config import TrainConfig
from erukg.training.data import Batches, TrainingData

MIXTURE = {"title": 0.5, "citation": 0.3, "query": 0.2}


def batches(folder: Path, **changes: Any) -> Batches:
    settings = {"document_length": 32, "reference_length": 8, "length_step": 8, "groups": 3, **changes}
    return Batches(TrainingData(folder), TrainConfig(seed=5, mixture=MIXTURE, **settings))


def test_a_batch_depends_on_seed_and_step_alone(prepared: Path) -> None:
    one, other = batches(prepared), batches(prepared)
    for step in (0, 3, 50, 2):
        one.splade(step, 16)
        one.mlm(step, 16)
    a, b = one.splade(40, 16), other.splade(40, 16)
    assert np.array_equal(a.references.ids, b.references.ids)
    assert all(np.array_equal(x.ids, y.ids) for x, y in zip(a.documents, b.documents, strict=True))
    assert np.array_equal(a.tags.labels, b.tags.labels)  # type: ignore[union-attr]
    x, y = one.mlm(40, 16), other.mlm(40, 16)
    assert all(np.array_equal(g.ids, h.ids) for g, h in zip(x.groups, y.groups, strict=True))
    different = one.splade(41, 16)
    assert not np.array_equal(a.document_numbers, different.document_numbers)


def test_documents_lose_their_titles_where_titles_refer_to_them(prepared: Path) -> None:
    data = TrainingData(prepared)
    source = batches(prepared, document_length=64, keep_title={"title": 0.0, "citation": 1.0, "query": 1.0})
    kinds = {int(row[0]): int(kind) for row, kind in zip(data.triplets, data.kinds, strict=True)}
    batch = source.splade(3, 20)
    rows = [row[row > 0] for group in batch.documents for row in group.ids * group.mask]
    assert len(batch.document_numbers) == 40
    for place, number in enumerate(batch.document_numbers):
        pieces = rows[batch.order[place]]
        text = data.ids[data.offsets[number] : data.offsets[number + 1]]
        if kinds[int(batch.reference_numbers[place % 20])] == 2:
            text = text[data.titles[number] :]
        assert pieces.tolist() == [2, *text.tolist(), 3]


def test_lengths_are_capped_and_padded(prepared: Path) -> None:
    batch = batches(prepared).splade(0, 18)
    assert batch.references.ids.shape[1] <= 8
    for group in batch.documents:
        assert group.ids.shape[1] % 8 == 0
        assert group.ids.shape[1] <= 32
        assert (group.ids[:, 0] == 2).all()
        assert (group.ids[np.arange(len(group.ids)), group.mask.sum(1) - 1] == 3).all()


def test_mixture_holds_over_time_and_each_triplet_has_its_turn(prepared: Path) -> None:
    data, source = TrainingData(prepared), batches(prepared)
    drawn = np.concatenate([source.splade(step, 10).reference_numbers for step in range(40)])
    kinds = np.asarray(data.kinds)[drawn]
    assert np.bincount(kinds, minlength=3).tolist() == pytest.approx([80, 120, 200], abs=1)
    titles = drawn[kinds == 2][:100]
    assert len(set(titles.tolist())) == 100


def test_types_can_be_left_out(prepared: Path) -> None:
    source = batches(prepared, leave_out=("title",))
    kinds = np.asarray(TrainingData(prepared).kinds)[source.splade(0, 30).reference_numbers]
    assert set(kinds.tolist()) == {0, 1}
    with pytest.raises(TrainingError, match="leave out 'tweet'"):
        batches(prepared, leave_out=("tweet",))
    with pytest.raises(TrainingError, match="No reference type"):
        batches(prepared, leave_out=("title", "citation", "query"))


def test_masked_positions_hold_their_labels(prepared: Path) -> None:
    source = batches(prepared, document_length=64)
    batch = source.mlm(2, 40)
    masked = total = 0
    for group, positions, labels in zip(batch.groups, batch.positions, batch.labels, strict=True):
        flat = group.ids.ravel()
        assert group.mask.ravel()[positions].all()
        assert (labels > 4).all()
        masked += int((flat[positions] == 4).sum())
        total += len(positions)
    pieces = sum(int(group.mask.sum()) - 2 * len(group.mask) for group in batch.groups)
    assert total / pieces == pytest.approx(0.25, abs=0.04)
    assert masked / total == pytest.approx(0.8, abs=0.07)


def test_tags_sit_on_their_pieces(prepared: Path) -> None:
    source = batches(prepared, document_length=64)
    batch = source.tags(1, 12)
    common = set(range(60, 90))
    for piece, label in zip(batch.group.ids.ravel()[batch.first], batch.labels, strict=True):
        assert label == (0 if int(piece) in common else 1 + int(piece) % 3)
    held_out = list(source.held_out_tags(4, 100))
    assert sum(len(b.group.ids) for b in held_out) == 12


@pytest.mark.parametrize(("length", "end"), [(32, 6), (6, 4)])
def test_words_go_from_first_to_last_piece(prepared: Path, tmp_path: Path, length: int, end: int) -> None:
    folder = Path(shutil.copytree(prepared, tmp_path / "copy"))
    arrays: dict[str, NDArray[Any]] = {
        "ids": np.arange(60, 72, dtype=np.uint16),
        "offsets": np.array([0, 6, 9, 9, 11, 12], np.int64),
        "labels": np.array([1, -1, 0, -1, -1, -1, 2, -1, -1, 3, -1, 0], np.int8),
        "split": np.array([1, 1, 1, 1, 0], np.uint8),
    }
    for name, values in arrays.items():
        np.save(folder / "tagged" / f"{name}.npy", values)
    (batch,) = batches(folder, document_length=length).held_out_tags(4, 4)
    rows, first = np.divmod(batch.first, batch.group.ids.shape[1])
    last = batch.last - rows * batch.group.ids.shape[1]
    words = list(zip(rows.tolist(), first.tolist(), last.tolist(), batch.labels.tolist(), strict=True))
    assert words == [(0, 1, 2, 1), (0, 3, end, 0), (1, 1, 3, 2), (3, 1, 2, 3)]


def test_damaged_folders_are_refused(prepared: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="erukg train prepare"):
        TrainingData(tmp_path)
    folder = tmp_path / "copy"
    shutil.copytree(prepared, folder)
    triplets = np.load(folder / "triplets.npy")
    triplets[3, 1] = 10_000
    np.save(folder / "triplets.npy", triplets)
    with pytest.raises(TrainingError, match="outside"):
        TrainingData(folder)
    np.save(folder / "triplets.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(TrainingError, match="cannot be read"):
        TrainingData(folder)
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "version": 2}))
    with pytest.raises(TrainingError, match="erukg-triplets"):
        TrainingData(folder)


def test_cropped_references_are_short_runs_of_their_words(prepared: Path) -> None:
    data, source = TrainingData(prepared), batches(prepared, crop=1.0, reference_length=16)
    batch = source.splade(3, 24)
    assert np.array_equal(
        batch.references.ids, batches(prepared, crop=1.0, reference_length=16).splade(3, 24).references.ids
    )
    for number, ids, mask in zip(batch.reference_numbers, batch.references.ids, batch.references.mask, strict=True):
        whole = data.reference_ids[data.reference_offsets[number] : data.reference_offsets[number + 1]].tolist()
        kept = ids[mask].tolist()[1:-1]
        assert any(whole[i : i + len(kept)] == kept for i in range(len(whole)))
        assert len(kept) == len(whole) if len(whole) <= 2 else 2 <= len(kept) < len(whole)
