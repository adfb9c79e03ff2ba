"""Median and its exact interval, without assumptions about the distribution; spread, and values far from the others."""

import math
from statistics import mean, median, quantiles, stdev

WANTED = 0.99  # How often an interval has to cover the median.


def coverage(count, rank):
    """Probability that the median lies between the rank-th smallest and the rank-th largest of count values."""
    outside = sum(math.comb(count, below) for below in range(rank))
    return 1 - 2 * outside / 2 ** count


def interval(values, wanted=WANTED):
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


def coverage_of(count):
    """The coverage of the interval of `count` values."""
    return coverage(count, _rank(count, WANTED))


def fences(values):
    """Tukey's inner fences: what lies outside is far from the others."""
    lower, _, upper = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return lower - 1.5 * (upper - lower), upper + 1.5 * (upper - lower)


def without_outliers(values):
    low, high = fences(values)
    return [value for value in values if low <= value <= high]


def variation(values):
    """Coefficient of variation: standard deviation of the sample over its mean."""
    middle = mean(values)
    return stdev(values) / abs(middle) if len(values) > 1 and middle else 0.0


def slope(points):
    """Theil and Sen's: the median of the slopes between all pairs of (x, y); outliers do not bend it."""
    slopes = [(later[1] - earlier[1]) / (later[0] - earlier[0]) for number, earlier in enumerate(points)
              for later in points[number + 1:] if later[0] != earlier[0]]
    return median(slopes) if slopes else 0.0
