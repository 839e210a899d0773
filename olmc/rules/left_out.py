"""Rules about what is left out: objects in a workspace that olmc does not compile, and tools would apply"""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import Rule

OBJECT_WITH_SCHEMA = Rule(
    "OLMC172",
    Severity.WARNING,
    "An object that says it is part of a catalog",
    "this {kind} has a key schema, as documents of catalogs have; it is an object all the same",
    "Remove schema, or if it is meant for a catalog, apiVersion, kind and metadata.",
    "A document of a file-based catalog has a schema that begins with `olm.`, an object has apiVersion, kind and "
    "metadata. What has all of them is applied to a cluster as an object, so that is what it is here.",
)
LEFT_OUT = Rule(
    "OLMC173",
    Severity.WARNING,
    "Objects that are left out",
    "left out, and applied by kubectl apply -R, Argo CD or Flux: {what}; {reason}",
    "Move it to where objects are compiled, delete it, or name the file in .olmcignore if no cluster is to get it.",
    "olmc compiles the objects in YAML and JSON files, but not those in hidden folders, beside the manifests of a "
    "bundle, behind the first object of a bundle's file, or in catalogs. A tool that applies all files of the folder "
    "knows no such difference. What olmc says of permissions and changes is then not all that happens.",
)
LEFT_OUT_BY_CHOICE = Rule(
    "OLMC174",
    Severity.INFO,
    "Objects that are left out as somebody wanted",
    "left out: {what}; {reason}",
    "Nothing is to be done if the tool that applies the folder leaves them out as well.",
    "Patterns in .olmcignore and under ignore in olmc.yaml name files that olmc does not read; nor does it read what "
    "it has written itself. All commands that review a workspace count what is in them. Output of olmc that is what it "
    "would write now is not counted.",
)
