"""The LangChain document transformer: keyphrases into the metadata of Documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from erukg.errors import require
from erukg.integrations.components import KeyphraseConfig, check_documents

require("langchain_core", "langchain", "The LangChain document transformer")

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.load import Serializable

__all__ = ["KeyphraseTransformer"]


class KeyphraseTransformer(BaseDocumentTransformer, Serializable):  # type: ignore[misc]
    """Gives Documents their keyphrases: `metadata["keyphrases"]`, and `["absent_keyphrases"]`, those not in the text.

    Options are those of `KeyphraseConfig`. `dumps` and `loads` of langchain_core.load write and read it.
    """

    model: str | None = None
    collection: str | Literal[False] | None = None
    top_k: int = 10
    absent: bool = True
    settings: dict[str, Any] | None = None
    threads: int | None = None

    def __init__(self, **options: Any) -> None:
        # Checked before pydantic does, which says more than a sentence.
        super().__init__(**KeyphraseConfig.of(options).to_dict())

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        return cls.__module__.split(".")

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """The documents with their keyphrases; those that are given are not changed."""
        config = KeyphraseConfig.of(dict(self))
        given = check_documents(documents, Document, "Document(page_content=text)")
        found = config.keyphrases(document.page_content for document in given)
        return [
            document.model_copy(update={"metadata": {**document.metadata, **config.metadata(keyphrases)}})
            for document, keyphrases in zip(given, found, strict=True)
        ]
