"""Median and its exact interval, without assumptions about the distribution; spread, and values far from the others."""

import math


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def coverage(count, rank):
    """Probability that the median lies between the rank-th smallest and the rank-th largest of count values."""
    outside = sum(math.comb(count, below) for below in range(rank))
    return 1 - 2 * outside / 2 ** count


def interval(values, wanted=0.99):
    """(low, high, coverage): the narrowest pair of order statistics that covers the median often enough.

    For 12 values that is the 2nd and the 11th (99.4 %). With too few values for `wanted` it is the smallest and
    the largest, and the coverage says so.
    """
    ordered, rank = sorted(values), _rank(len(values), wanted)
    return ordered[rank - 1], ordered[-rank], coverage(len(ordered), rank)


def _rank(count, wanted):
    rank = 1
    while 2 * (rank + 1) <= count and coverage(count, rank + 1) >= wanted:
        rank += 1
    return rank


def coverage_of(count, wanted=0.99):
    """What the interval of so many values covers."""
    return coverage(count, _rank(count, wanted))


def quantile(values, fraction):
    """Linear between the two values next to it (R's type 7)."""
    ordered = sorted(values)
    at = fraction * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def fences(values):
    """Tukey's inner fences: what lies outside is far from the others."""
    lower, upper = quantile(values, 0.25), quantile(values, 0.75)
    return lower - 1.5 * (upper - lower), upper + 1.5 * (upper - lower)


def without_outliers(values):
    low, high = fences(values)
    return [value for value in values if low <= value <= high]


def variation(values):
    """Coefficient of variation: standard deviation of the sample over its mean."""
    mean = sum(values) / len(values)
    if len(values) < 2 or mean == 0:
        return 0.0
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / abs(mean)


def slope(points):
    """Theil and Sen's: the median of the slopes between all pairs of (x, y); outliers do not bend it."""
    slopes = [(later[1] - earlier[1]) / (later[0] - earlier[0]) for number, earlier in enumerate(points)
              for later in points[number + 1:] if later[0] != earlier[0]]
    return median(slopes) if slopes else 0.0
