"""What is in Secrets is in no output that people read, and in no file that others may read."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import olmc_noticing as olmc
from cpu_time import measure
from tiers import sampled

from olmc.compiler.load.kustomize import without_quotes
from olmc.k8s.objects import AFTER, BEFORE, MASK, REDACTED, masked, redacted
from olmc.review.check.excerpts import line_masker

OLD, NEW, KEPT = "hunter2-before", "hunter2-after", "always-the-same"
WORKSPACE = """\
apiVersion: v1
kind: Namespace
metadata: {{name: harbour}}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {{name: group, namespace: harbour}}
---
apiVersion: v1
kind: Secret
metadata:
  name: key
  namespace: harbour
  annotations:
    team: water
    kubectl.kubernetes.io/last-applied-configuration: |
      {{"apiVersion":"v1","data":{{"token":"{token}"}},"kind":"Secret","metadata":{{"name":"key"}}}}
    acme.example.com/copy-of: "the token is {token}"
data:
  token: {token}
  kept: {kept}
stringData:
  plain: {plain}
"""


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def workspace(folder: Path, value: str) -> Path:
    folder.mkdir(parents=True)
    text = WORKSPACE.format(token=encoded(value), plain=value, kept=encoded(KEPT))
    (folder / "all.yaml").write_text(text, encoding="utf-8")
    return folder


def leaks(text: str) -> list[str]:
    """The values in a text that it must not have, also where a page may end a line within one."""
    text = text.replace("<wbr>", "")
    return [value for value in (OLD, NEW, KEPT) if value in text or encoded(value) in text]


@pytest.mark.parametrize("output", ["text", "markdown", "json", "html"])
@pytest.mark.parametrize("purpose", ["apply", "review"])
def test_a_difference_tells_that_values_change_and_not_which(output: str, purpose: str, tmp_path: Path) -> None:
    """As kubectl diff: what is equal and what is not can be seen, what it is can not."""
    old, new = workspace(tmp_path / "old", OLD), workspace(tmp_path / "new", NEW)
    done = olmc("diff", old, new, "--for", purpose, "-o", output)
    assert done.exit_code == 1
    assert leaks(done.stdout + done.stderr) == []
    assert "token" in done.stdout
    assert "plain" in done.stdout
    if output != "html":  # which shows whole objects
        assert "kept" not in done.stdout
    if output == "json":
        assert "*** (before)" in done.stdout
        assert "*** (after)" in done.stdout


def test_the_same_values_are_no_difference(tmp_path: Path) -> None:
    old, new = workspace(tmp_path / "old", OLD), workspace(tmp_path / "new", OLD)
    assert olmc("diff", old, new, "--for", "apply").exit_code == 0


def test_values_can_be_asked_for(tmp_path: Path) -> None:
    old, new = workspace(tmp_path / "old", OLD), workspace(tmp_path / "new", NEW)
    shown = olmc("diff", old, new, "--for", "apply", "--show-secrets", "-o", "json").stdout
    assert leaks(shown) == [OLD, NEW]
    assert leaks(olmc("render", new, "--show-secrets").stdout) == [NEW, KEPT]


@pytest.mark.parametrize("one_sided", [("old", "empty"), ("empty", "old")])
@pytest.mark.parametrize("output", ["json", "html"])
def test_a_secret_that_comes_or_goes_shows_nothing(output: str, one_sided: tuple[str, str], tmp_path: Path) -> None:
    workspace(tmp_path / "old", OLD)
    (tmp_path / "empty").mkdir()
    paths = [tmp_path / name for name in one_sided]
    done = olmc("diff", *paths, "--for", "apply", "--allow-empty", "-o", output)
    assert done.exit_code == 1
    assert leaks(done.stdout + done.stderr) == []


@pytest.mark.parametrize("output", ["yaml", "json", "name"])
def test_review_output_has_no_values(output: str, tmp_path: Path) -> None:
    """Not in the data, and not in the copies of it that kubectl and others leave in annotations."""
    done = olmc("render", workspace(tmp_path / "w", OLD), "-o", output)
    assert done.exit_code == 0
    assert leaks(done.stdout) == []
    assert ("team: water" in done.stdout) == (output == "yaml")


POLICY = """
---
apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata: {{name: p, namespace: harbour}}
spec:
  object-templates:
  - complianceType: musthave
    objectDefinition: {{apiVersion: v1, kind: Secret, metadata: {{}}, stringData: {{token: {value}, kept: {kept}}}}}
