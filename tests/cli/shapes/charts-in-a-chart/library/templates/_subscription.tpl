{{- define "library.subscription" -}}
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
spec:
  channel: stable
  name: {{ .name }}
  source: redhat-operators
  sourceNamespace: openshift-marketplace
{{- end }}
