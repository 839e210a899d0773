"""Each rule about the objects that are made of a bundle, and about revisions of them; no recording is needed."""

from __future__ import annotations

from base64 import b64decode
from hashlib import sha224, sha256
from random import Random
from typing import Any

import pytest
from olmv1_bundles import CONVERSION, CRD, HOOK, OWNED, PERMISSION, bundle, csv, modes, objects_of, strategy

from olmc.compiler.olm.naming import h36, joined_name
from olmc.k8s.gojson import encode_plain
from olmc.targets.v1.api_server import server_errors
from olmc.targets.v1.generators import render_objects, secret_name, service_name
from olmc.targets.v1.object_set import Owner, RevisionBundle, labelled, object_set, phase_of, phases_of, revision_object
from olmc.targets.v1.registry_bundle import BundleError
from olmc.targets.v1.single_extension import MAX_DATA, pack

PREFIX = "olm.operatorframework.io/"


@pytest.mark.parametrize(
    ("base", "suffix", "name"),
    [
        ("a", "b", "a-b"),
        ("a" * 31, "b" * 32, f"{'a' * 31}-{'b' * 32}"),  # 64 characters, as the dash is forgotten
        ("a" * 32, "b" * 32, f"{'a' * 30}-{'b' * 32}"),
        ("a" * 29 + "." + "a" * 9, "b" * 32, f"{'a' * 29}.-{'b' * 32}"),
    ],
)
def test_names(base: str, suffix: str, name: str) -> None:
    """R-V1-GEN-1, R-V1-GEN-9."""
    assert joined_name(base, suffix) == name


def test_names_of_what_serves_webhooks() -> None:
    """R-V1-GEN-9: dots become dashes, and a long name is cut twice."""
    assert service_name("a.b") == "a-b-service"
    assert secret_name("a.b") == "a-b-service-cert"
    assert len(service_name("d" * 56)) == 64
    assert secret_name("d" * 60) == f"{'d' * 55}-ser"[:58] + "-cert"


def test_the_deep_hash() -> None:
    """R-V1-GEN-2: base 36 of the permission's JSON in Go, with a line end."""
    permission = {"serviceAccountName": "", "rules": None}
    number = int.from_bytes(sha224(b'{"serviceAccountName":"","rules":null}\n').digest(), "big")
    (role,) = (
        obj
        for obj in objects_of(bundle(**strategy(clusterPermissions=[permission]))).values()
        if obj["kind"] == "ClusterRole"
    )
    assert int(role["metadata"]["name"].rpartition("-")[2], 36) == number
    assert role["metadata"]["name"].startswith("op.v1.0.0-def")
    assert role["rules"] is None
    written = b'"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["\\u003ca\\u003e"]}]'
    digest = h36(b'{"serviceAccountName":"op",' + written + b"}\n")
    names = objects_of(bundle(**strategy(clusterPermissions=[PERMISSION])))
    assert f"ClusterRole/{joined_name('op.v1.0.0-op', digest)}" in names


def test_service_accounts() -> None:
    """R-V1-GEN-3: one for each name in the permissions, none for that of every namespace."""
    given: list[dict[str, Any]] = [{"serviceAccountName": name, "rules": []} for name in ("b", "", "default", "a", "b")]
    objects = objects_of(bundle(**strategy(permissions=given[:3], clusterPermissions=given[3:])))
    accounts = [obj for obj in objects.values() if obj["kind"] == "ServiceAccount"]
    assert [obj["metadata"] for obj in accounts] == [{"name": name, "namespace": "home"} for name in ("a", "b")]


def test_roles_in_the_namespaces_that_are_watched() -> None:
    """R-V1-GEN-4: role and binding are in the target, the account is at home; equal entries give equal pairs."""
    given = bundle(installModes=modes("SingleNamespace"), **strategy(permissions=[PERMISSION, PERMISSION]))
    objects = [obj for obj in render_objects(given, "home", ("there",)) if obj["kind"].startswith("Role")]
    assert [(obj["kind"], obj["metadata"]["namespace"]) for obj in objects] == [
        ("Role", "there"), ("Role", "there"), ("RoleBinding", "there"), ("RoleBinding", "there"),
    ]  # fmt: skip
    role, _, binding, _ = objects
    assert role["rules"] == [{**PERMISSION["rules"][0]}]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "op", "namespace": "home"}]
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role["metadata"]["name"],
    }  # fmt: skip


