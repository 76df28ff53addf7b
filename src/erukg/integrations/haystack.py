"""The Haystack component: keyphrases into the metadata of Documents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from erukg.errors import require
from erukg.integrations.components import KeyphraseConfig, check_documents

require("haystack", "haystack", "The Haystack component")

from haystack import Document, component, default_from_dict, default_to_dict

__all__ = ["KeyphraseExtractor"]


@component
class KeyphraseExtractor:
    """Gives Documents their keyphrases: `meta["keyphrases"]`, and `meta["absent_keyphrases"]`, those not in the text.

    A Document without content, such as an image, stays as it is. Options are those of `KeyphraseConfig`.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        collection: str | Path | Literal[False] | None = None,
        *,
        top_k: int = 10,
        absent: bool = True,
        settings: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        self.config = KeyphraseConfig(
            model=model, collection=collection, top_k=top_k, absent=absent, settings=settings, threads=threads
        )

    def warm_up(self) -> None:
        """Load the model and the collection, which `run` does otherwise."""
        self.config.load()

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """The documents with their keyphrases; those that are given are not changed."""
        given = check_documents(documents, Document, "Document(content=text)")
        found = self.config.keyphrases(document.content for document in given if document.content is not None)
        return {
            "documents": [
                document
                if document.content is None
                else replace(document, meta={**document.meta, **self.config.metadata(next(found))})
                for document in given
            ]
        }

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    async def run_async(self, documents: list[Document]) -> dict[str, list[Document]]:
        """`run` in a thread of its own."""
        return await asyncio.to_thread(self.run, documents)

    def to_dict(self) -> dict[str, Any]:
        return dict(default_to_dict(self, **self.config.to_dict()))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KeyphraseExtractor:
        return default_from_dict(cls, data)  # type: ignore[no-any-return]
