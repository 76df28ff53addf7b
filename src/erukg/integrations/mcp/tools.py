"""The tools: what each is called with, what it does, and what it answers. Names and texts here are what agents read."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field

from erukg.core.folding import fold
from erukg.core.inputs import InputDocument
from erukg.core.query_expansion import QueryOptions
from erukg.core.results import Keyphrase, Keyphrases, RankedPhrases
from erukg.errors import InputError, did_you_mean
from erukg.generator import KeyphraseGenerator
from erukg.integrations.mcp.files import AllowedFolders, Batch, ToolLimits
from erukg.io.engines import Engine, search_query
from erukg.subjects.results import Suggestion, Suggestions
from erukg.subjects.suggester import Suggester

__all__ = ["Tools"]

_EXAMPLES = 3
_MOST_LABELS = 5_000

TopK = Annotated[int, Field(ge=1, le=100, description="How many, at most.")]
GivenText = Annotated[str | None, Field(description="The text itself, if it is short; else give a path.")]
GivenPath = Annotated[
    str | None,
    Field(
        description="A file or folder that the server reads itself: text, Markdown, PDF, JSON Lines, CSV and others."
    ),
]
LeftOut = Annotated[list[str], Field(description="What was not read, and why.")]


class Found(BaseModel):
    phrase: str
    confidence: float | None = Field(description="How likely people are to choose it, from 0 to 1.")
    occurrences: int = Field(description="How often it stands in the text; 0 for phrases that do not.")
    uri: str | None = Field(default=None, description="Of a concept of a vocabulary.")


class FoundInDocument(BaseModel):
    id: str
    phrases: list[Found] = Field(description="Best first; keyphrases in the text come before those not in it.")
    notices: list[str] = Field(description="What to keep in mind of this text.")


class Findings(BaseModel):
    documents: list[FoundInDocument]
    left_out: LeftOut


class WeightedPhrase(BaseModel):
    phrase: str
    kind: str = Field(description="present, absent or term.")
    weight: float = Field(description="Of each of its words, where those of the query have 1.")


class LongerQuery(BaseModel):
    query: str
    phrases: list[WeightedPhrase]
    request: str | dict[str, Any] | None = Field(description="The whole query as the engine takes it.")


class Comparison(BaseModel):
    similarity: float = Field(description="From 0, nothing in common, to 1.")
    shared: list[str] = Field(description="Phrases of both.")
    only_first: list[str]
    only_second: list[str]


class Theme(BaseModel):
    phrase: str
    documents: int = Field(description="How many documents have it among their best phrases.")
    examples: list[str] = Field(description="Some of these documents.")


class FolderThemes(BaseModel):
    documents: int = Field(description="How many documents were read.")
    themes: list[Theme] = Field(description="The strongest first.")
    left_out: LeftOut


@dataclass(frozen=True)
class Tools:
    """What the tools work with; each of its public methods is one."""

    generator: KeyphraseGenerator
    folders: AllowedFolders
    limits: ToolLimits
    suggesters: Mapping[str, Suggester]

    def extract_keyphrases(self, text: GivenText = None, path: GivenPath = None, top_k: TopK = 10) -> Findings:
        """Keyphrases that stand in a text, or in each document of a file or folder. Give `text` or `path`."""
        batch = self._batch(text, path)
        return _findings(batch, self.generator.extract_batch(batch, top_k))

    def generate_keyphrases(self, text: GivenText = None, path: GivenPath = None, top_k: TopK = 10) -> Findings:
        """Keyphrases of a text, or of each document of a file or folder: those in it, and as many that are not in it
        but describe it, learned from similar documents. Give `text` or `path`."""
        batch = self._batch(text, path)
        return _findings(batch, self.generator.generate_batch(batch, top_k))

    def suggest_concepts(
        self,
        text: GivenText = None,
        path: GivenPath = None,
        vocabulary: Annotated[str | None, Field(description="Which vocabulary, if the server has several.")] = None,
        labels: Annotated[
            list[str] | None,
            Field(max_length=_MOST_LABELS, description="Labels to choose from, in place of a vocabulary."),
        ] = None,
        top_k: TopK = 10,
    ) -> Findings:
        """Concepts of a controlled vocabulary, or of labels that you give, that describe a text or the documents of a
        file or folder. Give `text` or `path`."""
        batch = self._batch(text, path)
        if labels:
            return _findings(batch, self.generator.rank_batch(batch, labels, top_k=top_k))
        return _findings(batch, (answer.unwrap() for answer in self._suggester(vocabulary).stream(batch, top_k)))

    def expand_query(
        self,
        query: str,
        top_k: TopK = 10,
        engine: Annotated[Engine | None, Field(description="Also write it for this search engine.")] = None,
    ) -> LongerQuery:
        """Phrases to search for beside the words of a query, with weights, to find documents that use other words."""
        text = self._batch(query, None).only().text
        found = self.generator.expand_query(text, QueryOptions(present=top_k, absent=top_k))
        request = None if engine is None else search_query(found, engine)
        phrases = [WeightedPhrase(**phrase.to_dict()) for phrase in found.phrases]
        return LongerQuery(query=text, phrases=phrases, request=request)

    def compare_texts(
        self,
        first_text: GivenText = None,
        first_path: GivenPath = None,
        second_text: GivenText = None,
        second_path: GivenPath = None,
        top_k: TopK = 10,
    ) -> Comparison:
        """What two texts, or files of one document each, have in common, and what each has alone. Give each as text or
        as path."""
        pair = ((first_text, first_path), (second_text, second_path))
        texts = [self._batch(*given).only().text for given in pair]
        one, other = (self.generator.encode(text) for text in texts)
        length = math.sqrt(one.dot(one) * other.dot(other))
        found = [{fold(k.phrase): k.phrase for k in self.generator.generate(text, top_k)} for text in texts]
        return Comparison(
            similarity=round(min(one.dot(other) / length, 1.0), 3) if length else 0.0,
            shared=[phrase for key, phrase in found[0].items() if key in found[1]],
            only_first=[phrase for key, phrase in found[0].items() if key not in found[1]],
            only_second=[phrase for key, phrase in found[1].items() if key not in found[0]],
        )

    def folder_themes(
        self,
        path: Annotated[str, Field(description="A folder, or a file of many documents, that the server reads itself.")],
        top_k: TopK = 20,
    ) -> FolderThemes:
        """What the documents of a folder, or of one large file, are about together; shared phrases come first."""
        batch = Batch(self.folders.read(path), self.limits.max_theme_documents, self.limits)
        names: dict[str, str] = {}
        ids: dict[str, list[str]] = defaultdict(list)
        strength: dict[str, float] = defaultdict(float)
        for answer in self.generator.stream(batch):
            for key, keyphrase in {fold(k.phrase): k for k in reversed([*answer.unwrap()])}.items():
                names.setdefault(key, keyphrase.phrase)
                ids[key].append(answer.item.id)
                strength[key] += keyphrase.confidence or 0.0
        # What documents share comes first; where they share little, the best phrases of single ones follow.
        best = sorted(names, key=lambda key: (len(ids[key]) < 2, -strength[key]))[:top_k]
        themes = [Theme(phrase=names[key], documents=len(ids[key]), examples=ids[key][:_EXAMPLES]) for key in best]
        return FolderThemes(documents=batch.taken, themes=themes, left_out=batch.left_out)

    def _batch(self, text: str | None, path: str | None) -> Batch:
        if (text is None) == (path is None):
            raise InputError("Give either a text or a path" + (", not both." if path is not None else "."))
        given = self.folders.read(path) if path is not None else iter([InputDocument("text", text or "", "text")])
        return Batch(given, self.limits.max_documents, self.limits)

    def _suggester(self, name: str | None) -> Suggester:
        if not self.suggesters:
            raise InputError("The server has no vocabulary; give labels, or start erukg mcp with --vocabulary FILE.")
        if name is None and len(self.suggesters) > 1:
            raise InputError(f"Say which vocabulary: {', '.join(self.suggesters)}.")
        if name is not None and name not in self.suggesters:
            raise InputError(f"There is no vocabulary '{name[:100]}'; {did_you_mean(name, self.suggesters)}")
        return self.suggesters[name] if name is not None else next(iter(self.suggesters.values()))


def _findings(batch: Batch, results: Iterable[Keyphrases | RankedPhrases | Suggestions]) -> Findings:
    documents = [
        FoundInDocument(
            # A label with a score of 0 has nothing to do with the text.
            id=str(result.id),
            phrases=[_found(one) for one in result if one.score > 0],
            notices=[n.message for n in result.notices],
        )
        for result in results
    ]
    return Findings(documents=documents, left_out=batch.left_out)


def _found(one: Keyphrase | Suggestion) -> Found:
    confidence = None if one.confidence is None else round(one.confidence, 3)
    if isinstance(one, Suggestion):
        return Found(phrase=one.label, confidence=confidence, occurrences=len(one.matches), uri=one.uri)
    return Found(phrase=one.phrase, confidence=confidence, occurrences=len(one.spans))
