"""Rules about the sides of a comparison."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

NO_SUCH_SIDE = Rule(
    "OLMC480",
    Severity.ERROR,
    "A side of the comparison does not exist",
    "{side} does not exist",
    "Give the path of a workspace, of a bundle, of a rendering, or git:REF[:PATH]; with --allow-empty a side that does "
    "not exist counts as empty.",
    "olmc diff compares two sides. One that does not exist is refused, since comparing with nothing looks as if "
    "everything were new.",
    found_by=FoundBy.OTHERS,
)
EMPTY_SIDE = Rule(
    "OLMC481",
    Severity.ERROR,
    "A side of the comparison has no objects",
    "{side} gives no objects",
    "Is it the right path? With --allow-empty a side without objects is no error.",
    "A side without objects makes everything look new, or gone, and mostly is a path that was mistyped.",
    found_by=FoundBy.OTHERS,
)
NO_GIT = Rule(
    "OLMC482",
    Severity.ERROR,
    "git can't answer",
    "{side} can't be read: {problem}",
    "Run olmc inside of a clone, with git installed, or give a path.",
    "git:REF:PATH is read from the repository that the current directory is in, with git itself.",
    found_by=FoundBy.OTHERS,
)
UNKNOWN_REF = Rule(
    "OLMC483",
    Severity.ERROR,
    "git does not know a revision",
    "git knows no {ref} in this repository",
    "{hint}",
    "The revision has to be in the clone: CI systems often fetch one commit only, and branches of the remote are "
    "called origin/NAME.",
    found_by=FoundBy.OTHERS,
)
UNKNOWN_PATH = Rule(
    "OLMC484",
    Severity.ERROR,
    "A revision has no such path",
    "{ref} has no {path}",
    "Paths are those from the top of the repository, or begin with ./; with --allow-empty a path that does not exist "
    "counts as empty.",
    "As in `git show REF:PATH`, a path counts from the top of the repository.",
    found_by=FoundBy.OTHERS,
)
ODD_PATH = Rule(
    "OLMC485",
    Severity.ERROR,
    "A revision has a path that can't be a file",
    "{ref} has a file called {path}, which can't be written below a folder",
    "Such trees are not made by git itself; look at who made this one.",
    "A tree in git can name files with `..` or `.git` in their paths. Writing them would leave the folder.",
    found_by=FoundBy.OTHERS,
)
LFS_POINTER = Rule(
    "OLMC486",
    Severity.ERROR,
    "A file is in Git LFS",
    "{path} is a pointer of Git LFS; its content is not in the repository",
    "Check the revision out beside this one (git worktree add ../old {ref}) and give its path, or leave the file out "
    "with .olmcignore.",
    "olmc reads what git has, without a network; the content of files in Git LFS is elsewhere.",
    found_by=FoundBy.OTHERS,
)
SUBMODULE = Rule(
    "OLMC487",
    Severity.WARNING,
    "A submodule is not read",
    "{path} is a submodule; what is in it is not compared",
    "Check the revision out with its submodules (git worktree add ../old {ref}) and give its path.",
    "A submodule is another repository; the one at hand has only the name of its commit.",
    found_by=FoundBy.OTHERS,
)
