"""What goes wrong with a request: a status, a code for programs and a sentence for people (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from erukg.errors import InputError

__all__ = ["CODES", "PROBLEM_TYPE", "STATUSES", "Problem", "code_of", "json_response", "problem_body"]

PROBLEM_TYPE = "application/problem+json"
_BUSY = {
    "queue_full": "as many documents as may wait are waiting",
    "expected_wait": "the answer would take longer than it may",
    "held_bytes": "the service holds as many bytes of bodies as it may",
    "pdf_queue_full": "as many PDFs as may wait are waiting",
    "connections": "there are as many connections as there may be",
    "jobs_full": "there are as many jobs as may be kept",
}
STATUSES = {
    400: ("malformed", "the body is not JSON in UTF-8, a form or gzip as it says, or the request has not one Host"),
    401: ("unauthorized", "an API key is needed"),
    403: ("foreign_origin", "a page of another site asked for it"),
    404: ("not_found", "there is nothing of this name"),
    405: ("method_not_allowed", "the path needs another method"),
    408: ("slow_body", "the body took too long to arrive"),
    413: ("too_large", "the request exceeds a limit"),
    415: ("unsupported_type", "the body has another media type, or a compression other than gzip"),
    421: ("unknown_host", "the Host is a name that the service does not know"),
    422: ("invalid_request", "the body or the query does not match the schema, or a file cannot be read"),
    429: ("busy", "the service is busy; Retry-After says for how many seconds"),
    431: ("headers_too_large", "the headers are too large"),
    500: ("internal_error", "the service failed; its log says more under the request's id"),
    503: ("not_ready", "the service is warming up or stopping"),
    504: ("timeout", "the answer took too long"),
    507: ("storage_full", "there is no room on the disk for a job"),
}
"""The code and the meaning of every status of an error; a 429 has one of the codes of `_BUSY`."""
CODES = {**dict(STATUSES.values()), **_BUSY}
"""What each code means. They stay; more may come."""


class Problem(Exception):
    """An error answer. `reason` is the label that `/metrics` counts it under, if at all; that of a 429 is its code."""

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None, reason: str | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers
        self.reason = reason

    @property
    def code(self) -> str:
        return self.reason if self.status == 429 and self.reason else STATUSES[self.status][0]

    def body(self, request_id: str) -> bytes:
        return problem_body(self.status, self.sentence, code=self.code, request_id=request_id)

    def response(self, request_id: str) -> Response:
        return Response(self.body(request_id), self.status, self.headers, media_type=PROBLEM_TYPE)


def code_of(error: BaseException) -> str:
    """The code of what was raised for a document or a request."""
    if isinstance(error, Problem):
        return error.code
    return STATUSES[422 if isinstance(error, InputError) else 500][0]


def problem_body(status: int, sentence: str, title: str = "", **more: str) -> bytes:
    """The JSON of a problem."""
    # Escaped to ASCII: the sentence may quote what a client sent, even half of a surrogate pair.
    title = title or HTTPStatus(status).phrase
    return json.dumps({"type": "about:blank", "title": title, "status": status, "detail": sentence, **more}).encode()


def json_response(body: bytes) -> Response:
    return Response(body, media_type="application/json")
