"""One training run: its stages, checkpoints, development scores and final model."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from erukg.backends.threads import ordered_map
from erukg.errors import SettingsError, TrainingError
from erukg.training import checkpoint
from erukg.training.base import load_base, matching_tag_head, read_weights, save_base
from erukg.training.checkpoint import State
from erukg.training.config import STAGES, Stage, TrainConfig
from erukg.training.data import Batches, TrainingData
from erukg.training.dev_scoring import load_dev, score_documents
from erukg.training.folders import read_json, replace_folder, write_json
from erukg.training.lessons import Lessons
from erukg.training.runlog import RunLog
from erukg.training.steps import Stepper, to_tensors

__all__ = ["Trainer"]

_MAX_SKIPPED = 20
_BATCH_THREADS = 2


class Trainer:
    """One run: data, model and log of a configuration."""

    def __init__(self, config: TrainConfig) -> None:
        for name in ("data", "base", "output"):
            if not getattr(config, name):
                raise SettingsError(f"Training needs '{name}'; set it in the configuration.")
        self.config = config
        self.output = Path(config.output)
        self.checkpoints = self.output / "checkpoints"
        self.device = torch.device(
            ("cuda" if torch.cuda.is_available() else "cpu") if config.device == "auto" else config.device
        )
        self.data = TrainingData(config.data)
        self.model, _ = load_base(config.base, config.seed)
        if self.model.shape.vocab_size != self.data.vocab_size:
            raise TrainingError(
                f"The base has {self.model.shape.vocab_size} word pieces but {config.data} was prepared with "
                f"{self.data.vocab_size}; prepare it with the base's tokenizer."
            )
        if config.start_from:
            self._start_from(Path(config.start_from))
        self.model.dropout = config.dropout
        self.model.to(self.device)
        self.model.compiled = config.compile and self.device.type == "cuda"
        teachers = [load_base(folder)[0].to(self.device).eval().requires_grad_(False) for folder in config.teachers]
        for teacher in teachers:
            teacher.compiled = self.model.compiled
        if config.lessons and not teachers:
            raise SettingsError("Lessons are of documents alone; name the 'teacher' of references and 'distill_terms'.")
        lessons = Lessons(config.lessons, self.data, self.device) if config.lessons else None
        self.stepper = Stepper(config, self.model, teachers, self.device, lessons)
        self.batches = Batches(self.data, config, self.model.shape.max_positions)
        self.dev = load_dev(self.data.folder / "dev", config.dev_docs, self.data.vocabulary)
        self.state = State()
        self.last_terms: float | None = None
        self.finished = False
        self._dev_step = -1

    def _start_from(self, folder: Path) -> None:
        """Put the weights of another model, or of a finished warm-up, in the place of the base's."""
        source = folder if list(folder.glob("model.safetensors*")) else folder / "warmup"
        other, has_head = load_base(source, self.config.seed)
        own = self.model.state_dict()
        found = matching_tag_head(other.state_dict(), own, source)
        if not has_head or any(tensor.shape != own[name].shape for name, tensor in found.items()):
            raise TrainingError(f"Weights in {source} do not fit the base; start from a finished warm-up of it.")
        self.model.load_state_dict(found, strict=False)

    # -- the whole run ---------------------------------------------------------------------------------------

    def run(self, resume: bool) -> Path:
        """Run all stages, those that a checkpoint has behind it left out, and return the folder of the model."""
        config = self.config
        self.output.mkdir(parents=True, exist_ok=True)
        found = checkpoint.latest(self.checkpoints) if resume else None
        if found is None:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
            shutil.rmtree(self.output / "best", ignore_errors=True)
        else:
            self._check_same()
        write_json(self.output / "config.json", config.to_dict())
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high")
        with RunLog(self.output, append=found is not None) as log:
            self.log = log
            log.say(
                f"{config.name}: {len(self.data.triplets):,} triplets, "
                f"{len(self.data.offsets) - 1:,} documents, "
                f"{sum(map(len, self.dev.values())):,} development documents, on {self.device}"
            )
            for name in STAGES:
                stage: Stage = getattr(config, name)
                if not stage.steps or (name == "tags" and not self.batches.has_tags):
                    continue
                reached = found[1].stage if found is not None else STAGES[0]
                if STAGES.index(name) < STAGES.index(reached):
                    continue
                self._stage(name, stage, found if name == reached else None)
                if name == "mlm":
                    save_base(self.model, self.output / "warmup", self.data.tokenizer)
                elif name == "splade" and self.dev and (self.output / "best").is_dir():
                    best = read_weights(self.output / "best")
                    self.model.load_state_dict({key: tensor.float() for key, tensor in best.items()})
            return self._finish()

    def _check_same(self) -> None:
        """Refuse to resume a run with other settings than it was started with, those aside that may change."""
        path = self.output / "config.json"
        if not path.is_file():
            return
        free = ("output", "data", "base", "device", "name", "log_every", "start_from", "compile", "dev_length")
        old, new = read_json(path), json.loads(json.dumps(self.config.to_dict()))
        changed = [key for key in new if key not in free and old.get(key) != new[key]]
        if changed:
            raise TrainingError(
                f"The run in {self.output} was started with another '{changed[0]}'; use a new output folder, "
                "or start over without resuming."
            )

    def _optimizer(self, name: str, stage: Stage) -> torch.optim.Optimizer:
        """The optimiser of what a stage trains: the tag head alone, all but it, or everything."""
        for key, parameter in self.model.named_parameters():
            parameter.requires_grad_(name == "splade" or key.startswith("tag.") == (name == "tags"))
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in parameters if p.dim() > 1], "weight_decay": self.config.weight_decay},
            {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=stage.learning_rate, betas=self.config.betas, eps=1e-8, fused=True)

    def _stage(self, name: str, stage: Stage, found: tuple[Path, State] | None) -> None:
        """Run one stage to its end, from a checkpoint of it where there is one."""
        optimizer = self._optimizer(name, stage)
        self.state = State(stage=name, stages=self.state.stages)
        if found is not None:
            path, self.state = found
            checkpoint.load_into(path, self.model, None if self.state.done else optimizer)
            self.last_terms = self.state.stages.get("splade", {}).get("terms_d")
            if not (self.output / "best" / "dev.json").is_file():
                self.state.best = -1.0  # the kill fell between removing the old best and naming the new one
            self.log.say(f"{name}: resuming after step {self.state.step}")
            if self.state.done:
                return
        if stage.max_seconds is not None:
            self.log.say(f"{name}: ends after {stage.max_seconds:g} s or {stage.steps} steps; not exactly repeatable")
        self.model.train()
        self.log.begin(name, self.state.step, stage)
        self._steps(name, stage, optimizer)
        if name == "splade" and self.dev and self.state.step != self._dev_step:
            self._evaluate()
        self.state.done = True
        checkpoint.save(self.checkpoints, self.model, None, self.state)

    def _steps(self, name: str, stage: Stage, optimizer: torch.optim.Optimizer) -> None:
        """The steps of a stage that are left, with what is due after some of them: log, dev score, checkpoint."""
        config, state, start = self.config, self.state, self.state.step
        began, saved = time.perf_counter() - state.elapsed, time.perf_counter()
        make = getattr(self.batches, name)
        batches: Any = ordered_map(
            lambda step: to_tensors(make(step, stage.batch), self.device.type == "cuda"),
            range(start, stage.steps),
            _BATCH_THREADS,
        )
        with closing(batches):
            for step, batch in enumerate(batches, start):
                state.elapsed = time.perf_counter() - began
                progress = stage.progress(step, state.elapsed)
                if progress >= 1:
                    break
                rate = stage.rate(step, progress)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                if config.dropout:
                    torch.manual_seed(hash((config.seed, STAGES.index(name), step)) & 0x7FFFFFFF)
                detail = (step + 1) % config.log_every == 0 or step + 1 == stage.steps
                try:
                    self._update(name, batch, progress, detail, optimizer)
                except Exception as error:
                    if not self.model.compiled or step != start:
                        raise
                    self.log.say(f"warning: compiling failed ({str(error).splitlines()[0]}); continuing without it")
                    for model in (self.model, *self.stepper.teachers):
                        model.compiled = False
                    self._update(name, batch, progress, detail, optimizer)
                state.step = step + 1
                if detail:
                    figures = self.log.flush(state.step, progress, rate)
                    seconds = time.perf_counter() - began
                    state.stages[name] = {"steps": state.step, "seconds": seconds, **figures}
                    self._watch(name, figures, progress)
                if name == "splade" and self.dev and config.dev_every and state.step % config.dev_every == 0:
                    self._evaluate()
                due = config.checkpoint_every and state.step % config.checkpoint_every == 0
                if config.checkpoint_seconds is not None:
                    due = due or time.perf_counter() - saved > config.checkpoint_seconds
                if due and state.step < stage.steps:
                    checkpoint.save(self.checkpoints, self.model, optimizer, state)
                    saved = time.perf_counter()

    def _update(self, name: str, batch: Any, progress: float, detail: bool, optimizer: torch.optim.Optimizer) -> None:
        """One step of the optimiser; a gradient that is not finite changes nothing."""
        optimizer.zero_grad(set_to_none=True)
        total, parts = getattr(self.stepper, name)(batch, progress, detail)
        total.backward()
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(grads, foreach=True)
        torch._foreach_mul_(grads, torch.clamp(self.config.clip / (norm + 1e-6), max=1.0))
        # The fused kernel leaves weights alone where this is 1, without asking the GPU for the answer.
        bad = (~torch.isfinite(norm)).float()
        optimizer.found_inf = bad
        optimizer.grad_scale = None
        optimizer.step()
        self.log.add({"loss": total, **parts, "norm": norm}, bad)

    def _watch(self, name: str, figures: dict[str, float], progress: float) -> None:
        if figures.get("skipped", 0) > _MAX_SKIPPED:
            raise TrainingError(
                f"{figures['skipped']:.0f} of the last steps gave no finite gradient in stage '{name}'; "
                "lower its learning rate."
            )
        if name == "splade" and "terms_d" in figures:
            self.last_terms = figures["terms_d"]
            problem = self._problem(self.last_terms) if progress > self.config.ramp else None
            if problem:
                self.log.say(f"warning: {problem}")

    def _problem(self, terms: float) -> str | None:
        if terms > self.config.max_terms_share * self.data.vocab_size:
            return (
                f"documents have {terms:.0f} of {self.data.vocab_size} terms non-zero; raise lambda_document "
                "and lambda_reference, or train longer"
            )
        if terms < self.config.min_terms:
            return f"documents have only {terms:.1f} non-zero terms; lower lambda_document and lambda_reference"
        return None

    # -- development score -----------------------------------------------------------------------------------

    def _evaluate(self) -> None:
        vocabulary = self.data.vocabulary
        scores = score_documents(
            self.dev, lambda texts: self.stepper.term_weights(texts, vocabulary), self.config.dev_batch
        )
        self._dev_step, self.last_terms = self.state.step, scores.terms
        self.log.dev(self.state.step, scores, self.tag_accuracy(256))
        if scores.best > self.state.best:
            self.state.best, self.state.best_step = scores.best, self.state.step
            with replace_folder(self.output / "best") as part:
                save_base(self.model, part, self.data.tokenizer)
                write_json(part / "dev.json", {"step": self.state.step, "best": scores.best, **asdict(scores)})

    def tag_accuracy(self, limit: int) -> float | None:
        """Share of held-out word classes the tag head gets right, or None without held-out texts."""
        right = total = 0
        for batch in self.batches.held_out_tags(self.config.dev_batch, limit):
            hits, count = self.stepper.tag_hits(to_tensors(batch, False))
            right, total = right + hits, total + count
        return right / total if total else None

    def _finish(self) -> Path:
        best = self.output / "best" / "dev.json"
        summary: dict[str, Any] = {
            "dev": read_json(best) if best.is_file() else None,
            "tag_accuracy": self.tag_accuracy(100_000),
            "terms_per_document": self.last_terms,
            "stages": self.state.stages,
            "data": {key: self.data.meta.get(key) for key in ("types", "counts", "seed", "vocab_size")},
            "documents": len(self.data.offsets) - 1,
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu",
            "config": self.config.to_dict(),
        }
        with replace_folder(self.output / "model") as part:
            save_base(self.model, part, self.data.tokenizer)
            write_json(part / "run.json", summary)
        self.finished = True
        terms = summary["dev"]["terms"] if summary["dev"] else self.last_terms
        if terms is not None and self.config.splade.steps:
            self.log.say(f"non-zero terms per document: {terms:.0f}")
            problem = self._problem(terms)
            if problem:
                raise TrainingError(f"The model in {self.output / 'model'} is not usable: {problem}.")
        self.log.say(f"finished: {self.output / 'model'}")
        return self.output / "model"
