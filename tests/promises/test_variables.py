"""docs/security-model.md: Flux fills variables into manifests, so a review reads what comes of them as well."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import olmc, unfolded
from scenarios import write

BASE = {
    "olmc.yaml": "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {}\n",
    "base.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n",
}
BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: crew}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: crew, namespace: harbour}]
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "NAME", namespace: harbour}
spec:
  selector: {matchLabels: {app: tug}}
  template:
    metadata: {labels: {app: tug}}
    spec: {containers: [{name: tug, image: "registry.example.com/tug:v1"MORE}]}
"""
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: crew}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
"""
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tugs.example.com}
spec:
  group: example.com
  names: {kind: Tug, plural: tugs}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          description: "The crew of ${NAME:-a tug}."
          type: object
          properties:
            spec:
              type: object
              default: {description: "one"}
              properties: {description: {type: string}, role: {type: string, default: "view"}}
"""


def deployment(name: str, more: str = "") -> str:
    return DEPLOYMENT.replace("NAME", name).replace("MORE", more)


ATTACKS = {
    "a role by default": ("", BINDING.replace("view", "'${ROLE:=cluster-admin}'")),
    "a part of its name": ("", BINDING.replace("view", "'cluster-${ROLE:-admin}'")),
    "a kind by default": (
        "",
        BINDING.replace("kind: ClusterRoleBinding", "kind: '${K:=ClusterRoleBinding}'").replace("view", "admin"),
    ),
    "a version by default": (
        "",
        BINDING.replace("view", "admin").replace(
            "apiVersion: rbac.authorization.k8s.io/v1", "apiVersion: '${API:=rbac.authorization.k8s.io/v1}'"
        ),
    ),
    "a role that olmc does not know": ("", BINDING.replace("view", "'${ROLE}'")),
    "a kind that olmc does not know": ("", BINDING.replace("kind: ClusterRoleBinding", "kind: '${KIND}'")),
    "rules that olmc does not know": (ROLE, ROLE.replace("resources: [pods]", "resources: ['${RESOURCE}']")),
    "verbs by default": (ROLE, ROLE.replace("[get]", "['${VERB:=*}']").replace("[pods]", "[secrets]")),
    "privileges under a name with a variable": (
        deployment("${app}-tug"), deployment("${app}-tug", ", securityContext: {privileged: true}")
    ),
    "privileges by default": (
        deployment("${app}-tug"), deployment("${app}-tug", ", securityContext: {privileged: '${P:=true}'}")
    ),
    "a default in a default": ("", BINDING.replace("view", "'${A:=${B:=cluster-admin}}'")),
    "a part of a default in a default": ("", BINDING.replace("view", "'${A:-cluster-${B:-admin}}'")),
    "privileges by another operator": (
        deployment("tug"), deployment("tug", ", securityContext: {privileged: '${P:+true}'}")
    ),
    "privileges by an error": (deployment("tug"), deployment("tug", ", securityContext: {privileged: '${P:?true}'}")),
    "privileges by a name that begins with a digit": (
        deployment("tug"), deployment("tug", ", securityContext: {privileged: '${1P:=true}'}")
    ),
    "privileges behind an escaped dollar": (deployment("tug"), deployment("tug").replace("tug:v1", "$$${I:=x:latest}")),
    "privileges by two variables": (
        deployment("tug"), deployment("tug", ", securityContext: {privileged: '${A:=tr}${B:=ue}'}")
    ),
    "privileges and an empty variable": (
        deployment("tug"), deployment("tug", ", securityContext: {privileged: '${A:=true}${B}'}")
    ),
    "privileges under a key by default": (
        deployment("tug"), deployment("tug", ", securityContext: {'${K:=privileged}': true}")
    ),
    "a part of a key": (deployment("tug"), deployment("tug", ", securityContext: {'privileged${K}${L:=}': true}")),
    "the user 0 by a length": (deployment("tug"), deployment("tug", ", securityContext: {runAsUser: '${#X}'}")),
    "a list by default": (
        deployment("tug"), deployment("tug", ", securityContext: {capabilities: {add: '${A:=[SYS_ADMIN]}'}}")
    ),
    "an object by default": (
        deployment("tug"), deployment("tug", """, securityContext: '${A:={"privileged":true}}'""")
    ),
    "rules by default": (
        ROLE, ROLE.replace('rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]',
                           """rules: '${R:=[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}}]'"""),
    ),
    "a default of a field by default": (DEFINITION, DEFINITION.replace('"view"', '"${ROLE:-admin}"')),
    "a description in a default of a field": (DEFINITION, DEFINITION.replace('"one"', '"${TEXT:-two}"')),
    "another image by default": (
        deployment("tug"), deployment("tug").replace("registry.example.com", "${REGISTRY:=evil.example.com}")
    ),
}  # fmt: skip

SCRIPT = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: harbour}\ndata: {a.sh: 'echo ${A:-/bin} ${B}'}\n"
)
HARMLESS = {
    "a script": ("", SCRIPT),
    "a subject": ("", BINDING.replace("name: crew,", "name: '${TEAM}',")),
    "arguments": (deployment("${app}-tug"), deployment("${app}-tug", ", args: ['${LEVEL:=debug}']")),
    "a registry that is a variable": (
        deployment("tug").replace("registry.example.com", "${R}"),
        deployment("tug").replace("registry.example.com/tug:v1", "${R}/tug:v2"),
    ),
    "replicas": (deployment("tug"), deployment("tug").replace("spec:", "spec:\n  replicas: '${R:=2}'", 1)),
    "the description of a field": (DEFINITION, DEFINITION.replace("a tug", "a ship")),
    "an escaped variable": (ROLE, ROLE.replace("name: crew", "name: crew, annotations: {a: '$${A:=b}'}")),
}


def outcomes(root: Path, old: str, new: str) -> list[tuple[int, str]]:
    """The exit codes and texts of commands that fail on a risk."""
    for side, text in (("old", old), ("new", new)):
        write(root / side, {**BASE, "more.yaml": text} if text else BASE)
    commands = (("diff", "old", "new"), ("plan", "new", "--from", "old"))
    done = [olmc(*command, "--fail-on", "risk") for command in commands]
    return [(each.exit_code, unfolded(each.stdout)) for each in done]


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_variables_become_is_reviewed(attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for code, text in outcomes(tmp_path, *ATTACKS[attack]):
        assert code == 1, text
        assert "[risk]" in text or "[breaking]" in text


@pytest.mark.parametrize("change", HARMLESS)
def test_variables_that_give_no_power_are_no_risk(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _, text in outcomes(tmp_path, *HARMLESS[change]):
        assert "[risk]" not in text


def test_a_variable_that_was_there_is_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    old = BINDING.replace("view", "'${ROLE:=cluster-admin}'")
    for code, text in outcomes(tmp_path, old, old.replace("name: crew}", "name: crew, labels: {a: b}}", 1)):
        assert (code, "[risk]" in text) == (0, False), text
