"""`olmc migrate --to olm-v1`: what becomes of a workspace's files, what is lost, what stays, and the steps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from scenarios import write

import olmc
from olmc.cli.main import main
from olmc.review.migrate.extension_losses import differences
from olmc.review.migrate.to_extensions import ExtensionMigration, MoveVerdict, migrate_to_extensions, reason_of

needs_tool = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl"
)
FIXTURE = Path(__file__).resolve().parents[2] / "fixtures/olmv1/migration"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A copy of the fixture, which may be changed."""
    return Path(shutil.copytree(FIXTURE, tmp_path / "fleet"))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def migrate(root: Path, *options: str) -> Result:
    result = CliRunner().invoke(main, ["migrate", str(root), "--to", "olm-v1", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def verdicts(done: ExtensionMigration) -> dict[str, MoveVerdict]:
    return {verdict.subscription.name: verdict for verdict in done.verdicts}


def kinds(done: ExtensionMigration) -> dict[str, tuple[str, set[str]]]:
    """By Subscription, its outcome and the sorts of reasons."""
    return {name: (v.outcome, {reason.kind for reason in v.reasons}) for name, v in verdicts(done).items()}


def test_each_class_has_an_operator() -> None:
    """R-V1-MIG-3, R-V1-LIM-1: what moves, what loses something and what stays, with the reasons, under closed gates."""
    webhooks = {"names of webhooks", "certificates", "OperatorConditions", "permissions"}
    assert kinds(migrate_to_extensions(FIXTURE)) == {
        "kettle": ("moves as it is", set()),
        "lantern": ("moves with losses", webhooks),
        "sieve": ("moves with losses", {"approvals", "configuration"}),
        "gauge": ("stays", {"install modes"}),
        "pump": ("stays", {"API services"}),
        "crate": ("stays", {"dependencies"}),
        "ledger": ("moves with losses", {"certificates", "names of webhooks", "permissions"}),
    }


@pytest.mark.slow
def test_open_gates_let_more_move() -> None:
    """R-V1-CFG-1, R-V1-CFG-5: where gates are open, one namespace is watched and a Subscription's config goes along."""
    done = migrate_to_extensions(FIXTURE, "v1-experimental")
    assert kinds(done)["gauge"] == ("moves as it is", set())
    assert kinds(done)["sieve"] == ("moves with losses", {"approvals"})
    moved = {name: verdict.move for name, verdict in verdicts(done).items()}
    assert moved["gauge"] is not None
    assert moved["gauge"].config == {"watchNamespace": "meters"}
    assert moved["sieve"] is not None
    assert moved["sieve"].config == {"deploymentConfig": {"nodeSelector": {"example.com/pool": "mill"}}}


@pytest.mark.slow
def test_certificates_are_service_cas_on_openshift() -> None:
    """R-V1-CERT-3, R-V1-FG-2: who issues certificates depends on the profile."""
    (reason,) = [
        reason
        for reason in verdicts(migrate_to_extensions(FIXTURE, "v1-openshift"))["lantern"].reasons
        if reason.kind == "certificates"
    ]
    assert (reason.rule, reason.text.partition(" ")[0]) == ("R-V1-CERT-3", "service-ca")


def test_a_dependency_is_named() -> None:
    """R-V1-RES-13: what a bundle needs is told, and which package OLM v0 has subscribed to for it."""
    (reason,) = verdicts(migrate_to_extensions(FIXTURE))["crate"].reasons
    assert reason.rule == "R-V1-RES-13"
    assert "Pallet of depot.example.com/v1; OLM v0 subscribes to pallet by itself" in reason.text
    assert "ClusterExtension of its own" in reason.hint


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["v1", "v1-experimental"])
def test_the_changed_workspace_runs(fleet: Path, profile: str) -> None:
    """R-V1-MIG-1: what moves is installed with enough rights, what stays is as it was, and nothing is left to do."""
    before = olmc.compile(fleet)
    done = migrate(fleet, "--olm-version", profile)
    assert done.exit_code == 1  # something is lost, something stays
    after = olmc.compile(fleet)
    moved = {result.extension.name for result in after.extensions}
    # Helm patches an object that is there twice, and a ClusterObjectSet with one is refused.
    assert moved == {"kettle", "lantern", "sieve", "gauge" if profile == "v1-experimental" else "ledger"}
    for result in after.extensions:
        assert not result.problem
        assert result.required
        assert not result.missing
    stayed = {name: phase for name, phase in before.phases.items() if name.name.partition(".")[0] not in moved}
    assert dict(after.phases) == stayed
    assert [d for d in after.diagnostics if d.code == "OLMC734"] == []
    assert migrate(fleet, "--dry-run").stdout == ""


@pytest.mark.slow
def test_git_takes_the_patch(fleet: Path) -> None:
    """With --dry-run nothing is written; the patch gives what is written without it."""
    was = {path: path.read_text() for path in sorted(fleet.rglob("*.yaml"))}
    patch = migrate(fleet, "--dry-run").stdout
    assert {path: path.read_text() for path in was} == was
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=fleet, check=True)
    applied = {path: path.read_text() for path in was}
    assert applied != was
    for path, text in was.items():
        path.write_text(text)
    migrate(fleet)
    assert {path: path.read_text() for path in was} == applied


