"""Rules about catalogs: what makes a catalog one that OLM can't serve, and what is odd about one that it can.

The messages of R-CAT-121 … R-CAT-124 are OLM's own; of several broken rules OLM prints only the first.
"""

from __future__ import annotations

from olmc.k8s.diagnostics import Rule, Severity

_STOPS = "A catalog with such an error is not served at all, so no namespace that sees it can be resolved"
_AGAIN = "opm validate tells the same about the first error only."

NOT_READ = Rule(
    "OLMC200",
    Severity.FAILURE,
    "A file of a catalog is no YAML or JSON",
    "{path} can't be read as part of a catalog: {cause}",
    "Correct the file, or name it in .indexignore if it is not part of the catalog.",
    "Every file below the root of a file-based catalog is part of it, with any name, unless .indexignore "
    f"leaves it out (R-CAT-120). {_STOPS}.",
)
NOT_A_BLOB = Rule(
    "OLMC201",
    Severity.FAILURE,
    "A document of a catalog is not a mapping",
    "{prefix}{cause}",
    "Remove the document, or name its file in .indexignore.",
    f"Every document of a file-based catalog is a mapping with a schema (R-CAT-121). {_STOPS}.",
)
SAME_KEYS = Rule(
    "OLMC202",
    Severity.FAILURE,
    "Keys that differ only in case",
    "{prefix}{cause}",
    "Keep one of the keys.",
    "Catalogs are read without regard to the case of keys, so these two are the same to OLM (R-CAT-121).",
)
NOT_TEXT = Rule(
    "OLMC203",
    Severity.FAILURE,
    "A name that is not a text",
    "{prefix}expected value for key {key} to be a string, got {value}",
    "Put the value in quotes.",
    "The keys schema, package and name hold text; YAML reads 1.0 as a number and yes as a boolean (R-CAT-121).",
)
NO_SCHEMA = Rule(
    "OLMC204",
    Severity.FAILURE,
    "A document without schema",
    "object '{object}' is missing root schema field",
    "Add schema: olm.package, olm.channel, olm.bundle or olm.deprecations.",
    f"The schema is the type of a document of a catalog (R-CAT-121). {_STOPS}.",
)
BAD_BLOB = Rule(
    "OLMC205",
    Severity.FAILURE,
    "A document does not have the shape of its schema",
    "parse {what}: {cause}",
    "Give the field the type that the message names{quotes}.",
    f"OLM decodes each document into a fixed structure (R-CAT-122). {_STOPS}.",
)
PACKAGE_WITHOUT_NAME = Rule(
    "OLMC206",
    Severity.FAILURE,
    "A package without a name",
    "config contains package with no name",
    "Add name.",
    f"Channels, bundles and Subscriptions refer to a package by its name (R-CAT-124). {_AGAIN}",
)
SAME_PACKAGE = Rule(
    "OLMC207",
    Severity.FAILURE,
    "The same package twice",
    "duplicate package {package}",
    "Remove one of the two olm.package documents.",
    "A catalog describes each package once; files of one catalog are read together (R-CAT-124).",
)
BAD_PACKAGE_NAME = Rule(
    "OLMC208",
    Severity.FAILURE,
    "A package name that Kubernetes refuses",
    "invalid package name {package}: [{cause}]",
    "Choose a name of lower-case letters, digits and dashes.",
    "The name becomes the name of a PackageManifest and part of labels (R-CAT-124).",
)
CHANNEL_OF_UNKNOWN_PACKAGE = Rule(
    "OLMC209",
    Severity.FAILURE,
    "A channel of a package that is not there",
    "unknown package {package} for channel {channel}",
    "Correct package, or add the olm.package.",
    "A channel belongs to a package of the same catalog (R-CAT-124).",
)
CHANNEL_WITHOUT_NAME = Rule(
    "OLMC210",
    Severity.FAILURE,
    "A channel without a name",
    "package {package} contains channel with no name",
    "Add name.",
    "Subscriptions choose a channel by its name (R-CAT-124).",
)
SAME_CHANNEL = Rule(
    "OLMC211",
    Severity.FAILURE,
    "The same channel twice",
    "package {package} has duplicate channel {channel}",
    "Put the entries of both into one olm.channel.",
    "A channel is described by one document (R-CAT-124).",
)
SAME_ENTRY = Rule(
    "OLMC212",
    Severity.FAILURE,
    "The same entry twice in a channel",
    "invalid package {package}, channel {channel}: duplicate entry {entry}",
    "Keep one entry with the edges of both.",
    "An entry lists the bundles that one bundle replaces and skips in this channel (R-CAT-124).",
)
BUNDLE_WITHOUT_PACKAGE = Rule(
    "OLMC213",
    Severity.FAILURE,
    "A bundle without a package",
    "package name must be set for bundle {bundle}",
    "Add package.",
    "A bundle belongs to a package of the same catalog (R-CAT-124).",
)
BUNDLE_OF_UNKNOWN_PACKAGE = Rule(
    "OLMC214",
    Severity.FAILURE,
    "A bundle of a package that is not there",
    "unknown package {package} for bundle {bundle}",
    "Correct package, or add the olm.package.",
    "A bundle belongs to a package of the same catalog (R-CAT-124).",
)
SAME_BUNDLE = Rule(
    "OLMC215",
    Severity.FAILURE,
    "The same bundle twice",
    "package {package} has duplicate bundle {bundle}",
    "Keep one of the two; a bundle may be an entry of several channels.",
    "Bundles are described once a package, regardless of their channels (R-CAT-124).",
)
BAD_PROPERTY = Rule(
    "OLMC216",
    Severity.FAILURE,
    "A property that can't be read",
    "parse properties for bundle {bundle}: {cause}",
    "Give the value the shape that its type asks for.",
    "The types that OLM knows have values of a fixed shape (R-CAT-125); others may hold anything.",
)
PACKAGE_PROPERTIES = Rule(
    "OLMC217",
    Severity.FAILURE,
    "A bundle needs one property olm.package",
    'package {package} bundle {bundle} must have exactly 1 "olm.package" property, found {count}',
    "Keep one property olm.package with packageName and version.",
    "The property olm.package gives the bundle its version (R-CAT-124).",
)
OTHER_PACKAGE = Rule(
    "OLMC218",
    Severity.FAILURE,
    "A bundle whose property names another package",
    'package {package} does not match "olm.package" property {other}',
    "Make package and the packageName of the property olm.package the same.",
    "Both say which package the bundle belongs to (R-CAT-124).",
)
BAD_PULL_SPEC = Rule(
    "OLMC219",
    Severity.FAILURE,
    "Not an image",
    "package {package} bundle {bundle} {where}: invalid image pull spec {image}: {cause}",
    "Write registry/repository:tag or registry/repository@sha256:…, without a scheme like https:// or oci://.",
    "One bad reference, also among relatedImages, makes the whole catalog unusable (R-CAT-124).",
)
BAD_VERSION = Rule(
    "OLMC220",
    Severity.FAILURE,
    "Not a version",
    "error parsing bundle {bundle} version {version}: {cause}",
    "Write a semantic version with all three numbers, without a leading v.",
    "Versions of bundles are semantic versions in their strict form (R-CAT-124, R-CAT-450).",
)
BAD_RELEASE = Rule(
    "OLMC221",
    Severity.FAILURE,
    "Not a release",
    "error parsing bundle {bundle} release version {release}: {cause}",
    "Write up to 20 characters: parts of letters, digits and dashes, separated by dots.",
    "A release orders bundles of the same version (R-CAT-127).",
)
BUNDLE_IN_NO_CHANNEL = Rule(
    "OLMC222",
    Severity.FAILURE,
    "A bundle that is in no channel",
    "package {package}, bundle {bundle} not found in any channel entries",
    "Add it to the entries of a channel, or remove the bundle.",
    "OLM can't install a bundle without a channel, so it rejects the catalog (R-CAT-124).",
)
ENTRIES_WITHOUT_BUNDLE = Rule(
    "OLMC223",
    Severity.FAILURE,
    "Entries without a bundle",
    "no olm.bundle blobs found in package {package} for olm.channel entries [{entries}]",
    "Add the olm.bundle documents, or remove the entries; a replaced or skipped name needs no entry of its own.",
    "Every entry of a channel names a bundle of the package (R-CAT-124).",
)
DEPRECATION_WITHOUT_PACKAGE = Rule(
    "OLMC224",
    Severity.FAILURE,
    "Deprecations without a package",
    "package name must be set for deprecation item {index}",
    "Add package.",
    "Deprecations belong to a package (R-CAT-124).",
)
DEPRECATION_OF_UNKNOWN_PACKAGE = Rule(
    "OLMC225",
    Severity.FAILURE,
    "Deprecations of a package that is not there",
    "cannot apply deprecations to an unknown package {package}",
    "Correct package.",
    "Deprecations belong to a package of the same catalog (R-CAT-124).",
)
SECOND_DEPRECATIONS = Rule(
    "OLMC226",
    Severity.FAILURE,
    "More than one olm.deprecations",
    "expected a maximum of one deprecation per package: {package}",
    "Put the entries of both into one document.",
    "A package has at most one document of deprecations (R-CAT-124).",
)
DEPRECATION_WITHOUT_SCHEMA = Rule(
    "OLMC227",
    Severity.FAILURE,
    "A deprecation without a schema",
    "schema must be set for deprecation entry [{index}] for package {package}",
    "Add reference.schema: olm.package, olm.channel or olm.bundle.",
    "The reference names the deprecated item (R-CAT-124).",
)
SAME_DEPRECATION = Rule(
    "OLMC228",
    Severity.FAILURE,
    "The same thing deprecated twice",
    "duplicate deprecation entry {reference} for package {package}",
    "Keep one of the entries.",
    "A package, channel or bundle is deprecated once, with one message (R-CAT-124).",
)
DEPRECATED_BUNDLE_UNKNOWN = Rule(
    "OLMC229",
    Severity.FAILURE,
    "A deprecated bundle that is not there",
    "cannot deprecate bundle {name} for package {package}: bundle not found",
    "Correct the name, or remove the entry.",
    "Only what the catalog has can be deprecated (R-CAT-124).",
)
DEPRECATED_CHANNEL_UNKNOWN = Rule(
    "OLMC230",
    Severity.FAILURE,
    "A deprecated channel that is not there",
    "cannot deprecate channel {name} for package {package}: channel not found",
    "Correct the name, or remove the entry.",
    "Only what the catalog has can be deprecated (R-CAT-124).",
)
DEPRECATED_PACKAGE_NAMED = Rule(
    "OLMC231",
    Severity.FAILURE,
    "A deprecated package with a name",
    "package name must be empty for deprecated package {package} (specified {name})",
    "Remove reference.name; the document's own package is meant.",
    "The reference to the package itself has no name (R-CAT-124).",
)
DEPRECATED_SCHEMA_UNKNOWN = Rule(
    "OLMC232",
    Severity.FAILURE,
    "Something that can't be deprecated",
    "cannot deprecate object {reference} referenced by entry {index} for package {package}: object schema unknown",
    "Write olm.package, olm.channel or olm.bundle into reference.schema.",
    "You can deprecate only packages, channels and bundles (R-CAT-124).",
)


