"""The rules of all findings as constants, one module for each subject; their codes are stable.

Importing a module is all that it takes: `rules.NO_SUCH_PATH.finding(place, ...)` is a diagnostic.
"""
