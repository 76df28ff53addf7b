"""What the browser tests use: a running service, and a page that notices whatever goes wrong in it."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["ARGUMENTS", "HOSTILE", "WHALES", "Service", "Sheet", "picture", "simple_pdf"]

ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
HOSTILE = (
    "<script>window.executed = 1</script><img src=x onerror='window.executed = 2'></script><!-- "
    "<svg onload=window.executed=3> <a href='javascript:window.executed=4'>neural network</a> {{7*7}} ]]> "
    "\u2028 & &lt;b&gt;"
)
# An invented abstract about what the field notes are about.
WHALES = (
    "Listening for whales with few labels: call detection on drifting hydrophones\n"
    "Passive acoustic monitoring records thousands of hours of underwater sound, of which only a few minutes hold the "
    "calls that marine biologists are looking for. We describe a detector of humpback and blue whale calls that learns "
    "from a small number of annotated spectrograms. A convolutional network is first trained to tell apart short "
    "segments of unlabelled recordings, and then fine-tuned on two hundred annotated calls. Since ship noise, rain and "
    "the hydrophone itself change from one recording site to the next, the network adapts its normalisation statistics "
    "at every site, without further annotation.\n\n"
    "We evaluate the detector on recordings from three oceans and compare it with template matching and with a network "
    "trained from scratch. Most whale calls are found at one false alarm an hour, and the number of annotated "
    "spectrograms can be halved before the detector falls behind template matching. Errors remain where the songs of "
    "several whales overlap, and we discuss how source separation could help."
)
_START_SECONDS = 60.0


class Service:
    """`erukg serve` as a process of its own, on a free port."""

    def __init__(self, *options: object, **environment: str) -> None:
        command = [sys.executable, "-m", "erukg.cli", "serve", "--port", "0", *map(str, options)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **environment}, text=True)
        self.log: list[str] = []
        self.port = 0
        self._bound = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if '"listening"' in line:
                self.port = json.loads(line)["port"]
                self._bound.set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> Self:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            if not self._bound.wait(0.1):
                continue
            try:
                with urllib.request.urlopen(self.address + "readyz", timeout=5):
                    return self
            except OSError:
                time.sleep(0.1)
        self.stop()
        raise AssertionError("The service did not start: " + "".join(self.log))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


class Sheet:
    """The page in a browser context of its own. `close` fails when there was an error that was not `expected`."""

    def __init__(
        self, browser: Any, address: str, pictures: Path, *, width: int = 1240, height: int = 800, dark: bool = False
    ) -> None:
        self._pictures = pictures
        self._origin = address if address.startswith("file:") else re.match(r"http://[^/]+/", address)[0]  # type: ignore[index]
        phone = width < 600
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=phone,
            is_mobile=phone,
            accept_downloads=True,
        )
        self.context.set_default_timeout(10_000)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.expected: list[str] = []
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", self._watch)
        self.page.goto(address)

    def _note_message(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def _dismiss(self, dialog: Any) -> None:
        self.wrong.append("a dialog")
        dialog.dismiss()

    def _watch(self, request: Any) -> None:
        if not request.url.startswith((self._origin, "data:", "blob:")):
            self.wrong.append(f"a request to {request.url}")

    def ready(self) -> Self:
        self.page.wait_for_selector("html[data-ready]")
        return self

    def example(self) -> Self:
        """The worked example that the page opens with."""
        self.ready().page.wait_for_selector("#reading mark")
        return self

    def paste(self, text: str) -> Self:
        """Into the empty field, as a user does, by way of the clipboard; the answer is awaited."""
        if self.page.locator("#fresh").is_visible():
            self.page.click("#fresh")
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.page.focus("#text")
        self.page.keyboard.press("Control+V")
        self.page.wait_for_selector("#entry", state="hidden")
        return self.settled()

    def whales(self) -> Self:
        return self.ready().paste(WHALES)

    def slide(self, slider: str, *keys: str) -> Self:
        """Move one of the sliders in words, named by its left end, with keys."""
        self.page.locator(f"#controls-form [data-slider='{slider}'] input").focus()
        for key in keys:
            self.page.keyboard.press(key)
        return self.settled()

    def expert(self) -> Self:
        self.page.locator("#controls").evaluate("details => details.open = true")
        self.page.locator("#controls .expert").evaluate("details => details.open = true")
        return self

    def fills(self, kind: str = "present") -> list[float]:
        """How full the bars of a list are."""
        bars = self.page.locator(f".phrase-list.{kind} .line")
        return [float(bar.evaluate("bar => bar.style.getPropertyValue('--strength')")) for bar in bars.all()]

    def drop(self, *files: tuple[str, bytes, str]) -> Self:
        """Files (name, content, type) let go over the page."""
        given = [[name, base64.b64encode(content).decode(), kind] for name, content, kind in files]
        transfer = self.page.evaluate_handle(
            """files => { const transfer = new DataTransfer(); for (const [name, content, type] of files) {
            const bytes = Uint8Array.from(atob(content), c => c.charCodeAt(0));
            transfer.items.add(new File([bytes], name, { type })); } return transfer; }""",
            given,
        )
        for kind in ("dragenter", "dragover", "drop"):
            self.page.dispatch_event("body", kind, {"dataTransfer": transfer})
        return self

    def phrases(self, kind: str = "present") -> list[str]:
        return [name.strip() for name in self.page.locator(f".phrase-list.{kind} .name").all_inner_texts()]

    def settled(self) -> Self:
        """Wait until what was turned has been answered."""
        self.page.wait_for_timeout(200)
        self.page.wait_for_selector("#busy", state="hidden")
        return self

    def picture(self, name: str) -> None:
        picture(self.page, self._pictures / f"{name}.png")

    def check_accessibility(self, where: str) -> None:
        # Run from the tests' side: the page's own policy would not let it in.
        axe = import_module("axe_playwright_python.sync_playwright").Axe()
        found = axe.run(self.page).response["violations"]
        bad = [(one["impact"], one["id"], [node["target"] for node in one["nodes"]][:4]) for one in found]
        assert not bad, (where, bad)

    def nothing_ran(self) -> None:
        """Nothing that a document said has become a part of the page."""
        page = self.page
        assert page.evaluate("window.executed") is None
        assert page.locator("body script:not([type='application/json']), body img, body svg[onload]").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0

    def close(self) -> None:
        left = [line for line in self.wrong if not any(known in line for known in self.expected)]
        self.context.close()
        assert not left, left


def picture(page: Any, file: Path) -> None:
    """The top of the page as a small file."""
    from PIL import Image

    page.mouse.move(0, 0)
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    page.wait_for_timeout(250)
    whole = Image.open(io.BytesIO(page.screenshot()))
    whole.convert("RGB").quantize(128).save(file, optimize=True)


def simple_pdf(*lines: str) -> bytes:
    """A PDF of one page with these lines of text, as small as they come."""
    shown = " ".join(f"({line}) Tj T*" for line in lines)
    stream = f"BT /F1 12 Tf 14 TL 40 700 Td {shown} ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 800] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        out
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
        + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    )