def _in_tree(code: str, title: str, hint: str, explanation: str) -> Rule:
    return Rule(code, Severity.FAILURE, title, "{where}: {problem}", hint, f"{explanation} (R-CAT-126). {_STOPS}.")


NO_DEFAULT_CHANNEL = _in_tree(
    "OLMC233",
    "A package without a default channel",
    "Add defaultChannel with the name of one of the package's channels.",
    "A Subscription that names no channel follows the default one",
)
NO_CHANNELS = _in_tree(
    "OLMC234",
    "A package without channels",
    "Add an olm.channel for the package.",
    "Without a channel, OLM can't install the package",
)
EMPTY_CHANNEL = _in_tree(
    "OLMC235",
    "A channel without bundles",
    "Add entries, or correct defaultChannel if that is where the name stands.",
    "A default channel that is not defined counts as an empty one",
)
BROKEN_GRAPH = _in_tree(
    "OLMC236",
    "A channel whose update graph has no single chain",
    "Leave exactly one entry that no other entry replaces or skips, and reach or skip every other one from it.",
    "From its one head a channel must lead down through replaces to every entry that is not skipped (R-CAT-400)",
)
SAME_VERSIONS = _in_tree(
    "OLMC237",
    "Several bundles of one version",
    "Give each bundle of a package a version of its own.",
    "Versions are compared across all channels of a package",
)
NAME_WITHOUT_RELEASE = _in_tree(
    "OLMC238",
    "A name that does not go with its release",
    "Name the bundle as the message says.",
    "A bundle with a release is named after package, version and release",
)
EMPTY_SKIP = _in_tree("OLMC239", "An empty name in skips", "Remove the empty item.", "skips holds the names of bundles")
BAD_SKIP_RANGE = _in_tree(
    "OLMC240",
    "A skipRange that is not a range",
    "Write comparisons separated by blanks, such as '>=1.0.0 <1.4.0'; there is no ~, ^, comma or missing number.",
    "Ranges have the grammar of blang/semver (R-CAT-453)",
)
NO_BUNDLE_IMAGE = _in_tree(
    "OLMC241",
    "A bundle without content",
    "Add image, or properties olm.bundle.object with the bundle's objects.",
    "OLM must know where the objects of a bundle are",
)
NO_DEPRECATION_MESSAGE = _in_tree(
    "OLMC242",
    "A deprecation without a message",
    "Add message: what users should do instead.",
    "The message is all that users see of a deprecation",
)
BUILD_WITH_RELEASE = _in_tree(
    "OLMC243",
    "Build metadata beside a release",
    "Remove what follows the + in the version.",
    "The release takes the place that build metadata had",
)
BUNDLE_WITHOUT_NAME = _in_tree(
    "OLMC244",
    "A bundle without a name",
    "Add name: the name of the bundle's CSV.",
    "Entries of channels refer to a bundle by its name",
)
BAD_TEMPLATE = Rule(
    "OLMC245",
    Severity.FAILURE,
    "A catalog template that can't be expanded",
    "{cause}",
    "Correct the template; the documentation of opm's templates lists the fields.",
    "Templates are turned into a file-based catalog the way opm does it (R-CAT-130 … R-CAT-132).",
)
TEMPLATE_BUNDLE = Rule(
    "OLMC246",
    Severity.WARNING,
    "A bundle of a template that is not in the workspace",
    "bundle content for {image} is not available offline",
    "Run `olmc vendor`, or unpack the image into the workspace and name that folder.",
    "A template names bundles by image; only `olmc vendor` reads a registry (R-CAT-164). Until then olmc does not know "
    "the catalog that a pipeline makes of the template.",
)
BAD_PACKAGE_MANIFESTS = Rule(
    "OLMC247",
    Severity.FAILURE,
    "Package manifests without a usable graph",
    "{cause}",
    "Correct the package file or the CSV that the message names.",
    "In the old format the update graph comes from currentCSV and from replaces and skips of the CSVs "
    "(R-CAT-140, R-CAT-141).",
)
SUBSTITUTES_FOR = Rule(
    "OLMC248",
    Severity.FAILURE,
    "A CSV that substitutes for another",
    "SubstitutesFor is an alpha-only feature. You must enable alpha features with the flag --enable-alpha in "
    "order to use this feature.",
    "Set enableAlpha: true in olmc.yaml, or use a file-based catalog with explicit edges (the substitutes template "
    "writes them).",
    "The annotation olm.substitutesFor means something only in package manifests and in bundles that no catalog names, "
    "and only where the registry ran with --enable-alpha (R-CAT-142, R-CAT-345). ConfigMaps never have it.",
)
BAD_CONFIGMAP = Rule(
    "OLMC249",
    Severity.FAILURE,
    "A ConfigMap that is not a catalog",
    "{cause}",
    "Correct data.customResourceDefinitions, data.clusterServiceVersions and data.packages; each holds a YAML list.",
    "A CatalogSource of type configmap reads these three keys (R-CAT-150).",
)
BAD_BUNDLE_LIST = Rule(
    "OLMC250",
    Severity.FAILURE,
    "Bundles that make no catalog",
    "{cause}",
    "Correct the bundle that the message names, or write a file-based catalog with explicit edges.",
    "Without a catalog the channels follow from the bundles' annotations and versions (R-CAT-144).",
)
BAD_OBJECT = Rule(
    "OLMC251",
    Severity.FAILURE,
    "An inline object that can't be read",
    "read bundle objects: package {package}, bundle {bundle}: {cause}",
    "Put the base 64 text of one YAML or JSON manifest into data.",
    "Properties olm.bundle.object hold the manifests of a bundle (R-CAT-122); OLM decodes them when it loads the "
    "catalog, olmc when they are needed.",
)
SEVERAL_METADATA = Rule(
    "OLMC252",
    Severity.FAILURE,
    "More than one olm.csv.metadata",
    'parse properties: expected at most 1 property of type "olm.csv.metadata", found {count}',
    "Keep one of the properties.",
    "The property replaces the CSV of a bundle in PackageManifests (R-CAT-123).",
)
LABEL_DEPENDENCY = Rule(
    "OLMC253",
    Severity.WARNING,
    "A label that was meant as a requirement",
    "bundle {bundle} depends on label {label}, which becomes a label of its own in a catalog, no requirement",
    "Require it with an olm.constraint instead.",
    "opm copies dependencies of type olm.label as properties of that type, which satisfies the requirement "
    "instead of making it (R-CAT-300).",
)
UNREAD_PROPERTIES = Rule(
    "OLMC254",
    Severity.WARNING,
    "An annotation olm.properties that is not a list",
    "failed to unmarshal csv annotation properties: {cause}",
    "Move the properties to metadata/properties.yaml.",
    "The annotation holds a JSON list of type and value; anything else is ignored (R-CAT-300).",
)
SAME_GVK = Rule(
    "OLMC255",
    Severity.WARNING,
    "The same API twice in one bundle",
    "package {package} bundle {bundle} has the property olm.gvk {api} twice and can't be installed",
    "Remove one of the two.",
    "OLM allows one provider of an API and counts this bundle as two of them (R-CAT-545).",
)
BAD_DEPENDENCY = Rule(
    "OLMC256",
    Severity.FAILURE,
    "A property or dependency of a bundle that can't be read",
    "error converting properties for internal model: {cause}",
    "Give the value the shape that its type asks for.",
    "metadata/properties.yaml and metadata/dependencies.yaml become properties of the bundle (R-CAT-300).",
)
EMPTY_DOCUMENT = Rule(
    "OLMC257",
    Severity.WARNING,
    "An empty document in a catalog",
    "{path} holds an empty document",
    "Remove the last line ---.",
    "To opm an empty document is an object without a schema, which can keep the whole catalog from being served "
    "(R-CAT-121); olmc leaves it out.",
)
DROPPED_VERSIONS = Rule(
    "OLMC259",
    Severity.WARNING,
    "Versions of a package that no channel has",
    "package {package} has versions outside of its channels, since no version replaces or skips them: {names}",
    "Let a later version replace or skip them. With `updateGraph: semver-mode` in the ci.yaml of the package, or "
    "`bundleEdges: semver` in olmc.yaml, the order of the versions makes the graph.",
    "Of bundles without a catalog the highest version of each channel is its head, and a channel has what its head "
    "replaces and skips in turn. OLM can neither install other versions nor upgrade from them (R-CAT-141, R-CAT-144).",
)
UNREACHED_VERSION = Rule(
    "OLMC258",
    Severity.INFO,
    "A version of package manifests outside of its channels",
    "{bundle} is in no channel: from no channel's currentCSV does replaces or skips lead to it",
    "Let the next version replace or skip it; a patch release has to replace, or skip, all those before it.",
    "Package manifests have no list of entries: a channel is its head and the versions that it replaces and skips in "
    "turn. OLM can neither install other versions nor upgrade from them (R-CAT-141).",
)
