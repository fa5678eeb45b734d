"""The engine plans, runs and stores the tasks of any `Study`; it knows no data set or score."""
