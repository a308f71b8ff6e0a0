"""Graphs as outputs."""