def test_permissions_of_who_watches_all_namespaces() -> None:
    """R-V1-GEN-5: they become cluster-wide, and the right to see namespaces is a part of the hash."""
    objects = objects_of(bundle(**strategy(permissions=[PERMISSION])))
    (role,) = (obj for obj in objects.values() if obj["kind"] == "ClusterRole")
    assert role["rules"][1:] == [{"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}]
    assert "namespace" not in role["metadata"]
    assert not any(obj["kind"] == "Role" for obj in objects.values())
    (same,) = (
        obj
        for obj in objects_of(bundle(**strategy(clusterPermissions=[PERMISSION]))).values()
        if obj["kind"] == "ClusterRole"
    )
    assert same["metadata"]["name"] != role["metadata"]["name"]


def test_crds_that_a_webhook_converts() -> None:
    """R-V1-GEN-6: the path defaults, the port does not, and the annotation has the provider find it."""
    hook = {**CONVERSION, "conversionCRDs": ["gears.example.com"]}
    hook = {key: value for key, value in hook.items() if key not in ("containerPort", "admissionReviewVersions")}
    given = bundle(CRD, **OWNED, webhookdefinitions=[hook])
    crd = objects_of(given, None, "cert-manager")["CustomResourceDefinition/gears.example.com"]
    service = {"namespace": "home", "name": "op-service", "path": "/", "port": 0}
    assert crd["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": None},
    }
    assert crd["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "home/op-service-cert"}
    assert any("port is not valid" in problem for problem in server_errors(crd))


def test_an_empty_path_of_a_conversion_is_a_path() -> None:
    """R-V1-GEN-6: only one that is absent defaults."""
    hook = {**CONVERSION, "conversionCRDs": ["gears.example.com"], "webhookPath": ""}
    crd = objects_of(bundle(CRD, **OWNED, webhookdefinitions=[hook]))["CustomResourceDefinition/gears.example.com"]
    assert crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"] == ""


def test_crds_that_can_not_be_converted() -> None:
    """R-V1-GEN-6."""
    hook = {**CONVERSION, "conversionCRDs": ["gears.example.com"]}
    crd = {**CRD, "spec": {**CRD["spec"], "preserveUnknownFields": True}}
    with pytest.raises(BundleError, match=r"must have \.spec\.preserveUnknownFields set to false"):
        render_objects(bundle(crd, **OWNED, webhookdefinitions=[hook]), "home")


def test_other_objects_stay_as_they_are() -> None:
    """R-V1-GEN-7: but for the namespace; what is generated as well is there twice."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "op", "namespace": "x", "labels": {"a": "b"}},
        "more": 1,
    }
    given = bundle(account, **strategy(permissions=[PERMISSION]))
    accounts = [obj for obj in render_objects(given, "home") if obj["kind"] == "ServiceAccount"]
    assert sorted(accounts, key=len) == [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "op", "namespace": "home"}},
        {**account, "metadata": {"name": "op", "namespace": "home", "labels": {"a": "b"}}},
    ]


def test_deployments() -> None:
    """R-V1-GEN-8: the annotations of the CSV below the template's own, the targets above both."""
    (entry,) = csv()["spec"]["install"]["spec"]["deployments"]
    entry["label"] = {"part": "manager"}
    entry["spec"]["template"]["metadata"]["annotations"] = {"a": "template"}
    entry["spec"]["revisionHistoryLimit"] = 9
    given = bundle(**strategy(deployments=[entry]), installModes=modes("OwnNamespace"))
    given.csv["metadata"]["annotations"] = {"a": "csv", "b": "csv", "olm.targetNamespaces": "csv"}
    made = objects_of(given, ("home",))["Deployment/op"]
    assert made["metadata"] == {"name": "op", "namespace": "home", "labels": {"part": "manager"}}
    assert made["spec"]["template"]["metadata"]["annotations"] == {
        "a": "template", "b": "csv", "olm.targetNamespaces": "home",
    }  # fmt: skip
    assert made["spec"]["revisionHistoryLimit"] == 1


def test_webhook_configurations() -> None:
    """R-V1-GEN-10: one each, without random characters, with null where Go always writes."""
    mutating = {**HOOK, "type": "MutatingAdmissionWebhook", "reinvocationPolicy": "IfNeeded", "webhookPath": "/m"}
    bare = {key: HOOK[key] for key in ("type", "generateName", "deploymentName")}
    given = bundle(webhookdefinitions=[mutating, bare], installModes=modes("SingleNamespace"))
    objects = objects_of(given, ("there",))
    (hook,) = objects["ValidatingWebhookConfiguration/v.example.com"]["webhooks"]
    assert hook == {
        "name": "v.example.com",
        "clientConfig": {"service": {"namespace": "home", "name": "op-service", "port": 0}},
        "namespaceSelector": {
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["there"]}]
        },
        "sideEffects": None,
        "admissionReviewVersions": None,
    }
    other = objects["MutatingWebhookConfiguration/v.example.com"]
    assert other["metadata"] == {"name": "v.example.com", "namespace": "home"}
    assert other["webhooks"][0]["reinvocationPolicy"] == "IfNeeded"
    assert other["webhooks"][0]["clientConfig"]["service"]["path"] == "/m"
    problems = list(server_errors(objects["ValidatingWebhookConfiguration/v.example.com"]))
    assert any(problem.startswith("webhooks[0].clientConfig.service.port: Invalid value: 0") for problem in problems)


