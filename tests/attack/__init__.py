"""Attacks: odd inputs of every kind, crossed with every public callable, each in a process of its own.

`targets` finds what can be called, `values` and `containers` spoil or repack one argument at a time, `relations` says
what must not change; `server` runs a case in a child with limits of time and memory, and `judge` names the outcome.
`make attack` runs all of them, `make test` a sample.
"""