"""


def test_a_secret_in_another_object_is_one_as_well(tmp_path: Path) -> None:
    """Policies and templates have whole objects in them."""
    for name, value in (("old", OLD), ("new", NEW)):
        with (workspace(tmp_path / name, value) / "all.yaml").open("a", encoding="utf-8") as stream:
            stream.write(POLICY.format(value=value, kept=KEPT))
    assert leaks(olmc("render", tmp_path / "old").stdout) == []
    for output in ("text", "json", "html"):
        done = olmc("diff", tmp_path / "old", tmp_path / "new", "--for", "apply", "-o", output)
        assert leaks(done.stdout) == []
        shown = done.stdout.replace("<wbr>", "")
        assert "object-templates[Secret].stringData.token" in shown
        assert "stringData.kept" not in shown
    files = olmc("render", tmp_path / "old", "--for", "apply", "--output-dir", tmp_path / "out")
    assert files.exit_code == 0
    assert modes(tmp_path / "out")["configurationpolicy_harbour_p.yaml"] == 0o600


HOLDER = """\
---
apiVersion: widgets.example.com/v1
kind: Holder
metadata: {{name: holder, namespace: harbour}}
spec: {spec}
"""
NESTED = [
    "{{apiVersion: v1, kind: Secret, metadata: null, stringData: {{token: {value}}}}}",
    "{{apiVersion: v1, kind: Secret, metadata: [x], data: {{token: {encoded}}}}}",
    "{{apiVersion: v1, kind: SecretList, items: [{{metadata: {{name: x}}, stringData: {{token: {value}}}}}]}}",
    "{{apiVersion: v1, kind: SecretList, items: [1, {{kind: Secret, data: {{token: {encoded}}}}}]}}",
    "{{apiVersion: v1, kind: List, items: [{{apiVersion: v1, kind: Secret, stringData: {{token: [{value}]}}}}]}}",
]


@pytest.mark.parametrize("spec", sampled(NESTED, 2))
def test_however_a_secret_is_written_in_another_object(spec: str, tmp_path: Path) -> None:
    """With metadata that no Secret has, and in lists whose items do not say what they are."""
    for name, value in (("old", OLD), ("new", NEW)):
        with (workspace(tmp_path / name, value) / "all.yaml").open("a", encoding="utf-8") as stream:
            stream.write(HOLDER.format(spec=spec.format(value=value, encoded=encoded(value))))
    for output in ("yaml", "json"):
        assert leaks(olmc("render", tmp_path / "old", "-o", output).stdout) == []
    for output in ("text", "json", "markdown", "html"):
        assert leaks(olmc("diff", tmp_path / "old", tmp_path / "new", "-o", output).stdout) == []
        assert leaks(olmc("plan", tmp_path / "new", "--from", tmp_path / "old", "-o", output).stdout) == []


@pytest.mark.parametrize("command", [("render", "new"), ("diff", "old", "new"), ("plan", "new", "--from", "old")])
def test_a_field_that_is_misspelt_is_as_secret(command: tuple[str, ...], tmp_path: Path) -> None:
    for side, value in (("old", OLD), ("new", NEW)):
        text = (workspace(tmp_path / side, value) / "all.yaml").read_text(encoding="utf-8")
        misspelt = text.replace("\nstringData:", "\nstringdata:").replace("\ndata:", "\nbinaryData:")
        (tmp_path / side / "all.yaml").write_text(misspelt, encoding="utf-8")
    first, *sides = command
    done = olmc(first, *(tmp_path / each if each in ("old", "new") else each for each in sides))
    assert "stringdata" in done.stdout
    assert leaks(done.stdout + done.stderr) == []


@pytest.mark.parametrize("field", ["stringData", "annotations: {x: y}, labels", "labels: {x: y}, annotations"])
def test_a_block_that_is_indented_too_far_is_as_secret(field: str, tmp_path: Path) -> None:
    secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: far, namespace: harbour, {}}}\n"
    for side, value in (("old", OLD), ("new", NEW)):
        nested = f"{field}: {{stringData: {{token: {value}}}}}"
        with (workspace(tmp_path / side, value) / "all.yaml").open("a", encoding="utf-8") as stream:
            stream.write(secret.format(nested))
    for command in (("render", "new"), ("diff", "old", "new"), ("plan", "new", "--from", "old"), ("check", "new")):
        first, *sides = command
        done = olmc(first, *(tmp_path / each if each in ("old", "new") else each for each in sides))
        assert leaks(done.stdout + done.stderr) == []


def test_a_list_of_secrets_has_the_keys_that_it_had() -> None:
    secrets = {"apiVersion": "v1", "kind": "SecretList", "items": [{"data": {"a": "b"}}, {"kind": "Secret"}, 1]}
    assert redacted(secrets)["items"] == [{"data": {"a": REDACTED}}, {"kind": "Secret"}, 1]
    changed = {**secrets, "items": [{"data": {"a": "c"}}]}
    old, new = masked(secrets, changed)
    assert (old or {})["items"] == [{"data": {"a": BEFORE}}, {"kind": "Secret"}, 1]
    assert (new or {})["items"] == [{"data": {"a": AFTER}}]


def test_a_copy_of_a_value_that_is_written_in_lines() -> None:
    """Go reads base64 over the ends of lines, and so does whoever copies the value."""
    value = encoded(OLD)
    annotations = {"a": f"it is {OLD}", "b": value, "c": "something else"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": annotations},
              "data": {"token": f"{value[:4]}\n{value[4:]}\r\n"}}  # fmt: skip
    assert redacted(secret)["metadata"]["annotations"] == {"a": REDACTED, "b": REDACTED, "c": "something else"}


@pytest.mark.parametrize("output", ["text", "markdown", "json", "html"])
def test_a_plan_tells_that_values_change_and_not_which(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace(tmp_path / "w", OLD)
    monkeypatch.chdir(root)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "a"]):
        subprocess.run(["git", *command], check=True)
    shutil.copy(workspace(tmp_path / "new", NEW) / "all.yaml", root)
    done = olmc("plan", "-o", output)
    assert done.exit_code == 1, done.stderr
    assert leaks(done.stdout + done.stderr) == []
    assert "token" in done.stdout
    assert output == "html" or "kept" not in done.stdout  # a page has a style of this name


BROKEN = """\
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: harbour}
stringData:
  password: hunter2-before
  password: hunter2-after
