"""What goes wrong with a request: a status and one sentence, always as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

__all__ = ["Problem", "json_response"]


class Problem(Exception):
    """An error answer. `reason` is the label that `/metrics` counts it under, if at all."""

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None, reason: str | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers
        self.reason = reason

    def response(self) -> Response:
        # Escaped to ASCII: the sentence may quote what a client sent, even half of a surrogate pair.
        return json_response(json.dumps({"error": self.sentence}).encode(), self.status, self.headers)


def json_response(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")
