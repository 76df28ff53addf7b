"""The LlamaIndex metadata extractor: keyphrases into the metadata of nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from erukg.errors import require
from erukg.integrations.components import KeyphraseConfig, check_documents

require("llama_index.core", "llamaindex", "The LlamaIndex metadata extractor")

from llama_index.core.extractors import BaseExtractor
from llama_index.core.schema import BaseNode, MetadataMode

__all__ = ["KeyphraseExtractor"]

_OPTIONS = tuple(KeyphraseConfig().to_dict())


class KeyphraseExtractor(BaseExtractor):  # type: ignore[misc]
    """Gives nodes their keyphrases: `metadata["keyphrases"]`, and `["absent_keyphrases"]`, those not in the text.

    Phrases are joined by commas, as vector stores of LlamaIndex take single values. Options are those of
    `KeyphraseConfig` and of `BaseExtractor`; nodes are read without their metadata, and keep the way they are shown.
    """

    model: str | None = None
    collection: str | Literal[False] | None = None
    top_k: int = 10
    absent: bool = True
    settings: dict[str, Any] | None = None
    threads: int | None = None

    def __init__(self, **options: Any) -> None:
        # Checked before pydantic does, which says more than a sentence and passes over unknown names.
        own = {name: value for name, value in options.items() if name not in BaseExtractor.model_fields}
        base = {"metadata_mode": MetadataMode.NONE, "disable_template_rewrite": True}
        super().__init__(**base | options | KeyphraseConfig.of(own).to_dict())

    @classmethod
    def class_name(cls) -> str:
        return "ErukgKeyphraseExtractor"

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, str]]:
        """The metadata to add to each node."""
        return await asyncio.to_thread(self._extract, nodes)

    def _extract(self, nodes: Sequence[BaseNode]) -> list[dict[str, str]]:
        config = KeyphraseConfig(**{name: getattr(self, name) for name in _OPTIONS})
        given = check_documents(nodes, BaseNode, "TextNode(text=text)")
        found = config.keyphrases(node.get_content(metadata_mode=self.metadata_mode) for node in given)
        return [{name: ", ".join(phrases) for name, phrases in config.metadata(each).items()} for each in found]
