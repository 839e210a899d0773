"""Small input that is made to cost much: what it takes is bounded, and its output is no larger than anybody reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_input_limits import olmc

FIXTURE = Path(__file__).parents[2] / "fixtures" / "own-namespace"
INSTALLED = """\
{{apiVersion: v1, kind: Namespace, metadata: {{name: n{0}}}}}
---
{{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {{name: g, namespace: n{0}}}, spec: {{}}}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {{name: b, namespace: n{0}}}
spec: {{name: beacon, source: harbour, sourceNamespace: olm}}
"""


def workspace(path: Path) -> Path:
    """A copy of the fixture with an operator in its own namespace."""
    for source in FIXTURE.rglob("*"):
        if source.is_file():
            target = path / source.relative_to(FIXTURE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    return path


def with_rivals(path: Path, count: int) -> Path:
    """The operator in as many further namespaces, for all namespaces in each."""
    workspace(path)
    (path / "n.yaml").write_text("---\n".join(map(INSTALLED.format, range(count))))
    return path


def with_cluster_permissions(path: Path, entries: Iterable[list[dict[str, Any]]]) -> Path:
    """The operator with entries of clusterPermissions, each with these rules."""
    file = next(workspace(path).rglob("*.clusterserviceversion.yaml"))
    csv = yaml.safe_load(file.read_text())
    account = {"serviceAccountName": "beacon"}
    csv["spec"]["install"]["spec"]["clusterPermissions"] = [{**account, "rules": rules} for rules in entries]
    file.write_text(json.dumps(csv))
    return path


NINES = "9" * 5_000
VALIDATION = {
    "type": "ValidatingAdmissionWebhook", "generateName": "a.example.com", "deploymentName": "beacon-controller",
    "containerPort": 443, "targetPort": NINES, "admissionReviewVersions": ["v1"], "sideEffects": "None",
}  # fmt: skip
EXTENSION = """\
{apiVersion: olm.operatorframework.io/v1, kind: ClusterCatalog, metadata: {name: harbour},
 spec: {source: {type: Image, image: {ref: "fbc:harbour"}}}}
---
{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, metadata: {name: beacon}, spec: {namespace: harbour,
 serviceAccount: {name: a}, source: {sourceType: Catalog, catalog: {packageName: beacon}}}}
"""


@pytest.mark.parametrize(
    "changes", [{"minKubeVersion": f"{NINES}.0.0"}, {"webhookdefinitions": [VALIDATION]}], ids=["version", "port"]
)
def test_numbers_of_thousands_of_digits(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Python refuses to convert them; Go does as well, or takes them for names."""
    file = next(workspace(tmp_path / "w").rglob("*.clusterserviceversion.yaml"))
    csv = yaml.safe_load(file.read_text())
    csv["spec"] |= changes
    file.write_text(json.dumps(csv))
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}}
    (file.parent / "b.json").write_text(json.dumps({**budget, "spec": {"minAvailable": f"{NINES}%"}}))
    (tmp_path / "w" / "extension.yaml").write_text(EXTENSION)
    done = olmc("render", tmp_path / "w", "-o", "name")
    assert done.returncode in (0, 1), done.stderr
    assert ("CSV version parsing error" in done.stderr) is ("minKubeVersion" in changes)


@pytest.mark.parametrize(("field", "shown"), [("hard", "1e1000000001"), ("limits", "100e999999999")])
def test_amounts_with_billions_of_digits_are_compared(tmp_path: Path, field: str, shown: str) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "a", "namespace": "harbour"}}
    for side, amount in (("old", "1e1000000000"), ("new", "1e1000000001")):
        root = workspace(tmp_path / side)
        if field == "hard":
            (root / "q.json").write_text(json.dumps({**quota, "spec": {"hard": {"cpu": amount}}}))
            continue
        file = next(root.rglob("*.clusterserviceversion.yaml"))
        csv = yaml.safe_load(file.read_text())
        (deployment,) = csv["spec"]["install"]["spec"]["deployments"]
        deployment["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": amount}}
        file.write_text(json.dumps(csv))
    done = olmc("diff", "--exit-code", tmp_path / "old", tmp_path / "new")
    assert done.returncode == 1, done.stderr
    assert shown in done.stdout


