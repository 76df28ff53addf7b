"""The learning of a tagger of words, step by step; a run that was stopped goes on from its last checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from erukg.errors import TrainingError
from erukg.training import checkpoint
from erukg.training.words.network import WordNetwork
from erukg.training.words.texts import TaggedTexts

__all__ = ["Fit", "agreement", "fit_words"]

_STAGE = "tagger"
_SAVE_EVERY = 60.0  # seconds
_SMOOTHING = 0.03
_UNSEEN = 0.1  # of the words, whose form is hidden
# Of the texts: those of which only some words are shown, as many as a query or a heading has; and those that are
# written without case, as titles, or in capitals, as some texts are.
_CROPPED, _FEWEST, _MOST = 0.25, 2, 9
_LOWERED, _TITLED, _RAISED = 0.15, 0.03, 0.04
_PLAIN_CASE, _CAPITALS, _TITLE_CASE = 0, 2, 3
_FIRST_SHAPE = 3  # those with letters; each case has four
_GAP = 3  # empty places between texts, so that none sees another
_WARM_UP = 0.1


@dataclass(frozen=True, slots=True)
class Fit:
    """How long and how boldly: `words` in each of the `steps`, and the learning `rate` at its height."""

    steps: int = 6_000
    words: int = 12_000
    rate: float = 3e-3
    seed: int = 0


def fit_words(
    sources: Sequence[TaggedTexts], fit: Fit, work: Path, on_progress: Callable[[int], None] | None = None
) -> WordNetwork:
    """A network that tells the classes of the texts' words. Every source counts alike, however many texts it has."""
    sources = [source for source in sources if len(source)]
    if not sources:
        raise TrainingError("There are no words to learn from; give texts.")
    torch.manual_seed(fit.seed)
    network = WordNetwork()
    optimiser = torch.optim.AdamW(network.parameters(), fit.rate, weight_decay=1e-4)
    state = checkpoint.State(stage=_STAGE)
    if (found := checkpoint.latest(work)) is not None:
        path, state = found
        checkpoint.load_into(path, network, optimiser)
    network.train()
    saved = time.monotonic()
    while state.step < fit.steps:
        for group in optimiser.param_groups:
            group["lr"] = fit.rate * _height(state.step / fit.steps)
        # By step, so that a run that goes on draws what one that was never stopped draws.
        torch.manual_seed(fit.seed * 1_000_003 + state.step)
        loss = _loss(network, sources, fit, np.random.default_rng([fit.seed, state.step]))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        state.step += 1
        if time.monotonic() - saved > _SAVE_EVERY:
            checkpoint.save(work, network, optimiser, state)
            saved = time.monotonic()
        if on_progress is not None:
            on_progress(state.step)
    checkpoint.save(work, network, optimiser, state)
    network.eval()
    return network


def _height(progress: float) -> float:
    """The learning rate's share of its height: up in a line, down in half a wave."""
    if progress < _WARM_UP:
        return 0.04 + 0.96 * progress / _WARM_UP
    return 0.5 * (1 + float(np.cos(np.pi * (progress - _WARM_UP) / (1 - _WARM_UP))))


def _loss(network: WordNetwork, sources: Sequence[TaggedTexts], fit: Fit, random: np.random.Generator) -> torch.Tensor:
    traits, classes = _batch(sources, fit.words, random)
    real = classes >= 0
    unseen = torch.from_numpy(random.random(len(classes)) < _UNSEEN)
    scores = network(torch.from_numpy(traits), torch.from_numpy(real).float(), unseen)
    told = torch.from_numpy(classes[real]).long()
    return F.cross_entropy(scores[torch.from_numpy(real)], told, label_smoothing=_SMOOTHING)


def _batch(
    sources: Sequence[TaggedTexts], words: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Texts end to end with empty places between them, whose class is -1."""
    traits: list[NDArray[np.int64]] = []
    classes: list[NDArray[np.int64]] = []
    drawn = np.zeros(len(sources), np.int64)
    while drawn.sum() < words:
        number = int(drawn.argmin())
        source = sources[number]
        text = int(random.integers(len(source)))
        start, stop = source.offsets[text : text + 2].tolist()
        if random.random() < _CROPPED:
            length = int(random.integers(_FEWEST, _MOST + 1))
            start += int(random.integers(max(1, stop - start - length + 1)))
            stop = min(stop, start + length)
        drawn[number] += stop - start
        shown = source.traits[start:stop].astype(np.int64)
        _recase(shown, random.random())
        traits += shown, np.zeros((_GAP, shown.shape[1]), np.int64)
        classes += source.classes[start:stop].astype(np.int64), np.full(_GAP, -1, np.int64)
    return np.concatenate(traits), np.concatenate(classes)


def _recase(traits: NDArray[np.int64], chance: float) -> None:
    """Some texts are written in another case than they were."""
    for share, case in ((_LOWERED, _PLAIN_CASE), (_TITLED, _TITLE_CASE), (_RAISED, _CAPITALS)):
        if chance < share:
            shapes = traits[:, -1]
            lettered = shapes >= _FIRST_SHAPE
            shapes[lettered] = _FIRST_SHAPE + 4 * case + (shapes[lettered] - _FIRST_SHAPE) % 4
            return
        chance -= share


def agreement(network: WordNetwork, texts: TaggedTexts) -> float:
    """The share of words to which the network gives the class that the texts have."""
    right = 0
    with torch.no_grad():
        for start, stop in zip(texts.offsets[:-1].tolist(), texts.offsets[1:].tolist(), strict=True):
            traits = torch.from_numpy(texts.traits[start:stop].astype(np.int64))
            told = network(traits, torch.ones(len(traits))).argmax(1).numpy()
            right += int((told == texts.classes[start:stop]).sum())
    return right / max(1, len(texts.classes))