@pytest.mark.slow
def test_comments_stay_where_they_belong(fleet: Path) -> None:
    """A comment behind a field is behind the field that it has become."""
    migrate(fleet)
    assert (
        "---\n# Tea for everybody.\napiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\n"
        in (fleet / "tea.yaml").read_text()
    )
    assert "      version: 1.2.0  # ask the millers\n" in (fleet / "mill.yaml").read_text()
    assert "# The catalog of our operators.\n" in (fleet / "cluster.yaml").read_text()


@pytest.mark.slow
def test_a_catalog_serves_both_while_both_need_it(fleet: Path) -> None:
    """R-V1-CC-1: the CatalogSource stays for what stays; the ClusterCatalog has its image, priority and interval."""
    migrate(fleet)
    documents = [obj for path in fleet.glob("*.yaml") for obj in yaml.safe_load_all(path.read_text()) if obj]
    kinds_there = {obj["kind"] for obj in documents if obj.get("metadata", {}).get("name") == "market"}
    assert kinds_there == {"CatalogSource", "ClusterCatalog"}
    (catalog,) = [obj for obj in documents if obj["kind"] == "ClusterCatalog"]
    image = {"ref": "registry.example.com/catalogs/market:v1", "pollIntervalMinutes": 30}
    assert catalog["spec"] == {"source": {"type": "Image", "image": image}, "priority": 10}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interval", "minutes"),
    [("1h30m", 90), ("10s", 1), ("-5m", 1), ("1d", 15), ("9" * 400 + "m", 15), ("2400000h", 144_000_000)],
)
def test_a_catalog_is_polled_as_often_as_olm_polled_it_r_cat_160(fleet: Path, interval: str, minutes: int) -> None:
    """OLM takes 15 minutes for what it can't read; OLM v1 takes a minute at least."""
    change(fleet / "cluster.yaml", "interval: 30m", f'interval: "{interval}"')
    migrate(fleet)
    documents = [obj for path in fleet.glob("*.yaml") for obj in yaml.safe_load_all(path.read_text()) if obj]
    (catalog,) = [obj for obj in documents if obj["kind"] == "ClusterCatalog"]
    assert catalog["spec"]["source"]["image"]["pollIntervalMinutes"] == minutes


@pytest.mark.slow
def test_a_catalog_that_nobody_needs_goes(fleet: Path) -> None:
    """The last Subscription takes its CatalogSource along, and the steps delete it last."""
    for name in ("depot", "meters", "office", "waterworks"):
        (fleet / f"{name}.yaml").unlink()
    steps = migrate(fleet, "--steps").stdout.splitlines()
    assert steps[-2] == "kubectl delete catalogsource.operators.coreos.com/market -n olm --ignore-not-found"
    migrate(fleet)
    assert "CatalogSource" not in (fleet / "cluster.yaml").read_text()
    assert "ref: registry.example.com/catalogs/market:v1  # built every night\n" in (fleet / "cluster.yaml").read_text()