def with_config(path: Path, containers: int, variables: int, value: str) -> Path:
    """The operator with so many containers, each of which gets so many variables."""
    file = next(workspace(path).rglob("*.clusterserviceversion.yaml"))
    csv = yaml.safe_load(file.read_text())
    (deployment,) = csv["spec"]["install"]["spec"]["deployments"]
    pod = deployment["spec"]["template"]["spec"]
    pod["containers"] = [{"name": f"c{i}", "image": "a", "env": [{"name": "A"}]} for i in range(containers)]
    file.write_text(json.dumps(csv))
    group, subscription = yaml.safe_load_all((path / "operators.yaml").read_text())
    subscription["spec"]["config"] = {"env": [{"name": f"V{i}", "value": value} for i in range(variables)]}
    (path / "operators.yaml").write_text(yaml.safe_dump_all([group, subscription]))
    return path


@pytest.mark.parametrize("command", ["check", "render", "rbac", "status"])
def test_thousands_of_variables_in_thousands_of_containers(tmp_path: Path, command: str) -> None:
    done = olmc(command, with_config(tmp_path / "w", 1_000, 2_000, "a"))
    assert done.returncode == 3, done.stderr
    told = done.stdout + done.stderr
    assert "2,000,000 entries of Subscriptions' configs in containers, more than the 300,000 that olmc reads" in told
    assert "OLMC_LIMIT_CONFIG=NUMBER" in told


@pytest.mark.parametrize(("size", "is_taken"), [(200, True), (400, False)])
def test_a_deployment_that_no_request_holds(tmp_path: Path, size: int, is_taken: bool) -> None:
    """Each of 100 containers gets 100 variables: 2 MB of values are fine, and 4 MB too many for an API server."""
    done = olmc("render", with_config(tmp_path / "w", 100, 100, "a" * size))
    assert done.returncode == (0 if is_taken else 1), done.stderr
    assert ("install strategy failed: Request entity too large: limit is 3145728" in done.stderr) is not is_taken
    assert ("\nkind: Deployment\n" in done.stdout) is is_taken


def test_thousands_of_containers_with_new_names_are_compared(tmp_path: Path) -> None:
    for side in ("old", "new"):
        file = next(workspace(tmp_path / side).rglob("*.clusterserviceversion.yaml"))
        csv = yaml.safe_load(file.read_text())
        (deployment,) = csv["spec"]["install"]["spec"]["deployments"]
        pod = deployment["spec"]["template"]["spec"]
        pod["containers"] = [{"name": f"{side}{i}", "image": f"example.com/{i}"} for i in range(2_000)]
        file.write_text(json.dumps(csv))
    done = olmc("diff", "--exit-code", "--all", tmp_path / "old", tmp_path / "new")
    assert done.returncode == 1, done.stderr
    assert "~ container new1999 has a new name; it was old1999" in done.stdout


def test_groups_that_select_all_namespaces_of_each_other(tmp_path: Path) -> None:
    """A label for each of them in each namespace is what OLM writes."""
    root, count = workspace(tmp_path / "w"), 300
    names = range(count)
    (root / "n.yaml").write_text(
        "\n---\n".join(
            json.dumps(obj)
            for name in names
            for obj in (
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n{name}", "labels": {"a": "b"}}},
                {
                    "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
                    "metadata": {"name": "g", "namespace": f"n{name}"},
                    "spec": {"selector": {"matchLabels": {"a": "b"}}},
                },
            )
        )
    )  # fmt: skip
    done = olmc("render", root, "--include", "Namespace")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("    olm.operatorgroup.uid/") == count * count + 1  # and one of the fixture


def test_hundreds_of_groups_in_each_others_way(tmp_path: Path) -> None:
    done = olmc("render", with_rivals(tmp_path / "w", 200), "-o", "name")
    assert done.returncode == 1
    assert done.stderr.count("[OLMC301]") == 200


