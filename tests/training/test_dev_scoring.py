"""Development scores during training are those of the product: same weights and tags, same phrases, same figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from erukg import KeyphraseGenerator, Settings  # noqa: E402
from erukg.backends.vocabulary import Vocabulary  # noqa: E402
from erukg.research.evaluation.datasets import Dataset, load_set  # noqa: E402
from erukg.research.evaluation.metrics import DEPTH, score  # noqa: E402
from erukg.training.base import random_base  # noqa: E402
from erukg.training.config import TrainConfig  # noqa: E402
from erukg.training.dev_scoring import DevScores, load_dev, score_documents  # noqa: E402
from erukg.training.dev_sets import prepare_dev  # noqa: E402
from erukg.training.export.folder import write_model_folder  # noqa: E402
from erukg.training.model import Shape  # noqa: E402
from erukg.training.steps import Stepper  # noqa: E402
from tiny import ADJECTIVES, NOUNS, OTHERS, vocabulary  # noqa: E402
from training.texts import write_rows  # noqa: E402

WINDOW = 40


class WordList:
    """Tags by the word lists of the tiny vocabulary."""

    def tag(self, words: Sequence[str]) -> list[str]:
        return ["NN" if w.lower() in NOUNS else "JJ" if w.lower() in ADJECTIVES else "IN" for w in words]


def documents(count: int, seed: int) -> list[dict[str, object]]:
    """Random texts, some longer than a window, with phrases that stand alone, in longer ones, and nowhere."""
    rng = np.random.default_rng(seed)

    def text(length: int) -> str:
        lists = (NOUNS, ADJECTIVES, [*OTHERS, "Zebra\u00e9"])
        return " ".join(str(rng.choice(lists[int(kind)])) for kind in rng.choice(3, length, p=[0.5, 0.2, 0.3]))

    def phrase() -> str:
        return " ".join(str(word) for word in rng.choice(NOUNS[:20], int(rng.integers(1, 3))))

    rows: list[dict[str, object]] = []
    for number in range(count):
        phrases = [phrase() for _ in range(8)]
        body = " the ".join([text(int(rng.integers(5, 40))), *phrases[:5], text(10), *phrases[:2]])
        rows.append({"id": str(number), "title": text(4), "abstract": body, "keyphrases": phrases})
    return rows


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load_set(write_rows(tmp_path_factory.mktemp("sets") / "made-up.jsonl", documents(30, 4)))


@pytest.fixture(scope="module")
def scored(
    dataset: Dataset, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[DevScores, KeyphraseGenerator]:
    """The scores that training gives a random model, and the generator with the same model exported."""
    folder = tmp_path_factory.mktemp("scored")
    model = random_base(Shape(len(vocabulary()), 32, 2, 4, 64, 128), 3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.2)
    prepare_dev(dataset, WordList(), folder / "dev", quiet=True)
    exported = write_model_folder(model, tiny_model / "tokenizer.json", folder / "model", "x", window=WINDOW)
    generator = KeyphraseGenerator.from_pretrained(exported, collection=False, tagger=WordList())
    pieces = Vocabulary.load(tiny_model / "tokenizer.json")
    sets = load_dev(folder / "dev", 0, pieces)
    stepper = Stepper(TrainConfig(dev_length=WINDOW), model, [], torch.device("cpu"))

    def term_weights(texts: list[NDArray[np.int32]]) -> NDArray[np.float32]:
        return stepper.term_weights(texts, pieces)

    return score_documents(sets, term_weights, batch=7), generator


@pytest.mark.parametrize("settings", ["tuned", "paper"])
def test_dev_scores_are_those_of_extraction(
    dataset: Dataset, scored: tuple[DevScores, KeyphraseGenerator], settings: str
) -> None:
    scores, generator = scored
    chosen = Settings() if settings == "tuned" else Settings.paper()
    results = generator.extract_batch((record.text for record in dataset.records), DEPTH, chosen, threads=1)
    predictions = [([k.phrase for k in result.present], ()) for result in results]
    expected = score(predictions, dataset, "paper").present
    assert 0 < expected["F@5"] < 1
    found = getattr(scores, settings)["made-up"]
    assert found == pytest.approx((100 * expected["F@5"], 100 * expected["F@10"]), abs=1e-9)
    assert scores.documents == expected.documents


def test_the_settings_matter(scored: tuple[DevScores, KeyphraseGenerator]) -> None:
    scores, _ = scored
    assert scores.tuned != scores.paper
    assert scores.best == pytest.approx(np.mean(scores.tuned["made-up"]))
    assert scores.terms > 5
