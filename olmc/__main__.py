"""`python -m olmc`."""

from olmc.cli.main import main

if __name__ == "__main__":
    main()