@pytest.mark.parametrize(("count", "more"), [(8, 0), (30, 21)])
def test_of_many_groups_that_have_an_api_the_first_are_named(tmp_path: Path, count: int, more: int) -> None:
    """As many have it each in its own namespace, that of the fixture as well, and the last would have it in all."""
    root = workspace(tmp_path / "w")
    own = INSTALLED.replace("n{0}", "m{0:02}").replace("spec: {{}}", "spec: {{targetNamespaces: [m{0:02}]}}")
    (root / "m.yaml").write_text("---\n".join((*map(own.format, range(count)), INSTALLED.format(0))))
    done = olmc("render", root, "-o", "name")
    failure = done.stderr.split("namespace n0 would be Failed")[1].partition("Let the groups")[0]
    assert failure.count(" has Beacon.v1.lights.example.com\n") == count + 1 - more
    assert (f"and {more} more, this one first" in failure) is bool(more)


def test_thousands_of_rules_are_located(tmp_path: Path) -> None:
    rules = [{"apiGroups": [f"g{i}"], "resources": [f"r{i}"], "verbs": ["get"]} for i in range(3_500)]
    done = olmc("rbac", with_cluster_permissions(tmp_path / "w", [rules]), "-o", "json")
    assert done.returncode == 0, done.stderr
    (account,) = (each for each in json.loads(done.stdout)["subjects"] if each["name"] == "beacon")
    places = {grant["place"]["column"] for each in account["permissions"] for grant in each["grants"]}
    assert len(places) >= 3_500


def test_a_thousand_entries_of_permissions_are_located(tmp_path: Path) -> None:
    entries = ([{"apiGroups": [f"g{i}"], "resources": ["r"], "verbs": ["get"]}] for i in range(1_000))
    done = olmc("rbac", with_cluster_permissions(tmp_path / "w", entries), "-o", "json")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("output", ["text", "html"])
@pytest.mark.parametrize(
    "rules",
    [
        [{"apiGroups": [f"g{i}"], "resources": [f"r{i}"], "verbs": ["get"]} for i in range(3_500)],
        [
            {"apiGroups": ["g"], "resources": ["r"], "verbs": [f"v{i}"], "resourceNames": [f"n{i}"]}
            for i in range(2_500)
        ],
    ],
    ids=["groups", "verbs"],
)
def test_thousands_of_rules_are_compared(tmp_path: Path, rules: list[dict[str, Any]], output: str) -> None:
    old, new = workspace(tmp_path / "old"), with_cluster_permissions(tmp_path / "new", [rules])
    done = olmc("diff", "--exit-code", old, new, "-o", output)
    assert done.returncode == 1, done.stderr
    assert "more" in done.stdout


def wide(groups: int, resources: int, verbs: int) -> dict[str, Any]:
    counts = (("apiGroups", "g", groups), ("resources", "r", resources), ("verbs", "v", verbs))
    return {field: [f"{letter}{i}" for i in range(count)] for field, letter, count in counts}


@pytest.mark.parametrize(
    "command",
    ["rbac new", "rbac new -o json", "report new -o site", "diff old new", "diff old new -o html", "diff new old"],
)
def test_a_rule_that_stands_for_billions(tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace(tmp_path / "old")
    new = with_cluster_permissions(tmp_path / "new", [[wide(5_000, 5_000, 3_000)]])
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "wide"}}
    (new / "role.json").write_text(json.dumps({**head, "rules": [wide(5_000, 5_000, 3_000)]}))
    monkeypatch.chdir(tmp_path)
    done = olmc(*command.split(), *(["--exit-code"] if command.startswith("diff") else []))
    assert done.returncode == (1 if command.startswith("diff") else 0), done.stderr
    assert len(done.stdout) < 2_000_000
    for page in tmp_path.glob("site/**/*.html"):
        assert page.stat().st_size < 1_000_000
    if command == "rbac new":
        assert "and 4980 more}" in done.stdout
        assert "and 4900 more" in done.stdout
    if command == "diff old new -o html":
        assert "(the first of many resources, and 2960 more verbs)" in done.stdout


def with_webhook(path: Path, *rules: dict[str, Any]) -> Path:
    """The operator with a webhook that has these rules."""
    file = next(workspace(path).rglob("*.clusterserviceversion.yaml"))
    csv = yaml.safe_load(file.read_text())
    csv["spec"]["webhookdefinitions"] = [
        {
            "type": "ValidatingAdmissionWebhook", "admissionReviewVersions": ["v1"], "deploymentName": "beacon",
            "containerPort": 443, "generateName": "w.example.com", "sideEffects": "None", "rules": [*rules],
        }
    ]  # fmt: skip
    file.write_text(json.dumps(csv))
    return path


