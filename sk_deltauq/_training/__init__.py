"""Training, whatever the method: rows, mini-batches, the skorch net, and when to stop."""