@pytest.mark.slow
def test_a_group_stays_for_others(fleet: Path) -> None:
    """An OperatorGroup goes when nothing of OLM v0 is left in its namespace, and not before."""
    for name in ("waterworks", "tea"):
        change(fleet / f"{name}.yaml", f"namespace: {name}\n", "namespace: shared\n")
    text = (fleet / "waterworks.yaml").read_text()
    (fleet / "waterworks.yaml").write_text(text.partition("---\n")[2])
    change(fleet / "cluster.yaml", "  name: tea\n", "  name: shared\n")
    assert kinds(migrate_to_extensions(fleet))["kettle"] == ("moves as it is", set())
    migrate(fleet)
    assert "kind: OperatorGroup" in (fleet / "tea.yaml").read_text()
    assert "kind: Subscription" not in (fleet / "tea.yaml").read_text()


@pytest.mark.slow
def test_what_would_be_upgraded_at_once_is_pinned(fleet: Path) -> None:
    """R-V1-RES-8, R-V1-RES-10: the first installation takes the highest version, whatever the edges of the channel."""
    change(fleet / "mill.yaml", "  installPlanApproval: Manual  # ask the millers\n", "")
    change(fleet / "catalogs/market/sieve.yaml", "  replaces: sieve.v1.2.0\n", "")
    change(
        fleet / "catalogs/market/sieve.yaml",
        "- name: sieve.v1.2.0\n",
        "- name: sieve.v1.2.0\n  replaces: sieve.v1.3.0\n",
    )
    done = migrate_to_extensions(fleet)
    verdict = verdicts(done)["sieve"]
    assert verdict.move is not None
    assert (verdict.move.csv, verdict.move.pinned, verdict.move.version) == ("sieve.v1.2.0", True, "1.2.0")
    assert "upgrades" in {reason.kind for reason in verdict.reasons}
    assert "OLM v1 would install sieve.v1.3.0 at once" in " ".join(reason.text for reason in verdict.reasons)


@pytest.mark.slow
def test_two_of_one_package_stay(fleet: Path) -> None:
    """R-V1-LIM-2: an object belongs to one ClusterExtension, so somebody has to choose."""
    other = (
        (fleet / "tea.yaml").read_text().replace("namespace: tea", "namespace: meters").replace("name: tea", "name: x")
    )
    (fleet / "again.yaml").write_text(
        other.partition("---\n")[2].replace("name: kettle\n  namespace", "name: more\n  namespace")
    )
    found = kinds(migrate_to_extensions(fleet))
    assert "other instances" in found["kettle"][1]
    assert "other instances" in found["more"][1]


@pytest.mark.parametrize(
    ("old", "new", "rule", "text"),
    [
        ("  image: registry.example.com/catalogs/market:v1", "  address: fbc:market", "R-V1-CC-1", "has no image"),
        ("market:v1  #", "market  #", "R-V1-CC-1", "must end with a digest or a tag"),
    ],
)
def test_a_catalog_that_olm_v1_cannot_serve(fleet: Path, old: str, new: str, rule: str, text: str) -> None:
    """R-V1-CC-1: without an image, or one that names neither tag nor digest, there is no ClusterCatalog."""
    change(fleet / "cluster.yaml", old, new)
    done = migrate_to_extensions(fleet)
    assert not done.migration.changes
    (reason,) = verdicts(done)["kettle"].reasons
    assert (reason.kind, reason.rule) == ("catalogs", rule)
    assert text in reason.text
    assert reason.place is not None
    assert reason.place.path == "cluster.yaml"


