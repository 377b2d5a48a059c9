"""Mixtures: components, the evidence of every number of them from strata, and estimators."""
