"""Reads diff/mutations.txt, whose beginning says what stands in it."""

import dataclasses
import re


@dataclasses.dataclass
class Mutation:
    """A change of a document."""
    name: str
    verdicts: dict  # Of oasdiff: "breaking" or "compatible", "forward" and "back".
    document: str  # The whole of it, changed.


def read(text, before):
    """All of them, each applied to the document `before`."""
    found = []
    for block in ("\n" + text).split("\n== ")[1:]:
        name, forward, back, body = block.split("\n", 3)
        verdicts = {line.split()[0]: re.match(r"\w+ (breaking|compatible)(; keel \w+: .+)?$", line)[1]
                    for line in (forward, back)}
        document = "\n" + before
        for place in body.split("\n\n", 1)[0].strip("\n").split("\n@@\n"):
            lines = place.split("\n")
            old = "\n" + "".join(line[1:] + "\n" for line in lines if line[0] in " -")
            new = "\n" + "".join(line[1:] + "\n" for line in lines if line[0] in " +")
            if document.count(old) != 1:
                raise ValueError(f"'{name}': its lines are not once in the document")
            document = document.replace(old, new)
        found.append(Mutation(name, verdicts, document[1:]))
    return found
