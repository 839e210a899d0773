"""Whoever changes a file on which the result of a GitOps tool depends changes what a review shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from commands import unfolded
from jsonschema import Draft202012Validator
from scenarios import write
from tiers import marked_slow, sampled

from olmc.cli.main import main
from olmc.compiler.load.deciding_files import DECIDING_FILES
from olmc.resources import schema

Files = dict[str, str]

BASE: Files = {
    "olmc.yaml": "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {}\n",
    "base.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n",
}
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sand, namespace: harbour}\ndata: {a: b}\n"
BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: evil}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default, namespace: harbour}]
"""
GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: quay, namespace: harbour}\n"
CHART: Files = {
    "charts/pier/Chart.yaml": "apiVersion: v2\nname: pier\nversion: 1.0.0\n",
    "charts/pier/values.yaml": "role: view\n",
    "charts/pier/templates/a.yaml": CONFIG_MAP.replace("a: b", "a: '{{ .Values.role }}'"),
}


def olmc(*arguments: str) -> Result:
    """What a command prints, and its exit code; an exception that it does not handle fails the test."""
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def application(source: str, kind: str = "source") -> str:
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: pier, namespace: argocd}\n"
    return f"{head}spec:\n  destination: {{namespace: harbour}}\n  {kind}: {source}\n"


def application_set(generators: str, source: str = "{repoURL: a, path: charts/pier}") -> str:
    head = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: piers, namespace: argocd}\n"
    template = f"{{metadata: {{name: a}}, spec: {{source: {source}}}}}"
    return f"{head}spec:\n  generators: {generators}\n  template: {template}\n"


def helm_release(chart: str, more: str = "{}") -> str:
    head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: pier, namespace: harbour}\n"
    return (
        f"{head}spec: {{chart: {{spec: {{sourceRef: {{kind: GitRepository, name: a}}, {chart}}}}}, values: {more}}}\n"
    )


def git_source(ignore: str, kind: str = "GitRepository") -> str:
    spec = f"spec: {{interval: 1m, ignore: '{ignore}'}}"
    return f"apiVersion: source.toolkit.fluxcd.io/v1\nkind: {kind}\nmetadata: {{name: a, namespace: harbour}}\n{spec}\n"


def jsonnet(text: str) -> Files:
    return {"env/main.jsonnet": text, "env/it's.txt": "a\n", "lib/b.txt": "a\n"}


class Attack:
    """What is in both sides, what is in the new one besides, and words of the line that a review shows."""

    def __init__(self, both: Files, change: Files, said: str = "") -> None:
        self.both, self.change, self.said = both, change, said


FLUX_CM = {"values.yaml": CONFIG_MAP.replace("sand", "pier")}
PROJECT: Files = {
    "PROJECT": "layout: [go.kubebuilder.io/v4]\nprojectName: quay\n",
    "bundle/manifests/quay.clusterserviceversion.yaml": """\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: quay.v1.0.0}
spec: {version: 1.0.0, installModes: [{type: AllNamespaces, supported: true}], install: {strategy: deployment}}
""",
    "bundle/metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: quay}\n",
}

