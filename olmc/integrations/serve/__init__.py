"""The extension API server: what `olmc get` shows, for kubectl and other clients of Kubernetes.

A workspace goes in, HTTP comes out. `workspace` compiles it again whenever a file changes, `store.Store` keeps the
states one after the other, `app.application` answers from them, and `server.serve` runs all of it until a signal ends
it.
"""
