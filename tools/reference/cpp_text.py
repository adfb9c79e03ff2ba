"""The sources of the library as text: their files, and the literals that stand in a call."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LITERALS = re.compile(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*')
CONSTANT = re.compile(r"constexpr (?:std::string_view|const char\*|char) (\w+)(?:\[\])? =\s*(" + LITERALS.pattern + ");")


def is_public(path):
    """A header that users include; `path` begins with src/keel. tools/tidy has the same rule."""
    return path.endswith(".h") and "/internal/" not in path and not path.endswith(("/testing.h", "_bench.h"))


def public_headers():
    return [path for path in library() if is_public(path)]


def library():
    """The sources of src/keel without tests, benchmarks and fuzzers."""
    found = []
    for path in sorted((ROOT / "src/keel").rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".h" or path.suffix == ".cc" and not re.search(r"_(test|bench|fuzz|must_not_compile)(_\w+)?\.cc$", name):
            found.append(name)
    return found


def text_of(literals):
    """What literals that stand one after the other are together."""
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"', literals)
    return re.sub(r"\\(.)", r"\1", "".join(parts))


def with_constants(code):
    """`code` with the literal in place of the name of each constant that is declared in it."""
    constants = dict(CONSTANT.findall(code))
    if not constants:
        return code
    name_or_literal = re.compile(r'"(?:[^"\\]|\\.)*"|\b(?:' + "|".join(constants) + r")\b(?!\s*=)")
    return name_or_literal.sub(lambda found: constants.get(found[0], found[0]), code)


def without_comments(code):
    """`code` with blanks in place of comments that have lines of their own."""
    return re.sub(r"^[ ]*//[^\n]*", lambda found: " " * len(found[0]), code, flags=re.MULTILINE)
