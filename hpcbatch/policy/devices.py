"""How many devices of a site's accelerators each node has for jobs, by what their drivers publish (DRA). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.accelerator import Accelerator
from hpcbatch.model.device_selector import Amount, Device, Selector, selector
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.typed import Any, NamedTuple, TypeAlias

Object = dict[str, Any]
DeviceId: TypeAlias = tuple[str, str, str]
"""Driver, pool, name."""
Tests: TypeAlias = Mapping[str, tuple[Selector, ...]]
"""By the name that an accelerator's devices are counted by: what such a device fulfils."""

_KEEPS_OFF = frozenset({"NoSchedule", "NoExecute"})


class Published(NamedTuple):
    """What one ResourceSlice says of devices that belong to one node each."""

    pool: tuple[str, str]
    """Driver and name."""
    generation: int
    """Of a pool only its slices of the highest one count."""
    devices: Mapping[str, Mapping[DeviceId, tuple[str, ...]]]
    """Node → device → the names that it is counted by."""


def demands_of(accelerators: Iterable[Accelerator], classes: Mapping[str, Object]) -> tuple[Tests, tuple[str, ...]]:
    """And what is wrong, for the log. Of a class that does not exist there are no devices."""
    tests: dict[str, tuple[Selector, ...]] = {}
    problems: dict[str, None] = {}
    for kind in accelerators:
        if not kind.device_class:
            continue
        if (found := classes.get(kind.device_class)) is None:
            problems[f"accelerator {kind.name}: there is no DeviceClass {kind.device_class}"] = None
            continue
        selectors = [selector(text) for text in kind.selectors]
        for each in found["spec"].get("selectors") or ():
            text = (each.get("cel") or {}).get("expression", "")
            try:
                selectors.append(selector(text))
            except HpcBatchError as error:
                what = f"devices that its selector {text!r} leaves out are counted: {error}"
                problems[f"DeviceClass {kind.device_class}: {what}"] = None
        tests[kind.resource] = tuple(selectors)
    return tests, tuple(problems)


def published(resource_slice: Object, tests: Tests) -> Published:
    spec = resource_slice["spec"]
    driver, pool = spec["driver"], spec["pool"]
    found: dict[str, dict[DeviceId, tuple[str, ...]]] = {}
    for each in spec.get("devices") or ():
        node = spec.get("nodeName") or each.get("nodeName")
        if not node or any(taint.get("effect") in _KEEPS_OFF for taint in each.get("taints") or ()):
            continue
        device = _device(each, driver)
        names = tuple(name for name, selectors in tests.items() if all(one.fits(device) for one in selectors))
        if names:
            found.setdefault(node, {})[driver, pool["name"], each["name"]] = names
    return Published((driver, pool["name"]), int(pool.get("generation") or 0), found)


def is_of_a_job(claim: Object) -> bool:
    """Whether it was made from a job's template."""
    return JOB_ID_LABEL in (claim["metadata"].get("labels") or {})


def given_to(claim: Object) -> frozenset[DeviceId]:
    """The devices that nobody else gets."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return frozenset((one["driver"], one["pool"], one["device"]) for one in results if not one.get("adminAccess"))


def counted(slices: Iterable[Published], taken: Iterable[DeviceId]) -> dict[str, dict[str, int]]:
    """Node → name → number of devices that are not `taken`."""
    every, gone = list(slices), frozenset(taken)
    newest: dict[tuple[str, str], int] = {}
    for each in every:
        newest[each.pool] = max(each.generation, newest.get(each.pool, 0))
    found: dict[str, dict[str, int]] = {}
    for each in every:
        if each.generation < newest[each.pool]:
            continue
        for node, devices in each.devices.items():
            amounts = found.setdefault(node, {})
            for device, names in devices.items():
                for name in names if device not in gone else ():
                    amounts[name] = amounts.get(name, 0) + 1
    return found


def with_devices(node: Object, amounts: Mapping[str, int]) -> Object:
    """The node as if its devices were extended resources."""
    if not amounts:
        return node
    status = node.get("status") or {}
    more = {name: str(count) for name, count in amounts.items()}
    return {**node, "status": {**status, "allocatable": {**(status.get("allocatable") or {}), **more}}}


def _device(each: Object, driver: str) -> Device:
    return Device(
        driver=driver,
        attributes=_by_domain(each.get("attributes"), driver, _attribute),
        capacity=_by_domain(each.get("capacity"), driver, lambda found: Amount.quantity(found["value"])),
        is_shareable=bool(each.get("allowMultipleAllocations")),
    )


def _by_domain(values: Object | None, driver: str, read: Callable[[Object], Any]) -> dict[str, dict[str, Any]]:
    """A name without a domain is the driver's own."""
    found: dict[str, dict[str, Any]] = {}
    for full, value in (values or {}).items():
        domain, _, name = full.rpartition("/")
        found.setdefault(domain or driver, {})[name] = read(value)
    return found


def _attribute(found: Object) -> Any:
    if "version" in found:
        return Amount.version(found["version"])
    return next((found[kind] for kind in ("string", "int", "bool") if kind in found), None)
