"""Classification: calibration under distribution shift, outliers, and prediction sets."""
