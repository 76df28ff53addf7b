"""Models on the Hugging Face hub: `save_pretrained`, `from_pretrained` and `push_to_hub`, as hub users know them.

A model folder has the hub's layout already; what is added is a card whose metadata names this library, and the
collection that goes with the model, if there is one, in the folder `collection`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from erukg.backends.folder import ModelFolder, download_model, find_model
from erukg.collection import Collection
from erukg.core.arguments import checked
from erukg.errors import InputError, ModelError, require
from erukg.generator import KeyphraseGenerator

_hub = require("huggingface_hub", "hub", "The Hugging Face hub")
if TYPE_CHECKING:
    from huggingface_hub import ModelHubMixin
else:
    ModelHubMixin = _hub.ModelHubMixin

__all__ = ["HubModel"]

_TAGS = ["keyphrase-generation", "keyphrase-extraction", "sparse-encoder", "splade", "erukg"]
_CARD = """---
{{ card_data }}
---

# Keyphrases with erukg
"""
_USE = """
## Use with erukg

```python
from erukg.integrations.hub import HubModel

generator = HubModel.from_pretrained("OWNER/NAME", revision="main").generator()
print(generator.generate("A text.").present)
```
"""
_COLLECTION = "collection"


class HubModel(  # type: ignore[call-arg]
    ModelHubMixin,  # type: ignore[misc]
    library_name="erukg",
    language=["en"],
    license="apache-2.0",
    pipeline_tag="feature-extraction",
    tags=_TAGS,
    model_card_template=_CARD,
):
    """A model, and perhaps a collection of its own, to be put on the hub or taken from there.

    >>> HubModel("small").save_pretrained("folder")  # or .push_to_hub("OWNER/NAME")
    >>> generator = HubModel.from_pretrained("folder").generator()
    """

    @checked
    def __init__(self, model: str | Path | None = None, collection: str | Path | None = None) -> None:
        self.folder = ModelFolder.open(find_model(model))
        self.collection = None if collection is None else Path(collection)
        if self.collection is not None:
            made_with = Collection.open(self.collection).fingerprint
            if made_with != self.folder.term_space:
                raise InputError(
                    f"The collection {self.collection} was made with another model than {self.folder.path}."
                )

    def generator(self, collection: str | Path | Literal[False] | None = None, **options: Any) -> KeyphraseGenerator:
        """A generator with this model and its collection, or with another; `options` as for `from_pretrained` there."""
        chosen = self.collection if collection is None else collection
        return KeyphraseGenerator.from_pretrained(self.folder.path, chosen, **options)

    @checked
    def save_pretrained(self, save_directory: str | Path, **options: Any) -> str | None:
        """Write the folder; `options` are those of the hub's client."""
        return super().save_pretrained(save_directory, **options)  # type: ignore[no-any-return]

    def _save_pretrained(self, save_directory: Path) -> None:
        listed: dict[str, Any] = self.folder.config["files"]
        self.folder.verify()
        for name in listed:
            shutil.copyfile(self.folder.path / name, save_directory / name)
        if "README.md" in listed:
            card = _with_metadata((save_directory / "README.md").read_text("utf-8"))
            (save_directory / "README.md").write_text(card, "utf-8")
            data = card.encode()
            listed = {**listed, "README.md": {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}}
        config = {**self.folder.config, "files": listed}
        (save_directory / "config.json").write_text(json.dumps(config, indent=1) + "\n", "utf-8")
        if self.collection is not None:
            shutil.copytree(self.collection, save_directory / _COLLECTION, dirs_exist_ok=True)

    @classmethod
    @checked
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        revision: str | None = None,
        collection: str | Path | None = None,
        **options: Any,
    ) -> HubModel:
        """A saved folder, or OWNER/NAME at a revision of the hub, with every file checked against its checksum.

        `options` are those of the hub's client: `token`, `cache_dir`, `force_download`, `local_files_only`.
        """
        path = Path(pretrained_model_name_or_path)
        if not path.is_dir():
            path = download_model(str(pretrained_model_name_or_path), revision, more=[f"{_COLLECTION}/*"], **options)
        made = cls(path, collection or (path / _COLLECTION if (path / _COLLECTION).is_dir() else None))
        made.folder.verify()
        return made


def _with_metadata(text: str) -> str:
    """A model's card with metadata that lets the hub find it as a model of this library."""
    try:
        card = _hub.ModelCard(text)
    except Exception as error:  # the metadata is whatever somebody wrote
        raise ModelError(f"The metadata at the head of the model's README.md cannot be read: {error}.") from error
    data = card.data
    data.library_name, data.language = "erukg", data.language or "en"
    data.license = data.license or "apache-2.0"
    data.tags = list(dict.fromkeys([*(data.tags or []), *_TAGS]))
    return str(card) if "## Use with erukg" in card.text else f"{str(card).rstrip()}\n{_USE}"
