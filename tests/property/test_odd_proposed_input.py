"""Whatever stands in place of a value in the proposed APIs, compiling ends in a diagnostic or an object."""

from __future__ import annotations

import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from building import write_workspace
from hypothesis import example, given
from hypothesis import strategies as st
from test_odd_input import BUNDLE, EXAMPLES, IN_BUNDLE, JUNK, Keys, odd_workspace, paths

import olmc
from olmc.review.migrate.proposed import migrate

WORKSPACE = yaml.safe_load("""
namespaces: {ns: {}, a: {}}
groups: {a/og: {serviceAccountName: butler}, b/og: [a]}
manifests:
  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: butler, namespace: a}}
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: all, labels: {x: "y"}}
    aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: "y"}}]}
    rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: all}
    subjects: [{kind: User, name: jane}, {kind: Group, name: g}]
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all}
  - apiVersion: operators.coreos.com/v2alpha1
    kind: Operator
    metadata: {name: tea, labels: {l: m}}
    spec:
      updates:
        type: CatalogSource
        catalogSource:
          {package: kettle, channel: stable, entrypoint: kettle.v1.0.0, approval: Automatic,
           ref: {name: cat, namespace: olm}}
  - apiVersion: operators.coreos.com/v2alpha1
    kind: Operator
    metadata: {name: pot}
    spec: {updates: {type: ManifestImage, manifestImage: registry.example.com/pot.v1.0.0}}
  - apiVersion: operators.coreos.com/v2alpha1
    kind: Install
    metadata: {name: plan, labels: {operators.coreos.com/tea: ""}}
    spec: {approval: Approved, content: [{type: ManifestImage, manifestImage: x}]}
  - apiVersion: operators.coreos.com/v2alpha1
    kind: Install
    metadata: {name: given}
    spec:
      namespaces: [{from: default, to: a}]
      approval: Approved
      content:
        - {type: ManifestImage, manifestImage: registry.example.com/spoon.v1.0.0}
        - type: Raw
          raw:
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata: {name: b, namespace: default}
            subjects: [{kind: ServiceAccount, name: s, namespace: default}]
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all}
        - type: Raw
          raw:
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingWebhookConfiguration
            metadata: {name: w}
            webhooks: [{name: w.example.com, clientConfig: {service: {name: s, namespace: default}}}]
        - type: Raw
          raw:
            apiVersion: operators.coreos.com/v1alpha1
            kind: ClusterServiceVersion
            metadata: {name: raw.v1}
            spec:
              install:
                strategy: deployment
                spec:
                  deployments: []
                  permissions: [{serviceAccountName: s, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}]
  - {apiVersion: kettle.kettle.example.com/v1, kind: Kettle, metadata: {name: k, namespace: a}}
  - apiVersion: v1
    kind: Pod
    metadata: {name: p, namespace: a, labels: {operators.coreos.com/tea: ""}}
    status: {conditions: [{type: Ready, status: "False"}]}
operators:
  - name: kettle.v1.0.0
    into: []
    owned: [Kettle]
    modes: []
    permissions: {boiler: [get pods]}
    clusterPermissions: {boiler: [get nodes]}
  - {name: kettle.v1.1.0, into: [], replaces: kettle.v1.0.0, required: [Spoon.v1.spoon.example.com]}
  - {name: spoon.v1.0.0, into: [ns], owned: [Spoon], csv: {spec: {installModes: []}}, permissions: {s: [get pods]}}
  - {name: pot.v1.0.0, into: [b], modes: [All]}
  - {name: tray.v1.0.0, applied: all, modes: [All], owned: [Tray], into: [a]}
""")
OPTIONS = olmc.Options(
    descoped=True, operators_and_installs=True, user="jane", approve_installs=True, migrate_subscriptions=True
)
MINE = [path for path in paths(WORKSPACE["manifests"]) if len(path) > 1]


@EXAMPLES
@given(st.sampled_from(MINE), st.sampled_from(JUNK), st.booleans())
@example((1, "aggregationRule", "clusterRoleSelectors"), [None], False)
@example((1, "aggregationRule"), "x", False)
def test_junk_in_manifests(path: Keys, junk: Any, migrating: bool) -> None:
    """Junk anywhere in Operators, Installs and RBAC."""
    case = copy.deepcopy(WORKSPACE)
    value = case["manifests"]
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = junk
    compiles(case, OPTIONS._replace(migrate_subscriptions=migrating))


@EXAMPLES
@given(
    st.sampled_from(["installModes", "install", "customresourcedefinitions", "version", "displayName"]),
    st.sampled_from(JUNK),
    st.integers(0, 4),
)
def test_junk_in_bundles(field: str, junk: Any, which: int) -> None:
    """Junk in the CSVs that are classified and installed."""
    case = copy.deepcopy(WORKSPACE)
    case["operators"][which]["csv"] = {"spec": {field: junk}}
    compiles(case, OPTIONS)


CRD = f"{BUNDLE}/manifests/kettles.kettle.example.com.crd.yaml"


@EXAMPLES
@given(st.sampled_from(IN_BUNDLE), st.sampled_from(JUNK))
@example((CRD, ("spec", "versions", 0)), {"name": "v1", "served": True, "storage": True, "subresources": 7})
def test_junk_in_a_bundle_that_migrates(place: tuple[str, Keys], junk: Any) -> None:
    """Junk in CSVs and CRDs, which the findings of descoping look into."""
    with odd_workspace(place, junk) as root:
        migrated = migrate(root, "descoped")
    assert isinstance(migrated.remarks, tuple)


def compiles(case: dict[str, Any], options: olmc.Options) -> None:
    with TemporaryDirectory() as folder:
        write_workspace(Path(folder), case)
        made = olmc.compile(folder, options)
        assert made.diagnostics or made.objects
