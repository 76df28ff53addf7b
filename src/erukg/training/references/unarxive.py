"""unarXive 2022: full texts of papers, whose citing sentences are references to the papers they cite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from erukg.errors import InputError
from erukg.training.references.base import Library, Paper, Reader, Reference, canonical_id
from erukg.training.references.corpus import title_reference
from erukg.training.references.rows import Problems, Row, list_of, object_of, parse_rows, text_of

__all__ = ["Unarxive", "citing_sentences", "sentences"]

_FEWEST_WORDS = 5
_CITE = r"\{\{cite:([^{}]{1,64})\}\}"
_GROUP = re.compile(rf"[\[(]?\s*{_CITE}(?:[\s,;~–\[\]-]*(?:and\s+|&\s*)?{_CITE})*\s*[\])]?")
_MARKER = re.compile(_CITE)
_AFTER_STOP = re.compile(r"([.!?])((?:\{\{cite:[^{}]{1,64}\}\}[,;]?)+)")
_OTHER_MARKER = re.compile(r"\{\{[a-z]+:[^{}]{1,64}\}\}")
_STOP = re.compile(r"[.!?][\"'”’)\]]*\s+(?=[\"'“‘(\[{]*[A-Z0-9{])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:al|e\.g|i\.e|cf|vs|resp|etc|viz|ca|approx|Figs?|Eqs?|Refs?|Secs?|Sects?|Tabs?|Chaps?|Apps?|Nos?|Dr|Prof|Mr|Mrs|St"
    r"|Thm|Lem|Prop|Def)|\b[A-Z])\.$"
)


@dataclass(frozen=True)
class Unarxive(Reader):
    """Papers of unarXive: JSON objects with paper_id, metadata, abstract, body_text and bib_entries.

    A sentence with one citation, or one group of adjacent ones, refers to each cited document that is known
    (by arXiv, OpenAlex, DOI or PubMed id; the papers of these files are known too). The negative is a
    document cited only in other sections of the paper. With `titles` each paper's title refers to its
    abstract, against another article it cites.
    """

    titles: bool = True

    def documents(self, problems: Problems) -> Iterator[Paper]:
        # Bad rows are counted when the references are read.
        return parse_rows(self.files, Problems(tolerance=1), _paper)

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        def parse(row: Row) -> list[Reference]:
            return list(self._references(row, library, problems, random))

        for references in parse_rows(self.files, problems, parse):
            yield from references

    def _references(self, row: Row, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        paper = _paper(row)
        bibliography = _bibliography(row, library)
        # Keys of dicts stand for sets here: their order does not change from run to run.
        cited_in: dict[str, dict[int, None]] = {}
        contexts: list[tuple[str, str, list[int]]] = []
        for section, text in _paragraphs(row):
            cited = cited_in.setdefault(section, {})
            cited.update((bibliography[m], None) for m in _MARKER.findall(text) if m in bibliography)
            for sentence, markers in citing_sentences(text):
                group = list(dict.fromkeys(bibliography[m] for m in markers if m in bibliography))
                if group:
                    contexts.append((section, sentence, group))
                else:
                    problems.skipped["document not in the corpus"] += 1
        everything = list(dict.fromkeys(number for cited in cited_in.values() for number in cited))
        for section, sentence, group in contexts:
            elsewhere = [number for number in everything if number not in cited_in[section]]
            for positive in group:
                yield Reference("citation", sentence, positive, random.choice(elsewhere) if elsewhere else None)
        if self.titles:
            reference = title_reference(paper, everything, library, random)
            if reference is None:
                problems.skipped["title or abstract too short for a title reference"] += 1
            else:
                yield reference


def _paper(row: Row) -> Paper:
    id = row.get("paper_id")
    if not isinstance(id, str) or not id:
        raise InputError("'paper_id' must be text")
    metadata = object_of(row.get("metadata") or {}, "'metadata'")
    given = row.get("abstract")
    abstract = text_of(given if isinstance(given, Mapping) else {"text": given}, "text")
    title, abstract = text_of(metadata, "title"), abstract or text_of(metadata, "abstract")
    if not title and not abstract:
        raise InputError("the paper has neither title nor abstract")
    return Paper(canonical_id(f"arxiv:{id}"), title, abstract)


def _bibliography(row: Row, library: Library) -> dict[str, int]:
    known: dict[str, int] = {}
    for key, entry in object_of(row.get("bib_entries") or {}, "'bib_entries'").items():
        numbers = map(library.find, _ids(object_of(entry, "an entry of 'bib_entries'")))
        if (number := next((number for number in numbers if number is not None), None)) is not None:
            known[key] = number
    return known


def _ids(entry: Row) -> Iterator[str]:
    """The identifiers of a bibliography entry, surest first."""
    ids = object_of(entry.get("ids") or {}, "'ids' of a bibliography entry")
    for name, prefix in (
        ("arxiv_id", "arxiv:"),
        ("open_alex_id", "openalex:"),
        ("openalex_id", "openalex:"),
        ("doi", "doi:"),
        ("pubmed_id", "pmid:"),
    ):
        value = ids.get(name)
        if value and isinstance(value, str):
            yield value if "://" in value else prefix + value
    contained = entry.get("contained_arXiv_ids") or []
    for link in contained if isinstance(contained, list) else []:
        value = link.get("id") if isinstance(link, Mapping) else link
        if value and isinstance(value, str):
            yield f"arxiv:{value}"


def _paragraphs(row: Row) -> Iterator[tuple[str, str]]:
    """Section and text of each paragraph; subsections count as their section where numbers tell."""
    for part in list_of(row, "body_text"):
        fields = object_of(part, "a part of 'body_text'")
        if fields.get("content_type", "paragraph") == "paragraph":
            number = str(fields.get("sec_number") or "").split(".")[0].strip()
            yield number or text_of(fields, "section").casefold(), text_of(fields, "text")


def sentences(text: str) -> Iterator[str]:
    """Sentences of running text; a marker right after a full stop belongs to the sentence before it."""
    text = _AFTER_STOP.sub(r" \2\1", text)
    start = 0
    for stop in _STOP.finditer(text):
        sentence = text[start : stop.end()].strip()
        if not _ABBREVIATION.search(sentence):
            yield sentence
            start = stop.end()
    if rest := text[start:].strip():
        yield rest


def citing_sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Sentences with one citation or one group of adjacent ones, without markers, and the keys they cite."""
    for sentence in sentences(text):
        if len(groups := list(_GROUP.finditer(sentence))) != 1:
            continue
        markers = _MARKER.findall(groups[0].group())
        bare = _OTHER_MARKER.sub(" ", sentence[: groups[0].start()] + " " + sentence[groups[0].end() :])
        bare = re.sub(r"\s+([.,;:)\]])", r"\1", " ".join(bare.split()))
        if len(bare.split()) >= _FEWEST_WORDS:
            yield bare, markers