@pytest.mark.slow
def test_several_namespaces_stay(fleet: Path) -> None:
    """R-V1-OPT-1: no gate lets a ClusterExtension watch several namespaces."""
    change(
        fleet / "bundles/gauge-1.4.0/manifests/gauge.clusterserviceversion.yaml", "SingleNamespace", "MultiNamespace"
    )
    change(fleet / "meters.yaml", "[meters]", "[meters, tea]")
    (reason,) = verdicts(migrate_to_extensions(fleet, "v1-experimental"))["gauge"].reasons
    assert (reason.kind, reason.rule) == ("install modes", "R-V1-OPT-1")
    assert "2 namespaces" in reason.text


@pytest.mark.slow
def test_the_first_object_set_can_be_taken_out(fleet: Path) -> None:
    """R-V1-COS-7: the command of the steps, which applies it by hand, prints it once the files are changed."""
    steps = migrate(fleet, "--olm-version", "v1-experimental", "--steps").stdout
    assert "olmc render --include ClusterObjectSet -o json | jq '.items[] | " in steps
    migrate(fleet, "--olm-version", "v1-experimental")
    result = CliRunner().invoke(main, ["render", str(fleet), "--include", "ClusterObjectSet", "-o", "json"])
    sets = {item["metadata"]["name"] for item in json.loads(result.stdout)["items"]}
    assert sets == {"gauge-1", "kettle-1", "lantern-1", "sieve-1"}


@pytest.mark.slow
def test_only_ways_that_the_operator_has_are_advised(fleet: Path) -> None:
    """R-V1-CFG-1, R-V1-OPT-1: who can't watch all namespaces is not told to."""

    def hint() -> str:
        (reason,) = verdicts(migrate_to_extensions(fleet))["gauge"].reasons
        return reason.hint

    csv = fleet / "bundles/gauge-1.4.0/manifests/gauge.clusterserviceversion.yaml"
    gate = "pen SingleOwnNamespaceInstallSupport (--olm-version v1-experimental)."
    assert hint() == f"O{gate}"
    change(csv, "SingleNamespace", "MultiNamespace")
    change(fleet / "meters.yaml", "[meters]", "[meters, tea]")
    assert hint() == "Let its OperatorGroup target one namespace, or keep the operator on OLM v0."
    added = "installModes:\n  - {type: AllNamespaces, supported: true}"
    change(csv, "installModes:", added)
    assert hint().startswith("Let its OperatorGroup target all namespaces first")
    change(fleet / "meters.yaml", "[meters, tea]", "[meters]")
    assert hint().startswith("Let its OperatorGroup target all namespaces first")
    assert hint().endswith(f", or o{gate}")


@pytest.mark.slow
def test_what_does_not_run_stays(fleet: Path) -> None:
    """R-V1-MIG-3: there is nothing to compare with; what the bundle says against it is told all the same."""
    change(fleet / "waterworks.yaml", "channel: stable", "channel: beta")
    assert kinds(migrate_to_extensions(fleet))["pump"] == ("stays", {"state", "API services"})


@pytest.mark.slow
def test_json_stays(fleet: Path) -> None:
    """What olmc can't edit is left alone, and all else moves."""
    subscription = list(yaml.safe_load_all((fleet / "tea.yaml").read_text()))[1]
    change(fleet / "tea.yaml", (fleet / "tea.yaml").read_text().partition("---\n")[2], "")
    (fleet / "tea.json").write_text(json.dumps(subscription))
    done = migrate_to_extensions(fleet)
    assert kinds(done)["kettle"] == ("stays", {"files"})
    assert verdicts(done)["lantern"].move is not None
    assert "tea.json" not in {changed.path for changed in done.migration.changes}


