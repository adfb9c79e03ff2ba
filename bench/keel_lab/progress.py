"""What is being measured and how much time is left, on standard error."""

import sys
import time


def duration(seconds):
    seconds = round(max(0, seconds))
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60:02} s" if seconds < 3600 \
        else f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


class Progress:
    """`planned` seconds are a guess; what is left is corrected by how wrong it was so far."""
    def __init__(self, planned, out=None, clock=time.monotonic):
        self.experiment = ""
        self._planned = planned
        self._done = 0.0
        self._out = out or sys.stderr
        self._clock = clock
        self._began = clock()

    def left(self):
        """Seconds, None while nothing is done."""
        if self._done <= 0:
            return None
        return max(0.0, self._planned - self._done) * (self._clock() - self._began) / self._done

    def say(self, text, keep=True):
        left = self.left()
        line = f"{self.experiment}: {text}" + (f"  ({duration(self._planned if left is None else left)} left)")
        if self._out.isatty():
            print(f"\r\033[K{line}", end="\n" if keep else "", file=self._out, flush=True)
        elif keep:
            print(line, file=self._out, flush=True)

    def forget(self, seconds):
        """What was planned and is not done."""
        self._planned -= seconds

    def steps(self, line, count, seconds):
        """Announces `count` steps of `seconds` together; the result is called after each."""
        self.say(line)
        done = 0

        def step():
            nonlocal done
            done += 1
            self._done += seconds / count
            self.say(f"{line}  {done}/{count}", keep=False)

        return step
