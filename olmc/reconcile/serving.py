"""What serves API services and webhooks: Deployments, and the certificates that they get (R-CERT-1, R-CERT-4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.lean import NamedTuple
from olmc.model.objects import mapping, mappings, spec_of
from olmc.model.operators import APIServiceDescription, Csv, StrategyDeployment, WebhookDescription
from olmc.model.options import Profile
from olmc.olm.profiles.data import filled
from olmc.reconcile.requirements import apiservices_by_name

# OLM makes a new CA in every cluster, so nobody can know its hash beforehand (R-CERT-3, U-3).
UNKNOWN_CA_HASH = ""

Description = APIServiceDescription | WebhookDescription


def serving_deployments(csv: Csv) -> tuple[str, ...]:
    """The Deployments that get certificates: those that an API service or a webhook names (R-CERT-1)."""
    named = {item.deployment for item in serving_descriptions(csv)}
    return tuple(deployment.name for deployment in csv.deployments if deployment.name in named)


def serving_descriptions(csv: Csv) -> tuple[Description, ...]:
    """API service descriptions, owned winning over required, by name; then the webhooks in order (R-CERT-1)."""
    return (*apiservice_descriptions(csv), *csv.webhooks)


def apiservice_descriptions(csv: Csv) -> tuple[APIServiceDescription, ...]:
    """Owned and required API service descriptions by `<version>.<group>`, owned ones winning (R-CERT-1)."""
    # OLM sets up required ones like those of the CSV, which breaks where somebody else serves them (R-API-4).
    return tuple(apiservices_by_name((*csv.required_apiservices, *csv.owned_apiservices)).values())


class Serving(NamedTuple):
    """What serves an API service or webhooks: the Deployment, the names of what is made for it, and the descriptions
    that it is made for."""

    deployment: StrategyDeployment
    names: Mapping[str, str]
    descriptions: tuple[Description, ...]


def servings(profile: Profile, csv: Csv) -> Iterator[Serving]:
    """All of a CSV's: one for each Deployment that serves, or, at first, one for each API service."""
    for deployment in csv.deployments:
        name = deployment.name
        described = tuple(item for item in serving_descriptions(csv) if item.deployment == name)
        # Before 0.15 names were those of API services, as there were no webhooks that could share a certificate.
        if profile.cert_naming["per"] != "deployment":
            yield from (Serving(deployment, serving_names(profile, name, item), (item,)) for item in described)
        elif described:
            yield Serving(deployment, serving_names(profile, name), described)


def serving_names(profile: Profile, deployment: str, description: Description | None = None) -> dict[str, str]:
    """The names of `service`, `secret`, `delegator` and `reader` for a Deployment and an API service's description."""
    group = version = ""
    if isinstance(description, APIServiceDescription):
        group, version = description.group, description.version
    dashed = group.replace(".", "-")
    return filled(profile.cert_naming, deployment=deployment, version=version, group=group, group_dashed=dashed)


def with_certificates(spec: Mapping[str, Any], name: str, csv: Csv, profile: Profile) -> dict[str, Any]:
    """A Deployment's spec with the certificate's volumes, mounts and a service account (R-CERT-4)."""
    template = dict(mapping(spec.get("template")))
    pod = dict(spec_of(template))
    # OLM spells it out, as the bindings to the certificate need a name; so it is in the hash, too (R-DEP-1).
    pod.setdefault("serviceAccountName", "default")
    for serving in servings(profile, csv):
        if serving.deployment.name == name:
            # Both volumes, whatever the Deployment serves: one is where webhooks look, one where API services do
            # (R-CERT-4).
            for volume, mount in profile.cert_volumes.items():
                pod = _mount(pod, volume, mount, serving.names["secret"])
    template["spec"] = pod
    return {**spec, "template": template}


def _mount(pod: Mapping[str, Any], volume: str, mount: Mapping[str, str], secret: str) -> dict[str, Any]:
    items = [{"key": "tls.crt", "path": mount["certificate"]}, {"key": "tls.key", "path": mount["key"]}]
    source = {"name": volume, "secret": {"secretName": secret, "items": items}}
    volume_mount = {"name": volume, "mountPath": mount["path"]}
    containers = [
        {**container, "volumeMounts": _with_mount(mappings(container.get("volumeMounts")), volume_mount)}
        for container in mappings(pod.get("containers"))
    ]
    return {**pod, "volumes": put_by_name(mappings(pod.get("volumes")), source), "containers": containers}


def put_by_name(entries: Sequence[Mapping[str, Any]], new: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A list with an entry replaced where one has the same name, else appended."""
    for index, entry in enumerate(entries):
        if entry.get("name") == new.get("name"):
            return [*entries[:index], new, *entries[index + 1 :]]
    return [*entries, new]


def _with_mount(mounts: list[Mapping[str, Any]], new: dict[str, Any]) -> list[Mapping[str, Any]]:
    """A mount of that name stops the search and stays; one at that path is replaced; else the new one is appended
    (R-CERT-4)."""
    for index, mount in enumerate(mounts):
        if mount.get("name") == new["name"]:
            return mounts
        if mount.get("mountPath") == new["mountPath"]:
            return [*mounts[:index], new, *mounts[index + 1 :]]
    return [*mounts, new]
