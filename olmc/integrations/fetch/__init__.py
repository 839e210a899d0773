"""Images from registries and layouts: the one package that uses the network, and `olmc vendor` alone uses it.

A workspace and a `VendorRequest` go in; `vendor/` and `olmc.lock` are brought up to date, or nothing is changed and the
report says why. `vendor.vendor` is all of it: `needs.needs_of` says which images, `fetch.fetch` gets them by way of
`registry`, `layouts` and `mirrors`, `layers` unpacks them, and `store` puts them into their place.
"""
