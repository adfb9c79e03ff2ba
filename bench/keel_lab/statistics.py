"""Median and its exact interval, without assumptions about the distribution."""

import math


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def coverage(count, rank):
    """Probability that the median lies between the rank-th smallest and the rank-th largest of count values."""
    outside = sum(math.comb(count, below) for below in range(rank))
    return 1 - 2 * outside / 2**count


def interval(values, wanted=0.99):
    """(low, high, coverage): the narrowest pair of order statistics that covers the median often enough.

    For 12 values that is the 2nd and the 11th (99.4 %). With too few values for `wanted` it is the smallest and
    the largest, and the coverage says so.
    """
    ordered = sorted(values)
    rank = 1
    while 2 * (rank + 1) <= len(ordered) and coverage(len(ordered), rank + 1) >= wanted:
        rank += 1
    return ordered[rank - 1], ordered[-rank], coverage(len(ordered), rank)
