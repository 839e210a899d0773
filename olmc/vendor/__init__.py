"""Images from registries and layouts: the one room that uses the network, and `olmc vendor` alone uses it."""
