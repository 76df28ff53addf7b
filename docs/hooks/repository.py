"""Files of the repository that lie outside docs/ as parts of the site, and links to them from anywhere.

Some have a place of their own (`PLACES`). Any other file that a page links to comes along under repository/; of a
folder it is the README. Links are written as they work in the repository, and are turned into those of the site here.
The mark <!-- figures --> stands for the figures of README.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PLACES = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
CARDS = [f"src/erukg/assets/models/{name}/README.md" for name in ("small", "tiny")]
_FIGURES = re.compile(r"<!-- figures:begin -->\n(.*?)<!-- figures:end -->", re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")
_origins: dict[str, str] = {}
"""Where in the repository a page of the site comes from."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    root, docs = Path(config.config_file_path).parent, Path(config.docs_dir)
    folder = docs.relative_to(root).as_posix()
    _origins.clear()
    for file in files:
        notebook = re.sub(r"\.md$", ".ipynb", file.src_uri)
        made_of = notebook if (docs / notebook).is_file() else file.src_uri
        if (docs / made_of).is_file():
            _origins[file.src_uri] = f"{folder}/{made_of}"
    waiting = [path for path in PLACES if path != "README.md"] + CARDS
    waiting += [path for f in files.documentation_pages() for path in _outside(root, _origins[f.src_uri], folder)]
    while waiting:
        path = waiting.pop()
        place = _place(path, folder)
        if files.get_file_from_path(place) is None:
            files.append(File.generated(config, place, abs_src_path=str(root / path)))
            _origins[place] = path
            if path.endswith(".md"):
                waiting += _outside(root, path, folder)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    origin = _origins.get(page.file.src_uri)
    if origin is None:
        return markdown
    root = Path(config.config_file_path).parent
    folder = Path(config.docs_dir).relative_to(root).as_posix()
    here = posixpath.dirname(page.file.src_uri)
    if "<!-- figures -->" in markdown:
        markdown = markdown.replace("<!-- figures -->", _figures(root, posixpath.dirname(origin)))

    def moved(found: re.Match[str]) -> str:
        path = _resolve(root, origin, found["target"])
        if path is None:
            return found[0]
        place = _place(path, folder)
        return posixpath.relpath(place, here or ".") + (found["anchor"] or "")

    return _LINK.sub(moved, markdown)


def _figures(root: Path, here: str) -> str:
    """The figures of README, with links as a file in the folder `here` would have them."""
    found = _FIGURES.search((root / "README.md").read_text("utf-8"))
    assert found is not None, "README has no figures"
    return _LINK.sub(lambda link: posixpath.relpath(link[0], here), found[1])


def _place(path: str, folder: str) -> str:
    """Where a file of the repository is on the site; notebooks are pages there."""
    if path.startswith(f"{folder}/"):
        return re.sub(r"\.ipynb$", ".md", path.removeprefix(f"{folder}/"))
    return PLACES.get(path, f"repository/{path}")


def _outside(root: Path, origin: str, folder: str) -> Iterator[str]:
    """The files outside docs/ that a file links to."""
    text = (root / origin).read_text("utf-8")
    if "<!-- figures -->" in text:
        text += _figures(root, posixpath.dirname(origin))
    for found in _LINK.finditer(text):
        path = _resolve(root, origin, found["target"])
        if path is not None and not path.startswith(f"{folder}/"):
            yield path


def _resolve(root: Path, origin: str, target: str) -> str | None:
    """The file of the repository that a link leads to, None if there is none."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    if (root / path).is_dir():
        path = f"{path}/README.md"
    return path if not path.startswith("..") and (root / path).is_file() else None
