"""The shipped product says of every text of another language which it is, and of no English one that it is foreign."""

from __future__ import annotations

from pathlib import Path

import pytest

from erukg import KeyphraseGenerator, Keyphrases
from erukg.core.notices import NOT_ENGLISH, UNLIKE_COLLECTION
from erukg.languages import NAMES, language_of
from erukg.research.evaluation.readers import ReaderText, load_readers

Answers = list[tuple[ReaderText, Keyphrases]]


@pytest.fixture(scope="module")
def answers() -> Answers:
    texts = load_readers([Path(__file__).parent]).texts
    found = KeyphraseGenerator.from_pretrained("tiny").generate_batch([(text.id, text.text) for text in texts])
    return list(zip(texts, found, strict=True))


def test_other_languages_are_named_and_get_no_absent_phrases(answers: Answers) -> None:
    others = [(text, found) for text, found in answers if text.language != "en"]
    assert len(others) == 10
    for text, found in others:
        (notice,) = found.notices
        assert notice.code == NOT_ENGLISH
        assert f"seems to be {NAMES[text.language]};" in notice.message
        assert found.present
        assert found.absent == ()


def test_english_texts_are_at_most_unlike_the_collection(answers: Answers) -> None:
    english = [(text, found) for text, found in answers if text.language == "en"]
    assert len(english) == 118
    assert sum(text.kind == "query" for text, _ in english) == 14
    said = {notice.code for _, found in english for notice in found.notices}
    assert said == {UNLIKE_COLLECTION}
    for text, found in english:
        assert not (found.absent and found.notices), text.id
        if text.kind == "computing":  # what the collection is mostly about
            assert found.absent, text.id


def test_every_language_has_a_name() -> None:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    labels = set(LanguageIdentifier.from_model_file(MODEL_FILE).labels)
    assert labels - {"zxx"} == NAMES.keys()  # zxx: no language at all


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Regeringen beslutade på onsdagen att påskynda utbyggnaden av vindkraft på land.", "Swedish"),
        ("Rząd zdecydował w środę o przyspieszeniu rozbudowy lądowej energetyki wiatrowej.", "Polish"),
        ("O governo anunciou na quarta-feira que vai acelerar a expansão da energia eólica em terra.", "Portuguese"),
        ("Правительство в среду решило ускорить развитие наземной ветроэнергетики.", "Russian"),
        ("政府周三决定加快陆上风电的发展。今后审批程序最长不得超过一年。", "Chinese"),
        ("政府は水曜日、陸上風力発電の拡大を加速することを決定した。", "Japanese"),
        ("قررت الحكومة يوم الأربعاء تسريع التوسع في طاقة الرياح البرية.", "Arabic"),
        ("सरकार ने बुधवार को तटवर्ती पवन ऊर्जा के विस्तार में तेजी लाने का निर्णय लिया।", "Hindi"),
        ("women rain jacket size 12", None),
        ("zika virus vaccine trial", None),
        ("Lorentz transformation Minkowski spacetime", None),
        ("half \ud83d a pair", None),
        ("for i, row in enumerate(rows): if not row.startswith('#'): out.append(json.loads(row)['id'])", None),
        ("", None),
    ],
)
def test_languages(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_a_caller_who_knows_the_language_is_not_contradicted() -> None:
    generator = KeyphraseGenerator.from_pretrained("tiny", False, language="en")
    assert generator.generate("Die Stadtwerke planen ein neues Netz im Norden der Stadt.").notices == ()