@pytest.mark.process
@needs_tool
def test_what_kustomize_takes_as_it_is_moves(fleet: Path) -> None:
    """The files of a kustomization change as those of a plain folder; a patch closes the file that it changes."""
    result = migrate(fleet, "--dry-run")
    plain = [part for part in result.stdout.split("diff --git ") if part.startswith("a/tea.yaml")]
    kustomization = "resources: [tea.yaml, cluster.yaml]\n"
    (fleet / "kustomization.yaml").write_text(kustomization)
    result = migrate(fleet, "--dry-run")
    built = [part for part in result.stdout.split("diff --git ") if part.startswith("a/tea.yaml")]
    assert (result.exit_code, built) == (0, plain)
    patch = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
    patch += "metadata: {name: kettle, namespace: tea}\nspec: {startingCSV: kettle.v1.0.0}\n"
    (fleet / "kustomization.yaml").write_text(f"{kustomization}patches: [path: patch.yaml]\n")
    (fleet / "patch.yaml").write_text(patch)
    result = migrate(fleet, "--dry-run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "kustomization.yaml builds it from several files; edit them by hand" in result.stderr
    patch = "- {op: add, path: /spec/startingCSV, value: kettle.v1.0.0}\n"
    (fleet / "kustomization.yaml").write_text(
        f"{kustomization}patches: [{{path: patch.yaml, target: {{kind: Subscription}}}}]\n"
    )
    (fleet / "patch.yaml").write_text(patch)
    assert "a build changes tea.yaml before it is applied" in migrate(fleet, "--dry-run").stderr


@pytest.mark.process
@needs_tool
def test_a_file_without_objects_stays_for_its_kustomization(fleet: Path) -> None:
    group, _, subscription = (fleet / "tea.yaml").read_text().partition("---\n")
    (fleet / "group.yaml").write_text(group)
    (fleet / "tea.yaml").write_text(subscription)
    (fleet / "kustomization.yaml").write_text("resources: [group.yaml, tea.yaml, cluster.yaml]\n")
    assert migrate(fleet).exit_code == 0
    assert (fleet / "group.yaml").read_text().startswith("# olmc migrate left no object here")
    assert olmc.compile(fleet).extensions[0].installed is not None


def application(path: str, cluster: str) -> str:
    source = f"{{repoURL: https://git.example.com/fleet.git, path: {path}}}"
    return (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {path.replace('/', '-')}-{cluster}}}\n"
        f"spec:\n  source: {source}\n  destination: {{name: {cluster}}}\n"
    )


def repository(root: Path, *clusters: str) -> None:
    """A repository with the tea of the fixture as the base of clusters, and its catalog and bundles for all of them."""
    for folder in ("catalogs", "bundles"):
        shutil.copytree(FIXTURE / folder, root / ("" if folder == "catalogs" else "shared") / folder)
    write(root, {
        "base/kustomization.yaml": "resources: [tea.yaml]\n",
        "base/tea.yaml": (FIXTURE / "tea.yaml").read_text(),
        "shared/cluster.yaml": (FIXTURE / "cluster.yaml").read_text(),
    })  # fmt: skip
    for name in clusters:
        write(root, {
            f"clusters/{name}/kustomization.yaml": "resources: [../../base]\n",
            f"apps/{name}.yaml": f"{application('shared', name)}---\n{application(f'clusters/{name}', name)}",
        })  # fmt: skip


