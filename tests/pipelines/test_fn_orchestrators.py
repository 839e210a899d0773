"""`olmc fn` run by the real kustomize and the real kpt.

`kubectl kustomize` runs functions as containers only; `docker` on its path is then a script that starts olmc with the
very arguments, stdin and stdout that a container would get. The standalone kustomize runs executables (--enable-exec).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import yaml
from pipeline_workshop import PROJECT, Object, copied, name_of, run, stream, tool

pytestmark = pytest.mark.process

RENDER = """\
apiVersion: olmc.dev/v1alpha1
kind: Render
metadata:
  name: operators
  annotations:
    config.kubernetes.io/function: |
      {runner}
spec:
{spec}
"""
EXEC = "exec: {path: ./olmc-fn}"
CONTAINER = "container: {image: registry.example.com/olmc}"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a workspace and olmc as a function: an executable, and a `docker` that is one."""
    folder = tmp_path / "package"
    copied("own-namespace", folder / "workspace")
    script = f"#!/bin/sh\nexec {sys.executable} -m olmc fn\n"
    for path in (folder / "olmc-fn", tmp_path / "bin" / "docker"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)
    return folder


class Kustomize:
    """One of the programs that have kustomize in them, and how it runs functions."""

    def __init__(self, command: list[str], runner: str, path: str) -> None:
        self.command, self.runner, self.path = command, runner, path

    def build(self, folder: Path) -> tuple[int, str, str]:
        done = run([*self.command, "."], folder, extra={"PATH": self.path})
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(params=["kubectl, container", "kubectl, exec", "kustomize, exec"])
def kustomize(request: pytest.FixtureRequest, tmp_path: Path) -> Kustomize:
    """Each kustomize there is, with each way that it has of running functions."""
    program, way = request.param.split(", ")
    found = tool(program)
    command = [found, "kustomize" if program == "kubectl" else "build", "--enable-alpha-plugins"]
    path = f"{tmp_path / 'bin'}:{Path(found).parent}:/usr/bin:/bin"
    if way == "container":
        return Kustomize(command, CONTAINER, path)
    known = run([*command, "--enable-exec", "--help"], tmp_path)
    if "unknown flag" in known.stderr:
        pytest.skip(f"this {program} does not run executables: it has no --enable-exec")
    return Kustomize([*command, "--enable-exec"], EXEC, path)


