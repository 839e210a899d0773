"""Rules about the version of OLM."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

UNKNOWN_VERSION = Rule(
    "OLMC450",
    Severity.ERROR,
    "There is no such OLM version",
    "{problem}",
    "{hint}",
    "Names, labels and hashes differ between versions of OLM, so olmc compiles for one of those whose formats it "
    "knows: a release (0.25.0, or 0.25 for its last one), the one that an OpenShift version ships (ocp-4.14), or docs "
    "for what OLM's documents state. The default is the newest release.",
    found_by=FoundBy.OTHERS,
)
RANDOM_NAMES = Rule(
    "OLMC451",
    Severity.WARNING,
    "This OLM gives random names",
    "Before OLM 0.16.0, as in {version}, names of generated RBAC end in random characters; those shown are made up",
    "Compare everything but the last five characters of these names with a cluster.",
    "Before 0.16.0 the names of generated RBAC ended in five random characters. olmc derives five characters from the "
    "content, so that the same input gives the same output; a cluster has others.",
    found_by=FoundBy.OTHERS,
)
OTHER_RESOLVER = Rule(
    "OLMC452",
    Severity.WARNING,
    "This OLM resolves in another way",
    "Before OLM 0.16.1, as in {version}, versions were chosen by another algorithm than the one that olmc follows",
    "Take the choice of versions as that of OLM 0.16.1 and later, or pin them with startingCSV.",
    "Up to 0.16.0 OLM went from one generation of installed operators to the next; since 0.16.1 a SAT solver chooses. "
    "olmc has the solver. For a simple graph both choose the same.",
    found_by=FoundBy.OTHERS,
)
NOT_REPRODUCED = Rule(
    "OLMC453",
    Severity.INFO,
    "Something of this OLM can't be known offline",
    "OLM {version}: olmc can't reproduce {gap}",
    "olmc version --profile {version} lists all that can't be reproduced.",
    "Some old versions of OLM hashed how Go prints its types, or left things to chance. Such values are left "
    "out or made up, and named here.",
    found_by=FoundBy.OTHERS,
)
VERSION_OF_RENDERING = Rule(
    "OLMC454",
    Severity.ERROR,
    "A rendering has its version of OLM",
    "{side} is a rendering, which was made for one version of OLM",
    "Give the workspace or the bundle that it was made of.",
    "To say what another version of OLM changes, olmc compiles the input once for each, and a rendering is no input.",
    found_by=FoundBy.OTHERS,
)
