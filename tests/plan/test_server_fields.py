"""What of a cluster's objects is predicted: whatever stands in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.review.plan.repair import STATUS_KINDS, predicted

_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 1) | st.sampled_from(["", "a", "1.5"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "kind", "a"]), inner),
    max_leaves=4,
)
_FIELDS = ["generation", "clusterServiceVersionNames", "template", "conversion", "clusterIP", "metadata", "namespaces",
           "conditions", "phase", "state", "annotations", "clientConfig", "namespaceSelector"]  # fmt: skip
_FOLDER = st.dictionaries(st.sampled_from(_FIELDS), _ANYTHING | st.dictionaries(st.sampled_from(_FIELDS), _ANYTHING))
_KINDS = (*sorted(STATUS_KINDS), "Deployment", "Secret", "Service", "Namespace", "ClusterRole", "APIService",
          "ValidatingWebhookConfiguration", "CustomResourceDefinition")  # fmt: skip
_TEXTS = st.dictionaries(st.sampled_from(["olmcahash", "olm.generated-by", "olm.copiedFrom"]), st.just("a"))
_OBJECTS = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["v1", "operators.coreos.com/v1", "operators.coreos.com/v1alpha1"]),
        "kind": st.sampled_from(_KINDS),
        "metadata": st.fixed_dictionaries(
            {"name": st.sampled_from(["a", "b-x2x2x"])},
            optional={"namespace": st.just("a"), "labels": _TEXTS, "annotations": _TEXTS, "generateName": _ANYTHING,
                      "ownerReferences": st.lists(_ANYTHING) | _ANYTHING},
        ),
    },
    optional={
        "spec": _FOLDER | _ANYTHING, "status": _FOLDER | _ANYTHING, "webhooks": st.lists(_FOLDER | _ANYTHING),
        "data": _ANYTHING, "rules": _ANYTHING, "aggregationRule": _ANYTHING,
    },
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(_OBJECTS, max_size=4))
def test_nothing_that_stands_in_an_object_raises(objects: list[dict[str, Any]]) -> None:
    shown = predicted(objects)
    assert len(shown) <= len(objects)
    assert list(predicted(objects).values()) == list(shown.values())
