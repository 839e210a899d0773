"""Many clusters in one repository: which of them a change touches, and what happens in each, compiled once where they
are alike."""
