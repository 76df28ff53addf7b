"""The configuration of a training run: one frozen object, from and to JSON, and the presets."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erukg.core.word_classes import CLASSES
from erukg.errors import SettingsError, did_you_mean
from erukg.training.folders import read_json

__all__ = ["PRESETS", "STAGES", "TAG_CLASSES", "WINDOW", "Stage", "TrainConfig", "preset", "read_values"]

STAGES = ("mlm", "splade", "tags")
# How many word pieces, [CLS] and [SEP] included, an exported model reads at once.
WINDOW = 384
TAG_CLASSES = CLASSES
"""What the tag head tells apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of a run: how long, how fast, how much at once.

    It ends after `steps`, or earlier after `max_seconds`; learning rate and regulariser follow whichever is
    further along. Only a stage without `max_seconds` gives the same weights again after a resume.
    """

    steps: int = 0
    max_seconds: float | None = None
    batch: int = 32
    learning_rate: float = 2e-5
    warmup_steps: int = 0

    def progress(self, step: int, seconds: float) -> float:
        """How much of the stage is over before step `step`, 0 to 1."""
        spent = seconds / self.max_seconds if self.max_seconds is not None else 0.0
        return max(step / self.steps, spent)

    def rate(self, step: int, progress: float) -> float:
        """The learning rate: linear warm-up by steps, then linear decay by progress to nothing."""
        share = min(self.warmup_steps / self.steps, 0.9)
        up = (step + 1) / self.warmup_steps if self.warmup_steps else 1.0
        return self.learning_rate * min(up, 1.0, max(0.0, (1.0 - progress) / (1.0 - share)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """Everything a training run depends on besides its data. Steps of 0 leave a stage out."""

    data: str = ""
    base: str = ""
    output: str = ""
    name: str = "model"
    seed: int = 0
    # A folder or run folder whose weights replace the base's (a finished warm-up shared by several runs).
    start_from: str | None = None
    mlm: Stage = Stage()
    splade: Stage = Stage()
    tags: Stage = Stage()
    mlm_mask: float = 0.25
    mixture: dict[str, float] = field(default_factory=lambda: {"title": 0.75, "citation": 0.2, "query": 0.05})
    leave_out: tuple[str, ...] = ()
    # Chance that a document keeps its title, by reference type; titles are hidden from what they refer to.
    keep_title: dict[str, float] = field(default_factory=lambda: {"title": 0.0, "citation": 0.3, "query": 0.3})
    # Chance that a reference is cut to a few of its words, so that it is as short as a typed query.
    crop: float = 0.0
    document_length: int = 256
    reference_length: int = 64
    length_step: int = 64
    groups: int = 4
    lambda_reference: float = 0.15
    lambda_document: float = 0.09
    ramp: float = 0.4
    rank_temperature: float = 1.0
    dense_weight: float = 0.2
    dense_temperature: float = 0.05
    tag_weight: float = 0.2
    tag_batch: int = 64
    tag_detach: bool = False
    # A model folder, or several: the student then learns the mean of their term weights.
    teacher: str | tuple[str, ...] | None = None
    # A folder of `erukg.training.lessons`, which stands in for the teachers where documents are concerned.
    lessons: str | None = None
    distill_scores: float = 0.0
    distill_terms: float = 0.0
    weight_decay: float = 0.01
    clip: float = 1.0
    betas: tuple[float, float] = (0.9, 0.999)
    dropout: float = 0.0
    compile: bool = False
    device: str = "auto"
    log_every: int = 50
    checkpoint_every: int = 1000
    checkpoint_seconds: float | None = None
    dev_every: int = 500
    dev_docs: int = 200
    dev_batch: int = 32
    # How many word pieces of a development document are read at once; as many as later in use, unless changed.
    dev_length: int = WINDOW
    # A model whose documents have fewer non-zero terms, or a larger share of the vocabulary, is refused.
    min_terms: float = 2.0
    max_terms_share: float = 0.5

    @property
    def teachers(self) -> tuple[str, ...]:
        """The folders of the teachers; none unless the student is to learn from them."""
        if not self.teacher or not (self.distill_scores or self.distill_terms):
            return ()
        return (self.teacher,) if isinstance(self.teacher, str) else self.teacher

    def replace(self, **changes: Any) -> TrainConfig:
        """A changed copy; unknown names are refused."""
        return TrainConfig.from_dict({**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """Build from plain values, naming what is unknown or of the wrong kind."""
        values = dict(values)
        start = preset(str(values.pop("preset"))).to_dict() if "preset" in values else {}
        for key in STAGES:
            if isinstance(values.get(key), dict):
                values[key] = {**start.get(key, {}), **values[key]}
        config: TrainConfig = _build(cls, {**start, **values}, "")
        config._check()
        return config

    def _check(self) -> None:
        for name in STAGES:
            stage: Stage = getattr(self, name)
            if stage.steps < 0 or stage.batch < 1 or stage.learning_rate <= 0 or stage.warmup_steps < 0:
                raise SettingsError(f"Stage '{name}' needs steps ≥ 0, batch ≥ 1, a positive learning rate.")
        for name in ("mlm_mask", "ramp"):
            if not 0 < getattr(self, name) <= 1:
                raise SettingsError(f"'{name}' must be above 0 and at most 1.")
        if not 8 <= self.reference_length <= 512 or not 8 <= self.document_length <= 512:
            raise SettingsError("'reference_length' and 'document_length' must lie between 8 and 512.")
        if any(weight < 0 for weight in self.mixture.values()):
            raise SettingsError("Weights in 'mixture' must not be negative.")
        if self.groups < 1 or self.length_step < 1 or not 0 <= self.dropout < 1:
            raise SettingsError("'groups' and 'length_step' must be at least 1 and 'dropout' in [0, 1).")


def _build(cls: Any, values: dict[str, Any], prefix: str) -> Any:
    hints = typing.get_type_hints(cls)
    clean: dict[str, Any] = {}
    for key, value in values.items():
        if key not in hints:
            name, names = f"{prefix}{key}", [f"{prefix}{known}" for known in hints]
            raise SettingsError(f"There is no training setting '{name}'; {did_you_mean(name, names)}")
        clean[key] = _convert(f"{prefix}{key}", value, hints[key])
    return cls(**clean)


def _convert(name: str, value: Any, hint: Any) -> Any:
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    for kind in kinds:
        origin = typing.get_origin(kind)
        if kind is Stage and isinstance(value, dict):
            return _build(Stage, value, f"{name}.")
        if kind is type(None) and value is None:
            return None
        if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if origin is dict and isinstance(value, dict):
            return {str(k): float(v) for k, v in value.items()}
        if origin is tuple and isinstance(value, list | tuple):
            return tuple(value)
        if isinstance(kind, type) and isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
    raise SettingsError(f"Training setting '{name}' cannot be {value!r}; it takes {hint}.")


PRESETS: dict[str, TrainConfig] = {
    # The optimiser's settings, λ_q and λ_d that the paper states; the masked-language warm-up, the equal shares of the
    # types, lengths, ramp and dropout are choices made here. No model of this project was trained with it.
    "paper": TrainConfig(
        mlm=Stage(steps=20_000, batch=64, learning_rate=1e-4, warmup_steps=1000),
        splade=Stage(steps=100_000, batch=32, learning_rate=2e-5, warmup_steps=20_000),
        tags=Stage(steps=3_000, batch=64, learning_rate=1e-3, warmup_steps=100),
        mixture={"title": 1 / 3, "citation": 1 / 3, "query": 1 / 3},
        keep_title={"title": 0.0, "citation": 1.0, "query": 1.0},
        lambda_reference=0.05,
        lambda_document=0.03,
        ramp=0.5,
        dense_weight=0.0,
        tag_weight=0.0,
        weight_decay=0.0,
        dropout=0.1,
        log_every=200,
        checkpoint_every=2_000,
        dev_every=5_000,
    ),
    # For runs of minutes on one GPU. The bundled models started from it and changed steps, rates and λ; their model
    # cards say how.
    "fast": TrainConfig(
        mlm=Stage(steps=2_500, batch=512, learning_rate=4e-4, warmup_steps=100),
        splade=Stage(steps=6_000, batch=384, learning_rate=1.5e-4, warmup_steps=200),
        tags=Stage(steps=0, batch=128, learning_rate=1e-3, warmup_steps=50),
        lambda_reference=0.06,
        lambda_document=0.036,
        crop=0.5,
        compile=True,
    ),
    "tiny": TrainConfig(
        mlm=Stage(steps=40, batch=16, learning_rate=2e-3, warmup_steps=2),
        splade=Stage(steps=120, batch=16, learning_rate=3e-3, warmup_steps=4),
        tags=Stage(steps=20, batch=16, learning_rate=2e-3),
        lambda_reference=0.05,
        lambda_document=0.05,
        document_length=64,
        reference_length=16,
        length_step=16,
        groups=2,
        tag_batch=8,
        log_every=5,
        checkpoint_every=10,
        dev_every=20,
        device="cpu",
    ),
}


def preset(name: str) -> TrainConfig:
    """A configuration by name: paper, fast or tiny."""
    if name not in PRESETS:
        raise SettingsError(f"There is no preset '{name}'; {did_you_mean(name, PRESETS)}")
    return PRESETS[name]


def read_values(path: str | Path | None, changes: list[str]) -> dict[str, Any]:
    """Plain values of a configuration file (may name a preset), changed by settings like stage.key=value."""
    values: Any = {}
    if path is not None:
        try:
            values = read_json(Path(path))
        except (OSError, ValueError) as error:
            raise SettingsError(f"Training configuration {path} cannot be read ({error}); give a JSON file.") from error
    if not isinstance(values, dict):
        raise SettingsError(f"Training configuration {path} must be a JSON object of settings.")
    for change in changes:
        key, equals, text = change.partition("=")
        *outer, last = key.split(".")
        target = values
        for name in outer:
            target = target.setdefault(name, {})
        if not equals or not last or not isinstance(target, dict):
            raise SettingsError(f"'{change}' does not change a setting; write key=value.")
        try:
            target[last] = json.loads(text)
        except ValueError:
            target[last] = text
    return values
