"""Any regressor for the coordinates of the outputs."""
