"""The extension API server: what `olmc get` shows, for kubectl and other clients of Kubernetes."""
