"""The command line: one function a command, its options in, one call into olmc, an exit code out.

`main.main` is the group of all commands, whose modules are imported when they are called; `main.exit_code` runs it for
`olmc.__main__`. What commands share is in `options` (options and arguments), `common` (compiling, and what is
reported), `console` (color and progress) and `process` (exit codes and signals). Only the entry points import this
package.
"""
