"""Checks of user input, in one voice."""
