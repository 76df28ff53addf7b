"""Hostile or damaged files: noticed by `verify`, never a crash, whatever byte is changed or missing."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from collection.samples import make_collection, make_tagged
from erukg.collection import Collection, Writer, verify
from erukg.collection.manifest import MANIFEST, read_manifest
from erukg.errors import CollectionError

WORKER = Path(__file__).with_name("damage_worker.py")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = make_tagged(260, seed=31)
    folder = make_collection(tmp_path_factory.mktemp("damage") / "c", records, part=110)
    with Writer.open(folder) as writer:
        writer.remove([r.id for r in records[::9]])
    assert verify(folder) == []
    return folder


def noticed(folder: Path) -> bool:
    try:
        return bool(verify(folder))
    except CollectionError:
        return True


def spoil(folder: Path, rng: random.Random) -> str:
    """Change one random thing about one random file; returns what."""
    files = sorted(p for p in folder.iterdir() if p.stat().st_size)
    path = rng.choice(files)
    data = bytearray(path.read_bytes())
    kind = rng.choice(["flip", "byte", "burst", "cut", "grow", "zero"])
    at = rng.randrange(len(data))
    old = bytes(data)
    if kind == "flip":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        data[at] = (data[at] + rng.randrange(1, 256)) % 256
    elif kind == "burst":
        data[at : at + 16] = rng.randbytes(len(data[at : at + 16]))
    elif kind == "cut":
        del data[at:]
    elif kind == "grow":
        data += rng.randbytes(rng.randrange(1, 50))
    else:
        data[at : at + 400] = bytes(len(data[at : at + 400]))
    if bytes(data) == old:
        return spoil(folder, rng)
    path.write_bytes(data)
    return f"{kind} at {at} of {path.name}"


def damage(sound: Path, tmp_path: Path, number: int, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    worker = subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    for i in range(number):
        folder = tmp_path / str(i)
        shutil.copytree(sound, folder)
        what = spoil(folder, rng)
        assert noticed(folder), what
        worker.stdin.write(f"{folder}\n")
        worker.stdin.flush()
        answer = worker.stdout.readline()
        if not answer:
            raise AssertionError(f"{what}: the process died\n{worker.communicate()[1]}")
        seen[answer.split(":")[0].strip()] += 1
        shutil.rmtree(folder)
    worker.communicate()
    assert worker.returncode == 0
    return seen


def test_damage_is_noticed_and_never_crashes(sound: Path, tmp_path: Path) -> None:
    assert damage(sound, tmp_path, 60, seed=7).total() == 60


@pytest.mark.slow
def test_damage_five_hundred_times(sound: Path, tmp_path: Path) -> None:
    seen = damage(sound, tmp_path, 500, seed=8)
    assert seen.total() == 500
    assert seen["refused"] > 100


@pytest.mark.parametrize("seed", range(3))
def test_wild_arrays_never_crash(sound: Path, tmp_path: Path, seed: int) -> None:
    """Whole files of noise behind intact directories and sizes: every index is wild, and nothing may be
    touched.
    """
    rng = random.Random(seed)
    worker = subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    folders = []
    for i in range(10):
        folder = tmp_path / str(i)
        shutil.copytree(sound, folder)
        for path in folder.glob("*.bin"):
            data = bytearray(path.read_bytes())
            end = data.rfind(b'{"')
            for _ in range(rng.choice([3, 30, 300])):
                at = rng.randrange(64, end)
                data[at : min(at + rng.choice([1, 2, 4, 8]), end)] = rng.randbytes(len(data[at : min(at + 8, end)]))[
                    : len(data[at : min(at + rng.choice([1, 2, 4, 8]), end)])
                ]
            path.write_bytes(data[: path.stat().st_size])
        folders.append(folder)
    output, errors = worker.communicate("".join(f"{f}\n" for f in folders))
    assert worker.returncode == 0, errors
    assert len(output.splitlines()) == 10, errors


def rewrite(folder: Path, **changes: object) -> None:
    data = json.loads((folder / MANIFEST).read_text())
    data.update(changes)
    (folder / MANIFEST).write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 5}, "has collection format '5', this program reads 1 to 4; update erukg"),
        ({"paper": True}, "checksum does not fit"),
        ({"version": None}, "has collection format 'None'"),
        ({"format": "zip"}, "not the manifest of a collection"),
        ({"number": 10**6}, "checksum does not fit"),
        ({"k1": float("nan")}, "cannot be used"),
    ],
)
def test_manifest_is_checked(sound: Path, tmp_path: Path, changes: dict[str, object], message: str) -> None:
    folder = tmp_path / "c"
    shutil.copytree(sound, folder)
    rewrite(folder, **changes)
    with pytest.raises(CollectionError, match=message):
        Collection.open(folder)


def test_file_names_cannot_lead_elsewhere(sound: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from erukg.collection.manifest import write_manifest

    folder = tmp_path / "c"
    shutil.copytree(sound, folder)
    manifest = read_manifest(folder)
    write_manifest(folder, replace(manifest, commit=replace(manifest.commit, name="../../etc/passwd")))
    with pytest.raises(CollectionError, match=r"manifest\.json is damaged"):
        Collection.open(folder)


def test_missing_file_is_named(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    shutil.copytree(sound, folder)
    victim = next(folder.glob("segment-*.bin"))
    victim.unlink()
    with pytest.raises(CollectionError, match=rf"{victim.name} is damaged \(the file is missing\)"):
        Collection.open(folder)
    assert verify(folder) == [f"{victim} is missing."]
    with pytest.raises(CollectionError, match="does not exist"):
        Collection.open(tmp_path / "nowhere")
    with pytest.raises(CollectionError, match="holds no collection"):
        Collection.open(tmp_path)