# By the files of a row of the table: at least three ways to change such a file.
ATTACKS: dict[str, list[Attack]] = {
    "`.argocd-source.yaml`": [
        Attack({}, {".argocd-source.yaml": "helm: {}\n"}, "Argo CD takes settings of Applications"),
        Attack(
            CHART | {"charts/pier/.argocd-source-pier.yaml": "a: 1\n"},
            {"charts/pier/.argocd-source-pier.yaml": "a: 2\n"},
            "another content: Argo CD",
        ),
        Attack({}, {"deploy/x/.argocd-source-a.b.yaml": "kustomize: {images: [a=b]}\n"}, "deploy/x/.argocd-source-a.b"),
        Attack({}, {".argocd/.argocd-source.yaml": "directory: {recurse: true}\n"}, ".argocd/.argocd-source.yaml"),
    ],
    "`+argocd:skip-file-rendering`": [
        Attack(
            {"a.yaml": CONFIG_MAP}, {"a.yaml": f"# +argocd:skip-file-rendering\n{CONFIG_MAP}"}, "a.yaml: + new: Argo"
        ),
        Attack({"a.yaml": CONFIG_MAP}, {"a.yaml": f"{CONFIG_MAP}# see +argocd:skip-file-rendering.\n"}, "the mark"),
        Attack({"a.yaml": f"{CONFIG_MAP}#+argocd:skip-file-rendering\n"}, {"a.yaml": CONFIG_MAP}, "removed: Argo CD"),
    ],
    "values and parameters of a chart": [
        Attack(
            CHART
            | {
                "app.yaml": application("{path: charts/pier, helm: {valueFiles: [../../envs/prod.yaml]}}"),
                "envs/prod.yaml": "role: view\n",
            },
            {"envs/prod.yaml": "role: admin\n"},
            "app.yaml: ~ another",
        ),
        Attack(
            CHART
            | {
                "app.yaml": application(
                    "[{repoURL: a, path: charts/pier, helm: {valueFiles: [$v/x/p.yml]}}, {repoURL: a, ref: v}]",
                    "sources",
                ),
                "x/p.yml": "role: view\n",
            },
            {"x/p.yml": "role: admin\n"},
            "x/p.yml; Argo CD reads",
        ),
        Attack(
            CHART
            | {
                "app.yaml": application(
                    "{path: charts/pier, helm: {ignoreMissingValueFiles: true, valueFiles: [/envs/new.yaml]}}"
                )
            },
            {"envs/new.yaml": "role: admin\n"},
            "+ new: envs/new.yaml; Argo CD reads",
        ),
        Attack(
            {
                "app.yaml": application("{path: charts/pier, helm: {fileParameters: [{name: a, path: files/a.txt}]}}"),
                "files/a.txt": "a",
            },
            {"files/a.txt": "b"},
            "files/a.txt; Argo CD reads",
        ),
        Attack(
            {
                "sets.yaml": application_set(
                    "[{list: {elements: [{file: envs/a.yaml}]}}]",
                    "{path: charts/pier, helm: {valueFiles: ['{{file}}']}}",
                ),
                "envs/a.yaml": "a: 1\n",
            },
            {"envs/a.yaml": "a: 2\n"},
            "envs/a.yaml; Argo CD reads",
        ),
        Attack(
            {
                "sets.yaml": application_set(
                    "[{clusters: {}}]", "{path: 'charts/{{name}}', helm: {valueFiles: ['/envs/{{name}}/v.yaml']}}"
                ),
                "envs/a/v.yaml": "a: 1\n",
            },
            {"envs/a/v.yaml": "a: 2\n"},
            "envs/a/v.yaml; Argo CD reads",
        ),
        Attack(
            {
                "app.json": json.dumps(
                    {
                        "apiVersion": "argoproj.io/v1alpha1",
                        "kind": "Application",
                        "metadata": {"name": "a", "namespace": "b"},
                        "spec": {"source": {"path": "x", "helm": {"valueFiles": ["v"]}}},
                    }
                ),
                "x/v": "a: 1\n",
            },
            {"x/v": "a: 2\n"},
            "app.json: ~ another content: x/v",
        ),
        Attack(
            {".argo/app.yaml": application("{path: charts/pier, helm: {valueFiles: [/v.json]}}"), "v.json": "{}\n"},
            {"v.json": '{"a": 1}\n'},
            ".argo/app.yaml: ~ another content: v.json",
        ),
    ],
    "the files below the path of a source": [
        Attack(
            {"app.yaml": application("{path: x, plugin: {name: z}}"), "x/gen.sh": "echo a\n"},
            {"x/gen.sh": "echo b\n"},
            "x/gen.sh; Argo CD gives such a file to a plugin",
        ),
        Attack(
            {"app.yaml": application("[{path: x/deep, plugin: {}}, {repoURL: a, ref: v}]", "sources")},
            {"x/deep/er/input.txt": "a\n"},
            "+ new: x/deep/er/input.txt; Argo CD gives",
        ),
        Attack(
            {
                "sets.yaml": application_set("[{clusters: {}}]", "{path: 'apps/{{name}}', plugin: {name: z}}"),
                "apps/a/main.cue": "a: 1\n",
            },
            {"apps/a/main.cue": "a: 2\n"},
            "apps/a/main.cue; Argo CD gives",
        ),
    ],
    "a ConfigMap of a plugin generator": [
        Attack(
            {
                "sets.yaml": application_set(generators),
                "map.yaml": CONFIG_MAP.replace("sand", "pl").replace("harbour", "argocd"),
            },
            {"map.yaml": CONFIG_MAP.replace("sand", "pl").replace("harbour", "argocd").replace("a: b", "a: c")},
            "ConfigMap/argocd/pl: ~ Argo CD takes",
        )
        for generators in (
            "[{plugin: {configMapRef: {name: pl}}}]",
            "[{matrix: {generators: [{clusters: {}}, {plugin: {configMapRef: {name: pl}, input: {a: b}}}]}}]",
            "[{merge: {mergeKeys: [a], generators: [{plugin: {configMapRef: {name: pl}}}]}}]",
        )
    ],
    "files that a git generator": [
        *(
            Attack(
                {"sets.yaml": application_set(f"[{{git: {{repoURL: a, files: [{{path: '{pattern}'}}]}}}}]")},
                {"envs/b/c.yaml": "role: admin\n"},
                "envs/b/c.yaml",
            )
            for pattern in ("envs/{a,b}/c.yaml", "envs/{a,{b,d}}/c.{yaml,json}", "{envs,more}/{a,b}/{c,d}.yaml")
        ),
        Attack(
            {
                "sets.yaml": application_set("[{git: {files: [{path: 'clusters/**/config.json'}]}}]"),
                "clusters/a/config.json": '{"a": 1}\n',
            },
            {"clusters/a/config.json": '{"a": 2}\n'},
            "clusters/a/config.json; Argo CD generates Applications",
        ),
        Attack(
            {"sets.yaml": application_set("[{git: {files: [{path: 'clusters/*.yaml'}]}}]")},
            {"clusters/a/deep.yaml": "a: 2\n"},
            "+ new: clusters/a/deep.yaml; Argo CD generates",
        ),
        Attack(
            {
                "sets.yaml": application_set(
                    "[{matrix: {generators: [{clusters: {}}, {git: {files: [{path: 'clusters/{{name}}/c.yaml'}]}}]}}]"
                ),
                "clusters/a/c.yaml": CONFIG_MAP,
            },
            {"clusters/a/c.yaml": CONFIG_MAP.replace("a: b", "a: c")},
            "clusters/a/c.yaml; Argo CD generates",
        ),
        Attack(
            {"sets.yaml": application_set("[{git: {files: [{path: clusters}]}}]"), "clusters/a/x.toml": "a = 1\n"},
            {"clusters/a/x.toml": "a = 2\n"},
            "clusters/a/x.toml; Argo CD generates",
        ),
        Attack(
            {
                "sets.yaml": application_set("[{git: {files: [{path: c/a.json}]}}]"),
                "c/a.json": '{"v": "e/v.yaml"}',
                "e/v.yaml": "a: 1\n",
            },
            {"e/v.yaml": "a: 2\n"},
            "e/v.yaml; Argo CD reads",
        ),
    ],
    "folders for which a git generator": [
        Attack(
            {"sets.yaml": application_set("[{git: {directories: [{path: apps/*}]}}]"), "apps/a/x.txt": "a"},
            {"apps/evil/x.txt": "a"},
            "+ new: apps/evil; Argo CD generates an Application",
        ),
        Attack(
            {"sets.yaml": application_set("[{git: {directories: [{path: apps/*}, {path: apps/b, exclude: true}]}}]")},
            {"apps/c/d/x.txt": "a", "apps/b/y.txt": "a"},
            "+ new: apps/c; Argo CD",
        ),
        Attack(
            {"sets.yaml": application_set("[{matrix: {generators: [{git: {directories: [{path: '**/app'}]}}]}}]")},
            {"x/y/app/x.txt": "a"},
            "+ new: x/y/app; Argo CD",
        ),
    ],
    "the Application or ApplicationSet itself": [
        Attack(
            {"app.yaml": application("{path: a, helm: {valueFiles: [a.yaml]}}")},
            {"app.yaml": application("{path: a, helm: {valueFiles: [b.yaml]}}")},
            "spec.source.helm.valueFiles",
        ),
        Attack(
            {"s.yaml": application_set("[{git: {directories: [{path: a/*}, {path: a/b, exclude: true}]}}]")},
            {"s.yaml": application_set("[{git: {directories: [{path: a/*}]}}]")},
            "spec.generators",
        ),
        Attack(
            {"app.yaml": application("{path: a}")},
            {"app.yaml": application("{path: a, kustomize: {images: [x=y]}}")},
            "spec.source.kustomize",
        ),
        Attack(
            {"app.yaml": application("{path: a, targetRevision: main}")},
            {"app.yaml": application("{path: a, targetRevision: v1.0.0}")},
            "spec.source.targetRevision",
        ),
        Attack({"app.yaml": application("{path: a}")}, {"app.yaml": application("{path: b}")}, "spec.source.path"),
        Attack({}, {"app.yaml": application("{path: a}")}, "by this object a GitOps tool applies others"),
    ],
    "`.sourceignore`": [
        Attack({}, {".sourceignore": "/rbac/\n"}, ".sourceignore: + new: Flux leaves out"),
        Attack(
            {"a/b/.sourceignore": "# x\n*.yaml\n"},
            {"a/b/.sourceignore": "# x\n*.yaml\n!evil.yaml\n"},
            "another content",
        ),
        Attack({".sourceignore": "a\n!b\n"}, {".sourceignore": "!b\na\n"}, "another content: Flux"),
        Attack({}, {".hidden/.sourceignore": "a\n"}, ".hidden/.sourceignore"),
    ],
    "a manifest that the default rules": [
        Attack({"a.yaml": CONFIG_MAP}, {"a.yaml": "{}", "cloudbuild.yaml": CONFIG_MAP}, "cloudbuild.yaml: + new: Flux"),
        Attack({}, {"a/codeship-steps.yml": CONFIG_MAP}, "a/codeship-steps.yml: + new: Flux leaves out"),
        Attack({}, {".flux.yaml": CONFIG_MAP}, ".flux.yaml: + new: Flux leaves out"),
    ],
    "values of a chart, by a HelmRelease": [
        Attack(
            CHART
            | {"hr.yaml": helm_release("chart: ./charts/pier, valuesFiles: [envs/v.yaml]"), "envs/v.yaml": "a: 1"},
            {"envs/v.yaml": "a: 2"},
            "envs/v.yaml; Flux reads",
        ),
        Attack(
            {"hr.yaml": helm_release("chart: x, valuesFile: x/v.yaml"), "x/v.yaml": "a: 1"},
            {"x/v.yaml": "a: 2"},
            "x/v.yaml; Flux reads",
        ),
        Attack(
            {
                "hc.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: a}\n"
                "spec: {chart: x, ignoreMissingValuesFiles: true, valuesFiles: [./v.yaml]}\n"
            },
            {"v.yaml": "a: 2"},
            "+ new: v.yaml; Flux reads",
        ),
    ],
    "a ConfigMap or a Secret with values": [
        Attack(
            FLUX_CM
            | {
                "hr.yaml": helm_release("chart: x").replace("values: {}", "valuesFrom: [{kind: ConfigMap, name: pier}]")
            },
            {"values.yaml": FLUX_CM["values.yaml"].replace("a: b", "a: c")},
            "ConfigMap/harbour/pier: ~ Flux takes",
        ),
        Attack(
            {
                "hr.yaml": helm_release("chart: x").replace(
                    "values: {}", "valuesFrom: [{kind: Secret, name: s, optional: true}]"
                )
            },
            {"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: harbour}\nstringData: {a: b}\n"},
            "Secret/harbour/s: ~ Flux takes",
        ),
        Attack(
            FLUX_CM
            | {
                "ks.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, "
                "namespace: harbour}\nspec: {path: x, postBuild: {substituteFrom: [{kind: ConfigMap, "
                "name: pier}]}}\n"
            },
            {"values.yaml": FLUX_CM["values.yaml"].replace("a: b", "c: b")},
            "ConfigMap/harbour/pier: ~ Flux takes",
        ),
    ],
    "the Kustomization, the HelmRelease, or the source": [
        Attack({"a.yaml": git_source("x")}, {"a.yaml": git_source("y")}, "spec.ignore"),
        Attack(
            {"a.yaml": git_source("x", "OCIRepository")}, {"a.yaml": git_source("y", "OCIRepository")}, "spec.ignore"
        ),
        Attack({"a.yaml": git_source("x", "Bucket")}, {"a.yaml": git_source("y", "Bucket")}, "spec.ignore"),
        Attack(
            {"a.yaml": helm_release("chart: x", "{a: 1}")},
            {"a.yaml": helm_release("chart: x", "{a: 2}")},
            "spec.values",
        ),
    ],
    "another kustomization or component": [
        Attack(
            {"a/kustomization.yaml": "components: [../c]\n", "c/kustomization.yaml": "kind: Component\n"},
            {"c/kustomization.yaml": "kind: Component\nnamePrefix: x-\n"},
            "c/kustomization.yaml: ~ another content",
        ),
        Attack(
            {"a/kustomization.yaml": "resources: []\n"},
            {"a/kustomization.yaml": "resources: []\ngeneratorOptions: {disableNameSuffixHash: true}\n"},
            "Kustomize",
        ),
        Attack({}, {".a/Kustomization": "resources: []\n"}, ".a/Kustomization: + new"),
    ],
    "files that another kustomization": [
        Attack(
            {"a/kustomization.yaml": "configMapGenerator: [{name: a, files: [k=v.yaml]}]\n", "a/v.yaml": CONFIG_MAP},
            {"a/v.yaml": f"# more\n{CONFIG_MAP}"},
            "a/v.yaml; GitOps tools build",
        ),
        Attack(
            {
                "a/kustomization.yaml": "generators: [g.yaml]\n",
                "a/g.yaml": (
                    "apiVersion: x.example.com/v1\nkind: Gen\nmetadata:\n  name: g\n  annotations:\n"
                    "    config.kubernetes.io/function: |\n      exec: {path: ./make.sh}\n"
                ),
                "a/make.sh": "echo a\n",
            },
            {"a/make.sh": "echo b\n"},
            "a/make.sh; GitOps tools build",
        ),
        Attack(
            {"a/kustomization.yaml": "secretGenerator: [{name: a, envs: [sops.env]}]\n", "a/sops.env": "a=ENC[x]\n"},
            {"a/sops.env": "a=ENC[y]\n"},
            "a/sops.env; GitOps tools build",
        ),
    ],
    "another chart: each file": [
        Attack(CHART, {"charts/pier/.helmignore": "templates/\n"}, "charts/pier/.helmignore; GitOps"),
        Attack(
            CHART | {"charts/pier/Chart.lock": "digest: a\n"}, {"charts/pier/Chart.lock": "digest: b\n"}, "Chart.lock"
        ),
        Attack(CHART, {"charts/pier/values.yaml": "role: admin\n"}, "charts/pier/values.yaml; GitOps"),
    ],
    "`helmfile.yaml`": [
        Attack(
            {},
            {"helmfile.yaml": "releases: []\n"},
            "helmfile.yaml: + new: GitOps tools build this folder with helmfile",
        ),
        Attack(
            {"helmfile.yaml.gotmpl": "releases: [{values: [v.yaml]}]\n", "v.yaml": "a: 1\n"},
            {"v.yaml": "a: 2\n"},
            "v.yaml; GitOps",
        ),
        Attack({"helmfile.lock": "a: 1\n"}, {"helmfile.lock": "a: 2\n"}, "helmfile.lock: ~ another content"),
        Attack({"x/helmfile.d/1.yaml": "a: 1\n"}, {"x/helmfile.d/1.yaml": "a: 2\n"}, "x/helmfile.d/1.yaml: ~ another"),
        Attack({"helmfile.d/1.yml.gotmpl": "a: 1\n"}, {"helmfile.d/1.yml.gotmpl": "a: 2\n"}, "1.yml.gotmpl: ~ another"),
        *(
            Attack({name: "releases: [{name: a}]\n"}, {name: "releases: [{name: b}]\n"}, f"{name}: ~ another")
            for name in ("helmfile-prod.yaml", "x/helmfile_prod.yml", "helmfile.prod.yaml.gotmpl")
        ),
        *(
            Attack(
                {"x/helmfile.yaml": helmfile, "x/env/b.yaml": "a: 1\n"},
                {"x/env/b.yaml": "a: 2\n"},
                "x/env/b.yaml; GitOps",
            )
            for helmfile in (
                "releases: [{name: a, values: [env/*.yaml]}]\n",
                "bases:\n- env/?.yaml\n",
                "environments: {default: {values: ['./env/**/*.yaml']}}\n",
                "environments:\n  default:\n    values:\n    - env/{{ .Environment.Name }}.yaml\n",
                'releases:\n- name: a\n  values:\n  - {{ readFile "env/b.yaml" | nindent 4 }}\n',
                'releases:\n- values:\n  - {{ tpl (readFile (printf "env/%s.yaml" .Environment.Name)) . }}\n',
                "releases:\n- values:\n  - {{ .Values.name | readFile }}\n",
                'releases:\n- values:\n  - {{ readFile (print .Values.name ".yaml") }}\n',
                "releases: [{set: [{name: a, value: 'ref+file://env/b.yaml#/a'}]}]\n",
            )
        ),
        Attack(
            {
                "helmfile.yaml": "helmfiles: [{path: 'apps/*/pier.yaml'}]\n",
                "apps/a/pier.yaml": "releases: [{values: [deep/*.txt]}]\n",
                "apps/a/deep/x.txt": "a: 1\n",
            },
            {"apps/a/deep/x.txt": "a: 2\n"},
            "apps/a/deep/x.txt; GitOps",
        ),
        Attack(
            {"helmfile.yaml": "helmfiles: ['apps/*.yaml']\n"}, {"apps/a.yaml": "releases: []\n"}, "apps/a.yaml; GitOps"
        ),
        Attack(
            {
                "helmfile.yaml": "releases: [{values: [v.yaml.gotmpl]}]\n",
                "v.yaml.gotmpl": 'a: {{ readFile "b.txt" }}\n',
            },
            {"b.txt": "a\n"},
            "b.txt; GitOps",
        ),
    ],
    "`fleet.yaml`": [
        Attack({}, {"fleet.yaml": "helm: {chart: x}\n"}, "fleet.yaml: + new: Fleet of Rancher takes"),
        Attack({"a/fleet.yaml": "helm: {repo: a}\n"}, {"a/fleet.yaml": "helm: {repo: b}\n"}, "a/fleet.yaml: ~ another"),
        Attack({".x/fleet.yaml": "a: 1\n"}, {".x/fleet.yaml": "a: 2\n"}, ".x/fleet.yaml: ~ another content: Fleet"),
    ],
    "`.fleetignore`": [
        Attack({}, {".fleetignore": "rbac\n"}, ".fleetignore: + new: Fleet of Rancher leaves out"),
        Attack({"a/.fleetignore": "a\n"}, {"a/.fleetignore": "b\n"}, "a/.fleetignore: ~ another content"),
        Attack({".fleetignore": "a\n!b\n"}, {".fleetignore": "a\n"}, "another content: Fleet"),
    ],
    "`Kptfile`": [
        Attack({}, {"a/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\n"}, "a/Kptfile: + new: GitOps tools build"),
        Attack(
            {"a/Kptfile": "pipeline: {mutators: [{image: a}]}\n"},
            {"a/Kptfile": "pipeline: {mutators: [{image: b}]}\n"},
            "a/Kptfile: ~ another",
        ),
        Attack(
            {"a/Kptfile": "pipeline: {mutators: [{image: a, configPath: fn.yaml}]}\n", "a/fn.yaml": CONFIG_MAP},
            {"a/fn.yaml": CONFIG_MAP.replace("a: b", "a: c")},
            "a/fn.yaml; GitOps",
        ),
    ],
    "`.krmignore`": [
        Attack({}, {".krmignore": "rbac.yaml\n"}, ".krmignore: + new: kpt"),
        Attack({"a/.krmignore": "x\n"}, {"a/.krmignore": "y\n"}, "another content: kpt"),
        Attack({"a/.krmignore": "x\ny\n"}, {"a/.krmignore": "x\n"}, "another content: kpt"),
    ],
    "`.jsonnet`, `.libsonnet`": [
        Attack({}, {"a.jsonnet": "{}"}, "Jsonnet"),
        Attack({}, {"jsonnetfile.lock.json": "{}"}, "Jsonnet"),
        Attack({"a/b.libsonnet": "{}"}, {"a/b.libsonnet": "{a: 1}"}, "Jsonnet"),
    ],
    "files that Jsonnet imports": [
        Attack(jsonnet('importstr "it\\u0027s.txt"'), {"env/it's.txt": "b\n"}, "env/it's.txt; GitOps"),
        Attack(jsonnet("importbin /* 'x' */ // y\n @'it''s.txt'"), {"env/it's.txt": "b\n"}, "env/it's.txt; GitOps"),
        Attack(jsonnet('importstr# a\n"..\\/lib/b.txt"'), {"lib/b.txt": "b\n"}, "lib/b.txt; GitOps"),
        Attack(
            jsonnet("local x = import('code.x'); x") | {"env/code.x": "importstr 'b.txt'"},
            {"lib/b.txt": "b\n"},
            "lib/b.txt; GitOps",
        ),
        Attack(jsonnet("importstr 'it' + std.char(39) + 's.txt'"), {"env/it's.txt": "b\n"}, "env/it's.txt; GitOps"),
        Attack(
            jsonnet("import 'x.txt'")
            | {"more/x.txt": "{}", "app.yaml": application("{path: env, directory: {jsonnet: {libs: [more]}}}")},
            {"more/x.txt": "{a: 1}"},
            "more/x.txt; ",
        ),
        Attack(
            {
                "app.yaml": application(
                    "{path: env, directory: {jsonnet: {extVars: [{name: a, code: true, value: "
                    "\"importstr 'x.txt'\"}]}}}"
                ),
                "env/x.txt": "a",
            },
            {"env/x.txt": "b"},
            "env/x.txt; ",
        ),
    ],
    "the Environment of Tanka": [
        Attack(
            {
                "env/spec.json": json.dumps(
                    {
                        "apiVersion": "tanka.dev/v1alpha1",
                        "kind": "Environment",
                        "metadata": {"name": "env"},
                        "spec": {"namespace": "a"},
                    }
                )
            },
            {
                "env/spec.json": json.dumps(
                    {
                        "apiVersion": "tanka.dev/v1alpha1",
                        "kind": "Environment",
                        "metadata": {"name": "env"},
                        "spec": {"namespace": namespace},
                    }
                )
            },
            "spec.namespace",
        )
        for namespace in ("b", "c", "kube-system")
    ],
    "objects beside `PROJECT`": [
        Attack(PROJECT, {"evil.yaml": BINDING}, "evil.yaml: + left out, and applied by other tools"),
        Attack(
            PROJECT,
            {
                "config/rbac/evil.json": json.dumps(
                    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "evil"}}
                )
            },
            "ServiceAccount/evil",
        ),
        Attack(
            PROJECT | {"deploy/a.yml": BINDING}, {"deploy/a.yml": BINDING.replace("default", "other")}, "deploy/a.yml"
        ),
        Attack(PROJECT, {"config/kustomization.yaml": "resources: []\n"}, "config/kustomization.yaml: + new"),
    ],
    "`PROJECT` and `bundle.Dockerfile`": [
        Attack(
            PROJECT | {"bundle.Dockerfile": "COPY bundle/manifests /manifests/\n"},
            {"bundle.Dockerfile": "COPY evil/manifests /manifests/\n"},
            "bundle.Dockerfile: ~ another content",
        ),
        Attack(PROJECT, {"bundle.Dockerfile": "FROM scratch\n"}, "bundle.Dockerfile: + new: operator-sdk"),
        Attack(PROJECT, {"PROJECT": "projectName: other\n"}, "PROJECT: ~ another content: operator-sdk"),
    ],
    "`.kubernetesignore`": [
        Attack({}, {".kubernetesignore": "a\n"}, "OCM"),
        Attack({}, {"a/.kubernetesignore": "a\n"}, "OCM"),
        Attack({".kubernetesignore": "a\n"}, {".kubernetesignore": "b\n"}, "another content: Subscriptions of OCM"),
    ],
    "`.gitattributes`": [
        Attack({}, {".gitattributes": "*.yaml working-tree-encoding=UTF-16\n"}, "(working-tree-encoding)"),
        Attack(
            {}, {"x/.gitattributes": "/a\\.yaml filter=evil\n", "x/a.yaml": CONFIG_MAP}, "x/.gitattributes: + new: x/a"
        ),
        Attack({".gitattributes": "base.yaml text\n"}, {".gitattributes": "base.yaml text eol=crlf\n"}, "(eol)"),
        Attack({}, {".gitattributes": '"\\142ase.yaml" ident\n'}, "(ident)"),
        Attack(
            {}, {".gitattributes": "[attr]nice working-tree-encoding=UTF-7\n**/*.y[[:alpha:]]ml nice\n"}, "base.yaml"
        ),
        Attack({"a/b/c.yaml": CONFIG_MAP}, {".gitattributes": "a/b/ export-ignore\n"}, "a/b/c.yaml; git"),
        Attack(
            {".gitattributes": "*.yaml working-tree-encoding=UTF-16\n"},
            {".gitattributes": "*.yaml working-tree-encoding=UTF-32\n"},
            "another content: base.yaml",
        ),
        Attack({}, {".gitattributes": "base.yaml export-subst\n"}, "(export-subst)"),
    ],
    "`.gitmodules`": [
        Attack({}, {".gitmodules": '[submodule "a"]\n\tpath = a\n'}, ".gitmodules: + new: git"),
        Attack({".gitmodules": "a"}, {".gitmodules": "b"}, "another content: git"),
        Attack({".gitmodules": "url = a\n"}, {".gitmodules": "url = a\nbranch = b\n"}, "another content: git"),
    ],
    "`.lfsconfig`": [
        Attack({}, {".lfsconfig": "[lfs]\n\tfetchexclude = *\n"}, ".lfsconfig: + new: Git LFS"),
        Attack({".lfsconfig": "a"}, {".lfsconfig": "b"}, "another content: Git LFS"),
        Attack({".lfsconfig": "[lfs]\n"}, {".lfsconfig": "[lfs]\n\turl = b\n"}, "another content: Git LFS"),
    ],
    "the content of a pointer": [
        Attack(
            {".x/a.yaml": f"version https://git-lfs.github.com/spec/v1\noid sha256:{old}\nsize 3\n"},
            {".x/a.yaml": f"version https://git-lfs.github.com/spec/v1\noid sha256:{new}\nsize {size}\n"},
            "in Git LFS",
        )
        for old, new, size in (("ab", "cd", 3), ("ab", "ab", 4), ("ef", "01", 5))
    ],
    "each file `.yaml`": [
        Attack({}, {".x/evil.yaml": BINDING}, "left out"),
        Attack({}, {"vendor/.x/evil.yml": BINDING}, "left out"),
        Attack({}, {"evil.yml": BINDING}, "critical: everything"),
    ],
    "the manifests of a directory": [
        Attack({}, {f"{folder}evil.yaml": BINDING}, "critical: everything") for folder in ("", "a/", "a/b/")
    ],
    "the manifests of a folder": [
        Attack({}, {f"evil.{end}": BINDING}, "critical: everything") for end in ("yaml", "yml")
    ]
    + [Attack({}, {"a/b/c/d/evil.yaml": BINDING}, "critical: everything")],
    "`bundle/` of a project": [
        Attack(PROJECT, {f"bundle/{name}": BINDING}, "ClusterRoleBinding/evil")
        for name in ("evil.yaml", "tests/evil.yaml", "metadata/evil.yaml")
    ],
}
ELSEWHERE = {
    "a kustomization at the top": "test_a_kustomization_at_the_top_is_compiled",
    "a chart at the top": "test_values_of_a_chart_that_is_compiled",
    "values and locks beside a chart": "test_values_of_a_chart_that_is_compiled",
    "what a PolicyGenerator": "tests/load/test_policy_generators.py",
    "a symbolic link": "test_a_link_is_told",
    "the commit of a submodule": "test_another_commit_of_a_submodule_is_told",
}


