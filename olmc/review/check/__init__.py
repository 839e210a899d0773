"""What is wrong with a directory before a cluster finds out: `olmc check`.

In goes a compilation with its workspace; out come diagnostics: what compiling reported, what the validators of opm and
operator-sdk say (`validators`), what else looks wrong (`lints`), each mistake once and without what is suppressed.
Compiling never needs this package.

Public names: `engine.check`, all of it; `check.check_directory`, the same for a directory that was compiled;
`check.LINTS`; `validators.validate.validate`.
"""