def test_services() -> None:
    """R-V1-GEN-11: the set of ports, by number, then by target."""
    hooks = [
        {**HOOK, "containerPort": port, **({"targetPort": target} if target is not None else {})}
        for port, target in (
            (8443, None), (443, 9443), (443, "b"), (443, "a"), (443, "10"), (443, 9443), (-1, None), (443, "9443"),
        )
    ]  # fmt: skip
    objects = objects_of(bundle(webhookdefinitions=[{**hook, "generateName": f"v{i}"} for i, hook in enumerate(hooks)]))
    spec = objects["Service/op-service"]["spec"]
    assert [(port["name"], port["port"], port["targetPort"]) for port in spec["ports"]] == [
        ("443", 443, "a"), ("443", 443, "b"), ("443", 443, "10"), ("443", 443, 443), ("443", 443, 9443),
        ("443", 443, "9443"), ("8443", 8443, 8443),
    ]  # fmt: skip
    assert spec["selector"] == {"app": "op"}


def test_cert_manager() -> None:
    """R-V1-GEN-12, R-V1-CERT-2."""
    objects = objects_of(bundle(webhookdefinitions=[HOOK]), None, "cert-manager")
    assert objects["Issuer/op-service-cert-selfsigned-issuer"]["spec"] == {"selfSigned": {}}
    assert objects["Certificate/op-service-cert"]["spec"] == {
        "commonName": "op-service.home",
        "dnsNames": ["op-service.home", "op-service.home.svc", "op-service.home.svc.cluster.local"],
        "duration": "17520h0m0s",
        "renewBefore": "24h0m0s",
        "issuerRef": {"name": "op-service-cert-selfsigned-issuer"},
        "secretName": "op-service-cert",
        "usages": ["server auth"],
    }
    annotations = objects["ValidatingWebhookConfiguration/v.example.com"]["metadata"]["annotations"]
    assert annotations == {"cert-manager.io/inject-ca-from": "home/op-service-cert"}


def test_service_ca() -> None:
    """R-V1-CERT-3."""
    objects = objects_of(bundle(webhookdefinitions=[HOOK]), None, "service-ca")
    assert {key.partition("/")[0] for key in objects} == {"Deployment", "Service", "ValidatingWebhookConfiguration"}
    prefix = "service.beta.openshift.io/"
    service = objects["Service/op-service"]["metadata"]
    assert service["annotations"] == {f"{prefix}serving-cert-secret-name": "op-service-cert"}
    hook = objects["ValidatingWebhookConfiguration/v.example.com"]["metadata"]
    assert hook["annotations"] == {f"{prefix}inject-cabundle": "true"}


