"""Files that are not what was written: noticed, never a crash, never made to look sound, nothing else touched."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np

from campaign.folders import fresh, noticed
from campaign.kinds import Batch
from campaign.samples import Samples
from collection.damage_worker import attempt as read_all
from erukg import KeyphraseGenerator
from erukg.collection import Writer, slim
from erukg.errors import CollectionError, ErukgError, InputError, ModelError
from erukg.subjects.storage import verify_folder
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["Damage", "spoil"]

TEXT = "We propose a neural network for keyphrase retrieval in a large document collection, which is fast and sparse."
_WAYS = ("flip", "byte", "burst", "cut", "grow", "zero", "swap", "gone", "empty", "other")


def spoil(folder: Path, rng: random.Random) -> str:
    """Change one random thing about one random file that holds something; returns what."""
    path = rng.choice(sorted(path for path in folder.iterdir() if path.is_file() and path.stat().st_size))
    old = path.read_bytes()
    data, at, way = bytearray(old), rng.randrange(len(old)), rng.choice(_WAYS)
    if way == "flip":
        data[at] ^= 1 << rng.randrange(8)
    elif way == "byte":
        data[at] = (data[at] + rng.randrange(1, 256)) % 256
    elif way == "burst":
        data[at : at + 16] = rng.randbytes(len(data[at : at + 16]))
    elif way == "cut":
        del data[at:]
    elif way == "grow":
        data += rng.randbytes(rng.randrange(1, 50))
    elif way == "zero":
        data[at : at + 400] = bytes(len(data[at : at + 400]))
    elif way == "swap":  # two stretches change places, as when a disk mixes up its blocks
        other, length = rng.randrange(len(old)), rng.choice((8, 64, 512))
        data[at : at + length], data[other : other + length] = old[other : other + length], old[at : at + length]
    elif way == "gone":
        path.unlink()
        return f"{path.name} removed"
    elif way == "empty":
        data.clear()
    else:
        data[:] = rng.choice([each for each in folder.iterdir() if each.is_file()]).read_bytes()
    if bytes(data) == old:
        return spoil(folder, rng)
    path.write_bytes(data)
    return f"{way} at {at} of {path.name}"


class Damage(Batch):
    """One thing of one file of a collection, a model or a vocabulary."""

    share = 3.0
    size = 20

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self._answers = {
            path: KeyphraseGenerator.from_pretrained(path, collection=False).generate(TEXT, explain=True).to_json()
            for path in (samples.model, samples.ranked)
        }
        self._fingerprint = Vocabulary.open(samples.vocabulary).fingerprint

    def strike(self, rng: random.Random, scratch: Path) -> str:
        way = rng.choice((self._collection, self._collection, self._wild, self._model, self._vocabulary))
        return way(rng, scratch)

    def _collection(self, rng: random.Random, scratch: Path) -> str:
        sound = rng.choice((self.samples.worn, self.samples.base))
        copy = fresh(scratch / "copy", sound)
        # The lock and the commit's number say nothing of the data.
        (copy / "lock").unlink(missing_ok=True)
        what = spoil(copy, rng)
        assert noticed(copy), f"{what}: not noticed"
        read = read_all(str(copy)).split(":")[0]
        before = {path.name: path.read_bytes() for path in copy.iterdir()}
        change = rng.choice(("merge", "remove", "slim"))
        try:
            self._change(change, copy, scratch / "slim")
        except CollectionError:
            assert {path.name: path.read_bytes() for path in copy.iterdir() if path.name != "lock"} == before, what
            assert not (scratch / "slim" / "manifest.json").exists()
            return f"collection: {read}, {change} refused"
        finally:
            shutil.rmtree(scratch / "slim", ignore_errors=True)
        assert noticed(copy), f"{what}: {change} made it look sound"
        return f"collection: {read}, {change} done and damage still noticed"

    def _change(self, change: str, copy: Path, out: Path) -> None:
        if change == "slim":
            slim(copy, out)
            raise AssertionError("a damaged collection was slimmed")
        with Writer.open(copy) as writer:
            if change == "merge":
                writer.merge()
                return
            # Marks documents as removed; the damaged segment stays, and so does its checksum.
            writer.remove(["d1", "d2"])

    def _wild(self, rng: random.Random, scratch: Path) -> str:
        """Many bytes behind sound directories and sizes: indices are wild, and no reader may follow them."""
        copy = fresh(scratch / "copy", self.samples.worn)
        for path in copy.glob("*.bin"):
            data = np.fromfile(path, np.uint8)
            end = bytes(data).rfind(b'{"')
            places = np.array([rng.randrange(64, end) for _ in range(rng.choice((3, 30, 300)))])
            data[places] = [rng.choice((0, 1, 127, 255, rng.randrange(256))) for _ in places]
            data.tofile(path)
        return f"collection, wild numbers: {read_all(str(copy)).split(':')[0]}"

    def _model(self, rng: random.Random, scratch: Path) -> str:
        sound = rng.choice((self.samples.model, self.samples.ranked))
        copy = fresh(scratch / "model", sound)
        what = spoil(copy, rng)
        try:
            found = KeyphraseGenerator.from_pretrained(copy, collection=False).generate(TEXT, explain=True).to_json()
        except ModelError as error:
            assert str(error).endswith((".", "?")), f"{what}: {error}"
            return "model: refused"
        if what.endswith("of config.json"):
            # It has no checksum: what it says may be changed, and is checked for sense only.
            return "model: settings changed" if found != self._answers[sound] else "model: the same answers"
        assert found == self._answers[sound], f"{what}: other answers"
        return "model: the same answers"

    def _vocabulary(self, rng: random.Random, scratch: Path) -> str:
        copy = fresh(scratch / "vocabulary", self.samples.vocabulary)
        what = spoil(copy, rng)
        try:
            verify_folder(copy)
            raise AssertionError(f"{what}: not noticed")
        except InputError as error:
            assert str(error).endswith((".", "?", "build.")) or "make one with" in str(error), f"{what}: {error}"
        try:
            found = Vocabulary.open(copy)
            json.dumps([list(map(str, found)), found.find_label("english oak"), found.find("x")])
        except ErukgError:
            return "vocabulary: refused"
        assert found.fingerprint == self._fingerprint, f"{what}: another vocabulary"
        return "vocabulary: opened"
