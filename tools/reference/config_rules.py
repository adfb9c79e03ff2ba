"""The rules between keys of the configuration, as the calls of Checks::refuse() in src/keel/app say."""

import re

import cpp_text
from log_lines import LogLine

CALL = re.compile(r"\bchecks\.refuse\(")
WORDS_MIN = 2


def arguments(code, begin):
    """The arguments of the call whose parenthesis was opened before `begin`."""
    found, depth, first, at = [], 1, begin, begin
    while depth:
        if literal := cpp_text.LITERALS.match(code, at):
            at = literal.end()
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[at], 0)
        if depth == 0 or (depth == 1 and code[at] == ","):
            found.append(code[first:at].strip())
            first = at + 1
        at += 1
    return found


def of_source(path, text):
    """A line for each literal of at least two words in the message of a rule."""
    code = cpp_text.without_comments(text)
    found = []
    for call in CALL.finditer(code):
        place = f"{path}:{code.count(chr(10), 0, call.start()) + 1}"
        for literal in cpp_text.LITERALS.finditer(arguments(code, call.end())[1]):
            message = cpp_text.text_of(literal[0]).strip()
            if len(message.split()) >= WORDS_MIN:
                found.append(LogLine(message, place))
    return found


def of_library():
    return [line for path in cpp_text.library() if path.startswith("src/keel/app/") and path.endswith(".cc")
            for line in of_source(path, (cpp_text.ROOT / path).read_text())]
