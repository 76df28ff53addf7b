"""The text of uploaded files. Documents are parsed in separate processes, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from erukg.errors import InputError, MissingExtraError
from erukg.io.extraction import KINDS, ExtractedText, kind_of_document, parse_document
from erukg.io.items import Limits
from erukg.io.streams import decode
from erukg.serving.answers import FileText
from erukg.serving.bodies import media_type
from erukg.serving.limits import ServiceLimits
from erukg.serving.problems import Problem

__all__ = ["FileReader", "uploaded_file"]

_ACCEPTED = {"text/plain", "text/markdown", "application/octet-stream", "", *(k.media_type for k in KINDS.values())}
_WAITING_PER_READER = 4


class FileReader:
    """Turns the bytes of a file into text."""

    def __init__(self, limits: ServiceLimits) -> None:
        self._max_active = limits.pdf_readers * (1 + _WAITING_PER_READER)
        self._active = 0
        self._threads = ThreadPoolExecutor(limits.pdf_readers, thread_name_prefix="erukg-pdf")
        self._limits = Limits(
            document_bytes=limits.characters,
            pdf_bytes=limits.file_bytes,
            pdf_pages=limits.pdf_pages,
            pdf_seconds=limits.pdf_seconds,
            pdf_memory=limits.pdf_memory,
        )

    async def read(self, data: bytes) -> FileText:
        """The text, for a PDF with its pages; raises a Problem when the bytes are neither a document nor text."""
        kind = kind_of_document(data)
        try:
            if kind is not None:
                return await self._document(data, kind)
            text = decode(data)
        except MissingExtraError:
            missing = KINDS[kind or "pdf"]
            sentence = f"This service cannot read {missing.called}; its '{missing.extra}' extra is not installed."
            raise Problem(415, sentence) from None
        except InputError as error:
            raise Problem(422, str(error)) from None
        if len(text) > self._limits.document_bytes:
            raise Problem(413, f"The text is longer than {self._limits.document_bytes} characters; split it.")
        return FileText(text=text)

    async def _document(self, data: bytes, kind: str) -> FileText:
        if self._active >= self._max_active:
            sentence = "The service is busy with other documents; try again in 5 s."
            raise Problem(429, sentence, {"Retry-After": "5"}, "pdf_queue_full")
        self._active += 1
        parsing = asyncio.get_running_loop().run_in_executor(self._threads, parse_document, data, self._limits, kind)
        # Counted until the process has ended, whether or not somebody still waits for it.
        parsing.add_done_callback(self._finished)
        found = await asyncio.shield(parsing)
        # Damaged fonts yield halves of surrogate pairs: whole pairs are joined, others replaced.
        text = found.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return FileText(text=text, pages=found.pages)

    def _finished(self, parsing: asyncio.Future[ExtractedText]) -> None:
        self._active -= 1
        if not parsing.cancelled():
            parsing.exception()  # marks it as retrieved, in case nobody waits any more

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


async def uploaded_file(request: Request, body: bytes) -> bytes:
    """The file in a body: the body itself, or the one file of a form."""
    kind, _ = media_type(request)
    if kind != "multipart/form-data":
        if kind not in _ACCEPTED:
            kinds = ", ".join(KINDS).upper()
            raise Problem(415, f"Only text and {kinds} can be read; send the file, or a form with it in 'file'.")
        return body
    if not parse_options_header(request.headers["content-type"])[1].get(b"boundary"):
        raise Problem(400, "The form has no boundary; let your client make the Content-Type of it.")
    try:
        headers = Headers({"content-type": request.headers["content-type"]})
        form = await MultiPartParser(headers, _stream(body), max_files=1, max_fields=8).parse()
    except MultiPartException as error:
        raise Problem(400, f"The form cannot be read: {error.message}") from None
    # The parser's own errors have no base class of their own that is part of its interface.
    except (ValueError, UnicodeDecodeError, KeyError):
        raise Problem(400, "The form is damaged; send the file itself as the body instead.") from None
    try:
        for _, value in form.multi_items():
            if not isinstance(value, str):
                return await value.read()
    finally:
        await form.close()
    raise Problem(422, "The form holds no file; send it in the field 'file'.")


async def _stream(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
    yield b""
