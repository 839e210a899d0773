"""The knowledge of an API server without a cluster: how it validates objects, and the texts of its errors.

`validation` takes an object as Go's types keep it and returns the errors of its creation or of its update. `rbac` and
`rbac_access` evaluate the rules of roles and their subjects, and `admission_rules` finds the requests that webhooks
see. `selectors` matches labels, `restmapper` knows kinds, and `applied` measures the fields that clients add to an
object when they apply it.
"""
