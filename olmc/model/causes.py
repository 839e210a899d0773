"""Why something is wrong, as data: whoever has to decide goes by this, since codes and messages are for people."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Missing(Enum):
    """What is not there and would have to be."""

    CSV = "a CSV in a bundle"
    ANNOTATIONS = "the annotations of a bundle"
    NAMESPACE = "the namespace of an object"


class LockFault(Enum):
    """Why a lock does not hold."""

    UNMET = "the workspace needs something else than what is locked"
    CHANGED = "what is locked is no longer what it was"


class SourceFault(Enum):
    """Why an image is not had from a source, what says most about it first."""

    WRONG_DIGEST = "the source has something else under this digest"
    BAD_MANIFEST = "the source has a manifest that can't be used"
    DENIED = "the source wants to know who asks"
    NOT_FOUND = "the source does not have it"


class PlanFault(Enum):
    """Why an InstallPlan is not carried out, or not to its end."""

    UNMANAGED = "its namespace has no OperatorGroup that manages it (R-CAT-604)"
    NO_TOKEN = "OLM has no token for the ServiceAccount of the group"
    FORBIDDEN = "the ServiceAccount of the group lacks rights, for which OLM tries again for ever (D23)"
    UNSUPPORTED_KIND = "OLM does not install objects of the step's kind (R-CAT-705)"


class DecodeFailure(NamedTuple):
    """A text or a value that a decoder refuses, with the decoder's words."""

    message: str


class RefusedObject(NamedTuple):
    """An object that the API server refuses."""

    kind: str
    name: str


class OversizedAnnotations(NamedTuple):
    """An object that has too many bytes of annotations once `kubectl apply` has put a copy of it into one."""

    kind: str


Mistake = Missing | DecodeFailure | OversizedAnnotations
"""What is wrong with the input itself, so that whoever comes upon it at the same place means the same."""

Cause = Mistake | LockFault | SourceFault | PlanFault | RefusedObject
