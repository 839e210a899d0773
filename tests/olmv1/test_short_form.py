"""`olmc render BUNDLE --olm-version v1`: one bundle as a ClusterExtension would have it."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from building import write_workspace
from click.testing import CliRunner
from olmv1_bundles import CRD, HOOK, OWNED, PERMISSION, csv, files_of, strategy
from snapshot_files import YAMLFile
from syrupy.assertion import SnapshotAssertion

import olmc
from olmc.cli.main import main
from olmc.k8s.diagnostics import Severity

RUNS = {
    "webhooks": "turbine -n power",
    "webhooks-service-ca": "turbine -n power --olm-version v1-openshift",
    "webhooks-apply": "turbine -n power --for apply --certs cert-manager",
    "webhooks-no-certs": "turbine -n power --certs none",
    "revision": "turbine -n power --olm-version v1-experimental --include Deployment --include ConfigMap",
    "one-namespace": "gauge --olm-version v1-experimental --watch north",
    "own-namespace-apply": "gauge --olm-version v1-experimental --watch gauges --for apply",
    "no-namespace": "gauge --olm-version v1-experimental",
    "two-namespaces": "gauge --olm-version v1-experimental --watch north --watch south",
    "gate-is-closed": "gauge",
    "refused": "relay",
    "refused-apply": "relay --for apply",
}


@pytest.mark.parametrize("name", RUNS)
def test_fixtures(name: str, project: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output, messages and exit code, as a user sees them."""
    monkeypatch.chdir(project / "fixtures" / "olmv1")
    arguments = RUNS[name].split()
    version = [] if "--olm-version" in arguments else ["--olm-version", "v1"]
    result = CliRunner().invoke(main, ["render", *arguments, *version])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    talk = [f"exit code {result.exit_code}", *result.stderr.splitlines()]
    printed = result.stdout + "".join(f"# {line}".rstrip() + "\n" for line in talk)
    assert printed == snapshot.use_extension(YAMLFile)


def compiled(folder: Path, files: dict[str, str], **options: object) -> olmc.Compilation:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    wanted = {"olm_version": "v1", "install_namespace": "home", **options}
    return olmc.compile(folder, **wanted)  # type: ignore[arg-type]


def findings(made: olmc.Compilation) -> list[tuple[str, str]]:
    return [(found.code, found.message) for found in made.diagnostics if found.severity >= Severity.WARNING]


@pytest.mark.process
def test_v0_runs_without_code_of_v1(project: Path) -> None:
    """Neither a bundle by itself nor a workspace imports anything of olmc.targets.v1. A bundle for OLM v1 does, and
    nothing of OLM v0's controllers, so that it costs no more."""
    code = (
        "import sys, olmc; made = olmc.compile(sys.argv[1], olmc.Options(olm_version=sys.argv[2])); "
        "assert made.objects; print(*sorted({'.'.join(name.split('.')[1:3]) for name in sys.modules}"
        "& {'targets.v1', 'compiler.reconcile', 'compiler.resolver'}))"
    )
    for folder, version, imported in (
        ("fixtures/bare-bundle", "0.46.0", "compiler.reconcile compiler.resolver"),
        ("fixtures/bare-bundle", "ocp-4.20", "compiler.reconcile compiler.resolver"),
        ("fixtures/own-namespace", "0.46.0", "compiler.reconcile compiler.resolver"),
        ("fixtures/olmv1/turbine", "v1", "targets.v1"),
    ):
        command = [sys.executable, "-c", code, str(project / folder), version]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=project)
        assert done.stdout.strip() == imported, (folder, version)


def test_the_namespace_is_the_suggested_one_or_that_of_the_package(tmp_path: Path) -> None:
    given = csv()
    made = compiled(tmp_path / "a", files_of(given), install_namespace="")
    assert str(made.objects[0].identity) == "Namespace/op"
    given["metadata"]["annotations"] = {"operatorframework.io/suggested-namespace": "there"}
    made = compiled(tmp_path / "b", files_of(given), install_namespace="")
    assert str(made.objects[0].identity) == "Namespace/there"


def test_objects_twice(tmp_path: Path) -> None:
    """R-V1-HELM-1, R-V1-LIM-3: Helm patches the first to the second, an object set refuses any two."""
    same = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "op", "creationTimestamp": None}}
    given = csv(**strategy(permissions=[PERMISSION]))
    assert findings(compiled(tmp_path / "a", files_of(given, same))) == []
    other = same
    for value in "bcde":
        metadata = {"labels": {"a": value}, "name": "op"}
        other = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        made = compiled(tmp_path / value, files_of(given, other))
        assert findings(made) == []
        (account,) = (each.object for each in made.objects if each.identity.kind == "ServiceAccount")
        # The files of a chart are ordered by the hash of their content, and the last one counts.
        packaged = json.dumps({**other, "metadata": {**metadata, "namespace": "home"}}, separators=(",", ":"))
        generated = '{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"op","namespace":"home"}}'
        files = [sha256(text.encode()).hexdigest() for text in (packaged, generated)]
        assert account["metadata"]["labels"].get("a") == (value if files[0] > files[1] else None)
    made = compiled(tmp_path / "c1", files_of(given, same), olm_version="v1-experimental")
    assert findings(made) == [("OLMC723", "ServiceAccount/home/op is rendered twice")]
    made = compiled(tmp_path / "c2", files_of(given, other), olm_version="v1-experimental")
    assert findings(made) == [("OLMC723", "ServiceAccount/home/op is rendered twice, and not the same")]


