"""The command line: one function a command, its options in, one call into olmc, an exit code out.

`main.main` is the group of all commands, whose modules are imported when they are called. `olmc.__main__` runs it and
ends the process. Commands share `options` (options and arguments) and `console` (color, progress, exit codes and
signals). Only the entry points import this package.
"""
