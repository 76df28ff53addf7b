"""The figures of a device, measured with torch on the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from rich.console import Console  # noqa: E402

from erukg.backends import OnnxBackend  # noqa: E402
from erukg.collection.analyser import ModelAnalyser  # noqa: E402
from erukg.collection.build import build  # noqa: E402
from erukg.research.benchmark.gpu import agreement, main, overlap, rank_correlation  # noqa: E402
from erukg.research.benchmark.tables import print_gpu  # noqa: E402
from tiny_bert import write_bert  # noqa: E402

torch.set_num_threads(1)


def test_rank_correlation() -> None:
    letters = list("abcdefghijklmnop")
    assert rank_correlation(letters, letters) == pytest.approx(1)
    assert rank_correlation(letters[:10], letters[:10][::-1]) == pytest.approx(-1)
    # Spearman by hand: one swap of neighbours in ten is 1 - 6 · 2 / (10 · 99).
    swapped = ["b", "a", *letters[2:]]
    assert rank_correlation(letters, swapped) == pytest.approx(1 - 12 / 990)
    # k at place 11 of the other list counts with its place there, not as missing.
    moved = [*letters[:9], "k", "j", *letters[11:]]
    assert rank_correlation(letters, moved) == pytest.approx(1 - 6 * 2 / (11 * 120))
    assert rank_correlation([], []) == 1
    assert rank_correlation(["a"], ["b"]) == pytest.approx(-1)
    assert rank_correlation(["a"], []) == 0


def test_overlap_and_means() -> None:
    assert overlap(list("abcd"), list("abxy"), 4) == 0.5
    assert overlap([], []) == 1
    found = agreement([(list("abc"), list("abc")), (list("abc"), list("acb"))])
    assert found["identical"] == 0.5
    assert found["rank_correlation"] == pytest.approx((1 + 0.5) / 2)
    assert agreement([]) == {"documents": 0}


@pytest.mark.slow
def test_report(tmp_path: Path, tiny_corpus: Path) -> None:
    bert = write_bert(tmp_path / "bert")
    build(tmp_path / "c", [tiny_corpus], ModelAnalyser(OnnxBackend.load(bert)))
    out = tmp_path / "report.json"
    sizes = ["--streamed", "480", "--single", "2", "--compared", "8", "--workers", "1", "--neighbours", "20"]
    model = ["--model", str(bert), "--collection", str(tmp_path / "c")]
    assert main([*model, "--device", "cpu", *sizes, "--out", str(out)]) == 0
    report = json.loads(out.read_text())
    for name in ("extract", "generate N=20"):
        stream = report["stream"][name]
        assert stream["documents"] == 480
        assert stream["documents_per_second"] > 0
        assert set(stream["cpu_ms"]) == {"caller", "server", "workers"}
        assert min(stream["cpu_ms"].values()) >= 0
        assert min(stream["busy"].values()) >= 0
        assert stream["texts_a_pass"] >= 0
        assert report["agreement"][name]["present"]["rank_correlation"] > 0.999
        assert report["single"][name]["documents"] == 2
    search = report["search"]
    assert search["on_device"]
    assert search["agreement"]["largest_relative_error"] < 1e-5
    assert search["agreement"]["neighbours_in_common"] == 1
    assert search["agreement"]["queries"] == 8
    console = Console(width=200, record=True, quiet=True)
    print_gpu(console, report)


def test_a_short_stream_and_no_device(tmp_path: Path) -> None:
    bert = write_bert(tmp_path / "bert")
    out = tmp_path / "report.json"
    sizes = ["--streamed", "20", "--single", "2", "--compared", "8", "--workers", "1"]
    assert main(["--model", str(bert), "--no-collection", "--device", "cpu", *sizes, "--out", str(out)]) == 0
    report = json.loads(out.read_text())
    assert "search" not in report
    assert report["stream"]["extract"]["documents"] == 20
    assert report["stream"]["extract"]["documents_per_second"] is None
    print_gpu(Console(width=200, record=True, quiet=True), report)
    if not torch.cuda.is_available():
        assert main(["--model", str(bert), "--no-collection", *sizes]) == 1
