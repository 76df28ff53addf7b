"""The child process of `erukg.io.extraction`: a file's bytes in, `{"text", "pages", "title"}` or `{"error"}` out."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

from erukg.io.page_layout import PageLine, in_columns, running_text
from erukg.io.streams import megabytes
from erukg.io.web_page import read_page

Answer = dict[str, str | int]

# Of a packed file: how many parts, and how much they unpack to for each byte of text that is allowed.
_MOST_PARTS = 20_000
_UNPACKED = 25
# Pages that are looked at, after the first, for columns drawn row by row.
_SAMPLED = 3


_HTML, _EPUB, _PDF = "text/html", "application/epub+zip", "application/pdf"
_DECLARED = re.compile(rb"""<meta[^>]{1,200}charset=["']?([\w:-]{1,40})""", re.IGNORECASE)
_BYTE_ORDER = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# What stands for a picture, and for the label of a slide's notes, among a document's paragraphs.
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")


def _limit(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system: the parent's clock is the only limit
        return
    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
        _, hard = resource.getrlimit(what)
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(what, (most, most))


def extract_pdf(data: bytes, pages: int, characters: int) -> Answer:
    """The running text of all pages, or the sentence that says why there is none."""
    import pypdf
    from pypdf.errors import DependencyError

    reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted:
        try:
            opened = reader.decrypt("")
        except DependencyError:
            opened = 0
        if not opened:
            return {"error": "The PDF is encrypted; save a copy without its password, and give that."}
    if len(reader.pages) > pages:
        return {"error": f"The PDF has {len(reader.pages)} pages, more than the {pages} allowed; split it."}
    found: list[list[PageLine]] = []
    length = 0
    for page in reader.pages:
        found.append(_lines(page))
        length += sum(len(line.text) + 1 for line in found[-1])
        if length > characters:
            return {"error": f"The PDF's text is larger than {megabytes(characters)}; split it, or raise the limit."}
    _put_in_columns(reader, found)
    text = running_text(found)
    if not text.strip():
        return {"error": "The PDF holds no text (a scan?); run optical character recognition on it first."}
    return {"text": text, "pages": len(found)}


def _lines(page: Any) -> list[PageLine]:
    """The lines of a page, in the order in which they were drawn."""
    lines: list[PageLine] = []
    parts: list[PageLine] = []

    def end_line() -> None:
        if parts:
            longest = max(parts, key=lambda part: len(part.text))
            lines.append(PageLine("".join(part.text for part in parts), parts[0].x, longest.y, longest.size))
            parts.clear()

    def take(text: str, matrix: list[float], text_matrix: list[float], font: object, size: float) -> None:
        a, b, c, d, e, f = matrix
        x, y = text_matrix[4], text_matrix[5]
        for number, part in enumerate(text.split("\n")):
            if number:
                end_line()
            if part.strip() or (part and parts):
                # Letters are as large as the font's size times the scale of both matrices.
                scale = abs(d or c) * abs(text_matrix[3] or text_matrix[2])
                parts.append(PageLine(part, a * x + c * y + e, b * x + d * y + f, size * scale))

    page.extract_text(visitor_text=take)
    end_line()
    return [line for line in lines if line.text.strip()]


def _put_in_columns(reader: Any, pages: list[list[PageLine]]) -> None:
    """Change pages whose columns were drawn row by row; if none of the first few is such a page, none is."""

    def sorted_page(number: int) -> list[PageLine]:
        printed = reader.pages[number].extract_text(extraction_mode="layout", layout_mode_space_vertically=False)
        return in_columns(pages[number], printed)

    first = range(min(len(pages), 1 + _SAMPLED))
    sampled = {number: sorted_page(number) for number in first}
    if any(sampled[number] != pages[number] for number in first):
        for number in range(len(pages)):
            pages[number] = sampled[number] if number in sampled else sorted_page(number)


def extract_document(data: bytes, media_type: str, characters: int) -> Answer:
    """The text of an office document or a book, or the sentence that says why there is none."""
    import asyncio

    import xberg

    if data.startswith(b"PK") and (problem := _packed_problem(data, _UNPACKED * characters)):
        return {"error": problem}
    limits = xberg.SecurityLimits(max_archive_size=_UNPACKED * characters, max_files_in_archive=_MOST_PARTS)
    config = xberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        include_document_structure=True,
        max_archive_depth=1,
        max_embedded_file_bytes=0,
        output_format="plain",
        security_limits=limits,
    )
    given = xberg.ExtractInput(kind="bytes", bytes=data, mime_type=media_type)
    found = asyncio.run(xberg.extract(given, config))
    if not found.results:
        return {"error": "The file is damaged and cannot be read."}
    document = found.results[0]
    nodes = document.document.nodes if document.document is not None else []
    text = "\n\n".join(_blocks(nodes)).replace("\u00ad", "")
    title = " ".join((document.metadata.title or "").split())
    if media_type == _EPUB and text.strip() and title not in text:  # a book's title is no part of its chapters
        text = f"{title}\n\n{text}"
    return _answer(text, characters) | {"title": title}


