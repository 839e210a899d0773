"""Rules about what works, or may work, but is hardly what was meant: groups, pins, catalogs, permissions, objects."""

from __future__ import annotations

from olmc.k8s.diagnostics import Missing, Rule, RuleTag, Severity

UNREADABLE_INTERVAL = Rule(
    "OLMC400",
    Severity.WARNING,
    "An interval of a CatalogSource that OLM can't read",
    "CatalogSource {source} is polled every 15 minutes instead of the configured interval: {problem}",
    "Write a number with a unit of ns, us, ms, s, m or h, such as 45m or 24h; there is no unit for days.",
    "OLM takes 15 minutes for an interval that it can't read, and says so in the CatalogSource's status, as "
    "InvalidIntervalError (R-CAT-160).",
)
EMPTY_TARGETS = Rule(
    "OLMC401",
    Severity.WARNING,
    "targetNamespaces is an empty list",
    "OperatorGroup {name}: targetNamespaces is empty, which is the same as not being there: {effect}",
    "Remove the key if you want that, else list the namespaces.",
    "An empty list does not mean no namespaces. The API server drops it, so without a selector the group targets all "
    "namespaces, and a GitOps tool that compares the file with the cluster always finds a difference.",
)
KEPT_APIS = Rule(
    "OLMC402",
    Severity.WARNING,
    "olm.providedAPIs in a file",
    "OperatorGroup {name}: OLM writes the annotation olm.providedAPIs itself and overwrites what stands here",
    "Remove the annotation, or set staticProvidedAPIs: true if the list is to stay as it is.",
    "The annotation says which APIs the members of a group provide, and OLM keeps it up to date. A copy in Git fights "
    "with OLM, and an outdated one can keep an operator of another group from being installed (R-CSV-13).",
)
STARTS_BELOW = Rule(
    "OLMC403",
    Severity.INFO,
    "startingCSV is not a pin",
    "Subscription {name} starts at {starting}, and OLM goes on to {reached} at once",
    "Set installPlanApproval: Manual if {starting} is to stay; olmc resolve --pin does it.",
    "startingCSV says which version is installed first. With automatic approval every upgrade from there is installed "
    "as well.",
)
PIN_OUT_OF_REACH = Rule(
    "OLMC404",
    Severity.WARNING,
    "A pin that can't be reached",
    "Subscription {name}: startingCSV is {starting}, but {why}",
    "Remove startingCSV, or name a version that olmc graph {package} --from {installed} passes.",
    "startingCSV counts only for the first installation. After that OLM follows the channel, so a pin to a version "
    "that no upgrade reaches is without effect, for example to an older one.",
)
DEPRECATED = Rule(
    "OLMC405",
    Severity.WARNING,
    "A Subscription to something deprecated",
    "Subscription {name} uses {what}, which its catalog calls deprecated: {message}",
    "Do what the message advises; olmc graph {package} shows the other channels.",
    "The authors of a catalog mark packages, channels and versions that they will not go on with. OLM installs them "
    "all the same and says so in a condition of the Subscription.",
)
STRANDED = Rule(
    "OLMC406",
    Severity.WARNING,
    "An operator that never gets to the head of its channel",
    "Subscription {name} stays at {installed}: no upgrade leads from there to {head}, the head of channel {channel}",
    "Install {head} again from the start, or change to a channel that continues; olmc graph {package} --from "
    "{installed} shows the way.",
    "Upgrades follow replaces, skips and skipRange. A version without a further upgrade is stranded: OLM reports it "
    "as up to date, and never upgrades it.",
)
STRANDED_VERSIONS = Rule(
    "OLMC407",
    Severity.INFO,
    "Versions of a channel that never get to its head",
    "package {package}, channel {channel}: no upgrade leads to {head} from {names}",
    "Let an entry replace or skip them, or cover them with a skipRange; olmc graph {package} shows the edges.",
    "Clusters with one of these versions get no more upgrades in this channel, and OLM does not report it.",
)
SUBSTITUTED = Rule(
    "OLMC408",
    Severity.WARNING,
    "A text that Flux would change",
    "{text} is a variable for Flux, which {kustomization} tells to substitute; what it does not know becomes an empty "
    "text",
    "Write $${{{name}}}, or annotate the object with kustomize.toolkit.fluxcd.io/substitute: disabled.",
    "With postBuild a Kustomization of Flux replaces every variable in curly brackets in its objects, also in "
    "scripts, descriptions and dashboards that were never meant for it.",
    tags=frozenset({RuleTag.OPEN_VALUE}),
)
SUBSTITUTABLE = Rule(
    "OLMC409",
    Severity.INFO,
    "A text that Flux might change",
    "{text} looks like a variable to Flux; a Kustomization with postBuild would replace it",
    "Should Flux apply it with postBuild, annotate the object with kustomize.toolkit.fluxcd.io/substitute: disabled.",
    "With postBuild a Kustomization of Flux replaces every variable in curly brackets in its objects, also in "
    "scripts, descriptions and dashboards that were never meant for it.",
)
TOO_LARGE_TO_APPLY = Rule(
    "OLMC410",
    Severity.WARNING,
    "An object that kubectl apply refuses",
    "{identity} would have {size:,} bytes of annotations with the copy that kubectl apply keeps in one; {limit:,} are "
    "allowed",
    "Apply it with kubectl apply --server-side, or in Argo CD with the sync option ServerSideApply=true.",
    "Client-side apply stores the whole object in the annotation kubectl.kubernetes.io/last-applied-configuration, and "
    "all annotations of an object together may have 262,144 bytes. OLM itself does not apply objects this way.",
)
LARGE_IN_BUNDLE = Rule(
    "OLMC411",
    Severity.INFO,
    "An object of a bundle that kubectl apply would refuse",
    "{identity} would have {size:,} bytes of annotations with the copy that kubectl apply keeps in one; {limit:,} are "
    "allowed",
    "Without OLM, apply it with --server-side; OLM itself installs it as it is.",
    "Client-side apply stores the whole object in the annotation kubectl.kubernetes.io/last-applied-configuration, and "
    "all annotations of an object together may have 262,144 bytes.",
)
NOT_INSTALLABLE = Rule(
    "OLMC412",
    Severity.FAILURE,
    "A kind that tools accept and OLM does not install",
    "bundle {bundle} holds the {kind} {name}, a kind that OLM does not install: its InstallPlan would fail",
    "Move it out of manifests/ and let the operator create it.",
    "The tools that check bundles accept more kinds than the catalog operator (R-CAT-107). A plan with a step of any "
    "other kind fails before its first step (R-CAT-705).",
)
NO_NAMESPACE = Rule(
    "OLMC413",
    Severity.WARNING,
    "An object of OLM without a namespace",
    "{kind} {name} has no metadata.namespace; olmc treats it as an object of a namespace without a name",
    "Add metadata.namespace, or compile what kustomize build prints if a kustomization.yaml sets it.",
    "OperatorGroups, Subscriptions, CatalogSources and CSVs live in namespaces, and which one decides what they do. "
    "Without it the object ends up wherever it is applied.",
    cause=Missing.NAMESPACE,
    tags=frozenset({RuleTag.OF_REPOSITORY}),
)
WHOLE_CLUSTER = Rule(
    "OLMC414",
    Severity.WARNING,
    "Permissions that are a way to the whole cluster",
    "{csv} could make itself master of the cluster with its permissions: {names}",
    "{why}",
    "OLM grants an operator all permissions that its CSV requests. An attacker who controls an operator with all "
    "permissions, or one that can write roles, impersonate others or make tokens, controls the whole cluster. olmc "
    "rbac shows each of these permissions.",
)
POWERFUL = Rule(
    "OLMC415",
    Severity.INFO,
    "Permissions worth a look",
    "{csv} asks for permissions that are worth a look: {names}",
    "olmc rbac shows each of them; ask for less if you write the bundle.",
    "Wildcards grow with every API that is added to a cluster; secrets, commands in pods and webhooks reach objects "
    "of others. Many operators need some of these permissions, so this is not an error, but worth knowing.",
)
BAD_WAVE = Rule(
    "OLMC416",
    Severity.WARNING,
    "A sync wave that is not a number",
    "{identity}: {text!r} is not an integer, so Argo CD puts the object into wave 0",
    "Write an integer in quotes.",
    "Argo CD applies the objects of an application wave by wave, by the integer in the annotation "
    "argocd.argoproj.io/sync-wave, and silently ignores any other text.",
)
MANY_COPIES = Rule(
    "OLMC417",
    Severity.INFO,
    "Copies of a CSV that take much space",
    "{csv} is copied into {count} namespaces, {size} MB in all",
    "Set spec.features.disableCopiedCSVs of the OLMConfig cluster if your users don't need the copies, or target "
    "fewer namespaces.",
    "OLM puts a copy of an operator's CSV into every namespace that it watches, so that people find it there. The "
    "copies need space in etcd, and in the memory of OLM and of every other client that watches CSVs.",
)
ANNOTATIONS_TOO_LARGE = Rule(
    "OLMC418",
    Severity.FAILURE,
    "Annotations that the API server refuses",
    "the annotations of {identity} have {size:,} bytes, and the API server accepts {limit:,}",
    "Shorten them; in a CSV it is mostly alm-examples.",
    "All annotations of an object together, keys and values, may have 262,144 bytes.",
)
MISSPELT_IN_BUNDLE = Rule(
    "OLMC419",
    Severity.WARNING,
    "A field of a bundle's CSV that is probably misspelt",
    "{csv} has a field {where} that OLM does not know and leaves out{effect}",
    "{hint}",
    "OLM reads the CSV of a bundle into its known fields, in any case of their keys, and ignores the rest "
    "(R-JSON-11). The name is close to a field that is missing here, which was probably meant.",
)
UNKNOWN_IN_BUNDLE = Rule(
    "OLMC420",
    Severity.INFO,
    "A field of a bundle's CSV that OLM does not know",
    "{csv} has a field {where} that {owner} does not know and leaves out{effect}",
    "{hint}",
    "OLM reads the CSV of a bundle into its known fields, and ignores the rest (R-JSON-11). Real bundles carry such "
    "fields for other tools, or by mistake.",
)
LOST_KEY = Rule(
    "OLMC425",
    Severity.WARNING,
    "A key of a bundle's object that is lost",
    "{identity} in the bundle of {csv} has a key {where} that its type does not have, so it is not stored",
    "{hint}",
    "OLM and the API server decode an object into the fields of its type, and drop the rest (R-JSON-11). olmc renders "
    "the stored object. Server-side apply refuses the file as it is: field not declared in schema.",
)
NO_ACCOUNT = Rule(
    "OLMC421",
    Severity.WARNING,
    "A Deployment without its ServiceAccount",
    "Deployment {deployment} of {csv} runs as ServiceAccount {account}, which does not exist in namespace "
    "{namespace}: it gets no pods, and the operator never succeeds",
    "{hint}",
    "OLM creates the ServiceAccounts that permissions and clusterPermissions name, and those that the bundle ships. "
    "Kubernetes makes no pod for an account that does not exist, so the Deployment never becomes available, and OLM "
    "gives the installation up after five minutes and begins again. olmc takes Deployments as available, since only "
    "the cluster can tell; the account may be there already.",
)
DROPPED_PART = Rule(
    "OLMC422",
    Severity.WARNING,
    "A part of a skipRange that OLM ignores",
    "OLM drops {parts} from the skipRange {text!r} of {name} and reads the rest",
    "Complete the comparison, such as '>=1.0.0 <1.2.0', or remove what is left of it.",
    "In the ranges of OLM a part of a single character is left out without a word (R-CAT-453): '>=1.0.0 <' has no "
    "upper end, and covers every later version.",
)
SEVERAL_HOPS = Rule(
    "OLMC423",
    Severity.INFO,
    "An upgrade of several versions at once",
    "Subscription {name} goes from {first} over {between} to {last} without a pause, and OLM can get stuck on the way",
    "Begin at {last}, or set installPlanApproval: Manual and approve a plan when the last version has Succeeded.",
    "OLM plans the next version as soon as the CSV of the last one exists. If a version is replaced before its own "
    "predecessor saw it Succeeded, both stay Replacing, and the namespace can't be resolved any more (`constraints "
    "not satisfiable: @existing/… originate from package …`) until you delete them. It depends on timing, so olmc "
    "can't predict it and shows the result of a successful upgrade.",
)
REFUSED_SOURCE = Rule(
    "OLMC424",
    Severity.FAILURE,
    "A CatalogSource that OLM refuses",
    "OLM refuses CatalogSource {source} (SpecInvalidError): {problem}",
    "Write sourceType: grpc with an image or an address, or sourceType: configmap with the name of a configMap.",
    "OLM checks the spec of a CatalogSource first, and reports errors in the status (R-CAT-161). It never serves such "
    "a catalog, and does not resolve namespaces that see it.",
)
IDLE_SELECTOR = Rule(
    "OLMC426",
    Severity.WARNING,
    "A selector beside targetNamespaces",
    "OperatorGroup {name}: OLM ignores the selector, because targetNamespaces lists the namespaces",
    "Remove the one or the other.",
    "Of both, OLM takes the list (R-OG-1). A namespace that gets the labels of the selector is no target for that.",
)
SELECTS_NOTHING = Rule(
    "OLMC427",
    Severity.WARNING,
    "A selector that matches no namespace",
    "OperatorGroup {name}: no namespace of the workspace has the labels of its selector, so it has no targets",
    "Give a namespace these labels; of one that is in the cluster alone, add the Namespace with its labels.",
    "An operator in a group without targets fails with NoTargetNamespaces (R-CSV-6). olmc knows the labels of those "
    "namespaces alone that the workspace has.",
)
STATIC_WITHOUT_APIS = Rule(
    "OLMC428",
    Severity.WARNING,
    "A static group that names no APIs",
    "OperatorGroup {name} is static and names no APIs, so no operator in it may provide any",
    "List them in the annotation olm.providedAPIs, as Kind.version.group, or remove staticProvidedAPIs.",
    "With staticProvidedAPIs OLM leaves the annotation olm.providedAPIs as it is. A CSV that provides an API that is "
    "not among them fails with CannotModifyStaticOperatorGroupProvidedAPIs (R-CSV-13).",
)
PLAN_WITHOUT_STATUS = Rule(
    "OLMC429",
    Severity.WARNING,
    "An InstallPlan that OLM leaves alone",
    "InstallPlan {name} has no steps in its status, so OLM skips it and does not install its objects",
    "Write a Subscription, for which OLM makes the plan; --approve, or a Subscription without Manual, approves it.",
    "The steps of a plan are in its status, which only OLM's resolver writes. A plan that you create is without "
    "steps, since the API server drops a status on creation, and OLM waits forever.",
)