def name_of(variant: tuple[str, int]) -> str:
    """A file with the number of an attack on it."""
    return f"{variant[0]}-{variant[1]}"


VARIANTS = [(key, number) for key, attacks in ATTACKS.items() for number in range(len(attacks))]


@pytest.fixture(autouse=True)
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace, `old`, and a copy of it, `new`; tests run in it."""
    for side in ("old", "new"):
        write(tmp_path / side, BASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def risks(*arguments: str) -> list[str]:
    """The lines of a comparison that say risk, which then fails."""
    done = olmc("diff", *arguments, "--fail-on", "risk")
    found = [line.strip() for line in unfolded(done.stdout).splitlines() if line.endswith(("[risk]", "[breaking]"))]
    assert done.exit_code == bool(found), done.stdout + done.stderr
    return found


def test_each_row_has_its_attacks() -> None:
    """No tool has a file in the table of which nothing shows that olmc treats it so."""
    rows = [row.files for row in DECIDING_FILES]
    for key in (*ATTACKS, *ELSEWHERE):
        assert sum(key in files for files in rows) == 1, key
    for files in rows:
        assert sum(key in files for key in (*ATTACKS, *ELSEWHERE)) == 1, files
    assert all(len(attacks) >= 3 for attacks in ATTACKS.values())


def test_the_table_has_each_tool() -> None:
    tools = {row.tool for row in DECIDING_FILES}
    assert tools == {
        "Argo CD", "Flux", "kustomize", "Helm", "kpt", "Jsonnet", "operator-sdk", "OCM", "Fleet", "git", "kubectl -R",
    }  # fmt: skip


@pytest.mark.parametrize("variant", marked_slow(VARIANTS, lambda variant: variant[1]), ids=name_of)
def test_a_change_is_told(variant: tuple[str, int], sides: Path) -> None:
    key, number = variant
    attack = ATTACKS[key][number]
    for side in ("old", "new"):
        write(sides / side, attack.both)
    if "PROJECT" in attack.both:
        for side in ("old", "new"):
            (sides / side / "olmc.yaml").unlink()
    assert risks("old", "new") == []
    write(sides / "new", attack.change)
    found = risks("old", "new")
    assert any(attack.said in line for line in found), found
    data = json.loads(olmc("diff", "old", "new", "-o", "json").stdout)
    assert list(Draft202012Validator(schema("diff")).iter_errors(data)) == []


@pytest.mark.parametrize("name", [".argocd-source.yaml", ".sourceignore", "a/.krmignore", "Kptfile", ".gitmodules"])
def test_a_folder_of_plain_objects_is_compared_as_well(name: str, sides: Path) -> None:
    """It is no workspace, and tools apply it all the same."""
    for side in ("old", "new"):
        (sides / side / "olmc.yaml").unlink()
    write(sides / "new", {name: "a\n"})
    assert any(f"File/{name}: + new" in line for line in risks("old", "new"))


def test_what_no_tool_reads_is_not_told(sides: Path) -> None:
    ignoring = {".sourceignore": "a\n", "x/.krmignore": "b\n"}
    both = {**CHART, **ignoring, "app.yaml": application("{path: charts/pier, helm: {valueFiles: [prod.yaml]}}"),
            "sets.yaml": application_set("[{git: {files: [{path: 'clusters/*/config.json'}]}}]"),
            "env/a.jsonnet": "// import 'c.txt'\n'import \"c.txt\"'"}  # fmt: skip
    for side in ("old", "new"):
        write(sides / side, both)
    write(sides / "new", {
        ".gitattributes": "*.png filter=lfs -text\n*.yaml text=auto diff\n*.md working-tree-encoding=UTF-16\n",
        ".sourceignore": "# Ours.\na\n\n", "README.md": "a\n", "clusters/a/other.txt": "{}\n", "env/c.txt": "a\n",
        "other/prod.yaml": "a: 1\n", "Makefile": "a:\n", "bundle.Dockerfile": "FROM scratch\n", "PROJECT.md": "a\n",
        ".gitlab-ci.yml": "job: {script: [make]}\n", ".gitignore": "out/\n", ".editorconfig": "a\n",
        ".github/workflows/ci.yaml": "on: push\n", "LICENSE": "a\n", ".argocd-sources.yml": "a\n",
    })  # fmt: skip
    assert risks("old", "new") == []


def test_what_no_helmfile_reads_is_not_told(sides: Path) -> None:
    helmfile = """\
