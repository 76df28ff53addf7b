"""Models in the layout of the hub, by the hub's own client, in local folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import ModelCard, constants

from erukg import KeyphraseGenerator
from erukg.backends import find_model
from erukg.errors import CollectionError, ModelError
from erukg.integrations.hub import HubModel

TEXT = "A search protocol with Bloom filters finds rare files in peer-to-peer networks."
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub") / "model"
    HubModel("tiny").save_pretrained(folder)
    return folder


def phrases(generator: KeyphraseGenerator) -> list[str]:
    return [phrase.phrase for phrase in generator.extract(TEXT).present]


def test_saved_and_loaded(saved: Path) -> None:
    expected = phrases(KeyphraseGenerator.from_pretrained("tiny"))
    assert phrases(HubModel.from_pretrained(saved).generator()) == expected
    assert phrases(KeyphraseGenerator.from_pretrained(saved)) == expected


def test_the_card(saved: Path) -> None:
    card = ModelCard.load(saved / "README.md")
    assert card.data.library_name == "erukg"
    assert card.data.license == "apache-2.0"
    assert "keyphrase-extraction" in (card.data.tags or [])
    assert "## Training data" in card.text
    assert card.text.count("## Use with erukg") == 1
    assert HubModel(saved).folder.faults() == []


def test_saved_twice_is_the_same(saved: Path, tmp_path: Path) -> None:
    HubModel.from_pretrained(saved).save_pretrained(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in saved.iterdir()
    }


def test_a_damaged_file_is_refused(saved: Path, tmp_path: Path) -> None:
    HubModel(saved).save_pretrained(tmp_path)
    data = bytearray((tmp_path / "head.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "head.safetensors").write_bytes(data)
    with pytest.raises(ModelError, match="does not match its checksum"):
        HubModel.from_pretrained(tmp_path)


def test_from_the_cache_of_the_client(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client has downloaded is found by the name that all commands take."""
    stored = tmp_path / "models--owner--keyphrases"
    (stored / "refs").mkdir(parents=True)
    (stored / "refs" / "v1").write_text(COMMIT)
    (stored / "snapshots").mkdir()
    (stored / "snapshots" / COMMIT).symlink_to(saved)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = HubModel.from_pretrained("owner/keyphrases", revision="v1", cache_dir=tmp_path, local_files_only=True)
    assert model.folder.name == "tiny"
    with pytest.raises(ModelError, match="Say which version of 'owner/keyphrases'"):
        HubModel.from_pretrained("owner/keyphrases")
    with pytest.raises(ModelError, match="at revision 'v2'"):
        HubModel.from_pretrained("owner/keyphrases", revision="v2", cache_dir=tmp_path, local_files_only=True)
    with pytest.raises(ModelError, match="The hub could not give 'owner/other'"):
        find_model("hub:owner/other@v1")


def test_a_collection_goes_along(tmp_path: Path) -> None:
    from erukg.collection.build import build
    from erukg.generator import load_analyser

    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"text": f"{TEXT} {n}"}) + "\n" for n in range(3)))
    build(tmp_path / "c", [tmp_path / "rows.jsonl"], load_analyser("tiny"))
    HubModel("tiny", tmp_path / "c").save_pretrained(tmp_path / "both")
    generator = HubModel.from_pretrained(tmp_path / "both").generator()
    assert generator.background is not None
    assert len(generator.background) == 3
    with pytest.raises(CollectionError, match="holds no collection"):
        HubModel("tiny", tmp_path)
