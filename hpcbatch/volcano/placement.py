"""Whether a pod fits on a node: sizes, ports, selectors, affinities, taints; and what stays free after that.

Covers Kubernetes' NodeResourcesFit, NodePorts, NodeAffinity, TaintToleration, InterPodAffinity (required terms) and
hard topologySpreadConstraints. Preferred terms are only preferences, and are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hpcbatch.dataclass import dataclass, field
from hpcbatch.volcano.amounts import Amounts, held_requests, lacking, read_amounts
from hpcbatch.volcano.labels import Expression, Selector, expressions, label_selector

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodeTerm:
    labels: Selector
    fields: Selector


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A required term of podAffinity or podAntiAffinity."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector | None
    """Matched against the one label that Kubernetes gives every namespace; () is every namespace."""

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return self._covers(namespace) and all(line.matches(labels) for line in self.selector)

    def _covers(self, namespace: str) -> bool:
        if namespace in self.namespaces:
            return True
        name = {"kubernetes.io/metadata.name": namespace}
        return self.namespace_selector is not None and all(line.matches(name) for line in self.namespace_selector)


@dataclass(frozen=True, slots=True)
class Spread:
    """A topologySpreadConstraint with DoNotSchedule."""

    topology_key: str
    max_skew: int
    selector: Selector


@dataclass(frozen=True, slots=True)
class Toleration:
    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str

    def is_tolerated(self, tolerations: Iterable[Toleration]) -> bool:
        return any(
            (not t.effect or t.effect == self.effect)
            and ((not t.key and t.operator == "Exists") or t.key == self.key)
            and (t.operator == "Exists" or t.value == self.value)
            for t in tolerations
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """A pod's demands on its node. Equal needs are met by the same nodes, unless labels matter."""

    requests: tuple[tuple[str, int], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    node_terms: tuple[NodeTerm, ...] | None = None
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ports: frozenset[tuple[str, int]] = frozenset()

    @property
    def looks_at_pods(self) -> bool:
        return bool(self.affinity or self.anti_affinity or self.spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A pod, as far as its placement depends on it."""

    namespace: str
    name: str
    uid: str
    needs: Needs
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    name: str
    allocatable: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")


def node_view(node: Object) -> NodeView:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    taints = [Taint(t["key"], t.get("value", ""), t["effect"]) for t in spec.get("taints") or ()]
    if spec.get("unschedulable") and _UNSCHEDULABLE not in taints:
        taints.append(_UNSCHEDULABLE)
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or ())
    if not ready and _NOT_READY not in taints:
        taints.append(_NOT_READY)
    return NodeView(
        name=node["metadata"]["name"],
        allocatable=read_amounts(status.get("allocatable")),
        labels=dict(node["metadata"].get("labels") or {}),
        taints=tuple(taints),
    )


def seat(pod: Object) -> Seat:
    meta = pod["metadata"]
    return Seat(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        needs=_needs(pod, meta["namespace"]),
        labels=dict(meta.get("labels") or {}),
    )


def _needs(pod: Object, namespace: str) -> Needs:
    spec = pod["spec"]
    affinity = spec.get("affinity") or {}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    node_terms = ((affinity.get("nodeAffinity") or {}).get(required) or {}).get("nodeSelectorTerms")
    return Needs(
        requests=tuple(sorted((held_requests(pod) | {"pods": 1}).items())),
        node_selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        node_terms=None if node_terms is None else tuple(_node_term(term) for term in node_terms),
        affinity=_pod_terms((affinity.get("podAffinity") or {}).get(required), namespace),
        anti_affinity=_pod_terms((affinity.get("podAntiAffinity") or {}).get(required), namespace),
        spread=tuple(
            Spread(entry["topologyKey"], entry["maxSkew"], _or_nothing(label_selector(entry.get("labelSelector"))))
            for entry in spec.get("topologySpreadConstraints") or ()
            if entry.get("whenUnsatisfiable") == "DoNotSchedule"
        ),
        tolerations=tuple(
            Toleration(t.get("key", ""), t.get("operator", "Equal"), t.get("value", ""), t.get("effect", ""))
            for t in spec.get("tolerations") or ()
        ),
        ports=frozenset(
            (port.get("protocol", "TCP"), port.get("hostPort") or port["containerPort"])
            for container in spec.get("containers") or ()
            for port in container.get("ports") or ()
            if port.get("hostPort") or spec.get("hostNetwork")
        ),
    )


def _node_term(term: Object) -> NodeTerm:
    return NodeTerm(expressions(term.get("matchExpressions")), expressions(term.get("matchFields")))


def _or_nothing(selector: Selector | None) -> Selector:
    return (Expression("", "In"),) if selector is None else selector


def _pod_terms(terms: Sequence[Object] | None, namespace: str) -> tuple[PodTerm, ...]:
    found = []
    for term in terms or ():
        selector = label_selector(term.get("labelSelector"))
        names, others = frozenset(term.get("namespaces") or ()), label_selector(term.get("namespaceSelector"))
        if not names and others is None:
            names = frozenset({namespace})
        found.append(PodTerm(term["topologyKey"], _or_nothing(selector), names, others))
    return tuple(found)


class Cluster:
    """Nodes and their free resources, while pods are placed one after the other."""

    def __init__(self, nodes: Iterable[NodeView]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.free: dict[str, Amounts] = {node.name: dict(node.allocatable) for node in self.nodes.values()}
        self.seats: dict[str, dict[str, Seat]] = {name: {} for name in self.nodes}
        self._anti: dict[str, tuple[Seat, str]] = {}  # pods with anti-affinity and their node, by uid

    @property
    def has_anti_affinity(self) -> bool:
        return bool(self._anti)

    def put(self, pod: Seat, node: str) -> None:
        """`node` may be gone or too small: the pod runs there already."""
        if node not in self.nodes:
            return
        free = self.free[node]
        for name, amount in pod.needs.requests:
            free[name] = free.get(name, 0) - amount
        self.seats[node][pod.uid] = pod
        if pod.needs.anti_affinity:
            self._anti[pod.uid] = pod, node

    def take_away(self, pod: Seat, node: str) -> None:
        free = self.free[node]
        for name, amount in pod.needs.requests:
            free[name] = free.get(name, 0) + amount
        del self.seats[node][pod.uid]
        self._anti.pop(pod.uid, None)

    def total_free(self) -> Amounts:
        """Sum over the nodes that any pod may use; an over-committed node counts as full, not as negative."""
        total: Amounts = {}
        for name, node in self.nodes.items():
            if any(taint.effect in {"NoSchedule", "NoExecute"} for taint in node.taints):
                continue
            for resource, amount in self.free[name].items():
                total[resource] = total.get(resource, 0) + max(0, amount)
        return total

    def obstacles(self, pod: Seat, node: str) -> list[str]:
        """Why `pod` cannot be placed on `node`, as Kubernetes words it; empty if it can."""
        needs, view = pod.needs, self.nodes[node]
        short = lacking(dict(needs.requests), self.free[node])
        if short:
            return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in short]
        if not _selects(needs, view):
            return ["node(s) didn't match Pod's node affinity/selector"]
        for taint in view.taints:
            if taint.effect in {"NoSchedule", "NoExecute"} and not taint.is_tolerated(needs.tolerations):
                if taint.key == _UNSCHEDULABLE.key:
                    return ["node(s) were unschedulable"]
                return [f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"]
        if needs.ports and any(needs.ports & other.needs.ports for other in self.seats[node].values()):
            return ["node(s) didn't have free ports for the requested pod ports"]
        return self._between_pods(pod, view)

    def _between_pods(self, pod: Seat, view: NodeView) -> list[str]:
        needs = pod.needs
        for term in needs.affinity:
            places = self._places(term)
            # The first pod of a group with affinity to itself has no other pod to join yet.
            joins_itself = not places and term.matches(pod.namespace, pod.labels) and term.topology_key in view.labels
            if not joins_itself and not any(self._same_domain(term.topology_key, view, place) for place in places):
                return ["node(s) didn't match pod affinity rules"]
        for term in needs.anti_affinity:
            if any(self._same_domain(term.topology_key, view, place) for place in self._places(term)):
                return ["node(s) didn't match pod anti-affinity rules"]
        for other, place in self._anti.values():
            for term in other.needs.anti_affinity:
                if term.matches(pod.namespace, pod.labels) and self._same_domain(term.topology_key, view, place):
                    return ["node(s) didn't satisfy existing pods anti-affinity rules"]
        if any(not self._is_spread(pod, spread, view) for spread in needs.spread):
            return ["node(s) didn't match pod topology spread constraints"]
        return []

    def _places(self, term: PodTerm) -> set[str]:
        return {
            node
            for node, seats in self.seats.items()
            if any(term.matches(other.namespace, other.labels) for other in seats.values())
        }

    def _same_domain(self, key: str, view: NodeView, place: str) -> bool:
        domain = view.labels.get(key)
        return domain is not None and self.nodes[place].labels.get(key) == domain

    def _is_spread(self, pod: Seat, spread: Spread, view: NodeView) -> bool:
        domain = view.labels.get(spread.topology_key)
        if domain is None:
            return False
        counts: Counter[str] = Counter()
        for name, node in self.nodes.items():
            label = node.labels.get(spread.topology_key)
            if label is None or not _selects(pod.needs, node):
                continue
            counts[label] += sum(
                other.namespace == pod.namespace and all(line.matches(other.labels) for line in spread.selector)
                for other in self.seats[name].values()
            )
        counts[domain] += all(line.matches(pod.labels) for line in spread.selector)
        return counts[domain] - min(counts.values()) <= spread.max_skew


def _selects(needs: Needs, view: NodeView) -> bool:
    if any(view.labels.get(key) != text for key, text in needs.node_selector):
        return False
    if needs.node_terms is None:
        return True
    fields = {"metadata.name": view.name}
    return any(
        (term.labels or term.fields)
        and all(line.matches(view.labels) for line in term.labels)
        and all(line.matches(fields) for line in term.fields)
        for term in needs.node_terms
    )


def no_node_message(obstacles: Mapping[str, Sequence[str]]) -> str:
    """Kubernetes' line about all nodes: `0/3 nodes are unavailable: 3 Insufficient cpu.`"""
    counts = Counter(reason for reasons in obstacles.values() for reason in reasons)
    if not obstacles:
        return "0/0 nodes are unavailable: there is no node."
    return (
        f"0/{len(obstacles)} nodes are unavailable: {', '.join(sorted(f'{n} {text}' for text, n in counts.items()))}."
    )