def extract_page(data: bytes, characters: int) -> Answer:
    """The text of a web page, or the sentence that says why there is none."""
    text, title = read_page(_decoded(data))
    return _answer(text, characters) | {"title": title}


def _answer(text: str, characters: int) -> Answer:
    if len(text) > characters:
        return {"error": f"The file's text is larger than {megabytes(characters)}; split it, or raise the limit."}
    return {"text": text, "pages": 0} if text.strip() else {"error": "The file holds no text."}


def _decoded(data: bytes) -> str:
    """An HTML page, in the encoding that it declares, or that most pages without a declaration have."""
    declared = _DECLARED.search(data[:2048])
    for encoding in ("utf-8-sig", declared[1].decode("ascii") if declared else "cp1252"):
        try:
            return data.decode(_BYTE_ORDER.get(data[:2], encoding))
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", "replace")


def _packed_problem(data: bytes, most: int) -> str | None:
    """Why a packed file is not unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = packed.infolist()
    if any(part.flag_bits & 1 for part in parts):
        return "The file is encrypted; save a copy without its password, and give that."
    if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > most:
        return f"The file unpacks to more than {megabytes(most)} or {_MOST_PARTS} parts; it is not read."
    return None


def _blocks(nodes: Any) -> Iterator[str]:
    """Headings, paragraphs, items, notes and rows of tables; what is not prose (code, addresses of pictures) is not."""
    for node in nodes:
        content = json.loads(str(node.content))
        kind = content.get("node_type")
        if str(node.content_layer) in ("header", "footer") or kind in ("code", "image", "group", "page_break"):
            continue
        if kind == "table":
            rows: dict[int, list[str]] = {}
            for cell in content["grid"]["cells"]:
                rows.setdefault(cell["row"], []).append(cell["content"].strip())
            yield "\n".join(" | ".join(row) for row in rows.values())
        elif kind == "definition_item":
            yield f"{content['term']}: {content['definition']}"
        elif (
            (text := " ".join((content.get("text") or "").split()))
            and not _PICTURE.fullmatch(text)
            and text != "Notes:"
        ):
            yield text


def extracted(data: bytes, kind: str, pages: int, characters: int) -> Answer:
    """The text of a file of this media type, or the sentence that says why there is none."""
    if kind == _PDF:
        return extract_pdf(data, pages, characters)
    return extract_page(data, characters) if kind == _HTML else extract_document(data, kind, characters)


def main() -> None:
    kind, (pages, characters, seconds, memory) = sys.argv[1], map(int, sys.argv[2:6])
    _limit(seconds, memory)
    logging.disable()
    data = sys.stdin.buffer.read()
    what = "PDF" if kind == _PDF else "file"
    try:
        answer = extracted(data, kind, pages, characters)
    except (MemoryError, ImportError):  # the parent has seen that the parser is there: it does not fit
        answer = {"error": f"The {what} needs more memory to parse than is allowed; split it into smaller files."}
    # Parsers of damaged files fail in every way there is; all of them mean the same to the caller.
    except Exception as error:
        answer = {"error": f"The {what} is damaged and cannot be read ({type(error).__name__})."}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