def test_volumes_of_certificates() -> None:
    """R-V1-CERT-1: what is mounted at the places gives way, in every container, and nothing in init containers."""
    (entry,) = csv()["spec"]["install"]["spec"]["deployments"]
    entry["spec"]["template"]["spec"] = {
        "initContainers": [{"name": "i", "image": "i", "volumeMounts": [{"name": "old", "mountPath": "/o"}]}],
        "containers": [
            {
                "name": "c",
                "image": "i",
                "volumeMounts": [{"name": "old", "mountPath": "/apiserver.local.config/certificates"}],
            },
            {
                "name": "d",
                "image": "i",
                "volumeMounts": [{"name": "old", "mountPath": "/o"}, {"name": "k", "mountPath": "/k"}],
            },
        ],
        "volumes": [{"name": "old", "emptyDir": {}}, {"name": "webhook-cert", "emptyDir": {}}, {"name": "k"}],
    }
    given = bundle(webhookdefinitions=[HOOK], **strategy(deployments=[entry]))
    pod = objects_of(given, None, "service-ca")["Deployment/op"]["spec"]["template"]["spec"]
    assert [volume["name"] for volume in pod["volumes"]] == ["k", "webhook-cert", "apiservice-cert"]
    assert pod["volumes"][2]["secret"] == {
        "secretName": "op-service-cert",
        "items": [{"key": "tls.crt", "path": "apiserver.crt"}, {"key": "tls.key", "path": "apiserver.key"}],
    }
    mounts = [[mount["name"] for mount in container["volumeMounts"]] for container in pod["containers"]]
    assert mounts == [["webhook-cert", "apiservice-cert"], ["k", "webhook-cert", "apiservice-cert"]]
    assert pod["initContainers"][0]["volumeMounts"] == [{"name": "old", "mountPath": "/o"}]
    without = objects_of(given)["Deployment/op"]["spec"]["template"]["spec"]
    assert [volume["name"] for volume in without["volumes"]] == ["old", "webhook-cert", "k"]  # R-V1-CERT-4


# --- revisions


def thing(api_version: str, kind: str, name: str = "x", **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


def test_labels_of_owners() -> None:
    """R-V1-HELM-2: over the object's own, and not on pod templates."""
    given = thing("apps/v1", "Deployment", spec={"template": {"metadata": {}}})
    given["metadata"]["labels"] = {f"{PREFIX}owner-name": "other", "a": "b"}
    made = labelled(given, "mine")
    assert made["metadata"]["labels"] == {
        "a": "b",
        f"{PREFIX}owner-kind": "ClusterExtension",
        f"{PREFIX}owner-name": "mine",
    }
    assert made["spec"] == given["spec"]


REVISED = RevisionBundle("op.v1.0.0", "op", "1.0.0", "example.com/op@sha256:0")


def test_objects_of_a_revision() -> None:
    """R-V1-COS-2: status and what servers write are gone, an empty map of annotations as well."""
    given = thing("v1", "Secret", status={"a": 1})
    last = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    given["metadata"] |= {"annotations": last, "finalizers": ["f"], "namespace": "home", "uid": "u"}
    made = revision_object(given, "mine", REVISED)
    assert "status" not in made
    assert set(made["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert made["metadata"]["annotations"] == {f"{PREFIX}bundle-version": "1.0.0", f"{PREFIX}package-name": "op"}
    assert "annotations" not in revision_object(given, "mine", RevisionBundle("", "", "", ""))["metadata"]


@pytest.mark.parametrize(
    ("api_version", "kind", "phase"),
    [
        ("v1", "Namespace", "namespaces"),
        ("policy/v1", "PodDisruptionBudget", "policies"),
        ("v1", "ServiceAccount", "identity"),
        ("v1", "Secret", "configuration"),
        ("storage.k8s.io/v1", "StorageClass", "storage"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crds"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "roles"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", "bindings"),
        ("cert-manager.io/v1", "Issuer", "infrastructure"),
        ("apps/v1", "Deployment", "deploy"),
        ("apps/v1", "StatefulSet", "deploy"),
        ("example.com/v1", "Secret", "deploy"),
        ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "scaling"),
        ("monitoring.coreos.com/v1", "PodMonitor", "publish"),
        ("networking.k8s.io/v1", "NetworkPolicy", "policies"),
        ("networking.k8s.io/v1", "Ingress", "publish"),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "admission"),
    ],
)
def test_phases_by_kind(api_version: str, kind: str, phase: str) -> None:
    """R-V1-COS-3: by group and kind."""
    assert phase_of(thing(api_version, kind)) == phase


def test_order_of_phases_and_in_them() -> None:
    """R-V1-COS-3: phases without objects are left out; by group, version, kind, namespace and name."""
    given = [
        thing("apps/v1", "Deployment", "b"),
        thing("v1", "Pod"),
        thing("apps/v1", "Deployment", "a"),
        thing("v1", "Secret"),
    ]
    phases = [(phase.name, [obj["metadata"]["name"] for obj in phase.objects]) for phase in phases_of(given)]
    assert phases == [("configuration", ["x"]), ("deploy", ["x", "a", "b"])]


def test_the_object_set() -> None:
    """R-V1-COS-4, R-V1-COS-6."""
    given = bundle()
    given.csv["metadata"]["annotations"] = {"olm.properties": "[]"}
    owner = Owner("mine", "home", "installer", 30)
    made = object_set(given, [thing("v1", "Secret")], owner, REVISED._replace(release="2"), 3)
    assert made["metadata"]["name"] == "mine-3"
    assert made["metadata"]["annotations"] == {
        f"{PREFIX}bundle-name": "op.v1.0.0",
        f"{PREFIX}package-name": "op",
        f"{PREFIX}bundle-version": "1.0.0",
        f"{PREFIX}bundle-reference": "example.com/op@sha256:0",
        f"{PREFIX}bundle-release": "2",
        f"{PREFIX}service-account-name": "installer",
        f"{PREFIX}service-account-namespace": "home",
        "olm.properties": "[]",
    }
    (reference,) = made["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"], reference["controller"]) == ("ClusterExtension", "mine", True)
    spec = made["spec"]
    assert (spec["lifecycleState"], spec["revision"], spec["collisionProtection"]) == ("Active", 3, "Prevent")
    assert spec["progressDeadlineMinutes"] == 30
    probed = [probe["selector"]["groupKind"]["kind"] for probe in spec["progressionProbes"]]
    assert probed == [
        "CustomResourceDefinition", "Certificate", "Issuer", "Namespace", "PersistentVolumeClaim", "StatefulSet",
        "Deployment",
    ]  # fmt: skip
    assert (
        "progressDeadlineMinutes" not in object_set(given, [], owner._replace(deadline_minutes=None), REVISED)["spec"]
    )


