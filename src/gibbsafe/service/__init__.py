"""The desk as a service: owners register data, analysts ask, owners approve, a worker releases (docs/service.md).

`Desk` has every operation as a typed method; the JSON API (`api`) and the pages (`web`) are skins over it and touch no table.
Who may do what is decided in one place, `authority`. Records are read by the worker's process alone (`worker`).
"""

from gibbsafe.service.authority import Actor
from gibbsafe.service.desk import Desk
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.settings import Settings

__all__ = ["Actor", "Desk", "Refusal", "Settings"]
