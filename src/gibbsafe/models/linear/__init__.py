"""Models of a linear predictor: a convex loss and a Gaussian prior that the plan sets."""
