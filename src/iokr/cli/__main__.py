"""`python -m iokr.cli` is `iokr`."""

from iokr.cli import main

main()
