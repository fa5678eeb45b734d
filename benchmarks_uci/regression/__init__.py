"""The regression study: nine UCI data sets, with Delta-UQ beside other methods."""
