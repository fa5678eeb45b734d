"""Training: mini-batches in memory, early stopping per member, and the one skorch net."""
