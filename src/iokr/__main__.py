"""`python -m iokr` is the command `iokr`, also where the folder of commands is not on the PATH."""

from iokr.cli import main

if __name__ == "__main__":
    main()
