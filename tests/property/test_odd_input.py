"""Whatever stands in place of a value, compiling ends in a diagnostic or an object, never in an exception."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from building import write_workspace
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

import olmc

EXAMPLES = examples(120)
JUNK: tuple[Any, ...] = (None, "", [], {}, "text", 7, 1.5, True, [None], ["x"], [{}], {"a": None})
Keys = tuple[str | int, ...]

WORKSPACE = yaml.safe_load("""
namespaces: {a: {}}
groups: {ns/og: [ns, a]}
manifests:
  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: brewer, namespace: a}}
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: binding, namespace: a}
    subjects: [{kind: ServiceAccount, name: brewer}]
    roleRef: {kind: ClusterRole, name: cluster-admin}
  - {apiVersion: kettle.example.com/v1, kind: Kettle, metadata: {name: k, namespace: a}, spec: {size: 1}}
  - {apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.x.y}, spec: {group: x.y}}
  - {apiVersion: config.openshift.io/v1, kind: Proxy, metadata: {name: cluster}, status: {httpProxy: x}}
  - apiVersion: operators.coreos.com/v1
    kind: OLMConfig
    metadata: {name: cluster}
    spec: {features: {disableCopiedCSVs: false}}
  - apiVersion: operators.coreos.com/v1alpha1
    kind: InstallPlan
    metadata: {name: install-x, namespace: a}
    spec: {generation: 3, approved: true, clusterServiceVersionNames: [x]}
    status: {phase: Complete}
operators:
  - name: kettle.v1.0.0
    owned: [Kettle]
    serves: [Boil.v1.served.example.com]
    permissions: {brewer: [get pods]}
    clusterPermissions: {brewer: [get nodes]}
    webhooks: [{rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}]
    subscription:
      spec:
        config:
          env: [{name: A, value: "1"}]
          volumes: [{name: v, emptyDir: {}}]
          affinity: {nodeAffinity: {}}
          resources: {limits: {cpu: "1"}}
          annotations: {a: b}
    files:
      a.yaml: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {a: b}}, data: {a: b}}
      b.yaml: {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}
      c.yaml: {apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {ports: [{port: 80}]}}
      d.yaml: {apiVersion: v1, kind: ServiceAccount, metadata: {name: brewer}}
      e.yaml: {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: p}, spec: {minAvailable: 1}}
      f.yaml: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: pc}, value: 1}
      g.yaml:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: cr}
        rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]
  - {name: pot.v1.0.0, applied: all, owned: [Pot], into: [a], permissions: {brewer: [get pods]}}
""")


def paths(value: Any, above: Keys = ()) -> Iterator[Keys]:
    """The keys that lead to every value below a value, itself included."""
    yield above
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*above, key))


def files() -> dict[str, Any]:
    """The objects of the workspace's files."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, WORKSPACE)
        found = [path for path in root.rglob("*") if path.is_file() and path.name != "catalog.yaml"]
        return {str(path.relative_to(root)): json.loads(path.read_text()) for path in sorted(found)}


FILES = files()
VERSIONS = ("0.46", "0.25", "0.16.1", "0.13", "docs")
PLACES = [(name, keys) for name, content in FILES.items() for keys in paths(content) if keys]


@contextmanager
def odd_workspace(place: tuple[str, Keys], junk: Any) -> Iterator[Path]:
    """The workspace with `junk` at one place of one of its files."""
    name, keys = place
    content = copy.deepcopy(FILES[name])
    target = content
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = copy.deepcopy(junk)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, WORKSPACE)
        (root / name).write_text(json.dumps(content), encoding="utf-8")
        yield root


@EXAMPLES
@given(st.sampled_from(PLACES), st.sampled_from(JUNK), st.sampled_from(("review", "apply")), st.sampled_from(VERSIONS))
def test_no_value_is_too_odd(place: tuple[str, Keys], junk: Any, purpose: Any, version: str) -> None:
    with odd_workspace(place, junk) as root:
        made = olmc.compile(root, olmc.Options(purpose=purpose, olm_version=version))
    # Without any manifest there is nothing to say and nothing to make.
    assert made.objects or made.diagnostics or place[1] == ("items",)


BUNDLE = "bundles/kettle.v1.0.0"
IN_BUNDLE = [place for place in PLACES if place[0].startswith(BUNDLE)]
MODE = (f"{BUNDLE}/manifests/kettle.clusterserviceversion.yaml", ("spec", "installModes", 0, "type"))


@EXAMPLES
@given(st.sampled_from(IN_BUNDLE), st.sampled_from(JUNK), st.booleans())
@example(MODE, {"a": None}, False)
def test_no_bundle_by_itself_is_too_odd(place: tuple[str, Keys], junk: Any, descoped: bool) -> None:
    with odd_workspace(place, junk) as root:
        made = olmc.compile(root / BUNDLE, olmc.Options(descoped=descoped))
    assert made.objects or made.diagnostics
