"""Go's encoding/json, over tables of the types that Kubernetes, OLM and catalogs decode (`types/`).

A JSON value and the name of a Go type go in. `decode` returns the value as Go keeps it, in the order of the fields. It
raises DecodeError with Go's words and the path of the wrong value. `encode` returns the bytes that Go writes, and
`unknown_keys` the keys that Go drops.

The names of fields count in any case unless `exact` is asked for: encoding/json folds keys, and OLM decodes catalogs,
properties and manifests with it; the API server decodes with sigs.k8s.io/json, which does not.
"""

from olmc.k8s.gojson.decode_errors import (
    DecodeError,
    Path,
    decode_failure,
    decode_hint,
    fold,
    match_keys,
    mismatch_text,
    unknown_keys,
)
from olmc.k8s.gojson.decoder import decode, decode_error, encode, encode_decoded, encode_plain, unmarshal
from olmc.k8s.gojson.scalars import canonical_base64, json_kind

__all__ = [
    "DecodeError",
    "Path",
    "canonical_base64",
    "decode",
    "decode_error",
    "decode_failure",
    "decode_hint",
    "encode",
    "encode_decoded",
    "encode_plain",
    "fold",
    "json_kind",
    "match_keys",
    "mismatch_text",
    "unknown_keys",
    "unmarshal",
]
