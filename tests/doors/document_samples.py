"""Small documents made here, part by part, as the programs that people use would write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from html import escape

from erukg.io.extraction import KINDS

TITLE = "Finding rare files"
PARAGRAPHS = (
    "Unstructured peer-to-peer networks answer popular queries quickly & cheaply.",
    "Random walks fill the gaps where no Bloom filter matches.",
)
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATED = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def packed(parts: dict[str, str | bytes]) -> bytes:
    """A packed file; a part called `mimetype` comes first and unpacked, as OpenDocument and EPUB want it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(parts.items(), key=lambda part: part[0] != "mimetype"):
            archive.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _relationships(*targets: tuple[str, str]) -> str:
    rows = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_RELATED}">{rows}</Relationships>'


def _types(**parts: str) -> str:
    rows = "".join(
        f'<Override PartName="/{name.replace("__", "/")}.xml" '
        f'ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/>'
        for name, kind in parts.items()
    )
    rels = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    return f'<Types xmlns="{_TYPES}">{rels}{rows}</Types>'


def docx(*paragraphs: str, before: str = "", written: tuple[str, str] = ("", "")) -> bytes:
    """A Word document with a heading, these paragraphs and a page header; `written` is put in for a word as it is."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    heading = f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{TITLE}</w:t></w:r></w:p>'
    # Word cuts paragraphs into runs wherever it likes.
    rows = "".join(
        f'<w:p><w:r><w:t xml:space="preserve">{escape(text[:7])}</w:t></w:r>'
        f'<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">{escape(text[7:])}</w:t></w:r></w:p>'
        for text in paragraphs or PARAGRAPHS
    )
    header = f"<w:hdr {space}><w:p><w:r><w:t>Confidential draft</w:t></w:r></w:p></w:hdr>"
    section = f'<w:sectPr><w:headerReference xmlns:r="{_OFFICE}" w:type="default" r:id="rId1"/></w:sectPr>'
    body = f"<w:document {space}><w:body>{heading}{rows}{section}</w:body></w:document>"
    if all(written):
        body = body.replace(*written)
    kind = "wordprocessingml"
    return packed(
        {
            "[Content_Types].xml": _types(word__document=f"{kind}.document.main", word__header1=f"{kind}.header"),
            "_rels/.rels": _relationships(("officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": _relationships(("header", "header1.xml")),
            "word/document.xml": f'<?xml version="1.0" encoding="UTF-8"?>{before}{body}',
            "word/header1.xml": header,
        }
    )


def odt(*paragraphs: str) -> bytes:
    """An OpenDocument text with a heading and these paragraphs."""
    space = "urn:oasis:names:tc:opendocument:xmlns"
    rows = "".join(f"<text:p>{escape(text)}</text:p>" for text in paragraphs or PARAGRAPHS)
    content = (
        f'<office:document-content xmlns:office="{space}:office:1.0" xmlns:text="{space}:text:1.0" '
        f'office:version="1.2"><office:body><office:text><text:h text:outline-level="1">{TITLE}</text:h>{rows}'
        "</office:text></office:body></office:document-content>"
    )
    listed = (
        f'<manifest:manifest xmlns:manifest="{space}:manifest:1.0"><manifest:file-entry manifest:full-path="/" '
        f'manifest:media-type="{KINDS["odt"].media_type}"/></manifest:manifest>'
    )
    return packed({"mimetype": KINDS["odt"].media_type, "content.xml": content, "META-INF/manifest.xml": listed})


def pptx(*slides: str) -> bytes:
    """A presentation with a slide for each of these texts, the first of them a title."""
    a = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    p = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    texts = (TITLE, *(slides or PARAGRAPHS))
    parts: dict[str, str | bytes] = {}
    for number, text in enumerate(texts, 1):
        shape = (
            '<p:sp><p:nvSpPr><p:cNvPr id="2" name="Text"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody>'
            f"<a:bodyPr/><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
        parts[f"ppt/slides/slide{number}.xml"] = f"<p:sld {a} {p}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>"
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, len(texts) + 1))
    kind = "presentationml"
    named = {f"ppt__slides__slide{n}": f"{kind}.slide" for n in range(1, len(texts) + 1)}
    return packed(
        {
            "[Content_Types].xml": _types(ppt__presentation=f"{kind}.presentation.main", **named),
            "_rels/.rels": _relationships(("officeDocument", "ppt/presentation.xml")),
            "ppt/_rels/presentation.xml.rels": _relationships(
                *(("slide", f"slides/slide{n}.xml") for n in range(1, len(texts) + 1))
            ),
            "ppt/presentation.xml": f'<p:presentation {p} xmlns:r="{_OFFICE}"><p:sldIdLst>{ids}</p:sldIdLst>'
            "</p:presentation>",
            **parts,
        }
    )


def epub(*chapters: str) -> bytes:
    """A book with a chapter for each of these texts."""
    texts = chapters or PARAGRAPHS
    numbers = range(1, len(texts) + 1)
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in numbers)
    order = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="i">x</dc:identifier>'
        f"<dc:title>{TITLE}</dc:title><dc:language>en</dc:language></metadata><manifest>{items}</manifest>"
        f"<spine>{order}</spine></package>"
    )
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>c</title></head><body><p>{}</p></body></html>'
    pages = {f"c{n}.xhtml": page.format(escape(text)) for n, text in zip(numbers, texts, strict=True)}
    return packed(
        {"mimetype": KINDS["epub"].media_type, "META-INF/container.xml": container, "book.opf": book, **pages}
    )


def html(*paragraphs: str, encoding: str = "utf-8") -> bytes:
    """A web page with all that is around an article."""
    rows = "".join(f"<p>{escape(text)}</p>" for text in paragraphs or PARAGRAPHS)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="{encoding}"><title>{TITLE} | Weekly</title>'
        "<style>p {color: red}</style><script>var campaign = 'autumn sale';</script></head><body>"
        f"<nav><a href='/'>Gift shop</a></nav><main><article><h1>{TITLE}</h1>{rows}"
        "<pre><code>def flood(query): pass</code></pre></article></main>"
        "<footer>Privacy policy</footer></body></html>"
    ).encode(encoding)


MAKERS: dict[str, Callable[[], bytes]] = {"html": html, "docx": docx, "odt": odt, "pptx": pptx, "epub": epub}
