"""Any regressor on coordinates of an output kernel, beside the closed form."""
