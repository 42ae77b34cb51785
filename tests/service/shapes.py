"""Schemathesis over the API: cases of every operation, good and bad, as everybody, about objects that exist and others."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from dataclasses import dataclass, field

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from .world import CANARIES

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
KINDS = {"dataset_id": "dataset of ", "user_id": "", "token_id": "token of ", "request_id": "re"}

__all__ = ["Seen", "attack"]


@dataclass
class Seen:
    """What was answered: how often with which status, and what should not have been."""

    statuses: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return sum(self.statuses.values())


def known(world, name):
    """Return the ids that a parameter may stand for."""
    if name == "user_id":
        return [value for key, value in world.ids.items() if key in world.tokens]
    return sorted({value for key, value in world.ids.items() if key.startswith(KINDS[name])})


def attack(world, app, cases, seed=0):
    """Run about this many cases, an equal number of every operation and of good and bad ones; return what was seen."""
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    operations = [found.ok() for found in schema.get_all_operations()]
    seen = Seen()
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    each = -(-cases // (len(operations) * len(modes)))
    for operation in operations:
        for mode in modes:
            run(world, operation, mode, each, seen, seed)
            world.restore()  # whoever was shut out by the operation is back
    return seen


def run(world, operation, mode, examples, seen, seed):
    people = sorted(world.tokens)
    strategy = operation.as_strategy(generation_mode=mode)

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples, phases=[Phase.generate], deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @hypothesis.given(st.data())
    def once(data):
        case = data.draw(strategy)
        who = data.draw(st.sampled_from([*people, None]))
        for name in list(case.path_parameters or {}):
            if data.draw(st.integers(0, 3)):
                case.path_parameters[name] = data.draw(st.sampled_from(known(world, name)))
        for name in [each for each in case.headers or {} if each.lower() == "authorization"]:
            del case.headers[name]  # who asks is drawn here
        answer = case.call(headers={} if who is None else world.header(who), timeout=600)  # however busy the machine is
        seen.statuses[answer.status_code] += 1
        told = f"{operation.method} {operation.path} as {who}: {answer.status_code}"
        if any(canary.encode() in answer.content for canary in CANARIES):
            seen.wrong.append(f"{told}: a private value")
        if answer.status_code >= 500:
            seen.wrong.append(f"{told}: {answer.content[:200]!r} {case.as_curl_command()[:600]}")
        try:
            case.validate_response(answer, checks=CHECKS)
        except Exception as error:
            seen.wrong.append(f"{told}: {type(error).__name__} {str(error)[:400]}")

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # an operation without anything to get wrong
        once()
