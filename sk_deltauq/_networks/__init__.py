"""Networks in plain torch: embeddings, stacked layers, and heads.

Nothing here knows skorch or scikit-learn. Samples are the last axis, `(member, feature, sample)`:
matrix products with one or two output rows are then several times faster, and biases broadcast
over contiguous memory. Heads return `(component, sample, output)`, the order of the package.
"""
