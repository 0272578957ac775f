"""Features that operators give nodes."""

from __future__ import annotations

import pytest

from hpcbatch.model.node_features import ACTIVE, AVAILABLE, features_of, is_feature_name, relabelled

BEFORE = {"features.hpcbatch.io/old": ACTIVE, "kubernetes.io/hostname": "n1"}


def test_labels_there_and_back() -> None:
    change = relabelled(BEFORE, ["a", "b"], ["b"])
    after = {label: value for label, value in (BEFORE | change).items() if value is not None}
    assert after["kubernetes.io/hostname"] == "n1"
    assert features_of(after.items(), ACTIVE) == ("b",)
    assert features_of(after.items(), ACTIVE, AVAILABLE) == ("a", "b")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("a", True), ("test17.12_feat0", True), ("a/b", False), ("", False), ("-a", False), ("a" * 64, False)],
)
def test_names(name: str, is_one: bool) -> None:
    assert is_feature_name(name) is is_one
