"""The study of sequential optimisation: the functions of the paper, and larger ones."""
