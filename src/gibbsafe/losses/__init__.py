"""The loss of one record as a function of its predictor, with the constants that theorems and samplers rely on."""