# old.yaml is no longer read, nor what {{ readFile .Values.name }} named.
environments: {default: {values: [env/*.yaml]}}
releases:
- {name: "{{ .Environment.Name }}-pier", chart: "{{ .Values.charts }}/pier", version: 1.0.0}
- values: [{{ readFile "known.yaml" }}, "{{ .Values.some }}"]
"""
    for side in ("old", "new"):
        write(sides / side, {"helmfile.yaml": helmfile})
    write(sides / "new", {
        "old.yaml": "a: 1\n", "other.yaml": "a: 1\n", "env/a.txt": "a\n", "other/a.yaml": "a: 1\n", "README.md": "a\n",
        "helmfile.d/README.md": "a\n", "helmfile-notes.md": "a\n",
    })  # fmt: skip
    assert risks("old", "new") == []
    write(sides / "new", {"helmfile-operator.yaml": CONFIG_MAP})
    assert not any("helmfile" in line and "build" in line for line in risks("old", "new"))


@pytest.mark.parametrize("target", ["base.yaml", "./base.yaml"])
def test_a_link_is_told(target: str, sides: Path) -> None:
    """Flux leaves it out, though what it leads to is compiled as ever."""
    for side in ("old", "new"):
        write(sides / side, {"a/x.yaml": CONFIG_MAP, "b/x.yaml": CONFIG_MAP})
    shutil.rmtree(sides / "new/b")
    (sides / "new/b").symlink_to("a")
    assert any("File/b: + new: Flux leaves out a link" in line for line in risks("old", "new"))
    for side in ("old", "new"):
        (sides / side / "more.yaml").symlink_to(target)
    (sides / "new/more.yaml").unlink()
    (sides / "new/more.yaml").symlink_to("a/x.yaml")
    assert any("File/more.yaml: ~ another content: Flux" in line for line in risks("old", "new"))


def git(root: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a workspace at clusters/prod, in which tests run."""
    root = tmp_path / "repository"
    write(root, {f"clusters/prod/{path}": text for path, text in BASE.items()})
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    monkeypatch.chdir(root)
    return root


ABOVE = {
    ".sourceignore": "/clusters/prod/rbac\n", "clusters/.sourceignore": "a\n", "clusters/.krmignore": "a\n",
    ".gitattributes": "clusters/prod/base.yaml ident\n", "clusters/.gitattributes": "*.yaml ident\n",
    ".gitmodules": "a\n", ".lfsconfig": "a\n", ".kubernetesignore": "a\n",
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(ABOVE, 4))
def test_what_stands_above_counts(name: str, repository: Path) -> None:
    """In the work tree, in a revision, and in a fleet."""
    write(repository, {name: ABOVE[name]})
    path = os.path.relpath(name, "clusters/prod")
    assert any(f"File/{path}: + new" in line for line in risks("git:main", "clusters/prod"))
    plan = olmc("plan", "clusters/prod", "--from", "git:main", "--fail-on", "risk")
    assert plan.exit_code == 1, plan.stderr
    assert f"{path}" in plan.stdout
    fleet = olmc("fleet", "plan", "clusters/*", "--from", "git:main", "--fail-on", "risk", "--no-cache", "--jobs", "1")
    assert fleet.exit_code == 1, fleet.stdout + fleet.stderr
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    assert any(f"File/{path}: + new" in line for line in risks("git:main~1:clusters/prod", "git:main:clusters/prod"))
    assert risks("git:main", "clusters/prod") == []


_LINKS = {
    "a file": ("../../shared/a.yaml", ""),
    "a link to a file": ("../../shared/link.yaml", "a.yaml"),
    "a file of another cluster": ("../test/a.yaml", ""),
}


@pytest.mark.parametrize("link", sampled(_LINKS, 3))
def test_what_a_link_leads_to_counts(link: str, repository: Path) -> None:
    """Argo CD and kubectl follow a link to a file elsewhere in the repository."""
    target, further = _LINKS[link]
    there = os.path.normpath(f"clusters/prod/{target}")
    content = (Path(there).parent / further).as_posix() if further else there
    write(repository, {content: CONFIG_MAP.replace("sand", "a")})
    (repository / "clusters/prod/x.yaml").symlink_to(target)
    if further:
        (repository / there).symlink_to(further)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "linked")
    assert risks("git:main", "clusters/prod") == []
    write(repository, {content: BINDING})
    assert any("File/x.yaml: ~ another content" in line for line in risks("git:main", "clusters/prod"))
    plan = olmc("plan", "clusters/prod", "--from", "git:main", "--fail-on", "risk")
    assert plan.exit_code == 1, plan.stderr
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    assert any("File/x.yaml" in line for line in risks("git:main~1:clusters/prod", "git:main:clusters/prod"))


def test_a_link_out_of_the_repository_is_not_read(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("a: 1\n")
    (repository / "clusters/prod/x.yaml").symlink_to("../../../secret.yaml")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "linked")
    (tmp_path / "secret.yaml").write_text("a: 2\n")
    assert risks("git:main", "clusters/prod") == []


SUBMODULES = ("clusters/prod/module", "clusters/prod/a/b", "clusters/prod/.module")


def with_submodule(repository: Path, path: str, commit: str) -> None:
    """Put a submodule into the index as a pull request does; nothing of it is fetched."""
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit * 40},{path}")


@pytest.mark.parametrize("path", sampled(SUBMODULES, 3))
@pytest.mark.parametrize("is_new", [True, False])
def test_another_commit_of_a_submodule_is_told(path: str, is_new: bool, repository: Path) -> None:
    """In a checkout that lacks it, which olmc compares with a revision, as in one that has it."""
    if not is_new:
        with_submodule(repository, path, "a")
        git(repository, "commit", "-qm", "module")
    assert risks("git:main", "clusters/prod") == []
    with_submodule(repository, path, "b")
    name = os.path.relpath(path, "clusters/prod")
    words = f"File/{name}: {'+ new' if is_new else '~ another content'}: git puts a commit of another repository here"
    assert any(words in line for line in risks("git:main", "clusters/prod"))
    plan = olmc("plan", "clusters/prod", "--from", "git:main", "--fail-on", "risk")
    assert (plan.exit_code, words in unfolded(plan.stdout)) == (1, True), plan.stdout
    fleet = olmc("fleet", "plan", "clusters/*", "--from", "git:main", "--fail-on", "risk", "--no-cache", "--jobs", "1")
    assert fleet.exit_code == 1, fleet.stdout + fleet.stderr
    git(repository, "commit", "-qm", "second")
    assert any(words in line for line in risks("git:main~1:clusters/prod", "git:main:clusters/prod"))
    assert risks("git:main", "clusters/prod") == []


def test_a_submodule_that_is_fetched_is_compiled(repository: Path, tmp_path: Path) -> None:
    """Its objects are compared; as long as its commit is the same, the submodule itself is not reported."""
    write(tmp_path / "other", {"a.yaml": CONFIG_MAP})
    git(tmp_path / "other", "init", "-q", "-b", "main")
    git(tmp_path / "other", "add", "-A")
    git(tmp_path / "other", "commit", "-qm", "first")
    add = (
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(tmp_path / "other"),
        "clusters/prod/module",
    )
    git(repository, *add)
    git(repository, "commit", "-qm", "module")
    assert risks("git:main", "clusters/prod") == []
    write(repository, {"clusters/prod/module/a.yaml": BINDING})
    assert any("critical: everything" in line for line in risks("git:main", "clusters/prod"))


def test_a_plan_from_what_is_in_git_lfs_fails(repository: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12\n"
    write(repository, {"clusters/prod/x.yaml": pointer})
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "pointer")
    for command in (("diff", "git:main", "clusters/prod"), ("plan", "clusters/prod", "--from", "git:main")):
        result = olmc(*command)
        assert result.exit_code == 3, result.stdout
        assert "OLMC486" in result.stderr


def test_other_folders_above_are_not_compared(repository: Path) -> None:
    """Two folders at different places of repositories have nothing in common above."""
    shutil.copytree(repository / "clusters/prod", repository / "other")
    write(repository, {"clusters/.sourceignore": "a\n"})
    assert risks("other", "clusters/prod") == []


def replaced_blob(repository: Path) -> None:
    path = "clusters/prod/base.yaml"
    evil = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=repository, check=True, capture_output=True,
                          input=BINDING.encode()).stdout.decode().strip()  # fmt: skip
    git(repository, "replace", git(repository, "rev-parse", f"HEAD:{path}"), evil)


def replaced_tree(repository: Path) -> None:
    git(repository, "rm", "-q", "--cached", "clusters/prod/base.yaml")
    tree = git(repository, "write-tree")
    git(repository, "reset", "-q")
    git(repository, "replace", git(repository, "rev-parse", "HEAD^{tree}"), tree)


def replaced_commit(repository: Path) -> None:
    write(repository, {"clusters/prod/base.yaml": BINDING})
    git(repository, "commit", "-qam", "evil")
    evil = git(repository, "rev-parse", "HEAD")
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    git(repository, "replace", "HEAD", evil)


def grafted(repository: Path) -> None:
    write(repository, {"clusters/prod/base.yaml": BINDING})
    git(repository, "checkout", "-q", "--orphan", "evil")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "evil")
    evil = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    grafts = repository / ".git/info/grafts"
    grafts.parent.mkdir(exist_ok=True)
    grafts.write_text(f"{git(repository, 'rev-parse', 'HEAD')} {evil}\n")


@pytest.mark.parametrize("attack", [replaced_blob, replaced_tree, replaced_commit, grafted])
def test_replaced_objects_of_git_do_not_count(attack: object, repository: Path) -> None:
    """What a commit means is what its name says, whatever refs of a clone say."""
    before = olmc("diff", "git:main", "clusters/prod")
    assert before.exit_code == 0
    assert callable(attack)
    attack(repository)
    revision = "git:HEAD~1" if attack is grafted else "git:HEAD"
    done = olmc("diff", f"{revision}:clusters/prod", "clusters/prod")
    assert (done.exit_code, done.stderr) == (0, ""), done.stdout


CHECKED_OUT_OTHERWISE = {
    "a byte order mark": b"\xef\xbb\xbfbase.yaml ident\n",
    "no encoding": b"# \x85\n*.yaml ident\n",
    "a comment with a line separator": "*.yaml ident\n# \u2028*.yaml -ident\n".encode(),
    "a comment with a carriage return": b"*.yaml ident\n# x\r*.yaml -ident\n",
    "a line that git leaves out": b"*.yaml ident\n*.yaml -ident" + b" x" * 1100 + b"\n",
}


@pytest.mark.parametrize("content", CHECKED_OUT_OTHERWISE.values(), ids=CHECKED_OUT_OTHERWISE)
def test_attributes_are_read_as_git_reads_them(content: bytes, repository: Path) -> None:
    (repository / ".gitattributes").write_bytes(content)
    assert git(repository, "check-attr", "ident", "clusters/prod/base.yaml").endswith(": set")
    assert any("ident" in line for line in risks("git:main", "clusters/prod"))


def test_a_line_separator_begins_no_line_of_attributes(repository: Path) -> None:
    (repository / ".gitattributes").write_text("# \u2028*.yaml ident\n")
    assert git(repository, "check-attr", "ident", "clusters/prod/base.yaml").endswith(": unspecified")
    assert risks("git:main", "clusters/prod") == []


@pytest.mark.parametrize("name", ["origin/main", "release", "1a2b", "origin"])
def test_a_tag_does_not_take_the_place_of_a_branch(name: str, repository: Path) -> None:
    """Whoever may push a tag would choose the base of the review: git prefers tags, and a fetch brings all of them."""
    is_remote = name.startswith("origin")
    branch = f"refs/{'remotes' if is_remote else 'heads'}/{name}{'/HEAD' if name == 'origin' else ''}"
    git(repository, "update-ref", branch, "HEAD")
    git(repository, "tag", name)
    assert olmc("diff", f"git:{name}", "clusters/prod").exit_code == 0  # the same commit
    write(repository, {"clusters/prod/evil.yaml": BINDING})
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    git(repository, "tag", "-f", "-a", "-m", "x", name)
    commands = [
        ("diff", f"git:{name}", "clusters/prod"),
        ("diff", f"git:{name}~0..HEAD:clusters/prod"),
        ("plan", "clusters/prod", "--from", f"git:{name}"),
        ("check", "clusters/prod", "--since", name),
        ("fleet", "plan", "clusters/*", "--from", f"git:{name}", "--no-cache", "--jobs", "1"),
    ]
    for command in commands:
        result = olmc(*command)
        assert result.exit_code == 3, (command, result.stdout, result.stderr)
        assert "stands for different commits" in result.stderr
        assert f"such as {branch}." in result.stderr
    assert any("critical: everything" in line for line in risks(f"git:{branch}", "clusters/prod"))


def test_a_branch_does_not_take_the_place_of_a_commit(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    write(repository, {"clusters/prod/evil.yaml": BINDING})
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    assert any("critical: everything" in line for line in risks(f"git:{first[:9]}", "clusters/prod"))
    git(repository, "branch", first[:9], "HEAD")
    result = olmc("diff", f"git:{first[:9]}", "clusters/prod")
    assert (result.exit_code, "stands for different commits" in result.stderr) == (3, True)
    assert any("critical: everything" in line for line in risks(f"git:{first}", "clusters/prod"))


@pytest.mark.parametrize("path", ["clusters/prod", "alias/prod", "round/prod"])
def test_a_path_of_a_revision_leads_through_links(path: str, repository: Path) -> None:
    """As tools find the folder in a checkout: one that becomes a link hides no change."""
    (repository / "round").symlink_to("alias")
    (repository / "alias").symlink_to("clusters")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "links")
    git(repository, "mv", "clusters/prod", "elsewhere")
    (repository / "clusters").mkdir(exist_ok=True)
    (repository / "clusters/prod").symlink_to("../elsewhere")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "moved")
    assert risks(f"git:HEAD~1:{path}", f"git:HEAD:{path}") == []
    write(repository, {"elsewhere/evil.yaml": BINDING})
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "evil")
    for base in ("HEAD~1", "HEAD~2"):
        assert any("critical: everything" in line for line in risks(f"git:{base}:{path}", f"git:HEAD:{path}"))


def test_a_link_beside_a_path_of_a_revision_does_not_count(repository: Path) -> None:
    """git lists it as well, where the folder with the link and a folder below that are on the path."""
    write(repository, {"clusters/west/apps/group.yaml": GROUP})
    (repository / "clusters/apps").symlink_to("../elsewhere")
    (repository / "clusters/west/also").symlink_to("apps")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "links")
    write(repository, {"clusters/west/apps/evil.yaml": BINDING})
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "evil")
    path = "clusters/west/apps"
    assert any("critical: everything" in line for line in risks(f"git:HEAD~1:{path}", f"git:HEAD:{path}"))


@pytest.mark.parametrize("target", ["loop", "../../..", "/etc"])
def test_a_path_that_leads_out_of_a_revision_is_an_error(target: str, repository: Path) -> None:
    (repository / "clusters/loop").symlink_to(target)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "links")
    result = olmc("diff", "git:HEAD:clusters/loop", "clusters/prod")
    assert result.exit_code == 3, result.stdout
    assert "OLMC482" in result.stderr


def test_the_page_has_the_table(project: Path) -> None:
    page = (project / "docs/diff-reference.md").read_text(encoding="utf-8")
    for row in DECIDING_FILES:
        assert f"| {row.tool} | {row.files} | {row.treatment} |\n" in page


def test_a_folder_of_plain_objects_that_becomes_a_workspace(repository: Path) -> None:
    """It hides no file by that. A rendering has none, and lacks none."""
    git(repository, "rm", "-q", "clusters/prod/olmc.yaml")
    git(repository, "commit", "-qm", "plain")
    write(repository, {"clusters/prod/.sourceignore": "a\n", "clusters/prod/olmc.yaml": BASE["olmc.yaml"]})
    assert any("File/.sourceignore: + new" in line for line in risks("git:main", "clusters/prod"))
    write(repository, {"rendered/a.yaml": olmc("render", "clusters/prod").stdout})
    assert risks("rendered", "clusters/prod") == []


def test_a_plan_from_a_revision_of_plain_objects(repository: Path) -> None:
    git(repository, "rm", "-q", "clusters/prod/olmc.yaml")
    git(repository, "commit", "-qm", "plain")
    assert olmc("plan", "clusters/prod", "--fail-on", "risk").exit_code == 0
    write(repository, {"clusters/prod/.argocd-source.yaml": "a: 1\n"})
    done = olmc("plan", "clusters/prod", "--fail-on", "risk")
    assert (done.exit_code, "Argo CD takes settings" in done.stdout) == (1, True), done.stdout


def test_a_kustomization_at_the_top_is_compiled(sides: Path) -> None:
    """What it builds is compared; the files of tools beside it are reported as ever."""
    files = {"kustomization.yaml": "resources: [base.yaml]\nconfigMapGenerator: [{name: a, files: [a.txt]}]\n",
             "a.txt": "a\n"}  # fmt: skip
    for side in ("old", "new"):
        write(sides / side, files)
        (sides / side / "olmc.yaml").unlink()
    write(sides / "new", {"a.txt": "b\n"})
    assert "ConfigMap/" in olmc("diff", "old", "new").stdout
    assert risks("old", "new") == []
    write(sides / "new", {".argocd-source-a.yaml": "kustomize: {namePrefix: x}\n"})
    assert any("Argo CD takes settings" in line for line in risks("old", "new"))


HELM = """import os, sys
chart = sys.argv[3]
print("---\\n# Source: pier/templates/a.yaml")
print(open(os.path.join(chart, "templates/a.yaml")).read().replace("{{ .Values.name }}", "a"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts")
@pytest.mark.parametrize(
    "name", sampled(["values-prod.yaml", "charts/x/prod.yaml", "Chart.lock", ".argocd-source.yaml"], 4)
)
def test_values_of_a_chart_that_is_compiled(name: str, sides: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is rendered with its own values; who installs it may take others."""
    write(sides, {"bin/helm": f"#!{sys.executable}\n{HELM}"})
    (sides / "bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{sides / 'bin'}{os.pathsep}{os.environ['PATH']}")
    chart = {"Chart.yaml": "apiVersion: v2\nname: pier\nversion: 1.0.0\n", "values.yaml": "name: a\n",
             "templates/a.yaml": f"{GROUP}---\n{CONFIG_MAP}", name: "a: 1\n"}  # fmt: skip
    for side in ("old", "new"):
        shutil.rmtree(sides / side)
        write(sides / side, chart)
    assert risks("old", "new") == []
    write(sides / "new", {"README.md": "a\n", "NOTES.txt": "a\n"})
    assert risks("old", "new") == []
    write(sides / "new", {name: "a: 2\n"})
    found = risks("old", "new")
    assert any(f"File/{name}: ~ another content" in line for line in found), found
