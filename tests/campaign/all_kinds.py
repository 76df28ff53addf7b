"""Every kind of blow by its name."""

from __future__ import annotations

from collections.abc import Callable

from campaign.alike import Growth, Same
from campaign.damage import Damage
from campaign.disks import Disk
from campaign.fuzz import Fuzz
from campaign.killing import Kill, PointByPoint
from campaign.kinds import Kind
from campaign.long import Long
from campaign.samples import Samples, has
from campaign.serving import Service
from campaign.together import Writers

__all__ = ["KINDS"]

KINDS: dict[str, Callable[[Samples], Kind]] = {
    "kill": Kill,
    "points": PointByPoint,
    "long": Long,
    "damage": Damage,
    "fuzz": Fuzz,
    "disk": Disk,
    "writers": Writers,
    "service": Service,
    "growth": Growth,
    "same": Same,
}
if not (has("uvicorn") and has("starlette")):
    del KINDS["service"]
