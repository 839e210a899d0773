"""The first commands that a person would type in a repository that Flux applies, and in one for OpenShift; and that
every repository of the fixtures gives an answer, or names the command for it, at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import as_typed, clone_repository, olmc, replace_text
from snapshot_files import TextFile
from syrupy.assertion import SnapshotAssertion

from olmc.compiler.load import helm

CATALOG = (
    "schema: olm.package\nname: {name}\ndefaultChannel: {channel}\n---\n"
    "schema: olm.channel\npackage: {name}\nname: {channel}\nentries:\n- name: {name}.v1.0.0\n---\n"
    "schema: olm.bundle\npackage: {name}\nname: {name}.v1.0.0\nimage: registry.example.com/{name}:v1.0.0\n"
    "properties:\n- type: olm.package\n  value: {{packageName: {name}, version: 1.0.0}}\n"
)
CATALOGS = {
    "redhat-operators": CATALOG.format(name="lantern", channel="stable-1.0"),
    "certified-operators": CATALOG.format(name="tide", channel="stable"),
    "community-operators": CATALOG.format(name="buoy", channel="fast"),
}
FROM_FILES = [part for name in CATALOGS for part in ("--catalog", f"{name}=../{name}.yaml")]
COMMANDS: dict[str, dict[str, list[tuple[str, ...]]]] = {
    "flux": {
        "check": [("check",)],
        "check-entry": [("check", "--entry", "flux-system/operators")],
        "check-patched": [("check", "--entry", "operators-staging")],
        "check-plain": [("check", "--entry", "lighthouse")],
        "check-folder": [("check", "operators/staging")],
        "diff": [("diff", "git:HEAD~1", "."), ("diff", "git:HEAD~1", "--entry", "flux-system/operators")],
        "plan": [("plan", "operators/prod", "--from", "git:HEAD~1")],
        "vendor": [("vendor", "operators/prod")],
    },
    "openshift": {
        "check": [("check",)],
        "status": [("status",)],
        "diff": [("diff", "git:HEAD~1", ".")],
        "plan": [("plan", "--from", "git:HEAD~1")],
        "vendor-check": [("vendor", "--check")],
        "vendor-from-files": [("vendor", "--offline", *FROM_FILES), ("check",), ("resolve",)],
    },
}
CHANGES = {
    "flux": ("operators/base/beacon.yaml", "channel: stable", "channel: stable-2"),
    "openshift": ("tracing/subscription.yaml", "channel: stable", "channel: stable-2"),
    "argo": ("operators/beacon/operators.yaml", "channel: stable", "channel: stable-2"),
    "helm": ("charts/operators/values.yaml", "channel: stable", "channel: fast"),
    "kustomize": ("base/beacon.yaml", "sourceNamespace: olm", "sourceNamespace: olm-2"),
    "policies": ("policies/beacon.yaml", "kind: Policy", "kind: Policy  # reviewed"),
    "operators": ("operators/anchor/1.1.0/manifests/anchor.clusterserviceversion.yaml", "1.1.0", "1.1.1"),
    "operator-sdk": ("bundle/manifests/lantern.clusterserviceversion.yaml", "update, patch", "update, delete"),
}
needs_kustomize = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl"
)


@pytest.fixture
def clone(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A function that makes a clone of a fixture, with a commit, and a second one that changes something."""

    def cloned(name: str) -> Path:
        for catalog, text in CATALOGS.items():
            (tmp_path / f"{catalog}.yaml").write_text(text, encoding="utf-8")
        path, old, new = CHANGES[name]
        root = clone_repository(
            project / "fixtures/repos" / name, tmp_path / name, lambda root: replace_text(root / path, old, new)
        )
        monkeypatch.chdir(root)
        return root

    return cloned


@needs_kustomize
@pytest.mark.parametrize(("repository", "name"), [(one, name) for one, names in COMMANDS.items() for name in names])
def test_first_commands(repository: str, name: str, clone: Callable[[str], Path], snapshot: SnapshotAssertion) -> None:
    clone(repository)
    text = "".join(as_typed(*command) for command in COMMANDS[repository][name])
    assert text == snapshot.use_extension(TextFile)


@pytest.mark.slow
@needs_kustomize
@pytest.mark.parametrize("repository", sorted(CHANGES))
def test_every_repository_has_an_answer_or_names_the_command(repository: str, clone: Callable[[str], Path]) -> None:
    """For a repository with entries the second command is the first with one of those that are listed."""
    if repository == "helm" and not (shutil.which("helm") or find_spec(helm.LIBRARY)):
        pytest.skip("needs helm, or the extra olmc[helm]")
    clone(repository)
    for command in (("check",), ("diff", "git:HEAD~1", ".")):
        done = olmc(*command)
        said = done.stdout + done.stderr
        if "OLMC195" in said:
            folders = [line.split()[0] for line in said.splitlines() if line.startswith("    ")]
            entry = next(folder for folder in folders if not folder.startswith("charts/") or repository == "helm")
            done = olmc(*command[:2], entry) if command[0] == "diff" else olmc("check", entry)
            said = done.stdout + done.stderr
        if repository == "operators" and command[0] == "diff":
            # Bundles that nobody subscribes to are compared with each other.
            assert "`olmc diff operators/anchor/" in said
            continue
        assert done.exit_code in (0, 1), said
        if command[0] == "check" and done.exit_code:
            assert "`olmc vendor" in said or "OLMC2" in said or "OLMC669" in said, said
        if command[0] == "diff":
            assert said.startswith("git:HEAD~1 → ")


def test_the_config_of_the_openshift_repository_is_what_init_writes(clone: Callable[[str], Path]) -> None:
    root = clone("openshift")
    before = (root / "olmc.yaml").read_text(encoding="utf-8")
    (root / "olmc.yaml").unlink()
    assert olmc("init", "workspace", "--openshift", "4.18").exit_code == 0
    assert (root / "olmc.yaml").read_text(encoding="utf-8") == before