"""


@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github"])
@pytest.mark.parametrize(
    "text",
    [
        BROKEN,
        BROKEN.replace("stringData:", "stringData: &x\n  <<: *y"),
        BROKEN + "  broken: [hunter2-before\n",
        BROKEN.replace("stringData", "data"),
        BROKEN.replace("kind: Secret", 'kind: "Secret"').replace("metadata", "metdata"),
        json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "UPPER"}, "data": {"a": OLD}}),
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: k}\n  data:\n"
        "    a: hunter2-before\n    a: hunter2-after\n",
    ],
    ids=["twice", "alias", "flow", "data", "misspelt", "json", "list"],
)
def test_a_finding_quotes_no_line_of_a_secret(text: str, output: str, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(text, encoding="utf-8")
    done = olmc("check", tmp_path, "-o", output)
    assert leaks(done.stdout + done.stderr) == []
    assert "OLMC" in done.stdout + done.stderr


def test_a_default_of_a_variable_of_flux_in_a_secret_is_not_shown(tmp_path: Path) -> None:
    metadata = "metadata: {name: k, namespace: quay}"
    text = f"apiVersion: v1\nkind: Secret\n{metadata}\nstringData: {{a: '${{KEY:={OLD}}}'}}\n"
    (tmp_path / "all.yaml").write_text(text, encoding="utf-8")
    done = olmc("check", tmp_path, "--all")
    assert leaks(done.stdout + done.stderr) == []
    assert "${KEY…} looks like a variable" in done.stdout + done.stderr


def test_an_error_of_kustomize_quotes_no_literal_and_no_patch() -> None:
    patch = "patch: 'kind: Secret stringData: {a: hunter2-before}'"
    error = (
        f'trouble configuring builtin PatchTransformer with config: ` {patch} `: unable to parse from [patch: "{OLD}"]'
    )
    assert without_quotes(error) == "trouble configuring builtin PatchTransformer: unable to parse"
    error = f"loading KV pairs: literal sources [{OLD}]: invalid literal source {OLD}, expected key=value"
    assert without_quotes(error) == "loading KV pairs: a literal is not of the form key=value"


SPELT = {
    "anchor": BROKEN.replace("kind: Secret", "kind: &k Secret"),
    "alias": "kinds: &k Secret\n---\n" + BROKEN.replace("kind: Secret", "kind: *k"),
    "tag": BROKEN.replace("kind: Secret", "kind: !!str Secret"),
    "escape": BROKEN.replace("kind: Secret", 'kind: "Sec\\x72et"'),
    "next line": BROKEN.replace("kind: Secret", "kind:\n  Secret"),
    "folded": BROKEN.replace("kind: Secret", "kind: >-\n  Secret"),
    "complex key": BROKEN.replace("kind: Secret", "? kind\n: Secret"),
    "merged": "x: &x {apiVersion: v1, kind: Secret}\n---\n"
    + BROKEN.replace("apiVersion: v1\nkind: Secret", "<<: &x {apiVersion: v1, kind: Secret}"),
    "list": "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: k}\n  data:\n    a: hunter2-before\n"
    "    a: hunter2-after\n",
    "flow": "# one\n---\n{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: hunter2-before,\n"
    "  a: hunter2-after}}\n",
    "JSON": '{"apiVersion": "v1", "kind": "\\u0053ecret", "metadata": {"name": "UP"}, "data": {"a": "hunter2-after"}}',
    "inner": '{"kind": "List", "items": [{"kind": "Secret", "data": {"a": "hunter2-before", "a": "hunter2-after"}}]}',
    "no anchor": BROKEN.replace("hunter2-before", "*hunter2-before"),
    "no tag": BROKEN.replace("hunter2-before", "!hunter2-before x"),
    "no number": BROKEN.replace("hunter2-before", "!!int hunter2-before"),
    "comment": BROKEN.replace("kind: Secret", "kind: # here\n  # or here\n  Secret"),
    "far": BROKEN.replace("kind: Secret", f"kind:{' ' * 400}Secret"),
    "anchor above": BROKEN.replace("kind: Secret", "kind: &a\n  Secret"),
    "tag above": BROKEN.replace("kind: Secret", "kind: !!str\n  Secret"),
    "long tag": BROKEN.replace("kind: Secret", f"kind: !<{'x' * 400}> Secret"),
    "base64": BROKEN.replace("kind: Secret", "kind: !!binary U2VjcmV0"),
    "escaped key": BROKEN.replace("kind: Secret", '"k\\u0069nd": Secret'),
    "aliased key": BROKEN.replace("kind: Secret", "x: &k kind\n*k : Secret"),
    "tagged key": BROKEN.replace("kind: Secret", "!!str kind: Secret"),
    "anchored key": BROKEN.replace("kind: Secret", "&z kind: Secret"),
    "key of its own": BROKEN.replace("kind: Secret", "?\n  kind\n: Secret"),
    "tagged complex key": BROKEN.replace("kind: Secret", "? !!str kind # here\n: Secret"),
    "quotes above": BROKEN.replace("kind: Secret", 'kind: "\n  Secret"'),
    "other case": BROKEN.replace("kind: Secret", "kind: SECRET"),
    "no separator": "apiVersion: v1\nkind: ConfigMap\n ---\n" + BROKEN,
    "lines of a value": BROKEN.replace("hunter2-before", "|\n    hunter2-before: x\n   - hunter2-after: y"),
}


@pytest.mark.parametrize("command", ["check", "render"])
@pytest.mark.parametrize("text", SPELT.values(), ids=SPELT)
def test_however_a_secret_is_spelt_no_finding_quotes_it(text: str, command: str, tmp_path: Path) -> None:
    """In a file that can't be read, for its keys that are there twice, or its values, or that is a reference to one."""
    (tmp_path / ("all.json" if text.startswith("{") else "all.yaml")).write_text(text, encoding="utf-8")
    done = olmc(command, tmp_path)
    assert leaks(done.stdout + done.stderr) == []
    assert "OLMC" in done.stdout + done.stderr


