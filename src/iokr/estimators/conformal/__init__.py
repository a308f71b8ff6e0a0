"""Prediction sets with a guaranteed coverage."""
