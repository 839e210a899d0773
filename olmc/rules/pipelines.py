"""Rules about what tools hand to olmc, and what it hands to them."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

NO_RESOURCE_LIST = Rule(
    "OLMC600",
    Severity.ERROR,
    "The input of olmc fn is no ResourceList",
    "stdin holds no ResourceList: {problem}",
    "Let kustomize or kpt run olmc fn; by hand, give it a ResourceList of config.kubernetes.io/v1 on stdin.",
    "A KRM function reads one ResourceList from stdin and writes one to stdout.",
    found_by=FoundBy.OTHERS,
)
BAD_SETTING = Rule(
    "OLMC601",
    Severity.ERROR,
    "A setting that olmc does not know or can't use",
    "{where}: {problem}",
    "{hint}",
    "A functionConfig, the parameters of an Argo CD Application and its environment are checked before anything is "
    "rendered: a setting that is ignored because of a typing error would not be noticed.",
    found_by=FoundBy.OTHERS,
)
IN_THE_WAY = Rule(
    "OLMC602",
    Severity.ERROR,
    "An item has the name of a rendered object",
    "{identity} is among the items already, with another content than olmc renders",
    "Remove the item, or leave the rendered object out with exclude.",
    "A function must not silently replace what somebody else has put into the package. Objects that olmc itself wrote "
    "into it carry the annotation olmc.dev/rendered-from and are brought up to date.",
    found_by=FoundBy.OTHERS,
)
NOT_SERVED = Rule(
    "OLMC603",
    Severity.ERROR,
    "An object of an API that the Kubernetes version no longer serves",
    "Kubernetes {version} does not serve {kind} {name} as {api}, which was removed in 1.{removed}",
    "{hint}",
    "Versions of APIs are removed from Kubernetes after a time. A cluster refuses objects that are still written in "
    "them, and with them the whole sync.",
    found_by=FoundBy.OTHERS,
)
