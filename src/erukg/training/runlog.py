"""What a run says: lines on the terminal, log.jsonl always, TensorBoard where it is installed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import torch

from erukg.training.config import Stage
from erukg.training.dev_scoring import DevScores

__all__ = ["RunLog"]


class RunLog:
    """Collects figures on the device and reads them once an interval, so that no step waits for the log."""

    def __init__(self, folder: Path, append: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = (folder / "log.jsonl").open("a" if append else "w", encoding="utf-8")
        self.board = _board(folder)
        self.name = ""
        self._reset()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()
        if self.board is not None:
            self.board.close()

    def say(self, text: str) -> None:
        """Print one line and keep it in the log."""
        print(text, flush=True)
        self._write({"message": text})

    def begin(self, name: str, step: int, stage: Stage) -> None:
        self.name, self.first, self.since = name, step, step
        self.began = self.clock = time.perf_counter()
        self.batch = stage.batch
        self._reset()

    def _reset(self) -> None:
        self.sums: dict[str, torch.Tensor] = {}
        self.counts: dict[str, int] = {}

    def add(
        self, total: torch.Tensor, parts: dict[str, torch.Tensor], norm: torch.Tensor, skipped: torch.Tensor
    ) -> None:
        """Add one step's figures; nothing is read back yet."""
        for name, value in {"loss": total, **parts, "norm": norm, "skipped": skipped}.items():
            value = value.detach().float()
            if name != "skipped":
                value = torch.nan_to_num(value, nan=0.0, posinf=0.0, neginf=0.0)
            self.sums[name] = self.sums[name] + value if name in self.sums else value
            self.counts[name] = self.counts.get(name, 0) + 1

    def flush(self, step: int, stage: Stage, progress: float, rate: float) -> dict[str, float]:
        """Means since the last flush, printed and written."""
        names = list(self.sums)
        values = torch.stack([self.sums[name] for name in names]).tolist()
        figures = {n: v / (1 if n == "skipped" else self.counts[n]) for n, v in zip(names, values, strict=True)}
        now = time.perf_counter()
        speed = (step - self.since) / max(1e-9, now - self.clock)
        overall = (step - self.first) / max(1e-9, now - self.began)
        left = (stage.steps - step) / max(1e-9, overall)
        if stage.max_seconds is not None:
            left = min(left, max(0.0, stage.max_seconds * (1 - progress)))
        self.clock, self.since = now, step
        self._reset()
        shown = "  ".join(f"{name} {value:.4g}" for name, value in figures.items() if name != "skipped" or value)
        texts = speed * self.batch * (2 if self.name == "splade" else 1)
        print(
            f"{self.name} {step}/{stage.steps}  {shown}  lr {rate:.2g}  {speed:.1f} steps/s  "
            f"{texts:.0f} docs/s  left {left:.0f} s",
            flush=True,
        )
        record = {
            "stage": self.name,
            "step": step,
            "progress": progress,
            "lr": rate,
            "steps_per_second": speed,
        }
        self._write({**record, **figures})
        self._plot(f"{self.name}/", step, figures)
        return figures

    def dev(self, step: int, scores: DevScores, tags: float | None) -> None:
        """A development score."""
        sets = "  ".join(f"{name} {five:.1f}/{ten:.1f}" for name, (five, ten) in scores.tuned.items())
        accuracy = f"  tags {100 * tags:.2f} %" if tags is not None else ""
        print(
            f"dev {step}: tuned {scores.best:.2f}  paper {scores.paper_mean:.2f}  [{sets}]  "
            f"terms/doc {scores.terms:.0f}{accuracy}",
            flush=True,
        )
        record: dict[str, Any] = {"dev": step, "tuned_mean": scores.best, "paper_mean": scores.paper_mean}
        self._write(
            {
                **record,
                "tuned": scores.tuned,
                "paper": scores.paper,
                "terms": scores.terms,
                "tag_accuracy": tags,
            }
        )
        figures = {"tuned": scores.best, "paper": scores.paper_mean, "terms": scores.terms}
        self._plot("dev/", step, figures | ({"tags": tags} if tags is not None else {}))

    def _write(self, record: dict[str, Any]) -> None:
        self.file.write(json.dumps({"time": round(time.time(), 3), **record}) + "\n")
        self.file.flush()

    def _plot(self, prefix: str, step: int, figures: dict[str, float]) -> None:
        if self.board is not None:
            for name, value in figures.items():
                self.board.add_scalar(prefix + name, value, step)


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"))
