"""Decisions between models by their log evidence: comparison, Bayes factors, searches, replicates."""

from ..tables import Table
from ._candidates import (
    Candidate,
    behind_transformers,
    candidate,
    candidates,
    check_comparable,
    does_nothing,
    for_last_step,
    last_step,
    named_models,
)
from ._compare import compare, comparison_table, evidence_columns
from ._discrepancies import PredictiveCheck
from ._evidence_search import EvidenceSearch
from ._facts import facts_of
from ._predictive_check import predictive_check, replicated_check
from ._prior_sensitivity import ReweightedEvidence, SensitivityTable, prior_sensitivity, reweight_prior
from ._probabilities import (
    LogBayesFactor,
    in_words,
    log_bayes_factor,
    log_model_prior,
    printed_names,
    printed_probabilities,
    probability_interval,
    term_probabilities,
)
from ._replicate import Replicates, replicate, seed
from ._report import Reported, factor_in_digits, factor_or_fraction, likelier, software
from ._search import FullData, checked_scorer, evidence_scorer, evidence_scorers

__all__ = [
    "compare",
    "comparison_table",
    "evidence_columns",
    "facts_of",
    "EvidenceSearch",
    "Table",
    "log_bayes_factor",
    "LogBayesFactor",
    "predictive_check",
    "PredictiveCheck",
    "prior_sensitivity",
    "reweight_prior",
    "ReweightedEvidence",
    "SensitivityTable",
    "replicate",
    "replicated_check",
    "Replicates",
    "evidence_scorer",
    "evidence_scorers",
    "FullData",
    "probability_interval",
    "log_model_prior",
    "candidate",
    "candidates",
    "check_comparable",
    "factor_in_digits",
    "factor_or_fraction",
    "in_words",
    "likelier",
    "printed_names",
    "printed_probabilities",
    "Reported",
    "software",
    "checked_scorer",
    "Candidate",
    "last_step",
    "named_models",
    "seed",
    "term_probabilities",
    "behind_transformers",
    "does_nothing",
    "for_last_step",
]