def packed(*objects: dict[str, Any]) -> Any:
    return pack(object_set(bundle(), objects, Owner("mine", "home", "installer"), REVISED), "system")


def test_secrets_hold_the_objects() -> None:
    """R-V1-COS-5: in phase order, equal ones once, under names and keys by their content."""
    made = packed(thing("v1", "Secret", "<s>"), thing("v1", "Secret", "<s>"), thing("apps/v1", "Deployment"))
    (secret,) = made.secrets
    references = [entry["ref"] for phase in made.object_set["spec"]["phases"] for entry in phase["objects"]]
    assert len(references) == 3
    assert len(secret["data"]) == 2
    stored = {key: b64decode(data) for key, data in secret["data"].items()}
    assert b"\\u003cs\\u003e" in stored[references[0]["key"]]
    whole = b"".join(key.encode() + stored[key] for key in sorted(stored))
    assert secret["metadata"]["name"] == f"mine-1-{sha256(whole).hexdigest()[:16]}"
    assert {ref["name"] for ref in references} == {secret["metadata"]["name"]}
    assert (secret["immutable"], secret["type"]) == (True, f"{PREFIX}object-data")
    assert secret["metadata"]["labels"] == {f"{PREFIX}owner-name": "mine", f"{PREFIX}revision-name": "mine-1"}


def test_a_secret_holds_only_so_much() -> None:
    """R-V1-COS-5: what does not fit any more begins another; what is too large is compressed, or refused."""
    large = [thing("v1", "ConfigMap", str(number), data={"a": str(number) * (MAX_DATA // 2)}) for number in range(2)]
    assert len(packed(*large).secrets) == 2
    huge = thing("v1", "ConfigMap", data={"a": "x" * MAX_DATA})
    ((compressed,),) = (secret["data"].values() for secret in packed(huge).secrets)
    assert b64decode(compressed)[:2] == b"\x1f\x8b"
    noise = Random(1).randbytes(MAX_DATA).hex()
    with pytest.raises(
        BundleError, match=r"^object in phase 0 index 0 exceeds maximum Secret data size \(\d+ bytes > "
    ):
        packed(thing("v1", "ConfigMap", data={"a": noise}))
    assert len(encode_plain(huge)) > MAX_DATA