@pytest.mark.process
@pytest.mark.slow
@needs_tool
def test_the_root_of_a_repository_migrates_all_entries(tmp_path: Path) -> None:
    """A file changes once, and only if it changes alike for all clusters that use it."""
    repository(tmp_path / "one", "north", "south")
    result = migrate(tmp_path / "one", "--dry-run")
    changed = [line for line in result.stdout.splitlines() if line.startswith("diff --git")]
    assert changed == [f"diff --git a/{path} b/{path}" for path in ("base/tea.yaml", "shared/cluster.yaml")]
    repository(tmp_path / "other", "north", "south", "west")
    root = tmp_path / "other"
    patch = "[{path: patch.yaml, target: {kind: Subscription}}]"
    write(root, {
        "clusters/west/kustomization.yaml": f"resources: [../../base]\npatches: {patch}\n",
        "clusters/west/patch.yaml": "- {op: add, path: /spec/startingCSV, value: kettle.v1.0.0}\n",
    })  # fmt: skip
    result = migrate(root, "--dry-run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert ": base/tea.yaml would change for west as well, where" in result.stderr


def test_bad_input_is_a_diagnostic(fleet: Path) -> None:
    """A workspace that can't be compiled is not changed."""
    (fleet / "olmc.yaml").write_text("{apiVersion: olmc.dev/v1alpha1, kind: Config, spec: {approve: 1}}")
    result = migrate(fleet, "--dry-run")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "olmc.yaml:1" in result.stderr


@pytest.mark.slow
def test_users_keep_what_they_may_do(fleet: Path) -> None:
    """R-V1-MIG-2: roles of the workspace's own give admin, edit and view what OLM v0 gave them."""
    migrate(fleet)
    objects = {r.identity.name: r.object for r in olmc.compile(fleet).objects if r.identity.kind == "ClusterRole"}
    role = objects["kettle-apis-view"]
    assert role["metadata"]["labels"] == {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    assert ["kettles"] in [rule["resources"] for rule in role["rules"]]
    assert {"kettle-apis-admin", "kettle-apis-edit"} <= objects.keys()


BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: cooks, namespace: tea}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}
subjects: [{{kind: Group, name: cooks, apiGroup: rbac.authorization.k8s.io}}]
"""
CONDITION = """\
apiVersion: operators.coreos.com/v2
kind: OperatorCondition
metadata: {name: kettle.v1.0.0, namespace: tea}
spec:
  overrides: [{type: Upgradeable, status: "False", reason: Frozen, message: not now}]
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["-v1-admin", "-v1-crdview", "olm.og."])
def test_bindings_of_roles_that_go_are_a_loss(fleet: Path, ending: str) -> None:
    """R-V1-MIG-2: who is bound to a role that OLM v0 has made for an API or a group is bound to nothing after it."""
    names = [r.identity.name for r in olmc.compile(fleet).objects if r.identity.kind == "ClusterRole"]
    role = next(
        name for name in names if (name.startswith(ending) and "tea" in name) or ("kettles" in name and ending in name)
    )
    (fleet / "cooks.yaml").write_text(BINDING.format(role=role))
    verdict = verdicts(migrate_to_extensions(fleet))["kettle"]
    (reason,) = (reason for reason in verdict.reasons if reason.kind == "role bindings")
    assert reason.text.startswith(f"RoleBinding/tea/cooks names ClusterRole {role}, which goes with OLM v0")
    assert reason.text.endswith("binds Group cooks to nothing then")
    assert "kettle-apis-admin" in reason.hint
    assert reason.place is not None
    assert reason.place.path == "cooks.yaml"


@pytest.mark.slow
def test_bindings_of_other_roles_are_none(fleet: Path) -> None:
    (fleet / "cooks.yaml").write_text(BINDING.format(role="view"))
    assert verdicts(migrate_to_extensions(fleet))["kettle"].outcome == "moves as it is"


@pytest.mark.slow
def test_overrides_are_a_loss(fleet: Path) -> None:
    """R-V1-LIM-4: what somebody has said in the operator's place goes with the OperatorCondition."""
    (fleet / "condition.yaml").write_text(CONDITION)
    (reason,) = verdicts(migrate_to_extensions(fleet))["kettle"].reasons
    assert (reason.kind, reason.rule) == ("OperatorConditions", "R-V1-LIM-4")
    assert "(Upgradeable=False)" in reason.text


