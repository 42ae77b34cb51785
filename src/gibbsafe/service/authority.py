"""Who may do what: one table of operations, roles and objects, and the one function that decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gibbsafe.service.refusals import Refusal, no_such

__all__ = ["ANY", "OWN", "ROLES", "RULES", "Actor", "decide", "reach"]

ROLES = ("owner", "analyst", "auditor", "operator")
#: Whose objects a role may touch.
OWN, ANY = "own", "any"

#: Per operation, the roles that may do it and whose objects they may do it to. What is not here, nobody may do.
RULES: Mapping[str, Mapping[str, str]] = {
    # people: the operator's, who never sees data
    "create user": {"operator": ANY},
    "list users": {"operator": ANY},
    "change user": {"operator": ANY},
    "create token": {"operator": ANY, "owner": OWN, "analyst": OWN, "auditor": OWN},
    "list tokens": {"operator": ANY, "owner": OWN, "analyst": OWN, "auditor": OWN},
    "revoke token": {"operator": ANY, "owner": OWN, "analyst": OWN, "auditor": OWN},
    "read log": {"operator": ANY, "auditor": ANY},
    # data sets
    "register dataset": {"owner": OWN},
    "read dataset": {"owner": OWN, "analyst": ANY, "auditor": ANY},
    "read source": {"owner": OWN},
    "pause dataset": {"owner": OWN},
    "read policy": {"owner": OWN, "analyst": ANY, "auditor": ANY},
    "set policy": {"owner": OWN},
    "read ledger": {"owner": OWN, "auditor": ANY},
    # requests: an analyst's own, and those about an owner's own data
    "preview": {"analyst": ANY, "owner": OWN},
    "submit request": {"analyst": ANY},
    "withdraw request": {"analyst": OWN},
    "read request": {"analyst": OWN, "owner": OWN, "auditor": ANY},
    "approve request": {"owner": OWN},
    "refuse request": {"owner": OWN},
    # releases: what was released may be asked anything, and costs nothing
    "read release": {"analyst": OWN, "owner": OWN},
    "ask release": {"analyst": OWN, "owner": OWN},
    "read certificate": {"analyst": OWN, "owner": OWN, "auditor": ANY},
}


@dataclass(frozen=True)
class Actor:
    """Whoever asks, as a token or a session identified them."""

    user_id: str
    name: str
    roles: frozenset[str] = field(default_factory=frozenset)

    def has(self, role: str) -> bool:
        """Whether a role is among theirs."""
        return role in self.roles


def reach(actor: Actor, operation: str, roles: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return with which of their roles they may do it, and whose objects each reaches; refuse them if with none."""
    found = {role: whose for role, whose in (roles or RULES[operation]).items() if role in actor.roles}
    if not found:
        needed = " or ".join(RULES[operation])
        raise Refusal(403, f"{operation}: needs the role {needed}, and you have {', '.join(sorted(actor.roles)) or 'none'}")
    return found


def decide(actor: Actor, operation: str, owners: Mapping[str, str | None] | None = None) -> None:
    """Refuse whoever may not do this to this object.

    ``owners`` says per role to whom the object belongs (an owner's data set, an analyst's request). A foreign object is refused
    as one that does not exist: ids tell nobody anything. Without ``owners`` the operation is about no object.
    """
    found = reach(actor, operation)
    if owners is None or ANY in found.values():
        return
    if not any(owners.get(role) == actor.user_id for role in found):
        raise no_such(operation.rsplit(maxsplit=1)[-1])