def lines_with_masks(text: str) -> list[str]:
    lines = text.split("\n")
    line_at = line_masker("all.yaml", lines)
    return [line_at(number) for number in range(1, len(lines) + 1)]


OPEN = {
    "schema": "properties:\n  kind:\n    description: a Secret\n  metadata:\n    type: object",
    "another kind": "items:\n- kind: Secrets\n  data: b",
    "reference": "spec:\n  from: [{kind: Secret, name: a},\n    {kind: ConfigMap, name: b}]\n  data: [{key: a}]",
    "twice": "apiVersion: v1\nkind: ConfigMap # no Secret\ndata:\n  secret: a\n  secret: b",
    "a script": "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: a\nspec:\n"
    "  description: |\n    kubectl apply -f - <<EOF\n    kind: Secret\n  resources: [{kind: Secret}]\n  version: a\n"
    "  version: b",
    "beside a Secret": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: secret}\n---\nkind: Deployment\nname: a",
}


@pytest.mark.parametrize("text", OPEN.values(), ids=OPEN)
def test_what_is_no_secret_is_quoted(text: str) -> None:
    """Such as the schema of a CRD, references to Secrets, and scripts, also beside a Secret and in files that can't be
    read."""
    assert lines_with_masks(text) == text.split("\n")
    assert lines_with_masks(f"{text}\n---\n{BROKEN}")[: text.count("\n") + 1] == text.split("\n")
    assert leaks("\n".join(lines_with_masks(f"{BROKEN}---\n{text}"))) == []


TEMPLATED = """\
{{- if .Values.enabled }}
apiVersion: policies.example.com/v1
kind: Policy
metadata:
  name: beacon
  namespace: "harbour"
  labels:
    name: hunter2-before
spec:
  secretName: {{ .Values.tls.secret | quote }}
  className: "{{ .Values.className }}"
{{- else if .Values.spare }}
  token: {{ .Values.token | default "hunter2-before" }}
  plain: v1
{{- end }}
  apiVersion: hunter2-before
"""
TEMPLATED_SHOWN = """\
{{- if .Values.enabled }}
apiVersion: policies.example.com/v1
kind: Policy
metadata:
  name: beacon
  namespace: "harbour"
  labels:
    name: ***
spec:
  secretName: {{ .Values.tls.secret | quote }}
  className: "{{ .Values.className }}"
{{- else if .Values.spare }}
  token: ***
  plain: ***
{{- end }}
  apiVersion: ***
"""


