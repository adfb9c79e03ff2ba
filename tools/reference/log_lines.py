"""The log lines of warning and above that the library writes, as their calls in the sources say."""

import re
from dataclasses import dataclass

import cpp_text

LOGGER = r"(?:\b\w*log\w*_?(?:\(\))?|\bLogger\([^)]*\))(?:\.|->)"
CALLS = [re.compile(pattern) for pattern in (
    LOGGER + r"(?:warn|error|fatal)\(\s*",
    LOGGER + r"log\((?!Level::(?:Trace|Debug|Info))(?:[^\";]*,\s*)(?=\"|message|said|what)",
    r"\bFailure\([^;]*?\)\s*\.log\([^,\"]*,\s*",
    r"\breport_unhandled\(\s*",
    r"\.(?:begins|goes_on) =\s*",
)]
# Where somebody else's message is handed on.
HANDED_ON = re.compile(r"message|said|what|lines_\.\w+")


@dataclass
class LogLine:
    message: str
    place: str  # FILE:LINE


def of_source(path, text):
    """(lines, mistakes) of one source."""
    code = cpp_text.with_constants(cpp_text.without_comments(text))
    found, mistakes = [], []
    for pattern in CALLS:
        for call in pattern.finditer(code):
            place = f"{path}:{code.count(chr(10), 0, call.start()) + 1}"
            if literal := cpp_text.LITERALS.match(code, call.end()):
                found.append(LogLine(cpp_text.text_of(literal[0]), place))
            elif not HANDED_ON.match(code, call.end()) and not code.startswith(("log::Message", "Message"), call.end()):
                mistakes.append(f"{place}: the message of a log line must be a literal where it is written")
    return found, mistakes


def of_library():
    """(lines by message, mistakes) of all sources."""
    lines, mistakes = {}, []
    for path in cpp_text.library():
        if "/testing" in path:
            continue
        found, wrong = of_source(path, (cpp_text.ROOT / path).read_text())
        mistakes += wrong
        for line in found:
            lines.setdefault(line.message, line)
    return lines, mistakes


def explained(page):
    """The messages that the tables of a page explain, which end in a column headed "cure"."""
    found, is_in_table = set(), False
    for line in page.split("\n"):
        if not line.startswith("|"):
            is_in_table = False
        elif line.rstrip("| ").endswith("| cure"):
            is_in_table = True
        elif is_in_table and (message := re.match(r"\| `([^`]+)`", line)):
            found.add(message[1])
    return found
