"""Data sets of gold.json, rebuilt exactly from numpy and scikit-learn's data, and their log evidences.

standardise = subtract the column mean, divide by the column std with ddof=0.
Tests load this file with ``runpy.run_path``, since ``tests`` is no package.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

GOLD = json.loads(Path(__file__).with_name("gold.json").read_text())["cases"]


def std(A):
    A = np.asarray(A, float)
    return (A - A.mean(0)) / A.std(0)


def diabetes(k=10):
    D = load_diabetes(scaled=False)  # raw features; columns age sex bmi bp s1..s6
    return dict(X=std(D.data)[:, :k], y=std(D.target), sigma=0.7)


def iris():
    D = load_iris()
    return dict(X=std(D.data), y=D.target.astype(int), K=3)


def breast5():
    D = load_breast_cancer()
    return dict(X=std(D.data)[:, :5], y=D.target.astype(int), K=2)


def petal():
    return dict(X=std(load_iris().data[:, 2:4]))


CASES = dict(
    L_diabetes_all=diabetes,
    L_diabetes_first3=lambda: diabetes(3),
    S_iris=iris,
    S_breast5=breast5,
    G_petal=petal,
)


def get(name):
    return CASES[name]()


def sim_L(N, seed=1):
    r = np.random.default_rng([seed, 101])
    th = r.standard_normal(6)  # w(5), b
    X = r.standard_normal((N, 5))
    return dict(X=X, y=X @ th[:5] + th[5] + r.standard_normal(N), sigma=1.0, theta=th)


def sim_S(N, seed=1):
    r = np.random.default_rng([seed, 102])
    W = r.standard_normal((4, 10))
    b = r.standard_normal(4)
    X = r.standard_normal((N, 10))
    L = X @ W.T + b
    g = -np.log(-np.log(r.random((N, 4))))  # Gumbel max
    return dict(X=X, y=(L + g).argmax(1).astype(int), K=4, W=W, b=b)


def sim_G(N, seed=1):
    """5 components in 2-D, fixed sensible truth (comparable weights, means spread a few sd apart)."""
    r = np.random.default_rng([seed, 103])
    w = np.array([0.30, 0.25, 0.20, 0.15, 0.10])
    mu = np.array([[0.0, 0.0], [3.0, 3.0], [-3.0, 3.0], [3.0, -3.0], [-3.5, -2.5]])
    s2 = np.array([[1.0, 0.5], [0.6, 0.8], [0.5, 1.2], [1.5, 0.4], [0.7, 0.7]])
    z = r.choice(5, size=N, p=w)
    return dict(X=mu[z] + np.sqrt(s2[z]) * r.standard_normal((N, 2)), K=5, w=w, mu=mu, s2=s2)


def sim_G_overlap(N, seed=1):
    """5 components in 2-D, two overlapping heavily: a posterior far from Gaussian up to about 1e5 rows."""
    r = np.random.default_rng(seed)
    mu = r.normal(size=(5, 2)) * 3.0
    s = np.sqrt(1 / r.gamma(3, 1 / 2.0, size=(5, 2)))
    w = r.dirichlet(np.ones(5) * 5)
    z = r.choice(5, N, p=w)
    return dict(X=mu[z] + s[z] * r.normal(size=(N, 2)), K=5, w=w, mu=mu, s2=s**2)


def rebuild(case):
    """Data of one case of gold.json from its own 'rebuild' entry, e.g. ``make_data.sim_L(1000)``."""
    name, argument = GOLD[case]["rebuild"].removeprefix("make_data.").removesuffix(")").split("(")
    return get(argument.strip("'")) if name == "get" else globals()[name](int(argument))
