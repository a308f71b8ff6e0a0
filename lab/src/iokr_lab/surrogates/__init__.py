"""Regressors on coordinates of an output kernel, compared with the closed form."""
