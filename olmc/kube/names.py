"""Kubernetes' rules for names and labels, with its messages (empty: nothing is wrong)."""

from __future__ import annotations

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz" + _DIGITS
_ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + _LOWER
KEY_CHARACTERS = _ALPHANUMERIC + "-_."

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


def is_dns1123_label(text: str) -> list[str]:
    """What is wrong with a text as a DNS label, such as a namespace's name: at most 63 of `[-a-z0-9]`."""
    messages = _length(text, 63)
    if not _is_label(text):
        dotted = _is_subdomain(text)
        shape = _shape(_LABEL_RULE, _LABEL, "my-name", "123-abc")
        # What is a subdomain but no label fails for its dots alone; Kubernetes then leaves out the rule.
        messages.append("must not contain dots" if dotted else shape)
    return messages


def is_dns1035_label(text: str) -> list[str]:
    """What is wrong with a text as a label that begins with a letter, such as a Service's name."""
    messages = _length(text, 63)
    if not (_is_label(text) and text[0] not in _DIGITS):
        messages.append(_shape(_LABEL_1035_RULE, _LABEL_1035, "my-name", "abc-123"))
    return messages


def is_dns1123_subdomain(text: str) -> list[str]:
    """What is wrong with a text as a DNS subdomain, like most objects' names: at most 253 of `[-.a-z0-9]`."""
    messages = _length(text, 253)
    if not _is_subdomain(text):
        messages.append(_shape(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return messages


def is_label_value(text: str) -> list[str]:
    """What is wrong with a text as the value of a label: at most 63 of `[-A-Za-z0-9_.]`, maybe none."""
    messages = _length(text, 63)
    if text and not _is_key(text):
        messages.append(_shape(_VALUE_RULE, _VALUE, "MyValue", "my_value", "12345"))
    return messages


def is_qualified_name(text: str) -> list[str]:
    """What is wrong with a text as the key of a label or annotation: a name, maybe after a domain and `/`."""
    prefix, slash, name = text.partition("/")
    if "/" in name:
        # With two slashes nobody knows which part is the name, so Kubernetes judges none of them.
        hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_key_shape()} {hint}"]
    messages: list[str] = []
    if slash:
        wrong = is_dns1123_subdomain(prefix) if prefix else ["must be non-empty"]
        messages += [f"prefix part {message}" for message in wrong]
    else:
        name = prefix
    if not name:
        messages.append("name part must be non-empty")
    messages += [f"name part {message}" for message in _length(name, 63)]
    if not _is_key(name):
        messages.append(f"name part {_key_shape()}")
    return messages


def _key_shape() -> str:
    return _shape(_KEY_RULE, _KEY, "MyName", "my.name", "123-abc")


# What the patterns above say, without compiling them, which takes longer than all names of a bundle.
def _is_label(text: str) -> bool:
    return text[:1] not in ("", "-") and text[-1] != "-" and not text.strip(_LOWER + "-")


def _is_subdomain(text: str) -> bool:
    return all(map(_is_label, text.split(".")))


def _is_key(text: str) -> bool:
    return bool(text) and text[0] in _ALPHANUMERIC and text[-1] in _ALPHANUMERIC and not text.strip(KEY_CHARACTERS)


def _length(text: str, most: int) -> list[str]:
    # Go's strings are bytes, and so are the limits.
    return [f"must be no more than {most} bytes"] if len(text.encode("utf-8", "surrogatepass")) > most else []


def _shape(rule: str, pattern: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {listed}regex used for validation is '{pattern}')"
