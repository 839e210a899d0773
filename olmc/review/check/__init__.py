"""Find the problems of a directory before a cluster does: `olmc check`.

A compilation with its workspace goes in. Diagnostics come out: those of the compilation, those of the validators of opm
and operator-sdk (`validators`), and further suspicious content (`lints`). Each mistake is reported once and without the
suppressed ones. A compilation never needs this package.

Public names: `engine.check`, all of it; `check.check_directory`, the same for a directory that was compiled;
`check.LINTS`; `validators.validate.validate`.
"""