def test_lines_that_have_no_value_are_quoted() -> None:
    """olmc can't read a template, so it may have a Secret in it; its identity and its references are none."""
    assert "\n".join(lines_with_masks(TEMPLATED)) == TEMPLATED_SHOWN


@pytest.mark.parametrize(
    "text",
    [
        BROKEN + "kind: Hunter\n",
        BROKEN.replace("Secret\nmetadata: {name: key, namespace: harbour}", "Secret\napiVersion: hunter2-before"),
        BROKEN.replace("password: hunter2-before", "a: |\n{{- if .Values.a }}\n    hunter2-before: x\n{{- end }}"),
        BROKEN.replace("password: hunter2-before", "a: |\n    {{ .Values.a }}hunter2-before"),
        BROKEN.replace("password: hunter2-before", "a: {{ .Values.a | default hunter2-before }}"),
        BROKEN.replace("password: hunter2-before", "a: {{ hunter2-before }}"),
        BROKEN.replace("password: hunter2-before", "a: {{ .Values.a }} # hunter2-before"),
        BROKEN.replace("password: hunter2-before", "name: hunter2-before"),
        BROKEN.replace("{name: key, namespace: harbour}", "\n  annotations:\n    name: hunter2-before"),
        BROKEN.replace("stringData:", "stringData:\nmetadata:\n  name: hunter2-before"),
    ],
    ids=["kind", "version", "instruction", "text", "default", "word", "comment", "name", "annotation", "metadata"],
)
def test_what_looks_like_an_identity_or_a_reference_may_be_a_value(text: str) -> None:
    shown = "\n".join(lines_with_masks(text))
    assert leaks(shown) == []
    assert "Hunter" not in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        *(
            f"{line}\ndata: b\n" * 20_000
            for line in ("kind: Secret", "{kind: Secret, a: [", "- {kind: Secret}", "kind:")
        ),
        "? kind Secret\ndata: b\n" * 20_000,
        f"a: {'kind:| ' * 5_000}{chr(10) * 60_000}a: secret\na: b",
        f"secret:{' ' * 250_000}a",
        f"secret\n{'- ' * 100_000}",
        f"secret\napiVersion:{' ' * 200_000}",
        "secret" + "".join(f"\napiVersion: v{number}\nkind: K{number}" for number in range(8_000)),
    ],
    ids=range(10),
)
def test_many_kinds_are_cheap(text: str) -> None:
    seconds = measure()
    assert len(lines_with_masks(text)) == text.count("\n") + 1
    assert seconds() < 2


NESTED_ELSEWHERE = [
    ("v1", "Template", "{apiVersion: v1, kind: Secret, stringData: {token: hunter2-before}}"),
    ("widgets.k8s.io/v1", "Holder", "{apiVersion: v1, kind: Secret, stringData: {token: hunter2-before}}"),
    ("widgets/v1", "Holder", "{apiVersion: v1, kind: Secret, stringData: {token: hunter2-before}}"),
    ("widgets.example.com/v1", "Holder", "{kind: Secret, stringData: {token: hunter2-before}}"),
    ("widgets.example.com/v1", "Holder", "{apiVersion: v1, kind: secret, stringData: {token: hunter2-before}}"),
]


@pytest.mark.parametrize(("api_version", "kind", "inner"), NESTED_ELSEWHERE)
def test_a_secret_in_an_object_of_any_kind(api_version: str, kind: str, inner: str, tmp_path: Path) -> None:
    head = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a, namespace: harbour}}\n"
    text = f"{head}spec: {{objects: [{inner}]}}\n"
    (workspace(tmp_path / "w", OLD) / "more.yaml").write_text(text, encoding="utf-8")
    for command in (
        ("render",),
        ("render", "--for", "apply", "-o", "json"),
        ("diff", tmp_path / "empty", "-o", "html"),
    ):
        done = olmc(*command, tmp_path / "w", *(["--allow-empty"] if "diff" in command else []))
        shown = "" if command[1:3] == ("--for", "apply") else done.stdout
        assert leaks(shown + done.stderr) == []


INNER = [
    {"kind": "SecretList", "items": [{"data": {"a": OLD}}]},
    {"apiVersion": "V1", "kind": "secretlist", "items": [{"data": {"a": OLD}}]},
    {"apiVersion": "v1 ", "kind": "Secret", "data": {"a": OLD}},
    {"apiVersion": "V1", "kind": "SECRET ", "stringData": {"a": OLD}},
    {"apiVersion": "", "kind": "Secret", "stringdata": {"a": OLD}},
    {"apiVersion": 1, "kind": "Secret", "data": {"a": OLD}},
    {"kind": "Secret", "data": [{"a": OLD}]},
]


