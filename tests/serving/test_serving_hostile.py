"""Bodies that are malformed, misleading or meant to harm: 4xx with a sentence, never 5xx."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from erukg import KeyphraseGenerator
from erukg.serving.limits import ServiceLimits
from erukg.serving.service import Service
from erukg.serving.subjects import SubjectsByName
from serving import pdf_samples
from serving.serving_tools import inside

JSON = "application/json"


def post(generator: KeyphraseGenerator, path: str, bodies: list[tuple[bytes, dict[str, str]]]) -> list[httpx.Response]:
    async def scenario(client: httpx.AsyncClient, service: Service) -> list[httpx.Response]:
        return [await client.post(path, content=body, headers=headers) for body, headers in bodies]

    return inside(generator, scenario, limits=ServiceLimits(pdf_seconds=4, pdf_pages=50, seconds=20))


BODIES: list[tuple[bytes, str, int]] = [
    (b"", JSON, 400),
    (b"{", JSON, 400),
    (b"[" * 100_000, JSON, 400),
    (b'{"text":' + b"[" * 100_000 + b"]" * 100_000 + b"}", JSON, 400),
    (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, JSON, 400),
    (b'{"text": NaN}', JSON, 400),
    (b'{"text": "a", "top_k": -Infinity}', JSON, 400),
    (b'{"text": "a", "top_k": 1e999}', JSON, 422),
    (b'{"text": "a", "settings": {"alpha": 1e999}}', JSON, 422),
    (b'{"text": "a", "top_k": ' + b"9" * 5000 + b"}", JSON, 400),
    (b'{"text": "a", "top_k": ' + b"9" * 4000 + b"}", JSON, 422),
    (b'{"text": "\\ud800"}', JSON, 422),
    (b'{"\\udfff": 1}', JSON, 422),
    (b'{"text": "a", "mode": "\\udfff"}', JSON, 422),
    (b'{"text": "a", "settings": {"\\udfff": 1}}', JSON, 422),
    (b'{"text": "\xff\xfe"}', JSON, 400),
    ('{"text": "é"}'.encode("latin-1"), JSON, 400),
    ('{"text": "a"}'.encode("utf-16"), JSON, 400),
    ('{"text": "a"}'.encode("utf-32"), JSON, 400),
    (b'{"text": "a"}', f"{JSON}; charset=utf-16", 415),
    (b'{"text": "a"}', "text/plain", 415),
    (b'{"text": "a"}', "", 415),
    (b"text=a", "application/x-www-form-urlencoded", 415),
    (b"null", JSON, 422),
    (b'"text"', JSON, 422),
    (b"\x00" * 1000, JSON, 400),
    (b'{"text": "a"} {}', JSON, 400),
    (b'\xef\xbb\xbf{"text": "with a byte order mark"}', JSON, 200),
    (b'{"text": "\\u0000\\u0001 null"}', JSON, 200),
    (b'{"text": ""}', JSON, 200),
]


def test_malformed_json_is_refused_with_a_sentence(generator: KeyphraseGenerator) -> None:
    responses = post(generator, "/v1/keyphrases", [(body, {"Content-Type": kind}) for body, kind, _ in BODIES])
    for (body, kind, status), response in zip(BODIES, responses, strict=True):
        assert response.status_code == status, (body[:60], kind, response.text)
        if status != 200:
            assert response.json()["detail"].endswith((".", "?"))


def test_nesting_in_a_field_that_is_passed_through_is_survived(generator: KeyphraseGenerator) -> None:
    bodies = []
    for depth in (50, 500, 900, 990, 2000):
        deep = "[" * depth + "]" * depth
        bodies.append((f'{{"documents": [{{"text": "graph data", "deep": {deep}}}]}}'.encode(), {"Content-Type": JSON}))
    for response in post(generator, "/v1/expand", bodies):
        assert response.status_code in (200, 400)


def test_other_compressions_are_refused(generator: KeyphraseGenerator) -> None:
    body = gzip.compress(b'{"text": "a"}')
    for encoding in ("br", "deflate", "gzip, gzip", "x-unknown"):
        (response,) = post(generator, "/v1/keyphrases", [(body, {"Content-Type": JSON, "Content-Encoding": encoding})])
        assert response.status_code == 415


@pytest.mark.parametrize(
    "id", ["../../etc/passwd", "/etc/passwd", "C:\\x", "<script>alert(1)</script>", "a\u0000b", "%2e%2e"]
)
def test_ids_and_markup_are_data(generator: KeyphraseGenerator, id: str) -> None:
    text = "<script>alert('graph data')</script><img src=x onerror=alert(1)> neural network"
    body = json.dumps({"documents": [{"id": id, "text": text}]}).encode()
    (response,) = post(generator, "/v1/keyphrases", [(body, {"Content-Type": JSON})])
    (result,) = response.json()["results"]
    assert result["id"] == id
    assert response.headers["content-type"] == JSON
    assert response.headers["x-content-type-options"] == "nosniff"


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
_names = (
    *("text", "documents", "mode", "top_k", "settings", "explain", "phrases", "fields", "append", "system"),
    *("kind", "weight", "present", "absent", "terms", "format", "search_fields"),
    *("vocabulary", "min_confidence", "new_terms"),
)


def test_no_combination_of_values_breaks_it(generator: KeyphraseGenerator, subjects: SubjectsByName) -> None:
    bodies: list[Any] = []

    @settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.sampled_from(_names), _values, max_size=5))
    def collect(body: Any) -> None:
        bodies.append(body)

    collect()

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        for path in ("keyphrases", "rank", "expand", "baseline", "suggest", "projects/engines/suggest-batch"):
            for body in bodies:
                content = json.dumps(body).encode()
                response = await client.post(f"/v1/{path}", content=content, headers={"Content-Type": JSON})
                assert response.status_code < 500, (path, body, response.text)
                response.json()

    inside(generator, scenario, subjects=subjects)


def test_files_are_read_raw_and_from_forms(generator: KeyphraseGenerator) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        raw = await client.post("/v1/read", content=pdf_samples.good(), headers={"Content-Type": "application/pdf"})
        assert raw.json() == {"text": "Sparse retrieval of graph data\n\nThe second page", "pages": 2}
        form = await client.post("/v1/read", files={"file": ("../../x.pdf", pdf_samples.good())})
        assert form.json() == raw.json()
        for content in ("Grüße 😀".encode(), "Grüße 😀".encode("utf-16")):
            plain = await client.post("/v1/read", files={"file": ("a.txt", content)})
            assert plain.json() == {"text": "Grüße 😀"}

    inside(generator, scenario)


def test_hostile_files_cost_little_and_answer_4xx(generator: KeyphraseGenerator) -> None:
    good = pdf_samples.good()
    files = {
        "many pages": (pdf_samples.many_pages(), 422, "5000 pages"),
        "bomb": (pdf_samples.bomb(), 422, ""),
        "endless": (pdf_samples.endless(), 422, "within 4 s"),
        "cut off": (good[: len(good) // 2], 422, ""),
        "garbage": (b"%PDF-1.7\n" + bytes(range(256)) * 200, 422, ""),
        "no text": (pdf_samples.pdf([pdf_samples.page("")]), 422, "no text"),
        "not a pdf": (b"PK\x03\x04" + b"\0" * 100, 422, "ZIP"),
        "latin-1": ("é à".encode("latin-1"), 422, "UTF-8"),
        "binary": (bytes(range(256)) * 4, 422, ""),
        "empty": (b"", 422, "empty"),
    }
    begin = time.monotonic()
    bodies = [(body, {"Content-Type": "application/pdf"}) for body, _, _ in files.values()]
    for (name, (_, status, words)), response in zip(files.items(), post(generator, "/v1/read", bodies), strict=True):
        assert response.status_code == status, (name, response.text)
        assert words in response.json()["detail"], name
    assert time.monotonic() - begin < 25


def test_hostile_forms(generator: KeyphraseGenerator) -> None:
    form = "multipart/form-data"
    cut = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc'
    bodies = [
        (b"abc", {"Content-Type": form}),
        (b"abc", {"Content-Type": f"{form}; boundary="}),
        (b"abc", {"Content-Type": f"{form}; boundary=b"}),
        (cut, {"Content-Type": f"{form}; boundary=b"}),
        (b"--b\r\n" * 1000, {"Content-Type": f"{form}; boundary=b"}),
        (b"--b\r\nContent-Disposition: form-data\r\n\r\nabc\r\n--b--\r\n", {"Content-Type": f"{form}; boundary=b"}),
        (cut.replace(b"filename=", b"filenam=") + b"\r\n--b--\r\n", {"Content-Type": f"{form}; boundary=b"}),
        ((cut + b"\r\n") * 3 + b"--b--\r\n", {"Content-Type": f"{form}; boundary=b"}),
        (b"--b\r\nX: " + b"y" * 100_000 + b"\r\n\r\n\r\n--b--", {"Content-Type": f"{form}; boundary=b"}),
        (b"abc", {"Content-Type": f"{form}; boundary={'b' * 5000}"}),
        (b"abc", {"Content-Type": "image/png"}),
    ]
    for (body, headers), response in zip(bodies, post(generator, "/v1/read", bodies), strict=True):
        assert 400 <= response.status_code < 500, (body[:80], headers, response.text)
        assert response.json()["detail"]
