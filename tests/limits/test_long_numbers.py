"""Numbers of thousands of digits, which Python refuses to make, and digits that are none, are texts like any other."""

from __future__ import annotations

import pytest
from cpu_time import measure

from olmc.compiler.reconcile.requirements import kube_version_problem
from olmc.integrations.pipelines.argocd import parse_value
from olmc.integrations.pipelines.function import file_of, run
from olmc.k8s.api.formats import conforms
from olmc.k8s.api.selectors import Requirement
from olmc.k8s.gojson.scalars import amount
from olmc.k8s.strconv import full_kube_version, minor_of
from olmc.targets.v1.crd_upgrade import crd_errors

LONG = "1" * 5_000
NUMBERS = [LONG, "0" * 5_000, "\u00b2", "\u0663"]
LIST = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: operators.coreos.com/v1alpha1
  kind: Subscription
  metadata:
    name: ferry
    namespace: harbour
    annotations:
      config.kubernetes.io/path: a.yaml
      config.kubernetes.io/index: "{}"
"""


@pytest.mark.parametrize("number", NUMBERS)
def test_the_place_of_an_item_is_a_number(number: str) -> None:
    """The attack: whatever is found in the item has the place that an annotation says."""
    outcome = run(LIST.format(number))
    assert "index: 0" in outcome.text
    item = {"metadata": {"annotations": {"config.kubernetes.io/path": "a", "config.kubernetes.io/index": number}}}
    assert file_of(item) == ("a", 0)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_setting_that_is_no_number_stays_a_text(number: str) -> None:
    assert parse_value("phase", number) == number
    assert parse_value("phase", "2") == 2


@pytest.mark.parametrize("number", NUMBERS)
def test_versions(number: str) -> None:
    assert full_kube_version(f"v1.{number}") == ""
    assert minor_of(f"v1.{number}") in (0, 3)
    assert minor_of("v1.27+") == 27
    assert kube_version_problem(f"1.{number}.0", "v1.36.2") == "CSV version parsing error"
    assert kube_version_problem("1.1.0", f"v1.{number}.0") == "Server version parsing error"


def test_cidr() -> None:
    assert not conforms("cidr", f"10.0.0.0/{LONG}")
    assert conforms("cidr", "10.0.0.0/24")


def test_selectors() -> None:
    assert not Requirement("a", "Gt", (LONG,)).holds({"a": "1"})
    assert Requirement("a", "Lt", ("9223372036854775807",)).holds({"a": "1"})


def test_amounts() -> None:
    """They take no time either, whatever their exponent is."""
    seconds = measure()
    assert amount("1e2000000000") > amount("1e100") > amount("1e-1")
    assert seconds() < 1


def test_versions_of_a_crd() -> None:
    """A number that is too large is the name of a version as any other is."""
    served = [{"name": name, "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
              for name in ("v1", f"v{LONG}", f"v1beta{LONG}")]  # fmt: skip
    crd = {"spec": {"versions": served, "conversion": {"strategy": "Webhook"}}}
    assert crd_errors(crd, crd) == []
