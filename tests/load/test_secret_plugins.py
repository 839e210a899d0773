"""Plugins that make Secrets only are left out of a build; all else is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from scenarios import write
from test_kustomize import KIND, needs_tool

import olmc

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n"
KSOPS = """\
apiVersion: viaduct.ai/v1
kind: ksops
metadata: {name: secrets, annotations: {config.kubernetes.io/function: "exec: {path: ksops}"}}
files: [token.enc.yaml]
"""
EXEC = """\
apiVersion: tools.example.com/v1
kind: Decrypted
metadata: {name: secrets, annotations: {config.kubernetes.io/function: "exec: {path: /usr/local/bin/ksops}"}}
files: [token.enc.yaml]
"""
GENERATOR = "apiVersion: goabout.com/v1beta1\nkind: SopsSecretGenerator\nmetadata: {name: a}\nenvs: [a.env]\n"
OTHER = "apiVersion: tools.example.com/v1\nkind: Pots\nmetadata: {name: pots}\n"
ENCRYPTED = """\
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: harbour}
data: {token: "ENC[AES256_GCM,data:c2VjcmV0,iv:aXY=,tag:dGFn,type:str]"}
sops: {age: [{recipient: age1example, enc: none}], lastmodified: "2026-01-02T03:04:05Z", version: 3.9.0}
"""
SEALED = """\
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {name: token, namespace: harbour}
spec: {encryptedData: {token: AgB}}
"""


def found(root: Path, files: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The kinds of the manifests, and the codes of what is reported."""
    write(root, {"namespace.yaml": NAMESPACE, **files})
    made = olmc.compile(root)
    manifests = made.workspace.manifests if made.workspace is not None else ()
    return [manifest.object["kind"] for manifest in manifests], [diagnostic.code for diagnostic in made.diagnostics]


@needs_tool
@pytest.mark.process
@pytest.mark.parametrize(
    ("generators", "files"),
    [
        ("[ksops.yaml]", {"ksops.yaml": KSOPS}),
        ("[ksops.yaml, sops.yaml]", {"ksops.yaml": f"{KSOPS}---\n{EXEC}", "sops.yaml": GENERATOR}),
        ("[secrets]", {"secrets/kustomization.yaml": "resources: [a.yaml]\n", "secrets/a.yaml": KSOPS}),
        ('["{apiVersion: viaduct.ai/v1, kind: ksops, metadata: {name: a}}"]', {}),
    ],
)
def test_a_plugin_of_secrets_is_left_out(generators: str, files: Mapping[str, str], tmp_path: Path) -> None:
    kustomization = f"{KIND}resources: [namespace.yaml]\ngenerators: {generators}\n"
    kinds, codes = found(tmp_path, {"kustomization.yaml": kustomization, **files})
    assert kinds == ["Namespace"]
    assert set(codes) == {"OLMC168"}


@needs_tool
@pytest.mark.process
def test_a_base_of_secrets_only_is_empty(tmp_path: Path) -> None:
    files = {
        "kustomization.yaml": f"{KIND}resources: [namespace.yaml, secrets]\n",
        "secrets/kustomization.yaml": f"{KIND}generators: [ksops.yaml]\n",
        "secrets/ksops.yaml": KSOPS,
    }
    assert found(tmp_path, files) == (["Namespace"], ["OLMC168"])


@needs_tool
@pytest.mark.process
def test_another_plugin_stops_the_build(tmp_path: Path) -> None:
    """The plugin is none of kustomize's own, so the objects are unknown; kustomize's own words do not matter."""
    files = {"kustomization.yaml": f"{KIND}resources: [namespace.yaml]\ngenerators: [a.yaml]\n", "a.yaml": OTHER}
    assert found(tmp_path, files) == ([], ["OLMC164"])
    (finding,) = olmc.compile(tmp_path).diagnostics
    assert str(finding.location) == "kustomization.yaml:4:14"
    assert finding.message == "the kustomization runs the plugin Pots, which olmc does not run"


@needs_tool
@pytest.mark.process
@pytest.mark.parametrize("text", [ENCRYPTED, SEALED])
@pytest.mark.parametrize("built", [True, False])
def test_an_encrypted_secret_is_no_mistake(text: str, built: bool, tmp_path: Path) -> None:
    """Flux decrypts what sops has encrypted before it applies it, and a controller opens a SealedSecret."""
    files = {"kustomization.yaml": f"{KIND}resources: [namespace.yaml, token.yaml]\n"} if built else {}
    kinds, codes = found(tmp_path, {"token.yaml": text, **files})
    assert (len(kinds), codes) == (2, [])
