"""The APIs that OLM's design documents propose: what olmc makes of them."""
