import unittest

from keel_lab import statistics


class Statistics(unittest.TestCase):
    def test_the_median_of_an_even_count_lies_between_the_middle_two(self):
        self.assertEqual(statistics.median([5, 1, 12, 3, 8, 2, 11, 4, 10, 6, 9, 7]), 6.5)

    def test_the_median_of_an_odd_count_is_the_middle_one(self):
        self.assertEqual(statistics.median([3, 9, 1]), 3)

    def test_twelve_values_give_the_2nd_and_the_11th(self):
        low, high, covered = statistics.interval([5, 1, 12, 3, 8, 2, 11, 4, 10, 6, 9, 7])
        self.assertEqual((low, high, round(covered, 4)), (2, 11, 0.9937))

    def test_eight_values_give_the_smallest_and_the_largest(self):
        self.assertEqual(statistics.interval(range(8)), (0, 7, 1 - 2 / 256))

    def test_few_values_say_how_little_they_cover(self):
        self.assertEqual(statistics.interval([1, 2])[2], 0.5)

    def test_the_fences_lie_one_and_a_half_quartile_distances_from_the_quartiles(self):
        self.assertEqual(statistics.fences([4, 1, 3, 2]), (1.75 - 2.25, 3.25 + 2.25))
        self.assertEqual(statistics.fences([5]), (5, 5))

    def test_a_value_beyond_the_fences_is_an_outlier_and_one_within_is_not(self):
        values = [10, 11, 12, 13, 14, 30]
        self.assertEqual(statistics.without_outliers(values), [10, 11, 12, 13, 14])
        self.assertEqual(statistics.without_outliers(values[:5] + [16]), values[:5] + [16])

    def test_the_coefficient_of_variation_is_that_of_the_sample(self):
        self.assertAlmostEqual(statistics.variation([2, 4, 4, 4, 5, 5, 7, 9]), 2.13809 / 5, 5)
        self.assertEqual(statistics.variation([3]), 0)

    def test_one_wild_point_does_not_bend_a_slope(self):
        self.assertEqual(statistics.slope([(x, 3 * x + (1000 if x == 4 else 0)) for x in range(10)]), 3)
