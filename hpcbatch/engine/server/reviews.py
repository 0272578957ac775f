"""Questions about who one is and what one may do. The engine has one user, who may do everything."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
_USER = "hpcbatch"
_GROUPS = ["system:masters", "system:authenticated"]


def review(plural: str, body: Any) -> Object:
    """The answer to one of the reviews in discovery.REVIEWS."""
    asked: Object = body if isinstance(body, dict) else {}
    spec = asked.get("spec") if isinstance(asked.get("spec"), dict) else {}
    match plural:
        case "selfsubjectreviews":
            return {
                "kind": "SelfSubjectReview",
                "apiVersion": "authentication.k8s.io/v1",
                "metadata": {},
                "status": {"userInfo": {"username": _USER, "groups": _GROUPS}},
            }
        case "selfsubjectrulesreviews":
            rules = {
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": False,
            }
            return {
                "kind": "SelfSubjectRulesReview",
                "apiVersion": "authorization.k8s.io/v1",
                "metadata": {},
                "spec": spec,
                "status": rules,
            }
    return {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": True, "reason": "the engine's only user may do everything"},
    }
