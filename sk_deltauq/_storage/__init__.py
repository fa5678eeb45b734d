"""Models in files that hold values only, no code: encoding, the table of classes, and the file."""
