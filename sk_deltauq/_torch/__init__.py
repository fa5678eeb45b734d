"""Torch alone: embeddings, layers, networks and heads. Nothing here knows skorch or scikit-learn.

Inside the networks the samples are the *last* axis, `(member, feature, sample)`: products with a
head of one or two rows are then several times faster than with a head of one or two columns, and
the biases of all members broadcast over contiguous memory. Heads turn this around: what leaves
this folder is `(component, sample, output)`.
"""
