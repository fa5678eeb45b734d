"""The methods, one file each: the network, its mini-batches, and what is drawn once and kept."""
