"""Annif's REST API, so that what speaks to Annif can speak to this service: every vocabulary is a project.

As of Annif 1.4. Scores are confidences. Errors are `application/problem+json`, and 400 where the rest of the service
answers 422.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, Field, RootModel
from starlette.requests import Request
from starlette.responses import Response

from erukg._version import __version__
from erukg.errors import did_you_mean
from erukg.serving.bodies import parse_form, parse_json, unique
from erukg.serving.document_queue import Task
from erukg.serving.openapi import Operation
from erukg.serving.problems import PROBLEM_TYPE, Problem, json_response, problem_body
from erukg.serving.request_models import EXAMPLE_TEXT, check, shown, with_fields
from erukg.serving.service import Service, raise_error
from erukg.serving.subjects import Subjects
from erukg.serving.tasks import dump
from erukg.subjects.results import Suggestion

__all__ = ["AnnifApi", "annif_problem", "is_annif_path"]

_MOST = 2**31 - 1


class ApiInfo(BaseModel):
    title: str
    version: str


class Vocab(BaseModel):
    vocab_id: str
    languages: list[str]
    size: int
    loaded: bool


class VocabList(BaseModel):
    vocabs: list[Vocab]


class Project(BaseModel):
    project_id: str
    name: str
    language: str
    backend: dict[str, str]
    vocab: Vocab
    vocab_language: str
    is_trained: bool
    modification_time: str


class ProjectList(BaseModel):
    projects: list[Project]


class AnnifSuggestion(BaseModel):
    uri: str
    label: str
    notation: str | None
    score: float = Field(description="The confidence.", ge=0, le=1)


class AnnifSuggestions(BaseModel):
    results: list[AnnifSuggestion]


class AnnifDocumentSuggestions(AnnifSuggestions):
    document_id: str | None


class AnnifBatch(RootModel[list[AnnifDocumentSuggestions]]):
    pass


class AnnifProblem(BaseModel):
    """An error as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str = Field(description="One sentence: what was wrong and what to do.")


class Parameters(BaseModel):
    """What to return."""

    limit: int = Field(10, ge=0, le=_MOST, description="How many at most.")
    threshold: float = Field(0.0, ge=0, le=1, description="The lowest score to return.")
    language: str


class SuggestForm(Parameters):
    """A text; other fields, as Annif's clients send them, count for nothing."""

    model_config = {
        "json_schema_extra": {
            "examples": [{"text": EXAMPLE_TEXT, "limit": 5}],
            "additionalProperties": {"type": "string"},
        }
    }

    text: str = Field(description="The document's text.")


class BatchDocument(BaseModel):
    text: str
    document_id: str | None = Field(None, max_length=1000, description="Your name for the document; it is returned.")
    metadata: Any = Field(None, description="Counts for nothing.")


class BatchRequest(BaseModel):
    model_config = {"json_schema_extra": {"examples": [{"documents": [{"text": EXAMPLE_TEXT, "document_id": "a"}]}]}}

    documents: list[BatchDocument]


