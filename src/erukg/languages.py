"""Which language a text is in, told by py3langid (139 languages)."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["NAMES", "language_of"]

# A text is called foreign only when English is next to impossible. Of 4,300 English texts, their titles and 1,100
# queries of three words and more, this is said of none; prose in other languages is many orders of magnitude below.
_LEAST_ENGLISH = 0.003
# And while English is not ruled out altogether, as in "zika virus vaccine trial", another one has to stand out.
_NO_ENGLISH, _STANDS_OUT = 1e-6, 0.4

#: py3langid's codes of languages, and their names in English.
NAMES = dict(
    entry.split(" ", 1)
    for entry in (
        "ace Acehnese|af Afrikaans|am Amharic|an Aragonese|ar Arabic|ary Arabic|arz Arabic|"
        "as Assamese|az Azerbaijani|ba Bashkir|bcl Central Bikol|be Belarusian|bg Bulgarian|bn Bengali|br Breton|"
        "bs Bosnian|ca Catalan|crh Crimean Tatar|cs Czech|cy Welsh|da Danish|de German|dz Dzongkha|el Greek|"
        "en English|eo Esperanto|es Spanish|et Estonian|eu Basque|ext Extremaduran|fa Persian|fi Finnish|fo Faroese|"
        "fr French|fuv Fulfulde|fy West Frisian|ga Irish|gcf Guadeloupean Creole|gcr Guianese Creole|"
        "gd Scottish Gaelic|gl Galician|gom Konkani|grc Ancient Greek|gu Gujarati|gug Guarani|guw Gun|ha Hausa|"
        "hbo Biblical Hebrew|he Hebrew|hi Hindi|hr Croatian|ht Haitian Creole|hu Hungarian|hy Armenian|id Indonesian|"
        "ig Igbo|is Icelandic|it Italian|ja Japanese|jv Javanese|ka Georgian|kab Kabyle|kik Kikuyu|kk Kazakh|km Khmer|"
        "kn Kannada|ko Korean|ku Kurdish|ky Kyrgyz|la Latin|lb Luxembourgish|lg Ganda|lij Ligurian|ln Lingala|lo Lao|"
        "lt Lithuanian|ltg Latgalian|lv Latvian|mg Malagasy|mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|"
        "ms Malay|mt Maltese|my Burmese|ne Nepali|nl Dutch|nn Norwegian|no Norwegian|nso Northern Sotho|oc Occitan|"
        "om Oromo|or Odia|pa Punjabi|pcm Nigerian Pidgin|pl Polish|ps Pashto|pt Portuguese|qu Quechua|ro Romanian|"
        "ru Russian|rw Kinyarwanda|sa Sanskrit|sdh Southern Kurdish|se Northern Sami|si Sinhala|sk Slovak|"
        "sl Slovenian|sn Shona|so Somali|sq Albanian|sr Serbian|st Sotho|sv Swedish|sw Swahili|ta Tamil|te Telugu|"
        "tg Tajik|th Thai|tk Turkmen|tl Tagalog|tr Turkish|tt Tatar|ug Uyghur|uk Ukrainian|ur Urdu|uz Uzbek|"
        "uzs Southern Uzbek|vec Venetian|vi Vietnamese|vo Volapük|wa Walloon|wuu Chinese|xh Xhosa|yo Yoruba|"
        "yue Chinese|zh Chinese|zu Zulu"
    ).split("|")
)

_lock = threading.Lock()
_loaded: list[Any] = []


def language_of(text: str) -> str | None:
    """The English name of the text's language; None when that may be English, or it is no language at all."""
    ranked = _identifier().rank(text)
    language, likely = ranked[0]
    english = dict(ranked)["en"]
    if english >= _LEAST_ENGLISH or (english >= _NO_ENGLISH and likely < _STANDS_OUT):
        return None
    return NAMES.get(language)


def _identifier() -> Any:
    # Loaded by the first text that needs it, as it takes most of a second and most texts are seen to be English.
    with _lock:
        if not _loaded:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier

            _loaded.append(LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True))
    return _loaded[0]
