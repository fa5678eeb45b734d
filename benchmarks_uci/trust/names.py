"""Names that results and report share. Importing them loads neither torch nor the package."""

OURS, CLASSIFIER, COMPARISON = "deltauq", "deltauq-classifier", "bayesian-ridge"
SMALL = "small"
