"""PDFs made here: good, hostile and broken."""

from __future__ import annotations

import zlib


def pdf(contents: list[bytes], *, filters: str = "/FlateDecode", pages: int | None = None) -> bytes:
    """A PDF with a page for each of the (already filtered) content streams; `pages` repeats the first one."""
    count = pages if pages is not None else len(contents)
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    first = 4 + len(contents)
    kids = b" ".join(b"%d 0 R" % (first + i) for i in range(count))
    objects.append(b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count))
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for content in contents:
        head = b"<< /Length %d /Filter %s >>\nstream\n" % (len(content), filters.encode())
        objects.append(head + content + b"\nendstream")
    for i in range(count):
        stream = 4 + (i if pages is None else 0)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % stream
        )
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return (
        out
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
        + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(out))
    )


def page(text: str) -> bytes:
    return zlib.compress(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode())


def good(text: str = "Sparse retrieval of graph data") -> bytes:
    return pdf([page(text), page("The second page")])


def many_pages(count: int = 5000) -> bytes:
    return pdf([page("again")], pages=count)


def bomb(megabytes: int = 400) -> bytes:
    """A content stream that unpacks, by two filters, to far more than any memory limit."""
    inner = zlib.compressobj(9)
    chunk = b" " * 1_000_000
    packed = b"".join(inner.compress(chunk) for _ in range(megabytes)) + inner.flush()
    return pdf([zlib.compress(packed, 9)], filters="[/FlateDecode /FlateDecode]")


def endless(count: int = 400_000) -> bytes:
    """Small in bytes, and long in the reading: a stream of operators without end, and without text, of which too much
    would end the reading before its time is over.
    """
    return pdf([zlib.compress(b"BT /F1 12 Tf " + b"() Tj " * count + b"ET", 9)] * 20)
