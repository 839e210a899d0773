"""What an API server knows without a cluster: how it judges objects, and in which words it refuses them.

`api_validation` takes an object as Go's types keep it and gives the errors that creating it, or putting it in the place
of another one, would end in. `rbac` and `rbac_access` say what the rules of roles allow, and to whom;
`admission_rules` say which requests webhooks see, `selectors` which labels they match, `restmapper` what kinds there
are, and `applied` measures what clients add to an object when they apply it.
"""
