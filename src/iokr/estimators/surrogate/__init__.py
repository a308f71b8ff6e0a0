"""Any regressor on coordinates of an output kernel."""
