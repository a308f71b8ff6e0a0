"""What the library asks of the machine: memory, files, folders, the compiler."""
