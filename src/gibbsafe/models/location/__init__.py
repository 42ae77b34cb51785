"""Models of a centre: a mean, a robust location, a log-odds."""