def written(package: Path, kustomize: Kustomize, kustomization: Object, spec: str) -> None:
    """The kustomization and the function's configuration."""
    lines = "\n".join(f"  {line}" for line in spec.splitlines())
    (package / "render.yaml").write_text(RENDER.format(runner=kustomize.runner, spec=lines), encoding="utf-8")
    (package / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")


def rendered(package: Path, *options: str) -> list[Object]:
    """What `olmc render` prints for the workspace."""
    return stream(run([sys.executable, "-m", "olmc", "render", "workspace", *options], package).stdout)


def by_name(objects: list[Object]) -> dict[str, Object]:
    return {name_of(obj): obj for obj in objects}


@pytest.mark.parametrize("purpose", ["review", "apply"])
def test_generator(purpose: str, package: Path, kustomize: Kustomize) -> None:
    """Its objects are those of olmc render, bookkeeping gone."""
    written(package, kustomize, {"generators": ["render.yaml"]}, f"path: workspace\nfor: {purpose}")
    code, out, err = kustomize.build(package)
    assert code == 0, err
    expected = by_name(rendered(package, "--for", purpose))
    assert by_name(stream(out)) == expected
    assert len(expected) > 8


def test_generator_among_other_resources(package: Path, kustomize: Kustomize) -> None:
    """kustomize goes on with what the function gives: labels and patches apply to it."""
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "harbour"}}
    (package / "mine.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    kustomization = {
        "resources": ["mine.yaml"],
        "generators": ["render.yaml"],
        "labels": [{"pairs": {"team": "harbour"}}],
        "images": [{"name": "registry.example.com/beacon", "newTag": "v9"}],
    }
    written(package, kustomize, kustomization, "path: workspace\nfor: apply")
    code, out, err = kustomize.build(package)
    assert code == 0, err
    objects = by_name(stream(out))
    assert objects.keys() == {"ConfigMap/harbour/mine", *by_name(rendered(package, "--for", "apply"))}
    assert {obj["metadata"]["labels"]["team"] for obj in objects.values()} == {"harbour"}
    (container,) = objects["Deployment/harbour/beacon-controller"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/beacon:v9"


def test_transformer_without_a_path(package: Path, kustomize: Kustomize) -> None:
    """The resources of the kustomization are the workspace, and what OLM makes of them comes out."""
    shutil.rmtree(package / "workspace")
    copied("bare-csv", package / "workspace")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "tide", "namespace": "harbour"}}
    role = {"resources": ["configmaps"], "apiGroups": [""], "verbs": ["get", "list", "watch"]}
    made = {"namespace": "harbour", "name": "tide"}
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", **made}
    rights: list[Object] = [
        account,
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": made, "rules": [role]},
        {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": made, "subjects": [subject],
         "roleRef": {"apiGroup": group, "kind": "Role", "name": "tide"}},
    ]  # fmt: skip
    (package / "workspace/rights.yaml").write_text(yaml.safe_dump_all(rights), encoding="utf-8")
    files = [f"workspace/{path.name}" for path in sorted((package / "workspace").glob("*.yaml"))]
    written(package, kustomize, {"resources": files, "transformers": ["render.yaml"]}, "for: apply")
    code, out, err = kustomize.build(package)
    assert code == 0, err
    expected = by_name(rendered(package, "--for", "apply"))
    assert by_name(stream(out)) == expected
    assert "Deployment/harbour/tide-controller" in expected
    assert "ClusterServiceVersion/harbour/tide.v1.0.0" not in expected


def test_transformer_with_a_path(package: Path, kustomize: Kustomize) -> None:
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "harbour"}}
    (package / "mine.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    kustomization = {"resources": ["mine.yaml"], "transformers": ["render.yaml"]}
    written(package, kustomize, kustomization, "path: workspace\nfor: apply")
    code, out, err = kustomize.build(package)
    assert code == 0, err
    assert by_name(stream(out)) == {"ConfigMap/harbour/mine": mine, **by_name(rendered(package, "--for", "apply"))}


def test_a_container_gets_the_workspace_mounted(package: Path, tmp_path: Path) -> None:
    """As docs/kustomize.md has it; the script looks for what is mounted where it comes from."""
    kubectl = tool("kubectl")
    script = f'#!/bin/sh\necho "$*" > args\nsed s,/workspace,workspace, | {sys.executable} -m olmc fn\n'
    (tmp_path / "bin/docker").write_text(script, encoding="utf-8")
    page = (PROJECT / "docs/kustomize.md").read_text(encoding="utf-8")
    declared = page[page.index("    config.kubernetes.io/function: |\n      container:") :].partition("```")[0]
    head = "apiVersion: olmc.dev/v1alpha1\nkind: Render\nmetadata:\n  name: operators\n  annotations:\n"
    (package / "render.yaml").write_text(head + declared, encoding="utf-8")
    (package / "kustomization.yaml").write_text("generators: [render.yaml]\n", encoding="utf-8")
    path = f"{tmp_path / 'bin'}:{Path(kubectl).parent}:/usr/bin:/bin"
    done = run([kubectl, "kustomize", "--enable-alpha-plugins", "."], package, extra={"PATH": path})
    assert done.returncode == 0, done.stderr
    assert by_name(stream(done.stdout)) == by_name(rendered(package, "--for", "apply"))
    arguments = (package / "args").read_text(encoding="utf-8")
    assert f"--mount type=bind,source={package}/workspace,target=/workspace,readonly" in arguments
    assert "--network none" in arguments
    assert arguments.split()[-1] == "registry.example.com/olmc-fn:1"


def test_a_failure_stops_the_build_and_says_why(package: Path, kustomize: Kustomize) -> None:
    written(package, kustomize, {"generators": ["render.yaml"]}, "path: nowhere")
    code, out, err = kustomize.build(package)
    assert code != 0
    assert out == ""
    assert "nowhere does not exist" in err


KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: package
  annotations:
    config.kubernetes.io/local-config: "true"
pipeline:
  mutators:
  - exec: {exec}
    configPath: render.yaml
"""


@pytest.fixture
def kpt() -> str:
    """The path of kpt."""
    return tool("kpt")


def as_package(package: Path, spec: str) -> None:
    """The folder as a kpt package that renders its workspace, which is no part of it."""
    lines = "\n".join(f"  {line}" for line in spec.splitlines())
    text = f"apiVersion: olmc.dev/v1alpha1\nkind: Render\nmetadata:\n  name: operators\nspec:\n{lines}\n"
    (package / "render.yaml").write_text(text, encoding="utf-8")
    (package / "Kptfile").write_text(KPTFILE.format(exec=package / "olmc-fn"), encoding="utf-8")
    (package / ".krmignore").write_text("workspace\n", encoding="utf-8")


def package_objects(package: Path) -> dict[str, Object]:
    """The objects in the files of the package, without those for tools."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.yaml"))
             if "workspace" not in path.relative_to(package).parts]  # fmt: skip
    objects = [obj for text in texts for obj in stream(text)]
    return by_name([obj for obj in objects if not obj["apiVersion"].startswith(("kpt.dev/", "olmc.dev/"))])


