"""Training of any method: rows, mini-batches, the skorch net, and when to stop."""
