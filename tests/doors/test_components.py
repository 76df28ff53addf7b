"""What the components of all frameworks share, and the sentence at the door of each framework that is not there."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from doors.mistakes import MISTAKES, refused
from erukg import KeyphraseGenerator, Settings
from erukg.errors import ErukgError, InputError, MissingExtraError, SettingsError
from erukg.integrations.components import KeyphraseConfig, check_documents

TEXT = "A neural search engine for sparse documents. The search engine has a memory cache."
DOORS = {"spacy": "spacy", "haystack": "haystack", "langchain": "langchain_core", "llamaindex": "llama_index.core"}


class Document:
    """Stands for a framework's class of documents."""


def test_phrases_are_those_of_the_generator(tiny_model: Path, tiny_collection: Path) -> None:
    generator = KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection)
    settings = {"style": "short", "diversity": 0.4}
    config = KeyphraseConfig(model=tiny_model, collection=tiny_collection, top_k=4, settings=settings)
    (found,) = config.keyphrases([TEXT])
    expected = generator.generate(TEXT, 4, Settings.styled("short", diversity=0.4))
    assert [k.phrase for k in found] == [k.phrase for k in expected]
    assert found.present
    assert found.absent
    assert config.metadata(found) == {
        "keyphrases": [k.phrase for k in expected.present],
        "absent_keyphrases": [k.phrase for k in expected.absent],
    }


def test_without_absent_phrases_no_collection_is_opened(tiny_model: Path, tmp_path: Path) -> None:
    config = KeyphraseConfig(model=str(tiny_model), collection=str(tmp_path / "there is none"), absent=False)
    (found,) = config.keyphrases([TEXT])
    expected = KeyphraseGenerator.from_pretrained(tiny_model, False).extract(TEXT)
    assert config.metadata(found) == {"keyphrases": [k.phrase for k in expected.present]}


def test_plain_data_and_back(tiny_model: Path) -> None:
    config = KeyphraseConfig(model=tiny_model, collection=False, settings={"diversity": 0.2})
    assert config.to_dict()["model"] == str(tiny_model)
    assert KeyphraseConfig.of(config.to_dict()) == config
    assert config.load() is KeyphraseConfig(model=str(tiny_model), collection=False, top_k=3).load()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"topk": 3}, "There is no option 'topk'; did you mean 'top_k'?"),
        ({"top_k": -1}, "top_k must be a whole number of 0 or more, not -1."),
        ({"top_k": "3"}, "top_k of a KeyphraseConfig must be a whole number, not a string."),
        ({"collection": True}, "collection of a KeyphraseConfig must be a string or a path or False or None"),
        ({"settings": {"alfa": 1}}, "There is no setting 'alfa'; did you mean 'alpha'?"),
        ({"settings": {"style": "tall"}}, "There is no style 'tall'"),
        ({"settings": {"style": 3}}, "style must be a string, not a number."),
        ({"settings": ["alpha"]}, "settings of a KeyphraseConfig must be a mapping or None, not a list."),
    ],
)
def test_options_are_refused_before_any_work(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((InputError, SettingsError)) as caught:
        KeyphraseConfig.of(options)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_as_a_model(mistake: str) -> None:
    value = MISTAKES[mistake]()
    if mistake == "None":
        assert KeyphraseConfig(model=value) == KeyphraseConfig()
        return
    with pytest.raises(ErukgError) as caught:
        KeyphraseConfig(model=value).load()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_as_documents(mistake: str) -> None:
    value = MISTAKES[mistake]()
    if mistake == "an empty list":
        assert check_documents(value, Document, "Document()") == []
    else:
        assert "Document, made with Document()" in refused(lambda v: check_documents(v, Document, "Document()"), value)


def test_one_document_alone_is_no_list() -> None:
    assert "one Document alone" in refused(lambda v: check_documents(v, Document, "Document()"), Document())
    good = Document()
    assert check_documents((each for each in [good]), Document, "Document()") == [good]


@pytest.mark.parametrize("door", DOORS)
def test_a_missing_framework_is_said_in_a_sentence(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, DOORS[door], None)
    monkeypatch.delitem(sys.modules, f"erukg.integrations.{door}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"^The .* pip install 'erukg\[{door}\]'$"):
        import_module(f"erukg.integrations.{door}")
