"""Tables with categories and missing values: read, checked, and encoded as numbers."""
