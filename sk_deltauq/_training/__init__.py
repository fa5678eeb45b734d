"""Training, equal for all methods: rows, mini-batches, the skorch net, and when to stop."""
