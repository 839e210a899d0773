"""Images: what `olmc vendor` brings, and what is missing without it."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, RuleTag, Severity, SourceFault

MISSING_CATALOG = Rule(
    "OLMC620",
    Severity.WARNING,
    "The content of a catalog is not in the workspace",
    "the content of CatalogSource {namespace}/{name} is not in the workspace: {image}",
    "Run `olmc vendor`, or put its file-based catalog into catalogs/{name}/.",
    "A CatalogSource names an image; only `olmc vendor` reads a registry, so the workspace must contain its content. "
    "OLM does not resolve a namespace that sees an unreadable catalog (R-CAT-163, R-CAT-512).",
    tags=frozenset({RuleTag.OF_REPOSITORY, RuleTag.OUTCOME_UNKNOWN}),
)
CHANGED = Rule(
    "OLMC621",
    Severity.ERROR,
    "Vendored content was changed",
    "{path} is not what was taken out of {image}: its files don't have the digest that olmc.lock says",
    "Run `olmc vendor` to bring it again. To change a bundle, copy it out of vendor/: a bundle of the workspace goes "
    "before a vendored one.",
    "The files in vendor/ represent an image, digest by digest; an edit there would pass as the publisher's work. Git "
    "changes line ends on some machines, which vendor/.gitattributes prevents: commit it too.",
)
ODD_NAME = Rule(
    "OLMC617",
    Severity.ERROR,
    "A name that vendored files don't have",
    "{path} is not what was taken out of {image}: {cause}",
    "Run `olmc vendor` to bring it again, and find out who has put a file with such a name there.",
    "The digest in olmc.lock is made of lines, one for each file. With a line break in its name, one file could pass "
    "as two others, so olmc neither vendors nor installs such files.",
)
FALSE_CONTENT = Rule(
    "OLMC618",
    Severity.ERROR,
    "Vendored content is not the image's",
    "{path} is not what {image} holds, which is {digest}: {problem}",
    "Run `olmc vendor --update` to bring it again, and find out who has changed vendor/ and olmc.lock.",
    "vendor/blobs has the manifest with the digest in olmc.lock, and its layers. olmc unpacks them again, so a "
    "changed file is an error even with a new digest of the content in olmc.lock.",
)
UNPROVEN = Rule(
    "OLMC619",
    Severity.ERROR,
    "Vendored content can't be proven",
    "{path} can't be proven to be what {image} holds: {problem}",
    "Run `olmc vendor --update`, which keeps what proves it.",
    "An older olmc kept only the content and its digest in olmc.lock. To prove that it equals the image, olmc needs "
    "the image's manifest and layers, which newer versions keep in vendor/blobs.",
)
FOREIGN_FOLDER = Rule(
    "OLMC622",
    Severity.ERROR,
    "The folder vendor/ is not olmc's",
    "{path} is there already and olmc did not write it",
    "Move it away, or make the workspace a folder of its own.",
    "`olmc vendor` removes from vendor/ what it no longer needs, so it takes no folder that holds something else, such "
    "as Go's modules.",
    found_by=FoundBy.OTHERS,
)
BAD_REFERENCE = Rule(
    "OLMC623",
    Severity.ERROR,
    "Not an image reference",
    "{image!r} names no image: {cause}",
    "Write it as REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:DIGEST.",
    "Without a registry the image is looked for at docker.io, as a cluster does.",
    found_by=FoundBy.OTHERS,
)
NOT_REACHED = Rule(
    "OLMC624",
    Severity.ERROR,
    "An image can't be fetched",
    "{image} can't be fetched from {place}: {cause}",
    "Try again; or name a mirror in olmc.yaml, or a copy of the image with --from.",
    "The registry does not answer, answers with an error, or stops half-way. olmc has tried several times, waiting "
    "longer each time.",
    found_by=FoundBy.OTHERS,
)
NOT_FOUND = Rule(
    "OLMC625",
    Severity.ERROR,
    "An image does not exist",
    "{image} is not in {place}: {cause}",
    "Correct the reference, or log in: some registries hide what one may not read.",
    "The registry answers, and knows neither the repository nor the tag or digest.",
    found_by=FoundBy.OTHERS,
    cause=SourceFault.NOT_FOUND,
)
DENIED = Rule(
    "OLMC626",
    Severity.ERROR,
    "A registry refuses access",
    "{image} may not be read from {place}: {cause}; {sent}",
    "Log in with `podman login {host}` or `docker login {host}`, or give the file with the credentials as --authfile.",
    "olmc uses the credentials that podman and docker keep, credential helpers included.",
    found_by=FoundBy.OTHERS,
    cause=SourceFault.DENIED,
)
WRONG_DIGEST = Rule(
    "OLMC627",
    Severity.ERROR,
    "Content with the wrong digest",
    "{what} of {image} from {place} is not what its digest says: {expected} was asked for, {found} came",
    "Don't use it: the registry, a mirror or something between is broken or lies. Try another one.",
    "Every manifest and every layer is named by the digest of its bytes, and olmc checks each while it arrives.",
    found_by=FoundBy.OTHERS,
    cause=SourceFault.WRONG_DIGEST,
)
SQLITE = Rule(
    "OLMC628",
    Severity.ERROR,
    "A catalog in the old database format",
    "{image} holds a SQLite database ({path}), not a file-based catalog",
    "Use the file-based catalog that replaced it, or convert it with `opm migrate` and put the outcome into "
    "catalogs/NAME/.",
    "Catalogs used to be databases; opm has deprecated them, and publishers serve file-based catalogs since 2022.",
    found_by=FoundBy.OTHERS,
)
OTHER_KIND = Rule(
    "OLMC629",
    Severity.ERROR,
    "An image that holds something else",
    "{image} is no {wanted}: {cause}",
    "Look at the place where it is named: is it the image of the operator itself, or of something else?",
    "Labels of images of catalogs and bundles give the folder of the content "
    "(operators.operatorframework.io.index.configs.v1, operators.operatorframework.io.bundle.manifests.v1).",
    found_by=FoundBy.OTHERS,
)
NO_PLATFORM = Rule(
    "OLMC630",
    Severity.ERROR,
    "No image for the platform",
    "{image} has no image for {platform}; it has {found}",
    "Choose one with --platform, or in olmc.yaml.",
    "One reference can name images for several platforms. Bundles and catalogs are the same for all of them, but olmc "
    "takes no other than the one it was given, so that the outcome is the same everywhere.",
    found_by=FoundBy.OTHERS,
)
BAD_LAYER = Rule(
    "OLMC631",
    Severity.ERROR,
    "A layer that can't be read",
    "layer {layer} of {image} can't be read: {cause}",
    "The image is broken; tell its publisher. Unpacked by hand, its content can be put into the workspace.",
    "Layers are tar archives, plain or compressed with gzip or zstd. This one has the right digest, so it was made "
    "this way.",
    found_by=FoundBy.OTHERS,
)
UNSAFE_LAYER = Rule(
    "OLMC632",
    Severity.ERROR,
    "An image that is not safe to unpack",
    "{image} is not unpacked: {name}: {cause}",
    "Don't trust this image before its publisher has explained it.",
    "An image is an untrusted archive. olmc takes only regular files out of the folders with the content, follows no "
    "link that leaves them, and refuses paths that climb out of the image.",
    found_by=FoundBy.OTHERS,
)
TOO_MUCH = Rule(
    "OLMC633",
    Severity.ERROR,
    "An image that is too large",
    "{image} is not unpacked: {what} is more than {limit}",
    "If the image is correct, unpack it yourself and put the content into the workspace.",
    "The limits protect the machine from an archive made to fill it; they are far above what operators ship.",
    found_by=FoundBy.OTHERS,
)
OFFLINE = Rule(
    "OLMC634",
    Severity.ERROR,
    "An image that would have to be fetched",
    "{image} is not vendored, and --offline forbids the network",
    "Run `olmc vendor` without --offline, or give a copy of the image with --from.",
    "With --offline, olmc takes images only from vendor/ and from the layouts and archives that it is given.",
    found_by=FoundBy.OTHERS,
)
BAD_LAYOUT = Rule(
    "OLMC635",
    Severity.ERROR,
    "Not an OCI layout",
    "{path} is no OCI layout: {cause}",
    "Make one with `skopeo copy docker://IMAGE oci:FOLDER:TAG` or `podman save --format oci-archive`.",
    "An OCI layout is a folder, or a tar archive of it, with oci-layout, index.json and blobs/.",
    found_by=FoundBy.OTHERS,
)
BAD_AUTH_FILE = Rule(
    "OLMC636",
    Severity.ERROR,
    "Credentials that can't be read",
    "the credentials for {host} can't be read: {path}: {cause}",
    "Log in again, or give another file with --authfile.",
    "Credentials come from the files of podman and docker, or from the credential helpers that these name.",
    found_by=FoundBy.OTHERS,
)
BAD_MIRRORS = Rule(
    "OLMC637",
    Severity.ERROR,
    "A registries.conf that can't be read",
    "{path}: {cause}",
    "Correct the file, or give another one with --registries-conf.",
    "The file lists the mirrors of a registry; see containers-registries.conf(5).",
    found_by=FoundBy.OTHERS,
)
UNRESOLVED = Rule(
    "OLMC638",
    Severity.WARNING,
    "No bundles to vendor for a namespace",
    "{asking} does not resolve, so the bundles for it are not known: {text}",
    "`olmc resolve` explains it.",
    "The resolution decides the necessary bundles: a namespace that can't be resolved has no bundles yet.",
    found_by=FoundBy.OTHERS,
)
BAD_MANIFEST = Rule(
    "OLMC639",
    Severity.ERROR,
    "A manifest that can't be used",
    "the manifest of {image} from {place} can't be used: {cause}",
    "Rebuild or copy the image with a current tool.",
    "olmc reads OCI manifests and indexes, and Docker's of schema 2. Schema 1 is no longer served by registries.",
    found_by=FoundBy.OTHERS,
    cause=SourceFault.BAD_MANIFEST,
)
NOT_WRITTEN = Rule(
    "OLMC640",
    Severity.ERROR,
    "The workspace can't be written",
    "{path} can't be written: {cause}",
    "Free some space, or make the workspace writable.",
    "The workspace is unchanged: olmc writes content next to its place and renames it.",
    found_by=FoundBy.OTHERS,
)
BLOCKED = Rule(
    "OLMC641",
    Severity.ERROR,
    "A registry that is blocked",
    "{image} is not fetched: {path} blocks {prefix}",
    "Use another registry, or change the file.",
    "A registries.conf can forbid registries for everybody on a machine; olmc applies it.",
    found_by=FoundBy.OTHERS,
)
NO_CLIENT = Rule(
    "OLMC642",
    Severity.ERROR,
    "The libraries of olmc vendor are missing",
    "olmc vendor needs {module}, which is not installed",
    "Install it with pip install urllib3 zstandard.",
    "Talking to registries and unpacking images takes libraries that no other command needs. `pip install olmc` brings "
    "them; an installation with --no-deps may lack them.",
    found_by=FoundBy.OTHERS,
)
NOT_VENDORED = Rule(
    "OLMC644",
    Severity.FAILURE,
    "A package that was not vendored",
    "package {package} of catalog {catalog} in {namespace} is not vendored, so {scope} can't be resolved: {asking}",
    "Run `olmc vendor`.",
    "`olmc vendor` keeps of a catalog what the Subscriptions of that time could lead to, and the names of the other "
    "packages with the APIs that they provide. One of these is asked for now; which versions it has is not known.",
)
FROM_FILE = Rule(
    "OLMC645",
    Severity.ERROR,
    "A catalog that came from a file",
    "the content of {image} came from {file}, and is not in vendor/ as it is needed now",
    "Give the file again: `olmc vendor --catalog NAME={file}`; or take the image of the registry: `olmc vendor "
    "--update`.",
    "olmc.lock names the file and the digest of its content, which no registry has. olmc needs the file again if "
    "Subscriptions request other packages, or if vendor/ is missing.",
    found_by=FoundBy.OTHERS,
)
CATALOG_HINT = (
    "Write it with `opm render IMAGE > catalog.json`, or copy the folder /configs out of the image: --catalog takes a "
    "file of JSON or YAML, plain or packed with gzip, or a folder of them."
)
BAD_CATALOG_FILE = Rule(
    "OLMC646",
    Severity.ERROR,
    "A file that can't replace a catalog",
    "{path} can't replace catalog {name}: {cause}",
    "{hint}",
    "With --catalog the content of a file-based catalog replaces the image of a CatalogSource that a namespace with a "
    "Subscription sees.",
    found_by=FoundBy.OTHERS,
)
WITHOUT_CONTENT = Rule(
    "OLMC669",
    Severity.WARNING,
    "A catalog without content in the repository",
    "{number} for catalog {catalog} in {namespace}, which has no content in the repository: {names}",
    "{hint}",
    "The content of a catalog has the versions of its operators. Without it, the result of Subscriptions is "
    "unknown. olmc reports this once for each catalog of a repository.",
    tags=frozenset({RuleTag.OUTCOME_UNKNOWN}),
)
UNKNOWN_CATALOG = Rule(
    "OLMC643",
    Severity.WARNING,
    "A catalog that the workspace does not know",
    "catalog {namespace}/{catalog} is not defined in this workspace; olmc can't resolve these Subscriptions: {names}",
    "{hint}",
    "Clusters have catalogs that your repository does not define. Without their content olmc can't know the "
    "versions of these operators, and every answer about them would be a guess (R-CAT-502). If the workspace has a "
    "catalog of this name in another namespace, or one that is spelled like it, the finding is a failure.",
    tags=frozenset({RuleTag.OF_REPOSITORY, RuleTag.OUTCOME_UNKNOWN}),
)