def test_the_steps_keep_crds() -> None:
    """R-V1-MIG-2, R-V1-HELM-4, R-V1-UN-1: first OLM v0 lets go, then Helm may take over, and no CRD is ever deleted."""
    steps = migrate(FIXTURE, "--steps").stdout
    assert not [
        line for line in steps.splitlines() if line.startswith("kubectl delete c") and "customresourcedef" in line
    ]
    own = steps.partition("# --- tea/kettle")[2].partition("# ---")[0].splitlines()
    crd = "customresourcedefinition.apiextensions.k8s.io/kettles.kitchen.example.com"
    wanted = [
        "kubectl get kettles.kitchen.example.com -A -o yaml > kettle-resources.yaml",
        "kubectl delete subscription.operators.coreos.com/kettle -n tea --ignore-not-found",
        "kubectl delete clusterserviceversion.operators.coreos.com/kettle.v1.0.0 -n tea --ignore-not-found",
        "kubectl delete operatorgroup.operators.coreos.com/tea -n tea --ignore-not-found",
        "kubectl delete operator.operators.coreos.com/kettle.tea --ignore-not-found",
        f"kubectl annotate --overwrite {crd} meta.helm.sh/release-name=kettle meta.helm.sh/release-namespace=tea",
        f"kubectl label --overwrite {crd} app.kubernetes.io/managed-by=Helm",
        "kubectl apply -f tea.yaml",
        "# kubectl delete clusterextension kettle --cascade=orphan",
    ]
    assert [line for line in own if line in wanted] == wanted


