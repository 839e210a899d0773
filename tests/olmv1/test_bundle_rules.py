"""Each rule about a bundle, its configuration and its objects, with a bundle made for it; no recording is needed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from olmv1_bundles import (
    ALL,
    CONVERSION,
    CRD,
    HOOK,
    OWNED,
    PERMISSION,
    bundle,
    csv,
    files_of,
    modes,
    objects_of,
    strategy,
)

from olmc.targets.v1.api_server import server_errors
from olmc.targets.v1.generators import (
    FeatureGates,
    InstallRequest,
    certificate_provider,
    gates_of,
    render_bundle,
    render_objects,
)
from olmc.targets.v1.registry_bundle import BundleError, RegistryBundle, read_registry_bundle, validation_errors


def error_of(files: dict[str, str]) -> str:
    with pytest.raises(BundleError) as caught:
        read_registry_bundle(files)
    return caught.value.message


def refusal(given: RegistryBundle, gates: FeatureGates = ALL, config: Any = None, **kwargs: Any) -> BundleError:
    with pytest.raises(BundleError) as caught:
        render_bundle(given, InstallRequest("home", gates, config, **kwargs))
    return caught.value


# --- feature gates


def test_gates_are_data_of_the_profile() -> None:
    """R-V1-FG-1, R-V1-FG-3, R-V1-FG-4."""
    assert gates_of("v1") == gates_of("0.46") == FeatureGates(webhook_provider_cert_manager=True)
    assert gates_of("v1-experimental").boxcutter_runtime
    assert gates_of("v1-experimental").single_own_namespace_install_support
    assert gates_of("v1-openshift") == FeatureGates(webhook_provider_openshift_service_ca=True)
    assert gates_of("ocp-4.20") == FeatureGates()


@pytest.mark.parametrize(
    ("cert_manager", "service_ca", "provider"),
    [(True, True, "cert-manager"), (True, False, "cert-manager"), (False, True, "service-ca"), (False, False, "none")],
)
def test_who_issues_certificates(cert_manager: bool, service_ca: bool, provider: str) -> None:
    """R-V1-FG-2."""
    assert certificate_provider(FeatureGates(cert_manager, service_ca)) == provider


# --- loading


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metadata/annotations.yaml": None}, "open metadata/annotations.yaml: no such file or directory"),
        ({"manifests/00.yaml": None}, 'no ClusterServiceVersion found in "manifests"'),
        (
            {"manifests/more/x.yaml": ""},
            'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem: '
            'found "manifests/more"',
        ),
        (
            {"manifests/x.txt": "apiVersion: v1\nmetadata: {name: '<x>'}\n"},
            'error parsing objects in "manifests/x.txt": unable to decode "manifests/x.txt": Object \'Kind\' is '
            'missing in \'{"apiVersion":"v1","metadata":{"name":"\\u003cx\\u003e"}}\'',
        ),
        (
            {"manifests/x.yaml": "a: b: c\n"},
            'error parsing objects in "manifests/x.yaml": error parsing manifests/x.yaml: error converting YAML to '
            "JSON: yaml: mapping values are not allowed in this context",
        ),
    ],
)
def test_what_can_not_be_read(changes: dict[str, str | None], message: str) -> None:
    """R-V1-LOAD-1, R-V1-LOAD-2, R-V1-LOAD-3."""
    files = {**files_of(csv()), **changes}
    assert error_of({path: text for path, text in files.items() if text is not None}) == message


def test_everything_in_manifests_counts() -> None:
    """R-V1-LOAD-2: whatever the name, lists flattened, empty documents and comments passed over; no apiVersion is
    needed."""
    listed = {"kind": "List", "apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Secret", "metadata": {}}]}
    text = f"# nothing\n---\nkind: ConfigMap\nmetadata: {{name: y}}\n---\n---\n{json.dumps(listed)}\n"
    given = bundle(files={"manifests/notes.txt": "# only a comment\n", "manifests/more": text})
    assert [(obj["apiVersion"], obj["kind"]) for obj in given.others] == [("", "ConfigMap"), ("v1", "Secret")]
    assert next(server_errors(given.others[0])) == "Object 'apiVersion' is missing"


def test_the_last_csv_wins_and_crds_are_known_by_kind() -> None:
    """R-V1-LOAD-3."""
    later = {**csv(), "metadata": {"name": "later"}}
    old = {**CRD, "apiVersion": "apiextensions.k8s.io/v1beta1"}
    given = bundle(old, later)
    assert given.name == "later"
    assert [crd["apiVersion"] for crd in given.crds] == ["apiextensions.k8s.io/v1beta1"]


@pytest.mark.parametrize(
    ("annotation", "properties", "joined"),
    [
        (None, "properties: []", "null"),
        (None, None, None),
        ("[]", "properties: []", "[]"),
        (
            ' [ {"type": "a", "value": {"z": 1.50, "a": "<"}} ] ',
            None,
            ' [ {"type": "a", "value": {"z": 1.50, "a": "<"}} ] ',
        ),
        (
            '[{"value": {"z": 1.50, "a": "<"}, "type": "a"}]',
            "properties: [{type: b, value: {z: 1.50, a: 1}}, {type: 7}]",
            '[{"type":"a","value":{"z":1.50,"a":"\\u003c"}},{"type":"b","value":{"a":1,"z":1.5}},'
            '{"type":"7","value":null}]',
        ),
    ],
)
def test_properties(annotation: str | None, properties: str | None, joined: str | None) -> None:
    """R-V1-LOAD-4: those of the annotation as they stand there, those of the file with sorted keys."""
    given = csv()
    if annotation is not None:
        given["metadata"]["annotations"] = {"olm.properties": annotation}
    files = files_of(given, **({"properties": properties} if properties is not None else {}))
    annotations = read_registry_bundle(files).csv["metadata"].get("annotations", {})
    assert annotations.get("olm.properties") == joined


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ("[", "unexpected end of JSON input"),
        ("[{]", "invalid character ']' looking for beginning of object key string"),
        ("{}", "json: cannot unmarshal object into Go value of type []property.Property"),
    ],
)
def test_an_annotation_that_holds_no_properties(annotation: str, problem: str) -> None:
    """R-V1-LOAD-4: refused with and without a file."""
    given = csv()
    given["metadata"]["annotations"] = {"olm.properties": annotation}
    said = f"failed to unmarshal csv.metadata.annotations['olm.properties']: {problem}"
    assert error_of(files_of(given)) == error_of(files_of(given, properties="properties: []")) == said


def test_typed_reading() -> None:
    """R-V1-LOAD-5: fields that the type does not have are lost, keys count exactly, quantities are canonical."""
    deployment = csv()["spec"]["install"]["spec"]["deployments"][0]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container |= {"resources": {"limits": {"memory": "1024Mi"}}, "Env": [{"name": "A"}], "more": 1}
    (read,) = bundle(**strategy(deployments=[deployment])).deployments
    assert read["spec"]["template"]["spec"]["containers"] == [
        {"name": "manager", "image": "example.com/op:1", "resources": {"limits": {"memory": "1Gi"}}}
    ]
    deployment["spec"]["replicas"] = "two"
    message = error_of(files_of(csv(**strategy(deployments=[deployment]))))
    assert message == 'error parsing objects in "manifests/00.yaml": unrecognized type: int32'


@pytest.mark.parametrize(
    ("spec", "gates", "message"),
    [
        ({"apiservicedefinitions": {"owned": [{}]}}, ALL, "apiServiceDefintions are not supported"),
        ({"webhookdefinitions": [HOOK]}, FeatureGates(), "webhookDefinitions are not supported"),
        ({"installModes": modes("OwnNamespace")}, FeatureGates(), "bundle does not support AllNamespaces install mode"),
        (
            {"installModes": modes("MultiNamespace")},
            ALL,
            "bundle must support at least one of [AllNamespaces SingleNamespace OwnNamespace] install modes",
        ),
    ],
)
def test_what_the_provider_does_not_support(spec: dict[str, Any], gates: FeatureGates, message: str) -> None:
    """R-V1-LOAD-6, R-V1-CERT-4."""
    error = refusal(bundle(**spec), gates)
    assert (error.message, bool(error.hint)) == (f"unsupported bundle: {message}", True)


# --- validators and options

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DEPLOYMENT = csv()["spec"]["install"]["spec"]["deployments"][0]


def rule(group: str, *resources: str) -> dict[str, Any]:
    return {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": list(resources)}


@pytest.mark.parametrize(
    ("number", "spec", "others", "errors"),
    [
        (
            1,
            strategy(deployments=[DEPLOYMENT, DEPLOYMENT, DEPLOYMENT]),
            [],
            ["cluster service version contains duplicate strategy deployment spec 'op'"],
        ),
        (
            2,
            strategy(deployments=[{**DEPLOYMENT, "name": "No" * 127}]),
            [],
            [
                f"invalid cluster service version strategy deployment name '{'No' * 127}': {SUBDOMAIN}, "
                "must be no more than 253 characters"
            ],
        ),
        (3, {}, [CRD, CRD], ["bundle contains duplicate custom resource definition 'gears.example.com'"]),
        (
            4,
            OWNED,
            [],
            [
                "cluster service definition references owned custom resource definition 'gears.example.com' not found "
                "in bundle"
            ],
        ),
        (
            6,
            {**OWNED, "webhookdefinitions": [CONVERSION], "installModes": modes("OwnNamespace", "AllNamespaces")},
            [CRD],
            [
                'bundle contains conversion webhook "c.example.com" and supports install modes [AllNamespaces '
                "OwnNamespace] - conversion webhooks are only supported for bundles that only support AllNamespaces "
                "install mode"
            ],
        ),
        (
            7,
            {"webhookdefinitions": [{**HOOK, "deploymentName": "gone"}]},
            [],
            [
                "webhook of type 'ValidatingAdmissionWebhook' with name 'v.example.com' references non-existent "
                "deployment 'gone'"
            ],
        ),
        (
            8,
            {"webhookdefinitions": [HOOK, HOOK, {**HOOK, "type": "MutatingAdmissionWebhook"}]},
            [],
            ["duplicate webhook 'v.example.com' of type 'ValidatingAdmissionWebhook'"],
        ),
        (
            9,
            {"webhookdefinitions": [{**HOOK, "generateName": "v-"}]},
            [],
            [f"webhook of type 'ValidatingAdmissionWebhook' has invalid name 'v-': {SUBDOMAIN}"],
        ),
        (
            10,
            {**OWNED, "webhookdefinitions": [{**CONVERSION, "conversionCRDs": ["gears.example.com"] * 2}]},
            [CRD],
            [
                "conversion webhooks [c.example.com,c.example.com] reference same custom resource definition "
                "'gears.example.com'"
            ],
        ),
        (
            11,
            {"webhookdefinitions": [{**CONVERSION, "conversionCRDs": ["gears.example.com"]}]},
            [CRD],
            [
                "conversion webhook 'c.example.com' references custom resource definition 'gears.example.com' not "
                "owned bundle"
            ],
        ),
        (
            12,
            {
                "webhookdefinitions": [
                    {
                        **HOOK,
                        "rules": [
                            rule("*"),
                            rule("admissionregistration.k8s.io", "pods", "MutatingWebhookConfiguration"),
                        ],
                    }
                ]
            },
            [],
            [
                'webhook "v.example.com" contains forbidden rule: admission webhook rules cannot reference API '
                'group "*"',
                'webhook "v.example.com" contains forbidden rule: admission webhook rules cannot reference resource '
                '"MutatingWebhookConfiguration" for API group "admissionregistration.k8s.io"',
            ],
        ),
        (
            13,
            {},
            [{"apiVersion": "example.com/v1", "kind": "Gear", "metadata": {"name": "first"}}],
            ['unsupported resource "first" with kind "Gear"'],
        ),
    ],
)
def test_validators(number: int, spec: dict[str, Any], others: list[dict[str, Any]], errors: list[str]) -> None:
    """R-V1-VAL-1, R-V1-VAL-2: the checks by their numbers."""
    assert number in range(1, 14)
    assert validation_errors(bundle(*others, **spec)) == errors


def test_all_errors_of_validators_are_told_at_once() -> None:
    """R-V1-VAL-1: joined, in the order of the checks; the fifth is about the package."""
    files = files_of(csv(**OWNED), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})
    given = read_registry_bundle({**files, "metadata/annotations.yaml": ""})
    lines = refusal(given).message.split("\n")
    assert [line.partition(" ")[0] for line in lines] == ["cluster", "package", "unsupported"]


@pytest.mark.parametrize("kind", ["Service", "PrometheusRule", "VerticalPodAutoscaler", "ConsolePlugin"])
def test_kinds_count_in_any_group(kind: str) -> None:
    """R-V1-VAL-2."""
    given = bundle({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x", "namespace": "there"}})
    assert validation_errors(given) == []
    namespace = objects_of(given)[f"{kind}/x"]["metadata"]["namespace"]
    assert namespace == ("home" if kind in ("Service", "PrometheusRule") else "there")


@pytest.mark.parametrize(
    ("supported", "targets", "problem"),
    [
        (["MultiNamespace"], [], "at least one target namespace must be specified"),
        (["OwnNamespace"], None, "exactly one target namespace must be specified"),
        (["OwnNamespace"], [""], "supported install modes [OwnNamespace] do not support targeting all namespaces"),
        (["AllNamespaces"], ["home"], "supported install modes [AllNamespaces] do not support targeting own namespace"),
        (
            ["OwnNamespace", "AllNamespaces"],
            ["a"],
            "supported install modes [AllNamespaces OwnNamespace] do not support target namespaces [a]",
        ),
        (
            ["SingleNamespace"],
            ["a", "b"],
            "supported install modes [SingleNamespace] do not support target namespaces [a b]",
        ),
        (
            ["MultiNamespace"],
            ["a", ""],
            "supported install modes [MultiNamespace] do not support target namespaces [a ]",
        ),
        (
            ["MultiNamespace"],
            ["a", "home"],
            "supported install modes [MultiNamespace] do not support targeting own namespace",
        ),
        (["AllNamespaces"], None, ""),
        (["SingleNamespace"], ["a"], ""),
        (["OwnNamespace"], ["home"], ""),
        (["MultiNamespace", "OwnNamespace"], ["a", "home"], ""),
    ],
)
def test_target_namespaces(supported: list[str], targets: list[str] | None, problem: str) -> None:
    """R-V1-OPT-1."""
    given = bundle(installModes=modes(*supported))
    if not problem:
        assert objects_of(given, targets)
        return
    with pytest.raises(BundleError) as caught:
        render_objects(given, "home", targets)
    shown = " ".join(targets or [])
    assert caught.value.message == f"invalid option(s): invalid target namespaces [{shown}]: {problem}"


# --- configuration

INVALID = "invalid ClusterExtension configuration: invalid configuration: "


@pytest.mark.parametrize(
    ("supported", "config", "problem"),
    [
        (["AllNamespaces"], "{watchNamespace: null}", 'unknown field "watchNamespace"'),
        (["OwnNamespace"], None, 'required field "watchNamespace" is missing'),
        (["SingleNamespace"], "{watchNamespace: null}", 'required field "watchNamespace" is missing'),
        (["AllNamespaces"], "{b: 1, a: 2}", 'unknown field "a"'),
        (["AllNamespaces"], "[]", "invalid type: got array, want object"),
        (["AllNamespaces"], "a: b: c", "mapping values are not allowed in this context"),
        (
            ["AllNamespaces"],
            "{deploymentConfig: {env: 1}}",
            'invalid type for field "deploymentConfig.env": got number, want array',
        ),
        (
            ["OwnNamespace"],
            "{watchNamespace: other}",
            "invalid format for field \"watchNamespace\": 'other' is not valid ownNamespaceInstallMode: invalid value "
            '"other": must be "home" (the namespace where the operator is installed) because this operator only '
            "supports OwnNamespace install mode",
        ),
        (
            ["OwnNamespace", "SingleNamespace"],
            "{watchNamespace: ''}",
            'multiple errors found:\n  - field "watchNamespace" must have minimum length of 1 (len=0)\n'
            '  - field "watchNamespace" must match pattern "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"',
        ),
        (
            ["AllNamespaces", "SingleNamespace"],
            "{watchNamespace: 5}",
            'multiple errors found:\n  - invalid value for field "watchNamespace"\n'
            '  - invalid type for field "watchNamespace": got number, want null\n'
            '  - invalid type for field "watchNamespace": got number, want string',
        ),
    ],
)
def test_configurations_that_do_not_fit(supported: list[str], config: str | None, problem: str) -> None:
    """R-V1-CFG-1, R-V1-CFG-2, R-V1-CFG-3, R-V1-CFG-4."""
    error = refusal(bundle(installModes=modes(*supported)), ALL, config)
    assert (error.message, error.terminal) == (INVALID + problem, True)


def test_what_a_reference_hides_is_told_beside() -> None:
    """R-V1-CFG-4a: one error below a reference prints nothing of itself."""
    error = refusal(bundle(), ALL, {"deploymentConfig": {"env": [{"value": "x"}]}})
    assert error.message == f"{INVALID}validation failed"
    assert error.causes == ('deploymentConfig.env.0: required field "name" is missing',)
    error = refusal(bundle(), ALL, {"deploymentConfig": {"resources": {"limits": {"cpu": "2x"}}}})
    assert error.message.startswith(
        "invalid deploymentConfig: failed to unmarshal deploymentConfig: quantities must match"
    )


def test_a_configuration_counts_with_closed_gates_if_there_is_one() -> None:
    """R-V1-CFG-2."""
    given = bundle(installModes=modes("AllNamespaces", "OwnNamespace"), **strategy(permissions=[PERMISSION]))
    closed = FeatureGates()
    assert not any(obj["kind"] == "Role" for obj in render_bundle(given, InstallRequest("home", closed)))
    watching = InstallRequest("home", closed, {"watchNamespace": "home"})
    assert any(obj["kind"] == "Role" for obj in render_bundle(given, watching))
    assert refusal(given, closed, {"deploymentConfig": {}}).message == f'{INVALID}unknown field "deploymentConfig"'


def configured(container: dict[str, Any], pod: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """The Deployment of a bundle with this container and pod spec, with a deploymentConfig."""
    spec = {"containers": [{"name": "c", "image": "i", **container}], **pod}
    deployment = {"name": "op", "spec": {"selector": {}, "template": {"spec": spec}}}
    request = InstallRequest("home", ALL, {"deploymentConfig": config})
    (made,) = render_bundle(bundle(**strategy(deployments=[deployment])), request)
    return made


@pytest.mark.parametrize(
    ("container", "config", "expected"),
    [
        (
            {"env": [{"name": "A", "value": "0"}, {"name": "A", "value": "1"}]},
            {"env": [{"name": "A", "value": "2"}, {"name": "B"}]},
            {"env": [{"name": "A", "value": "0"}, {"name": "A", "value": "2"}, {"name": "B"}]},
        ),
        (
            {"envFrom": [{"secretRef": {"name": "s"}}]},
            {"envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "c"}}]},
            {"envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "c"}}]},
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}]},
            {"volumeMounts": [{"name": "v", "mountPath": "/b"}, {"name": "w", "mountPath": "/w"}]},
            {"volumeMounts": [{"name": "v", "mountPath": "/b"}, {"name": "w", "mountPath": "/w"}]},
        ),
        (
            # What is replaced is what the bundle has: names that the configuration repeats are all there.
            {"env": [{"name": "A"}], "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            {
                "env": [{"name": "B", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}],
                "volumeMounts": [{"name": "w", "mountPath": path} for path in ("/a", "/b")],
            },
            {
                "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "1"}, {"name": "B", "value": "2"}],
                "volumeMounts": [
                    {"name": name, "mountPath": path} for name, path in (("v", "/v"), ("w", "/a"), ("w", "/b"))
                ],
            },
        ),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {}}, {"resources": {}}),
        ({}, {"resources": {"limits": {"memory": "1024Mi"}}}, {"resources": {"limits": {"memory": "1Gi"}}}),
    ],
)
def test_containers_with_a_configuration(container: dict[str, Any], config: dict[str, Any], expected: Any) -> None:
    """R-V1-CFG-5: what a deploymentConfig does to each container."""
    (made,) = configured(container, {}, config)["spec"]["template"]["spec"]["containers"]
    assert made == {"name": "c", "image": "i", "resources": {}, **expected}


NODES = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("pod", "config", "expected"),
    [
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {}}, {}),
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"c": "d"}}, {"nodeSelector": {"c": "d"}}),
        (
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "emptyDir": {}}]},
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "emptyDir": {}}]},
        ),
        (
            {"tolerations": [{"key": "t"}]},
            {"tolerations": [{"key": "t"}, {"key": "u"}]},
            {"tolerations": [{"key": "t"}, {"key": "u"}]},
        ),
        (
            {},
            {"volumes": [{"name": "w", "emptyDir": {}}, {"name": "w", "hostPath": {"path": "/w"}}]},
            {"volumes": [{"name": "w", "emptyDir": {}}, {"name": "w", "hostPath": {"path": "/w"}}]},
        ),
        ({"affinity": {"nodeAffinity": {REQUIRED: NODES}}}, {"affinity": {}}, {}),
        ({"affinity": {"podAffinity": {}}}, {"affinity": {"nodeAffinity": {}}}, {}),
        (
            {"affinity": {"nodeAffinity": {REQUIRED: NODES}}},
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
            {},
        ),
        (
            {"affinity": {"nodeAffinity": {REQUIRED: NODES}}},
            {"affinity": {"podAffinity": {}}},
            {"affinity": {"nodeAffinity": {REQUIRED: NODES}}},
        ),
    ],
)
def test_pods_with_a_configuration(pod: dict[str, Any], config: dict[str, Any], expected: dict[str, Any]) -> None:
    """R-V1-CFG-5: what it does to the pod, and that init containers stay as they are."""
    template = configured(
        {}, {**pod, "initContainers": [{"name": "i", "image": "i"}]}, {**config, "env": [{"name": "A"}]}
    )
    made = template["spec"]["template"]["spec"]
    assert made.pop("initContainers") == [{"name": "i", "image": "i", "resources": {}}]
    assert {key: value for key, value in made.items() if key != "containers"} == expected


def test_annotations_of_a_configuration() -> None:
    """R-V1-CFG-5: those that are there stay."""
    made = configured({}, {}, {"annotations": {"olm.targetNamespaces": "x", "new": "n"}})
    assert made["metadata"]["annotations"] == {"new": "n", "olm.targetNamespaces": "x"}
    assert made["spec"]["template"]["metadata"]["annotations"] == {"new": "n", "olm.targetNamespaces": ""}