def test_kpt_renders_into_the_package(kpt: str, package: Path) -> None:
    """A second run changes no file, and what is no longer rendered goes."""
    as_package(package, "path: workspace\nfor: apply")
    done = run([kpt, "fn", "render", "--allow-exec", package], package)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = by_name(rendered(package, "--for", "apply"))
    found = package_objects(package)
    assert found.keys() == expected.keys()
    for name, obj in found.items():
        annotations = obj["metadata"].pop("annotations")
        assert annotations.pop("olmc.dev/rendered-from") == "workspace"
        assert {**expected[name]["metadata"].get("annotations", {})} == annotations
    before = {path: path.read_bytes() for path in sorted(package.rglob("*")) if path.is_file()}
    again = run([kpt, "fn", "render", "--allow-exec", package], package)
    assert again.returncode == 0, again.stderr
    assert {path: path.read_bytes() for path in sorted(package.rglob("*")) if path.is_file()} == before
    as_package(package, "path: workspace\nfor: apply\nexclude: [Role]")
    assert run([kpt, "fn", "render", "--allow-exec", package], package).returncode == 0
    assert package_objects(package).keys() == {name for name in expected if not name.startswith("Role/")}


def test_kpt_evaluates_with_arguments(kpt: str, package: Path) -> None:
    """`--` gives a ConfigMap as functionConfig."""
    (package / "Kptfile").write_text("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n", encoding="utf-8")
    (package / ".krmignore").write_text("workspace\n", encoding="utf-8")
    command = [kpt, "fn", "eval", "--exec", f"{sys.executable} -m olmc fn", "-o", "unwrap", ".", "--"]
    done = run([*command, "path=workspace", "for=apply", "include=Deployment"], package)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Deployment/harbour/beacon-controller" in by_name(stream(done.stdout))


def test_kpt_shows_the_results(kpt: str, package: Path) -> None:
    as_package(package, "path: workspace\nfor: fun")
    done = run([kpt, "fn", "render", "--allow-exec", package, "--results-dir", package.parent / "results"], package)
    assert done.returncode != 0
    assert "[error]" in done.stderr + done.stdout
    saved = yaml.safe_load((package.parent / "results" / "results.yaml").read_text(encoding="utf-8"))
    (result,) = saved["items"][0]["results"]
    assert result["severity"] == "error"
    assert result["tags"] == {"code": "OLMC601"}
    assert package_objects(package) == {}