@pytest.mark.parametrize("inner", INNER)
def test_what_is_inside_need_not_say_exactly_that_it_is_a_secret(inner: dict[str, object]) -> None:
    template = {"apiVersion": "x.io/v1", "kind": "Tpl", "spec": inner}
    assert leaks(json.dumps(redacted(template))) == []
    old, new = masked(template, json.loads(json.dumps(template).replace(OLD, NEW)))
    assert leaks(json.dumps([old, new])) == []
    assert BEFORE in json.dumps(old)
    assert AFTER in json.dumps(new)


@pytest.mark.parametrize("api_version", ["secretsmanager.services.k8s.aws/v1alpha1", "x.io/v1", "v1beta1"])
@pytest.mark.parametrize(
    "inner",
    [
        {"kind": "Secret", "data": {"a": OLD}},
        {"kind": "Secret", "metadata": {"name": "a"}, "spec": {"token": OLD}},
        {"kind": "SecretList", "items": [{"a": OLD}]},
    ],
)
def test_a_secret_of_any_group_shows_nothing(inner: dict[str, object], api_version: str) -> None:
    template = {"apiVersion": "x.io/v1", "kind": "Tpl", "spec": {"apiVersion": api_version, **inner}}
    assert leaks(json.dumps(redacted(template))) == []
    old, new = masked(template, json.loads(json.dumps(template).replace(OLD, NEW)))
    assert leaks(json.dumps([old, new])) == []


@pytest.mark.parametrize("api_version", ["v2", "v1beta1", "example.com/v1", "core/v1"])
def test_no_output_shows_values_of_a_secret_of_another_version(api_version: str, tmp_path: Path) -> None:
    for folder, value in (("old", OLD), ("new", NEW)):
        workspace(tmp_path / folder, OLD)
        text = f"apiVersion: {api_version}\nkind: Secret\nmetadata: {{name: a, namespace: harbour}}\n"
        text += f"stringData: {{a: {value}}}\nspec: {{b: {value}}}\n"
        (tmp_path / folder / "more.yaml").write_text(text, encoding="utf-8")
    for command in (
        ("render", tmp_path / "new"),
        ("diff", tmp_path / "old", tmp_path / "new"),
        ("diff", tmp_path / "old", tmp_path / "new", "-o", "json"),
        ("plan", "--from", tmp_path / "old", tmp_path / "new"),
        ("check", "--all", tmp_path / "new"),
    ):
        done = olmc(*command)
        assert leaks(done.stdout + done.stderr) == []


@pytest.mark.parametrize(("kind", "api_version"), [("secret", "v1"), ("Secret", "V1"), ("SecretList", "V1")])
def test_an_object_with_a_kind_in_another_case_shows_nothing(kind: str, api_version: str, tmp_path: Path) -> None:
    head = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a, namespace: harbour}}\n"
    (workspace(tmp_path / "w", OLD) / "more.yaml").write_text(f"{head}data: {{a: {OLD}}}\n", encoding="utf-8")
    done = olmc("render", tmp_path / "w")
    assert leaks(done.stdout + done.stderr) == []


def test_a_reference_to_a_secret_is_none() -> None:
    for reference in ({"kind": "Secret", "name": "a"}, {"kind": "Secret", "name": "a", "data": "key"}):
        obj = {"apiVersion": "widgets.example.com/v1", "kind": "Holder", "spec": {"from": reference}}
        assert redacted(obj) == obj


def test_copies_of_a_value_in_other_spellings() -> None:
    value = 'hunter2 "before"'
    annotations = {
        "a": encoded(value),
        "b": json.dumps({"x": value}),
        "objectset.rio.cattle.io/applied": "H4sI",
        "c": "d",
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": value, "b": "hunter2-before"},
              "metadata": {"annotations": annotations}}  # fmt: skip
    metadata = redacted(secret)["metadata"]
    assert [name for name, text in metadata["annotations"].items() if text != REDACTED] == ["c"]


LABELLED = """\
apiVersion: v1
kind: Secret
metadata:
  name: key
  namespace: harbour
  labels: {{app.kubernetes.io/name: postgres, argocd.argoproj.io/secret-type: {type}, copy: {token}}}
  annotations: {{copy: "as postgres"}}
stringData: {{username: postgres, type: cluster, token: {token}}}
"""


def test_a_label_that_says_what_a_secret_is_stays_readable(tmp_path: Path) -> None:
    """Although a user or a type has the same name: only what can hardly be a word counts as a copy there."""
    for side, kind in (("old", "cluster"), ("new", "repo")):
        text = LABELLED.format(type=kind, token=f"hunter2-{side}-of-all")
        (workspace(tmp_path / side, OLD) / "all.yaml").write_text(text, encoding="utf-8")
    shown = olmc("render", tmp_path / "old").stdout
    assert "    app.kubernetes.io/name: postgres\n    argocd.argoproj.io/secret-type: cluster\n" in shown
    assert shown.count("copy: REDACTED") == 2
    compared = olmc("diff", tmp_path / "old", tmp_path / "new", "--for", "apply", "-o", "json").stdout
    assert '"cluster"' in compared
    assert '"repo"' in compared
    assert "hunter2" not in compared + shown


