"""The child process of `erukg.io.pdf`: PDF in, `{"text", "pages"}` or `{"error"}` out."""

from __future__ import annotations

import io
import json
import logging
import sys

from erukg.io.streams import megabytes


def _limit(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system: the parent's clock is the only limit
        return
    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
        _, hard = resource.getrlimit(what)
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(what, (most, most))


def extract(data: bytes, pages: int, characters: int) -> dict[str, str | int]:
    """The text, page after page, or the sentence that says why there is none."""
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
    texts: list[str] = []
    length = 0
    for page in reader.pages:
        texts.append(page.extract_text())
        length += len(texts[-1])
        if length > characters:
            return {"error": f"The PDF's text is larger than {megabytes(characters)}; split it, or raise the limit."}
    text = "\n\n".join(texts)
    if not text.strip():
        return {"error": "The PDF holds no text (a scan?); run optical character recognition on it first."}
    return {"text": text, "pages": len(texts)}


def main() -> None:
    pages, characters, seconds, memory = map(int, sys.argv[1:5])
    _limit(seconds, memory)
    logging.disable()
    data = sys.stdin.buffer.read()
    try:
        answer = extract(data, pages, characters)
    except MemoryError:
        answer = {"error": "The PDF needs more memory to parse than is allowed; split it into smaller files."}
    # Parsers of damaged files fail in every way there is; all of them mean the same to the caller.
    except Exception as error:
        answer = {"error": f"The PDF is damaged and cannot be read ({type(error).__name__})."}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
