"""The meaning of a compilation for people: findings, changes, plans, permissions, graphs, reports, migrations."""
