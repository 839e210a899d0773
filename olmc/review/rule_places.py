"""Where in the input the rule of a grant stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from olmc.explain.provenance import is_owned, located, place_of_object
from olmc.model.cluster import Cluster
from olmc.model.location import Location, Place
from olmc.model.objects import Origin, Rendered
from olmc.review.permissions import Grant
from olmc.review.policy import PolicyRule, policy_rules

_AS_WRITTEN = (Origin.MANIFEST, Origin.BUNDLE, Origin.BUNDLE_UPDATE, Origin.STRATEGY)


def finder(objects: Iterable[Rendered], cluster: Cluster) -> Callable[[Grant], Location | None]:
    """A function that gives the place of the rule of a grant, read when it is asked for."""
    by_identity = {found.identity: found for found in objects}

    def find(grant: Grant) -> Location | None:
        found = by_identity.get(grant.source)
        return located(_of_rule(place_of_object(found, cluster), found, grant.rule)) if found is not None else None

    return find


def _of_rule(place: Place | None, role: Rendered, rule: PolicyRule) -> Place | None:
    """The place of a rule inside that of its role, where the role stands in the input with its rules."""
    if place is None or not (place.keys or (role.provenance.origin in _AS_WRITTEN and not is_owned(role.object))):
        return place
    rules = role.object.get("rules")
    for index, each in enumerate(rules if isinstance(rules, list) else ()):
        if rule in policy_rules(each):
            return place._replace(keys=(*place.keys, "rules", index))
    return place
