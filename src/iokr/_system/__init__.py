"""The machine: memory, files, folders, the compiler."""
