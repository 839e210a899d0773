"""Run a program of others, or Helm as a library, with less than this process may do: the script of a sub-process.

    python -I locked_down.py exec PROGRAM ARGUMENT...
    python -I locked_down.py helm FOLDER

Before anything of others runs, the process gives up the network, as far as the system lets it, and gets bounds for
memory, time and the size of files. The second form reads a request as JSON from stdin and has the Python package
`helm_python`, which is in FOLDER, render a chart; it prints a list of names and texts as JSON, or a message on stderr.

It imports nothing of olmc, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

MEMORY = 4 * 1024**3
"""The largest number of bytes of memory, reserved addresses included."""

CPU_SECONDS = 60
_FILE_BYTES = 512 * 1024**2
# Of unshare(2): a user namespace, in which anybody may have a network namespace, in which there is no network.
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000


def give_up_rights() -> None:
    """No network, and bounds for what is used; what a system does not know is left as it is."""
    with suppress(OSError, AttributeError, ValueError):  # without the module it has no such attribute
        bounds = ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_CORE, 0),
                  (resource.RLIMIT_FSIZE, _FILE_BYTES))  # fmt: skip
        for which, most in bounds:
            resource.setrlimit(which, (most, most))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            import ctypes

            unshare = ctypes.CDLL(None).unshare
            # Root needs no user namespace, and may not be allowed one.
            if unshare(_NEW_NETWORK) != 0:
                unshare(_NEW_USER | _NEW_NETWORK)


def rendered(request: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the library's rendering of a chart: names as Helm has them (`chart/templates/a.yaml`), each with its
    text."""
    from helm_python import _native  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from helm_python.chart import Chart  # type: ignore[import-not-found, import-untyped, unused-ignore]

    values = request["values"]
    for function, text in (("helm_strvals_parse", request["set"]), ("helm_strvals_parse_string", request["texts"])):
        if text:
            values = merged(values, json.loads(_native.call_string(function, text)))
    options = {key: request[key] for key in ("name", "namespace", "kube_version", "api_versions")}
    with Chart.load(request["chart"]) as chart:
        crds = chart.crds if request["crds"] else []
        # The package's own function lacks two of the options that the library has.
        text = _native.call_string("helm_render", chart._raw(), json.dumps(values), json.dumps(options))
    return [*((crd["filename"], crd["data"]) for crd in crds), *json.loads(text).items()]


def merged(below: Any, above: Any) -> Any:
    """Values with others over them, as Helm lays files of values over each other."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return {**below, **{key: merged(below[key], value) if key in below else value for key, value in above.items()}}


def _main(kind: str, *arguments: str) -> int:
    give_up_rights()
    if kind == "exec":
        os.execv(arguments[0], arguments)
    sys.path.append(arguments[0])
    request = json.load(sys.stdin)
    try:
        print(json.dumps(rendered(request)))
    except Exception as error:  # the library may raise any error
        print(str(error) or type(error).__name__, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
