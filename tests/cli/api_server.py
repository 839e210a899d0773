"""An API server that only tells what it holds: as much of one as kubectl needs to list objects."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CONFIG = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{{name: here, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
contexts: [{{name: here, context: {{cluster: here, user: me}}}}]
users: [{{name: me, user: {{}}}}]
"""


def _resources(objects: Iterable[dict[str, Any]]) -> dict[str, dict[str, tuple[str, bool]]]:
    """The kinds by apiVersion, each with its plural and whether it has namespaces."""
    served: dict[str, dict[str, tuple[str, bool]]] = {}
    for obj in objects:
        kind = obj["kind"]
        plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
        served.setdefault(obj["apiVersion"], {})[kind] = (plural, "namespace" in obj["metadata"])
    return served


def answers(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """What the server says, by path."""
    served = _resources(objects)
    groups: dict[str, list[dict[str, str]]] = {}
    said: dict[str, Any] = {"/api": {"kind": "APIVersions", "versions": ["v1"]}}
    for api, kinds in served.items():
        base = f"/apis/{api}" if "/" in api else f"/api/{api}"
        verbs = {"verbs": ["get", "list"]}
        rows = [
            {"name": plural, "singularName": kind.lower(), "kind": kind, "namespaced": namespaced, **verbs}
            for kind, (plural, namespaced) in kinds.items()
        ]  # fmt: skip
        said[base] = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api, "resources": rows}
        if "/" in api:
            group, _, version = api.partition("/")
            groups.setdefault(group, []).append({"groupVersion": api, "version": version})
        for kind, (plural, _) in kinds.items():
            items = [obj for obj in objects if (obj["apiVersion"], obj["kind"]) == (api, kind)]
            said[f"{base}/{plural}"] = {"kind": f"{kind}List", "apiVersion": api, "metadata": {}, "items": items}
            for obj in items:
                name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace")
                said[f"{base}/namespaces/{namespace}/{plural}/{name}" if namespace else f"{base}/{plural}/{name}"] = obj
    named = [{"name": name, "versions": all_, "preferredVersion": all_[-1]} for name, all_ in groups.items()]
    return {**said, "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}}


@contextmanager
def cluster(objects: list[dict[str, Any]], folder: Path) -> Iterator[dict[str, str]]:
    """A cluster with these objects, as the environment in which kubectl talks to it."""
    said = answers(objects)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            value = said.get(self.path.partition("?")[0])
            failure = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            body = json.dumps(value or failure).encode()
            self.send_response(200 if value else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        config = folder / "kubeconfig"
        config.write_text(CONFIG.format(port=server.server_address[1]), encoding="utf-8")
        yield {"PATH": os.environ["PATH"], "KUBECONFIG": str(config), "HOME": str(folder)}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def shell(script: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", script], env=environment, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
