"""What a run says: lines on the terminal, log.jsonl always, TensorBoard where it is installed."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from erukg.training.config import Stage
from erukg.training.dev_scoring import DevScores

__all__ = ["RunLog"]


class RunLog:
    """Collects figures on the device and reads them once per interval, so that no step waits for the log."""

    def __init__(self, folder: Path, append: bool) -> None:
        self.file = (folder / "log.jsonl").open("a" if append else "w", encoding="utf-8")
        self.board = _tensorboard(folder / "tensorboard")
        self._reset()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()
        if self.board is not None:
            self.board.close()

    def say(self, text: str) -> None:
        """Print one line and keep it in the log."""
        self._write(text, {"message": text})

    def begin(self, name: str, step: int, stage: Stage) -> None:
        """Start the clocks of a stage."""
        self.name, self.stage, self.first, self.since = name, stage, step, step
        self.began = self.clock = time.perf_counter()
        self._reset()

    def _reset(self) -> None:
        self.sums: dict[str, torch.Tensor] = {}
        self.counts: Counter[str] = Counter()

    def add(self, figures: dict[str, torch.Tensor], skipped: torch.Tensor) -> None:
        """Add one step's figures and whether it was skipped; nothing is read back yet."""
        for name, value in {**figures, "skipped": skipped}.items():
            finite = torch.nan_to_num(value.detach().float(), nan=0.0, posinf=0.0, neginf=0.0)
            self.sums[name] = self.sums[name] + finite if name in self.sums else finite
            self.counts[name] += 1

    def flush(self, step: int, progress: float, rate: float) -> dict[str, float]:
        """Means since the last flush (skipped steps: how many), printed and written."""
        totals = dict(zip(self.sums, torch.stack(list(self.sums.values())).tolist(), strict=True))
        figures = {name: total / (1 if name == "skipped" else self.counts[name]) for name, total in totals.items()}
        now = time.perf_counter()
        speed = (step - self.since) / max(1e-9, now - self.clock)
        overall = (step - self.first) / max(1e-9, now - self.began)
        left = (self.stage.steps - step) / max(1e-9, overall)
        if self.stage.max_seconds is not None:
            left = min(left, max(0.0, self.stage.max_seconds * (1 - progress)))
        self.clock, self.since = now, step
        self._reset()
        shown = "  ".join(f"{name} {value:.4g}" for name, value in figures.items() if name != "skipped" or value)
        texts = speed * self.stage.batch * (2 if self.name == "splade" else 1)
        self._write(
            f"{self.name} {step}/{self.stage.steps}  {shown}  lr {rate:.2g}  {speed:.1f} steps/s  "
            f"{texts:.0f} docs/s  left {left:.0f} s",
            {"stage": self.name, "step": step, "progress": progress, "lr": rate, "steps_per_second": speed, **figures},
        )
        self._plot(f"{self.name}/", step, figures)
        return figures

    def dev(self, step: int, scores: DevScores, tags: float | None) -> None:
        """A development score."""
        sets = "  ".join(f"{name} {five:.1f}/{ten:.1f}" for name, (five, ten) in scores.tuned.items())
        means = {"tuned_mean": scores.best, "paper_mean": scores.paper_mean}
        self._write(
            f"dev {step}: tuned {scores.best:.2f}  paper {scores.paper_mean:.2f}  [{sets}]  "
            f"terms/doc {scores.terms:.0f}" + (f"  tags {100 * tags:.2f} %" if tags is not None else ""),
            {"dev": step, **means, "tuned": scores.tuned, "paper": scores.paper, "terms": scores.terms}
            | {"tag_accuracy": tags},
        )
        figures = {"tuned": scores.best, "paper": scores.paper_mean, "terms": scores.terms}
        self._plot("dev/", step, figures | ({"tags": tags} if tags is not None else {}))

    def _write(self, line: str, record: dict[str, Any]) -> None:
        print(line, flush=True)
        self.file.write(json.dumps({"time": round(time.time(), 3), **record}) + "\n")
        self.file.flush()

    def _plot(self, prefix: str, step: int, figures: dict[str, float]) -> None:
        if self.board is not None:
            for name, value in figures.items():
                self.board.add_scalar(prefix + name, value, step)


def _tensorboard(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder))
