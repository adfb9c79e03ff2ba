"""A bug as a change to our sources.

`old` occurs once in `file` (a test sees to it), `new` compiles, and `test` has to fail then: run.py.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    name: str
    seen: str  # Where the world has met it, or what makes it one.
    file: str
    old: str
    new: str
    test: str  # A name that ctest knows.
