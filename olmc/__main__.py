"""`python -m olmc`."""

from olmc.cli.main import run

if __name__ == "__main__":
    run()
