"""The accounts as the JSON in ConfigMap hpcbatch-accounts: what is not set is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import Account, Accounts, Association, Qos, ServerLimit, first_accounts
from hpcbatch.model.custom_resource import resource_from_json, resource_to_json
from hpcbatch.model.server_settings import ServerSettings
from hpcbatch.typed import Any


def accounts_to_json(accounts: Accounts) -> str:
    body: dict[str, Any] = {
        "accounts": [_account(each) for each in accounts.accounts.values()],
        "associations": [_association(each) for each in accounts.associations],
        "qos": [_qos(each) for each in accounts.qos.values()],
        "defaultAccounts": dict(accounts.default_accounts),
        "nextNumber": accounts.next_number,
    }
    if accounts.server_limits:
        body["serverLimits"] = [_server_limit(each) for each in accounts.server_limits]
    if settings := _set_settings(accounts.server_settings):
        body["serverSettings"] = settings
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {_lines(value)}" for key, value in body.items()) + "\n}\n"


def _lines(value: Any) -> str:
    """A list with an item on each line, so that an admin can read it and Kubernetes' limit of a MiB holds much."""
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in value) + "\n ]"


def accounts_from_json(text: str) -> Accounts:
    """ "" is what there is at the beginning. Raises HpcBatchError for a text that is not in order, with the reason."""
    if not text.strip():
        return first_accounts()
    try:
        body = json.loads(text)
        return Accounts(
            accounts={str(each["name"]): _read_account(each) for each in body["accounts"]},
            associations=tuple(sorted(map(_read_association, body["associations"]), key=lambda one: one.number)),
            qos={str(each["name"]): _read_qos(each) for each in body["qos"]},
            default_accounts={str(user): str(name) for user, name in body["defaultAccounts"].items()},
            server_limits=tuple(_read_server_limit(each) for each in body.get("serverLimits", ())),
            server_settings=_read_settings(body.get("serverSettings", {})),
            next_number=int(body["nextNumber"]),
        )
    except KeyError as error:
        raise HpcBatchError(f"accounts: {error} is missing") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise HpcBatchError(f"accounts: {error}") from None


def _set(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "", (), {})}


def _limits(limits: Limits) -> dict[str, Any]:
    return {**limits.counts, **{word: dict(amounts) for word, amounts in limits.tres.items()}}


def _read_limits(body: Mapping[str, Any]) -> Limits:
    counts = {word: int(value) for word, value in body.items() if not isinstance(value, dict)}
    tres = {word: {str(k): int(v) for k, v in value.items()} for word, value in body.items() if isinstance(value, dict)}
    return Limits(counts, tres)


def _account(account: Account) -> dict[str, Any]:
    return _set(
        {
            "name": account.name,
            "parent": account.parent,
            "description": account.description,
            "organization": account.organization,
            "coordinators": list(account.coordinators) or None,
        }
    )


def _read_account(body: Mapping[str, Any]) -> Account:
    return Account(
        name=str(body["name"]),
        parent=str(body.get("parent", "")),
        description=str(body.get("description", "")),
        organization=str(body.get("organization", "")),
        coordinators=tuple(map(str, body.get("coordinators", ()))),
    )


def _association(one: Association) -> dict[str, Any]:
    return _set(
        {
            "number": one.number,
            "account": one.account,
            "user": one.user,
            "partition": one.partition,
            "shares": None if one.shares == 1 else one.shares,
            "limits": _limits(one.limits),
            "defaultQos": one.default_qos,
        }
    ) | ({} if one.qos is None else {"qos": list(one.qos)})


def _read_association(body: Mapping[str, Any]) -> Association:
    return Association(
        number=int(body["number"]),
        account=str(body["account"]),
        user=str(body.get("user", "")),
        partition=str(body.get("partition", "")),
        shares=int(body.get("shares", 1)),
        limits=_read_limits(body.get("limits", {})),
        qos=tuple(map(str, body["qos"])) if "qos" in body else None,
        default_qos=str(body.get("defaultQos", "")),
    )


def _qos(qos: Qos) -> dict[str, Any]:
    return _set(
        {
            "number": qos.number,
            "name": qos.name,
            "description": qos.description,
            "limits": _limits(qos.limits),
            "flags": list(qos.flags) or None,
            "preempt": list(qos.preempt) or None,
            "preemptMode": qos.preempt_mode,
            "graceSeconds": qos.grace_s or None,
            "preemptExemptSeconds": qos.preempt_exempt_s,
            "usageFactor": None if qos.usage_factor == 1 else qos.usage_factor,
            "usageThreshold": qos.usage_threshold,
            "limitFactor": qos.limit_factor,
        }
    )


def _read_qos(body: Mapping[str, Any]) -> Qos:
    def number(key: str) -> float | None:
        return float(body[key]) if key in body else None

    return Qos(
        number=int(body["number"]),
        name=str(body["name"]),
        description=str(body.get("description", "")),
        limits=_read_limits(body.get("limits", {})),
        flags=tuple(map(str, body.get("flags", ()))),
        preempt=tuple(map(str, body.get("preempt", ()))),
        preempt_mode=str(body.get("preemptMode", "")),
        grace_s=int(body.get("graceSeconds", 0)),
        preempt_exempt_s=int(body["preemptExemptSeconds"]) if "preemptExemptSeconds" in body else None,
        usage_factor=float(body.get("usageFactor", 1)),
        usage_threshold=number("usageThreshold"),
        limit_factor=number("limitFactor"),
    )


def _server_limit(limit: ServerLimit) -> dict[str, Any]:
    return _set(
        {
            "word": limit.word,
            "resource": limit.resource,
            "queue": limit.queue,
            "kind": limit.kind,
            "name": limit.name,
        }
    ) | {"amount": limit.amount}


def _read_server_limit(body: Mapping[str, Any]) -> ServerLimit:
    return ServerLimit(
        word=str(body["word"]),
        resource=str(body.get("resource", "")),
        queue=str(body.get("queue", "")),
        kind=str(body["kind"]),
        name=str(body["name"]),
        amount=int(body["amount"]),
    )


def _set_settings(settings: ServerSettings) -> dict[str, Any]:
    found = {
        "jobSortFormula": settings.formula,
        "backfillDepth": settings.backfill_depth,
        "eligibleTimeEnable": settings.counts_eligible,
        "preemptOrder": settings.preempt_order,
        "preemptQueuePrio": settings.preempt_queue_prio,
        "resources": [resource_to_json(each) for each in settings.resources] or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _read_settings(body: Mapping[str, Any]) -> ServerSettings:
    return ServerSettings(
        formula=str(body["jobSortFormula"]) if "jobSortFormula" in body else None,
        backfill_depth=int(body["backfillDepth"]) if "backfillDepth" in body else None,
        counts_eligible=bool(body["eligibleTimeEnable"]) if "eligibleTimeEnable" in body else None,
        preempt_order=str(body["preemptOrder"]) if "preemptOrder" in body else None,
        preempt_queue_prio=int(body["preemptQueuePrio"]) if "preemptQueuePrio" in body else None,
        resources=tuple(resource_from_json(each) for each in body.get("resources", ())),
    )