CERTIFICATE = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"


def test_a_copy_without_the_end_of_its_line_and_one_of_a_line() -> None:
    env = 'user=me\n  password=hunter2-inside\r\nquoted="hunter2" too\n'
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"token": encoded("hunter2-token\n"), "pem": encoded(CERTIFICATE.format("c2VjcmV0LXNlY3JldC1z"))},
        "stringData": {"env": env, "list": ["hunter2-listed"]},
    }
    copies = {
        "token": "the token is hunter2-token",
        "encoded": encoded("hunter2-token"),
        "line": "started with password=hunter2-inside",
        "json": json.dumps({"line": 'quoted="hunter2" too'}),
        "pem": CERTIFICATE.format("c2VjcmV0LXNlY3JldC1z"),
        "list": "hunter2-listed",
    }
    others = {"short": "it is user=me", "public": CERTIFICATE.format("cHVibGljLXB1YmxpYy1w")}
    secret["metadata"] = {"annotations": {**copies, **others}}
    shown = redacted(secret)["metadata"]["annotations"]
    assert {name for name, text in shown.items() if text == REDACTED} == copies.keys()
    assert {name: shown[name] for name in others} == others


@pytest.mark.slow
def test_a_value_of_many_lines_is_cheap() -> None:
    lines = "\n".join(f"password-{number}=hunter2-{number}" for number in range(100_000))
    secret = many(1000, "password-{0}=hunter-{0}", "{}")
    secret["stringData"] = {"a": lines}
    secret["metadata"]["annotations"]["copy"] = "there is password-99999=hunter2-99999, too"  # type: ignore[index]
    seconds = measure()
    shown = redacted(secret)["metadata"]["annotations"]
    assert seconds() < 3
    assert [name for name, text in shown.items() if text == REDACTED] == ["copy"]


def many(count: int, annotation: str, value: str) -> dict[str, object]:
    """A Secret with so many annotations and values, of their numbers."""
    annotations = {f"a{number}": annotation.format(number) for number in range(count)}
    values = {f"v{number}": value.format(number) for number in range(count)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": annotations}, "stringData": values}


@pytest.mark.parametrize(
    ("annotation", "value", "copies"),
    [
        ("annotation {:04}", "secret-{:04}", 0),
        ("secret-{:04}-one", "secret-{:04}-two", 0),
        ("it is secret-{:04}", "secret-{:04}", 3600),
        ("a" * 50, "a" * 51 + "{}", 0),
        ("{0:04}ab{0:04}", "{0:04}ba{0:04}", 0),
    ],
)
def test_many_values_and_many_annotations_are_cheap(annotation: str, value: str, copies: int) -> None:
    secret = many(3600, annotation, value)
    seconds = measure()
    shown = redacted(secret)["metadata"]["annotations"].values()
    masked(secret, {**secret, "immutable": True})
    assert seconds() < 1.5
    assert list(shown).count(REDACTED) == copies


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 1000])
def test_what_would_take_too_long_to_compare_counts_as_a_copy(count: int) -> None:
    """Values of which all parts stand in texts, and more text than Kubernetes takes."""
    few = [f"{number:015b}".replace("0", "a").replace("1", "b") * 2 for number in range(30_000)]
    text = "".join(few)[: 260_000 // count * count]
    size = len(text) // count
    annotations = {f"a{at}": text[at * size : (at + 1) * size] + "c" for at in range(count)}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": {**annotations, "short": "d"}},
              "stringData": {f"v{number}": f"{each}{each}a" for number, each in enumerate(few)}}  # fmt: skip
    seconds = measure()
    shown = redacted(secret)["metadata"]["annotations"]
    assert seconds() < 4
    assert [name for name, each in shown.items() if each != REDACTED] == ["short"]
    large = {**secret, "metadata": {"annotations": {"a": "x" * 600_000, "b": "y"}}}
    assert redacted(large)["metadata"]["annotations"]["a"] == REDACTED


def test_a_rendering_is_compared_with_what_it_was_made_of(tmp_path: Path) -> None:
    """What the one does not show any more may be what the other has, and is no difference."""
    root, rendering = workspace(tmp_path / "w", OLD), tmp_path / "rendering"
    with (root / "all.yaml").open("a", encoding="utf-8") as stream:
        stream.write("---\n" + LABELLED.format(type="cluster", token="hunter2-before-all").replace("key", "labelled"))
    assert olmc("render", root, "--output-dir", rendering).exit_code == 0
    assert "REDACTED" in (rendering / "secret_harbour_labelled.yaml").read_text(encoding="utf-8")
    for sides in ((rendering, root), (root, rendering)):
        for output in ("text", "json"):
            done = olmc("diff", *sides, "-o", output)
            assert (done.exit_code, "Secret" in done.stdout) == (0, False), done.stdout