def test_what_the_api_server_refuses(tmp_path: Path) -> None:
    """R-V1-LIM-4: ports that nobody fills in, names of 64 characters, objects without apiVersion."""
    (deployment,) = csv()["spec"]["install"]["spec"]["deployments"]
    deployment["name"] = "d" * 56
    hook = {**HOOK, "deploymentName": "d" * 56}
    del hook["containerPort"]
    bare = {"kind": "ConfigMap", "metadata": {"name": "c"}}
    given = csv(webhookdefinitions=[hook], **strategy(deployments=[deployment]))
    told = findings(compiled(tmp_path, files_of(given, bare), include=("ConfigMap",)))
    refused = {message.partition(" ")[0].partition("/")[0] for code, message in told if code == "OLMC722"}
    assert refused == {"ConfigMap", "Service", "ValidatingWebhookConfiguration"}
    assert any("must be no more than 63 bytes" in message for _, message in told)


def test_what_is_secret_is_not_printed_for_review(tmp_path: Path) -> None:
    """As of any other workspace; what is applied has it."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "c4t-n1p"}}
    for purpose, shown in (("review", False), ("apply", True)):
        made = compiled(tmp_path / purpose, files_of(csv(), secret), purpose=purpose)
        assert ("c4t-n1p" in json.dumps([entry.object for entry in made.objects])) is shown


def test_too_many_objects_in_a_phase(tmp_path: Path) -> None:
    """R-V1-COS-1, R-V1-LIM-4: an object set takes 50 in a phase; Helm takes any number."""
    more = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"s{n}"}} for n in range(51)]
    assert findings(compiled(tmp_path / "a", files_of(csv(), *more))) == []
    made = compiled(tmp_path / "b", files_of(csv(), *more), olm_version="v1-experimental")
    ((code, message),) = findings(made)
    assert (code, "Too many: 51" in message) == ("OLMC722", True)


def test_what_stays_when_the_extension_goes(tmp_path: Path) -> None:
    """R-V1-HELM-2: an object that Helm is to keep gets no owner."""
    annotations = {"helm.sh/resource-policy": "keep"}
    kept = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": annotations}}
    made = compiled(tmp_path, files_of(csv(), kept))
    assert [code for code, _ in findings(made)] == ["OLMC725"]
    owners = {str(entry.identity): "ownerReferences" in entry.object["metadata"] for entry in made.objects[1:]}
    assert owners == {"Secret/home/s": False, "Deployment/home/op": True}


def test_a_file_that_can_not_be_read_is_named_where_it_is(tmp_path: Path) -> None:
    """Also in a project of operator-sdk, whose bundle is in a folder of its own."""
    files = {f"bundle/{path}": text for path, text in files_of(csv()).items()}
    made = compiled(tmp_path, {**files, "bundle/manifests/x.yaml": "a: 1\n", "PROJECT": "version: '3'\n"})
    (found,) = (found for found in made.diagnostics if found.code == "OLMC720")
    assert str(found.location) == "bundle/manifests/x.yaml:1:1"
    assert made.failed
    assert made.objects == ()


def test_other_commands_say_that_there_is_no_state(project: Path) -> None:
    result = CliRunner().invoke(main, ["status", str(project / "fixtures/bare-bundle"), "--olm-version", "v1"])
    assert result.exit_code == 3
    assert "OLMC726" in result.stderr


def test_a_workspace_takes_the_profile_as_well(tmp_path: Path) -> None:
    """What is of OLM v0 in it is as in the release beside it."""
    write_workspace(tmp_path, {"manifests": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}]})
    printed = [
        CliRunner().invoke(main, ["render", str(tmp_path), "--olm-version", version, "-o", "json"]).stdout
        for version in ("v1", "0.46.0")
    ]
    assert printed[0] == printed[1]
    assert json.loads(printed[0])["items"]


def test_crds_and_their_order(tmp_path: Path) -> None:
    """The order is sorted, where upstream's is random: by apply order, then by kind, namespace and name."""
    made = compiled(tmp_path, files_of(csv(**OWNED, **strategy(permissions=[PERMISSION])), CRD))
    kinds = [entry.object["kind"] for entry in made.objects]
    assert kinds == [
        "Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment",
    ]  # fmt: skip
