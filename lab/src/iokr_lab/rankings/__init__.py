"""Rankings of labels predicted from features."""
