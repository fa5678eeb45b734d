"""What the public estimators share: checks, the atomic `fit`, and prediction in chunks."""