ALL = {**wide(6_000, 6_000, 0), "apiVersions": ["*"], "operations": ["*"]}


def test_webhook_rules_that_stand_for_billions(tmp_path: Path) -> None:
    done = olmc("diff", "--exit-code", workspace(tmp_path / "old"), with_webhook(tmp_path / "new", ALL))
    assert done.returncode == 1, done.stderr


def test_webhook_rules_that_name_an_api_of_the_operator_again_and_again(tmp_path: Path) -> None:
    own = {"apiGroups": ["lights.example.com"] * 20_000, "resources": ["beacons"] * 20_000}
    old, new = workspace(tmp_path / "old"), with_webhook(tmp_path / "new", {**ALL, **own})
    done = olmc("diff", "--exit-code", old, new, "-o", "json")
    assert done.returncode == 1, done.stderr
    (change,) = (each for each in json.loads(done.stdout)["changes"] if each["kind"] == "WebhookAdded")
    assert change["details"]["own"]


def test_thousands_of_webhook_rules_in_another_order(tmp_path: Path) -> None:
    """Each was compared with each; their order means nothing, so it is the one that is gone that is reported."""
    rules = [{**ALL, "apiGroups": [f"g{number}"], "resources": [f"r{number}"]} for number in range(3_000)]
    old, new = with_webhook(tmp_path / "old", *rules), with_webhook(tmp_path / "new", *rules[:0:-1])
    done = olmc("diff", "--exit-code", old, new, "-o", "json")
    assert done.returncode == 1, done.stderr
    (change,) = (each for each in json.loads(done.stdout)["changes"] if each["kind"] == "WebhookChanged")
    assert not change["details"]["widened"]


@pytest.mark.parametrize(
    ("old", "new", "widened"),
    [
        ([{**ALL, "apiVersions": ["v1"]}], [ALL], False),
        ([{**ALL, "resources": ["pods"]}], [ALL], True),
        ([ALL], [{**ALL, "resources": ALL["resources"][:-1]}], False),
        ([{**ALL, "operations": [each]} for each in ("CREATE", "UPDATE")], [{**ALL, "operations": ["CREATE"]}], False),
    ],
    ids=["versions", "wider", "narrower", "fewer rules"],
)
def test_webhook_rules_that_change(
    old: list[dict[str, Any]], new: list[dict[str, Any]], widened: bool, tmp_path: Path
) -> None:
    """Each request was looked at, and written out where nothing else tells the rules apart."""
    sides = with_webhook(tmp_path / "old", *old), with_webhook(tmp_path / "new", *new)
    done = olmc("diff", *sides, "--fresh", "--exit-code", "-o", "json")
    assert done.returncode == 1, done.stderr
    (change,) = (each for each in json.loads(done.stdout)["changes"] if each["kind"] == "WebhookChanged")
    assert change["details"]["widened"] == widened
    assert len(done.stdout) < 2_000_000


TEMPLATE = """\
---
apiVersion: template.openshift.io/v1
kind: Template
metadata: {{name: t{number}}}
objects: [{object}]
"""
EMBEDDED = {
    "workload": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {containers: "
    "[{name: c, image: SIDE}]}}}}",
    "binding": "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: d, namespace: n}, "
    "roleRef: {kind: ClusterRole, name: SIDE}, subjects: [{kind: User, name: u}]}",
    "role": "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: d, labels: "
    "{rbac.authorization.k8s.io/aggregate-to-view: 'true'}}, "
    "rules: [{apiGroups: [SIDE], resources: [x], verbs: [get]}]}",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EMBEDDED)
def test_objects_in_hundreds_of_others_are_compared(kind: str) -> None:
    """Nothing about a cluster is read again for each of them: each took 6 ms, or 10 with a binding."""
    import cpu_time

    from olmc.review.diff.compare import compare
    from olmc.review.diff.settings import Side

    texts = ("".join(TEMPLATE.format(number=n, object=EMBEDDED[kind].replace("SIDE", side)) for n in range(200))
             for side in ("view", "edit"))  # fmt: skip
    old, new = (Side("", tuple(yaml.safe_load_all(text))) for text in texts)
    seconds = cpu_time.measure()
    assert len(compare(old, new).changes) >= 200
    assert seconds() < 200 * 0.005
