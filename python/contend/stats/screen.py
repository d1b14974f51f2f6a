"""Temporary."""

from __future__ import annotations

import itertools
import math

import numpy as np

from contend.stats.change import Change, read_verdict
from contend.stats.estimate import Estimate
from contend.stats.family import chance_each
from contend.stats.student import t_quantile


def _hadamard(n):
    if n == 1:
        return np.array([[1]])
    if n & (n - 1) == 0:
        h = _hadamard(n // 2)
        return np.block([[h, h], [h, -h]])
    q = n - 1
    if all(q % d for d in range(2, q)):
        sq = {(i * i) % q for i in range(1, q)}

        def chi(a):
            return 0 if a % q == 0 else (1 if a % q in sq else -1)

        s = np.zeros((n, n), int)
        s[0, 1:] = 1
        s[1:, 0] = -1
        for i in range(q):
            for j in range(q):
                s[i + 1, j + 1] = chi(i - j)
        h = s + np.eye(n, dtype=int)
        return h * h[:, :1] * 1 if False else (h * (h[:, :1]))
    raise ValueError(n)


def screen_rows(lines):
    n = 4
    while n <= lines:
        n += 4
    if n == 28:
        n = 32
    h = _hadamard(n)
    h = h * h[:, :1]
    h = h * h[:1, :]
    return h[:, 1 : lines + 1]


def regressed(y, x, contrasts, *, margin, confidence, interim=False):
    y = np.asarray(y, float)
    keep = np.isfinite(y)
    X = np.hstack([x, np.ones((len(x), 1))])[keep]
    yy = y[keep]
    n, _p = X.shape
    rank = np.linalg.matrix_rank(X) if n else 0
    C = np.hstack([contrasts, np.zeros((len(contrasts), 1))])
    df = n - rank
    pinv = np.linalg.pinv(X)
    b = pinv @ yy
    s2 = float(np.sum((yy - X @ b) ** 2) / df) if df > 0 else math.nan
    cov = C @ (pinv @ pinv.T) @ C.T
    est = C @ b
    se = np.sqrt(np.diag(cov) * s2)
    d = np.sqrt(np.diag(cov))
    corr = cov / np.outer(d, d)
    pe = chance_each(corr, 1 - confidence)
    t = t_quantile(df, 1 - pe / 2) if df >= 3 else math.inf
    t1 = t_quantile(df, 0.975) if df >= 3 else math.inf
    out = []
    for e, s in zip(est, se, strict=False):
        lo, hi = (math.exp(e - t * s), math.exp(e + t * s)) if df >= 3 else (0.0, math.inf)
        a = Estimate(
            math.exp(e),
            math.exp(e - t1 * s) if df >= 3 else 0.0,
            math.exp(e + t1 * s) if df >= 3 else math.inf,
            n,
            0.95,
        )
        out.append(
            Change.single(
                "whole",
                a,
                lo,
                hi,
                margin=margin,
                df=df,
                sd_log=math.sqrt(s2) if df > 0 else math.nan,
                verdict=None if interim else read_verdict(lo, hi, margin),
            )
        )
    return out


def screen_effects(y, x, *, margin, confidence, interim=False):
    return regressed(
        y, x, np.eye(x.shape[1]), margin=margin, confidence=confidence, interim=interim
    )


def residual_variance(y, x):
    keep = np.isfinite(y)
    X = np.hstack([x, np.ones((len(x), 1))])[keep]
    yy = y[keep]
    df = len(yy) - np.linalg.matrix_rank(X)
    if df <= 0:
        return math.nan
    b = np.linalg.pinv(X) @ yy
    return float(np.sum((yy - X @ b) ** 2) / df)


def crossing_pairs(m):
    out = []
    for k in range(m):
        for rest in itertools.product((0, 1), repeat=m - 1):
            a = list(rest)
            a.insert(k, 1)
            b = list(rest)
            b.insert(k, 0)
            out.append((tuple(a), tuple(b)))
    return out


def together_of(y, corners, *, margin, confidence):
    m = len(corners[0][0])
    pr = list(itertools.combinations(range(m), 2))
    x = np.array(
        [
            [a[i] - b[i] for i in range(m)] + [a[i] * a[j] - b[i] * b[j] for i, j in pr]
            for a, b in corners
        ],
        float,
    )
    ch = regressed(y, x, np.eye(x.shape[1]), margin=margin, confidence=confidence)
    return ch[:m], ch[m:]