class AnnifApi:
    """What each path of it answers; the docstrings are their OpenAPI summaries."""

    def __init__(self, service: Service) -> None:
        self._service = service
        limits = service.limits
        known = sorted({each for subjects in service.subjects.values() for each in subjects.vocabulary.languages})
        schema: dict[str, Any] | None = {"enum": ["", *known]} if known else None
        language = Field("", description="Of the labels; the vocabulary's own by default.", json_schema_extra=schema)
        text = Annotated[str, Field(max_length=limits.characters, description="The document's text.")]
        document = with_fields(BatchDocument, text=(text, ...))
        documents = Annotated[list[document], Field(max_length=limits.documents)]  # type: ignore[valid-type]
        self._query = with_fields(Parameters, language=(str, language))
        self._form = with_fields(SuggestForm, text=(text, ...), language=(str, language))
        self._batch = with_fields(BatchRequest, documents=(documents, ...))

    def operations(self) -> list[Operation]:
        plain = partial(Operation, "Annif", error=AnnifProblem)
        of_one = partial(plain, statuses=(401, 404), names=tuple(self._service.subjects))
        place = "/v1/projects/{project_id}"
        suggest, batch = f"{place}/suggest", f"{place}/suggest-batch"
        return [
            plain("GET", "/v1/", self.annif_info, ApiInfo),
            plain("GET", "/v1/vocabs", self.annif_vocabs, VocabList),
            plain("GET", "/v1/projects", self.annif_projects, ProjectList),
            of_one("GET", place, self.annif_project, Project),
            of_one("POST", suggest, self.annif_suggest, AnnifSuggestions, self._form, form=True),
            of_one("POST", batch, self.annif_suggest_batch, AnnifBatch, self._batch, query=self._query),
        ]

    async def annif_info(self, request: Request) -> ApiInfo:
        """As Annif: the version of the service."""
        return ApiInfo(title="Annif REST API (erukg)", version=__version__)

    async def annif_vocabs(self, request: Request) -> VocabList:
        """As Annif: the vocabularies."""
        return VocabList(vocabs=[_vocab(each) for each in self._service.subjects.values()])

    async def annif_projects(self, request: Request) -> ProjectList:
        """As Annif: the projects, one for each vocabulary."""
        return ProjectList(projects=[_project(each) for each in self._service.subjects.values()])

    async def annif_project(self, request: Request) -> Project:
        """As Annif: one project."""
        return _project(self._named(request))

    async def annif_suggest(self, request: Request) -> Response:
        """As Annif: concepts for a text."""
        subjects = self._named(request)

        def parse(raw: bytes) -> SuggestForm:
            return check(self._form, parse_form(request, raw))

        def make_tasks(form: SuggestForm) -> list[Task]:
            return [self._task(subjects, form, _language(subjects, form), form.text)]

        _, (result,) = await self._service.processor.process(request, parse, make_tasks)
        return json_response(b'{"results":%s}' % raise_error(result))

    async def annif_suggest_batch(self, request: Request) -> Response:
        """As Annif: concepts for many texts."""
        subjects = self._named(request)
        asked = check(self._query, unique(request.query_params.multi_items(), "the query"))
        language = _language(subjects, asked)

        def parse(raw: bytes) -> BatchRequest:
            return check(self._batch, parse_json(request, raw))

        def make_tasks(batch: BatchRequest) -> list[Task]:
            return [self._task(subjects, asked, language, document.text) for document in batch.documents]

        batch, results = await self._service.processor.process(request, parse, make_tasks)
        pairs = zip(map(raise_error, results), batch.documents, strict=True)
        entries = [
            b'{"results":%s,"document_id":%s}' % (found, dump(document.document_id)) for found, document in pairs
        ]
        return json_response(b"[%s]" % b",".join(entries))

    def _named(self, request: Request) -> Subjects:
        name, known = request.path_params["project_id"], self._service.subjects
        if name not in known:
            raise Problem(404, f"There is no project {shown(name)}; {did_you_mean(name, known, 'GET /v1/projects')}")
        return known[name]

    def _task(self, subjects: Subjects, asked: Parameters, language: str, text: str) -> Task:
        most = min(asked.limit, self._service.limits.top_k)

        def work() -> bytes:
            found = subjects.suggester.suggest(text, most, min_confidence=asked.threshold)
            return dump([_suggestion(subjects, one, language) for one in found])

        return work


def _language(subjects: Subjects, asked: Parameters) -> str:
    known = subjects.vocabulary.languages
    if asked.language and asked.language not in known:
        sentence = f"The vocabulary has no labels in the language {shown(asked.language)}; it has: {', '.join(known)}."
        raise Problem(400, sentence)
    return asked.language or subjects.vocabulary.language


def _vocab(subjects: Subjects) -> Vocab:
    vocabulary = subjects.vocabulary
    return Vocab(vocab_id=subjects.name, languages=list(vocabulary.languages), size=len(vocabulary), loaded=True)


def _project(subjects: Subjects) -> Project:
    return Project(
        project_id=subjects.name,
        name=subjects.vocabulary.name or subjects.name,
        language="en",
        backend={"backend_id": "erukg"},
        vocab=_vocab(subjects),
        vocab_language=subjects.vocabulary.language,
        is_trained=True,
        modification_time=subjects.modified.isoformat(timespec="seconds"),
    )


def _suggestion(subjects: Subjects, found: Suggestion, language: str) -> dict[str, Any]:
    vocabulary = subjects.vocabulary
    number = -1 if language == vocabulary.language else vocabulary.find(found.uri)
    label = found.label if number < 0 else vocabulary.label(number, language)
    return {"uri": found.uri, "label": label, "notation": found.notation or None, "score": found.confidence}


def is_annif_path(path: str) -> bool:
    """Whether clients of Annif ask there, and expect errors in its form."""
    return path in ("/v1/", "/v1/vocabs", "/v1/projects") or path.startswith("/v1/projects/")


def annif_problem(problem: Problem) -> Response:
    """The answer to an error in the form that Annif has."""
    status = 400 if problem.status == 422 else problem.status
    body = problem_body(status, problem.sentence, "Project not found" if status == 404 else "")
    return Response(body, status, problem.headers, media_type=PROBLEM_TYPE)
