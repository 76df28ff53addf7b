"""The spaCy component "erukg": keyphrases in `doc._.keyphrases`, their places in `doc.spans["keyphrases"]`.

>>> nlp = spacy.blank("en")
>>> nlp.add_pipe("erukg", config={"top_k": 5})
>>> [keyphrase.phrase for keyphrase in nlp("...")._.keyphrases]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from erukg.core.arguments import kind_of
from erukg.core.neighbours import Source
from erukg.core.results import Keyphrases
from erukg.errors import InputError, require
from erukg.integrations.components import KeyphraseConfig

require("spacy", "spacy", "The spaCy component")

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span, SpanGroup
from spacy.util import minibatch

__all__ = ["Alignment", "DocKeyphrase", "KeyphraseComponent", "make_component"]

Alignment = Literal["expand", "contract", "strict"]
LABEL = "KEYPHRASE"
_OWN = {"alignment": "expand", "spans_key": "keyphrases"}
_KEPT = "erukg"  # in the Doc's own data, which spaCy writes out with it


@dataclass(frozen=True, slots=True)
class DocKeyphrase:
    """A keyphrase of a Doc: as `erukg.Keyphrase`, with the Spans where it stands; absent ones have none."""

    phrase: str
    score: float
    confidence: float | None
    present: bool
    variants: tuple[str, ...]
    spans: tuple[Span, ...]
    sources: tuple[Source, ...]


class KeyphraseComponent(Pipe):  # type: ignore[misc]
    """Finds the keyphrases of Docs.

    `alignment` is what happens to a phrase that begins or ends inside a token: the Span covers the whole token
    ("expand"), leaves it out ("contract"), or there is none ("strict"). `spans_key` is where all Spans are kept beside
    `doc._.keyphrases`, in the order of the text, for displaCy and later components; None keeps none.
    """

    def __init__(self, name: str, alignment: Any, spans_key: Any, config: KeyphraseConfig) -> None:
        self.name = name
        self._configure(alignment, spans_key, config)

    def _configure(self, alignment: Any, spans_key: Any, config: KeyphraseConfig) -> None:
        if alignment not in get_args(Alignment):
            raise InputError(f"alignment must be one of {', '.join(get_args(Alignment))}, not {alignment!r}.")
        if not isinstance(spans_key, str | None):
            raise InputError(f"spans_key must be a string or None, not {kind_of(spans_key)}.")
        self.alignment, self.spans_key, self.config = alignment, spans_key, config

    def __call__(self, doc: Doc) -> Doc:
        (found,) = self.config.keyphrases([_text(doc)])
        return self._set(doc, found)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Docs in batches, each on all cores (or `threads`)."""
        for docs in minibatch(stream, size=batch_size):
            try:
                for doc, found in zip(docs, self.config.keyphrases(list(map(_text, docs))), strict=True):
                    self._set(doc, found)
                yield from docs
            except Exception as error:  # spaCy's handler decides: it raises, unless it was set to do otherwise
                self.get_error_handler()(self.name, self, docs, error)

    def _set(self, doc: Doc, found: Keyphrases) -> Doc:
        doc.user_data[_KEPT] = {"alignment": self.alignment, "found": found.to_dict()}
        if self.spans_key is not None:
            spans = sorted({span for keyphrase in keyphrases_of(doc) for span in keyphrase.spans})
            doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=spans)
        return doc

    def to_dict(self) -> dict[str, Any]:
        return {"alignment": self.alignment, "spans_key": self.spans_key, **self.config.to_dict()}

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        return json.dumps(self.to_dict()).encode()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> KeyphraseComponent:
        try:
            given = {**_OWN, **json.loads(data)}
        except (TypeError, ValueError) as error:
            raise InputError("This is not what the component 'erukg' of spaCy wrote out.") from error
        self._configure(given.pop("alignment"), given.pop("spans_key"), KeyphraseConfig.of(given))
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / "config.json").write_bytes(self.to_bytes())

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> KeyphraseComponent:
        return self.from_bytes((Path(path) / "config.json").read_bytes())


def _text(doc: Doc) -> str:
    if not isinstance(doc, Doc):
        raise InputError(f"The component takes a Doc, as nlp(text) or nlp.make_doc(text) gives, not {kind_of(doc)}.")
    return str(doc.text)


def keyphrases_of(doc: Doc) -> tuple[DocKeyphrase, ...]:
    """What `doc._.keyphrases` is: present phrases, then absent ones; none before the component has seen the Doc."""
    kept = doc.user_data.get(_KEPT)
    if kept is None:
        return ()
    found = Keyphrases.from_dict(kept["found"])
    return tuple(
        DocKeyphrase(
            keyphrase.phrase,
            keyphrase.score,
            keyphrase.confidence,
            place < len(found.present),
            keyphrase.variants,
            _spans(doc, keyphrase.spans, kept["alignment"]),
            keyphrase.sources,
        )
        for place, keyphrase in enumerate(found)
    )


def _spans(doc: Doc, places: Iterable[tuple[int, int]], alignment: str) -> tuple[Span, ...]:
    found = (doc.char_span(start, end, label=LABEL, alignment_mode=alignment) for start, end in places)
    return tuple(span for span in found if span is not None)


@Language.factory(
    "erukg",
    assigns=["doc._.keyphrases", "doc.spans"],
    default_config={**_OWN, **KeyphraseConfig().to_dict()},
)
def make_component(nlp, name, alignment, spans_key, model, collection, top_k, absent, settings, threads):  # type: ignore[no-untyped-def]
    """The factory that spaCy calls; untyped, so that values are checked, and refused in a sentence, here."""
    config = KeyphraseConfig(
        model=model, collection=collection, top_k=top_k, absent=absent, settings=settings, threads=threads
    )
    return KeyphraseComponent(name, alignment, spans_key, config)


Doc.set_extension("keyphrases", getter=keyphrases_of, force=True)
