"""Decisions between models by their log evidence: comparison, Bayes factors, searches, replicates."""

from ..tables import Table
from ._bayes_factor import LogBayesFactor, in_words, log_bayes_factor
from ._candidates import ONE_MAX_ORDER, Candidate, candidates, last_step, named_models, transformed
from ._check_result import PredictiveCheck
from ._compare import compare
from ._evidence_search import EvidenceSearch
from ._predictive_check import predictive_check, replicated_check
from ._prior_sensitivity import ReweightedEvidence, SensitivityTable, prior_sensitivity, reweight_prior
from ._probabilities import log_model_prior, probability_interval
from ._replicate import Replicates, replicate
from ._search import FullData, checked_scorer, evidence_scorer, evidence_scorers
from ._seeding import seed
from ._term_probabilities import term_probabilities

__all__ = [
    "ONE_MAX_ORDER",
    "compare",
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
    "candidates",
    "in_words",
    "checked_scorer",
    "Candidate",
    "last_step",
    "named_models",
    "seed",
    "term_probabilities",
    "transformed",
]