def test_masks_of_annotations_and_labels_agree_on_both_sides() -> None:
    def secret(text: str, label: str, **data: str) -> dict[str, object]:
        metadata = {"annotations": {"a": text, "b": "c"}, "labels": {"a": label, "b": "c"}}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}

    def shown(*sides: dict[str, object]) -> list[tuple[str, str]]:
        metadata = [(side or {})["metadata"] for side in masked(*sides)]
        assert all(each[field]["b"] == "c" for each in metadata for field in ("annotations", "labels"))
        return [(each["annotations"]["a"], each["labels"]["a"]) for each in metadata]

    copy = secret(f"it is {OLD}", "hunter2-before-all", a=OLD, b="hunter2-before-all")
    assert shown(copy, secret(REDACTED, REDACTED, a=REDACTED)) == [(MASK, MASK)] * 2
    # A word that an older version, or a person, has masked in a label.
    assert shown(secret("word", "word", a="word"), secret(REDACTED, REDACTED, a=REDACTED)) == [(MASK, MASK)] * 2
    assert shown(secret(REDACTED, REDACTED), secret(REDACTED, REDACTED)) == [(MASK, MASK)] * 2
    assert shown(copy, secret("else", "else", a=OLD)) == [(BEFORE, BEFORE), (AFTER, AFTER)]
    assert shown(secret("else", "else"), secret("another", "other")) == [("else", "else"), ("another", "other")]
    for empty in ("", None):  # as which a rendering shows no value
        sides = masked(secret("c", "c", a=REDACTED), {**secret("c", "c"), "stringData": {"a": empty}})
        assert [(side or {})["stringData"] for side in sides] == [{"a": MASK}] * 2
    odd = {**copy, "metadata": ["a"]}
    assert (masked(copy, odd)[1] or {})["metadata"] == ["a"]


def test_a_state_of_a_cluster_has_nothing_of_secrets_in_other_objects(tmp_path: Path) -> None:
    policy = POLICY.format(value=OLD, kept=KEPT).replace("metadata: {", 'metadata: {labels: {olm.managed: "true"}, ')
    (tmp_path / "dump.yaml").write_text(policy, encoding="utf-8")
    done = olmc("import", tmp_path)
    assert "ConfigurationPolicy" in done.stdout, done.stderr
    assert leaks(done.stdout) == []


def test_a_state_of_a_cluster_has_no_copies_of_values_in_labels(tmp_path: Path) -> None:
    text = LABELLED.format(type="cluster", token="hunter2-before-all").replace("name: key", "name: key\n  uid: u")
    (tmp_path / "dump.yaml").write_text(text.replace("labels: {", 'labels: {olm.managed: "true", '), encoding="utf-8")
    shown = olmc("import", tmp_path).stdout
    assert leaks(shown) == []
    assert "secret-type: cluster" in shown
    assert "copy: REDACTED" in shown


def test_a_quoted_line_can_be_asked_for_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(BROKEN, encoding="utf-8")
    assert NEW in olmc("check", tmp_path, "--show-secrets").stdout
    assert "6 |   password: ***" in olmc("check", tmp_path).stdout
    text = BROKEN.replace("Secret", "ConfigMap").replace("stringData", "data")
    (tmp_path / "all.yaml").write_text(text, encoding="utf-8")
    assert NEW in olmc("check", tmp_path).stdout


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize(("mask", "plain"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664), (0o027, 0o640)])
def test_files_respect_the_umask_and_secrets_are_for_their_owner(mask: int, plain: int, tmp_path: Path) -> None:
    root = workspace(tmp_path / "w", OLD)
    with umask(mask):
        assert olmc("render", root, "--for", "apply", "--output-dir", tmp_path / "out").exit_code == 0
    wanted = {"kustomization.yaml": plain, "secret_harbour_key.yaml": 0o600, "namespace_harbour.yaml": plain}
    assert modes(tmp_path / "out").items() >= wanted.items()


def test_a_secret_that_others_may_read_is_closed_by_the_next_run(tmp_path: Path) -> None:
    root, out = workspace(tmp_path / "w", OLD), tmp_path / "out"
    olmc("render", root, "--for", "apply", "--output-dir", out)
    (out / "secret_harbour_key.yaml").chmod(0o644)
    assert olmc("render", root, "--for", "apply", "--output-dir", out).exit_code == 0
    assert modes(out)["secret_harbour_key.yaml"] == 0o600
