"""Multi-task regression: activity of molecules against cancer cell lines."""
