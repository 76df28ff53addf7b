"""Which names the service answers to, and whose pages may make it work.

A page anywhere on the web can make its visitor's browser send requests here. It cannot read the answers of another
site, unless its own name leads to this address (DNS rebinding), and it needs no answer to keep the service busy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import Scope

from erukg.serving.problems import Problem

__all__ = ["Sites"]

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_ANY = "*"


class Sites:
    """The names of the service, beside those of this machine, and the origins whose pages may use it.

    Addresses in digits are accepted, as no name server can make one lead elsewhere. `*` stands for all.
    """

    def __init__(self, names: Iterable[str] = (), origins: Collection[str] = ()) -> None:
        self._names = {"localhost", *(name.lower() for name in names)}
        self._origins = set(origins)

    def check(self, scope: Scope) -> None:
        """Raise a Problem for a request to another name, or for work that a page of another origin asks for."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 and (hosts or scope.get("http_version") != "1.0"):
            raise Problem(400, "A request must have one Host header.", reason="host")
        if hosts:
            self._check_name(hosts[0])
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") and not self._of_own_page(headers):
            sentence = "Pages of other sites may not use this service; start it with --cors ORIGIN to let one."
            raise Problem(403, sentence, reason="origin")

    def _check_name(self, host: str) -> None:
        found = _HOST.fullmatch(host)
        if found is None:
            raise Problem(400, "The Host header is not a name or address with an optional port.", reason="host")
        name = found[1].strip("[]").rstrip(".").lower()
        if not self._names.isdisjoint((name, _ANY)) or name.endswith(".localhost") or _is_address(name):
            return
        sentence = f"This service does not go by the name '{name[:100]}'; start it with --allowed-host to add one."
        raise Problem(421, sentence, reason="host")

    def _of_own_page(self, headers: Headers) -> bool:
        """Whether no page sent it, or one of this service, or one that may."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and not self._origins.isdisjoint((origin, _ANY)):
            return True
        # What the browser itself says counts first: a proxy may have changed the Host.
        if site is not None:
            return site in ("same-origin", "none")
        return origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower() != ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