@pytest.mark.process
def test_the_steps_execute_no_name(fleet: Path, tmp_path: Path) -> None:
    """RBAC names and paths may hold what a shell executes: each is one argument of kubectl, and nothing else."""
    (fleet / "tea.yaml").rename(fleet / "tea $(touch pwned).yaml")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x;touch pwned"}}
    bundle = fleet / "bundles/kettle-1.0.0/manifests"
    (bundle / "role.yaml").write_text(yaml.safe_dump(role))
    steps = migrate(fleet, "--steps").stdout
    stub = tmp_path / "bin/kubectl"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\necho\n")
    stub.chmod(0o755)
    for gates in ("v1", "v1-experimental"):
        steps = migrate(fleet, "--steps", "--olm-version", gates).stdout
        (stub.parent / "olmc").write_text("#!/bin/sh\necho '{}'\n")
        (stub.parent / "jq").write_text("#!/bin/sh\ncat\n")
        for name in ("olmc", "jq"):
            (stub.parent / name).chmod(0o755)
        run = subprocess.run(
            ["bash", "-c", steps], cwd=tmp_path, env={"PATH": f"{stub.parent}:{os.environ['PATH']}"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "/x;touch pwned>" in run.stdout
        assert "<apply><-f><tea $(touch pwned).yaml>" in run.stdout
        assert not list(tmp_path.rglob("pwned"))


def test_the_steps_of_object_sets() -> None:
    """R-V1-COS-7: where ClusterObjectSets own objects, the first one takes over what nobody controls."""
    steps = migrate(FIXTURE, "--steps", "--olm-version", "v1-experimental").stdout
    assert "meta.helm.sh" not in steps
    assert '.metadata.name == "kettle-1") | .spec.collisionProtection = "IfNoController"' in steps


@pytest.mark.slow
def test_what_helm_may_take_over_is_no_hindrance(fleet: Path) -> None:
    """R-V1-HELM-4, R-V1-MIG-2: a CRD of the workspace blocks the installation unless it is marked as Helm's."""
    migrate(fleet)
    crd = yaml.safe_load((fleet / "bundles/kettle-1.0.0/manifests/kettles.crd.yaml").read_text())
    for labels, problem in (({}, "already exists"), ({"app.kubernetes.io/managed-by": "Helm"}, "")):
        release = {"meta.helm.sh/release-name": "kettle", "meta.helm.sh/release-namespace": "tea"}
        metadata = {**crd["metadata"], "labels": labels, "annotations": release}
        (fleet / "crd.yaml").write_text(yaml.safe_dump({**crd, "metadata": metadata}))
        (result,) = [r for r in olmc.compile(fleet).extensions if r.extension.name == "kettle"]
        assert problem in result.problem
        assert bool(problem) == bool(result.problem)


@pytest.mark.slow
def test_the_profile_that_was_asked_for_is_written_down(fleet: Path) -> None:
    """olmc.yaml gets the profile, and loses approvals of plans that there will not be."""
    migrate(fleet, "--olm-version", "v1-experimental")
    spec = yaml.safe_load((fleet / "olmc.yaml").read_text())["spec"]
    assert spec == {"approve": [], "olmVersion": "v1-experimental"}


@pytest.mark.slow
def test_openshifts_own_catalogs_are_found(fleet: Path) -> None:
    """R-V1-CC-3: what OpenShift brings along has another name there, and what a patch can't do is said."""
    for path in fleet.glob("*.yaml"):
        path.write_text(path.read_text().replace("source: market", "source: redhat-operators"))
    change(fleet / "cluster.yaml", "---\n# The catalog of our operators.", "---\n# gone")
    text = (fleet / "cluster.yaml").read_text()
    (fleet / "cluster.yaml").write_text(text.partition("---\n# gone")[0])
    (fleet / "catalogs/market").rename(fleet / "catalogs/redhat-operators")
    result = migrate(fleet, "--dry-run")
    assert "olm.operatorframework.io/metadata.name: openshift-redhat-operators" in result.stdout
    assert "Rename catalogs/redhat-operators to catalogs/openshift-redhat-operators" in result.stderr
    assert "ClusterCatalog\n" not in result.stdout


@pytest.mark.parametrize(
    ("message", "kind", "rule"),
    [
        ("unsupported bundle: webhookDefinitions are not supported", "certificates", "R-V1-FG-2"),
        ('unsupported resource "r" with kind "Route"', "kinds of objects", "R-V1-VAL-2"),
        ('bundle contains conversion webhook "c" and supports install modes [A]', "conversion webhooks", "R-V1-VAL-1"),
        ("CustomResourceDefinition 'x' already exists in namespace ''", "objects of others", "R-V1-HELM-4"),
        ('validating upgrade for CRD "x": scope', "upgrades of CRDs", "R-V1-CRD-1"),
        (
            'error for resolved bundle "b" with version "1": error parsing objects in "manifests/a"',
            "files that can't be read",
            "R-V1-LOAD-2",
        ),
        ("something that nobody knows", "bundles", "R-V1-VAL-1"),
    ],
)  # fmt: skip
def test_messages_have_a_reason(message: str, kind: str, rule: str) -> None:
    """R-V1-LIM-1: what the controller says is sorted by what it is about, and told without its head."""
    reason = reason_of(message, None)
    assert (reason.kind, reason.rule) == (kind, rule)
    assert not reason.text.startswith("error for resolved bundle")


def test_differences_are_told_by_name() -> None:
    """Lists of named things are compared by name, other values by place."""
    old = {"volumes": [{"name": "a", "x": 1}, {"name": "b"}], "n": [1, 2]}
    new = {"volumes": [{"name": "b"}], "n": [1, 3]}
    assert list(differences(old, new)) == [
        "n[1] is 3 instead of 2",
        'volumes.a is absent instead of {"name": "a", "x": 1}',
    ]


def test_a_catalog_that_is_not_declared_has_no_content_to_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`olmc vendor` fetches catalogs that the workspace declares."""
    monkeypatch.chdir(tmp_path)
    ways = {
        "market": "Add the CatalogSource and run `olmc vendor`, or fill catalogs/market/.",
        "redhat-operators": "Run `olmc init workspace --openshift RELEASE`",
    }
    for name, way in ways.items():
        namespace = "openshift-marketplace" if name == "redhat-operators" else "olm"
        (tmp_path / "kettle.yaml").write_text(
            "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: kettle, namespace: tea}\n"
            f"spec: {{name: kettle, source: {name}, sourceNamespace: {namespace}}}\n",
            encoding="utf-8",
        )
        said = migrate(Path(), "--dry-run").output
        assert f"the workspace has no CatalogSource {namespace}/{name}, so its operator is unknown" in said
        assert way in said
