"""The commands that iokr-lab adds to `iokr`."""
