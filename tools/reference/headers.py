"""What a public header declares: its purpose, and each symbol with the first sentence that is written about it."""

import bisect
import re
from dataclasses import dataclass, field

ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")
TYPE = re.compile(r"^(class|struct|union|enum class|enum struct|enum) ((?:\w+::)*\w+)\s*(final\s*)?(:(?!:).*)?$", re.DOTALL)
ALIAS = re.compile(r"^using (\w+) =")
CONCEPT = re.compile(r"^concept (\w+) =")
ACCESS = re.compile(r"^(public|protected|private):")
# The name before the brackets of the parameters.
FUNCTION = re.compile(r"([~\w]+|operator\s*[^\s(]+|operator\s*\(\))\s*\(")
VARIABLE = re.compile(r"(\w+)(?:\[[^\]]*\])*(?:\s*=.*|\s*\{.*|\s*:\s*\d+)?$", re.DOTALL)
SENTENCE_END = re.compile(r"[.!?](?:['\")]*)(?=\s+[A-Z\"'(`]|\s*$)")
ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.")
# A paragraph of a header's first comment that is about the whole header.
LABEL = re.compile(r"(Results?|Errors?|Ownership|Lifetime|Threads?|Cancel\w*|Cost|Source|Limits?|Memory|Files?):\s")
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)'(?:[^'\\\n]|\\.)+'""", re.DOTALL)
NO_LINE_FEED = re.compile(r"[^\n]")


@dataclass
class Symbol:
    kind: str  # class, struct, enum, function, alias, concept, constant, macro
    name: str  # Without the namespace keel: http::Router.
    line: int
    text: str = ""  # The first sentence about it.
    members: list = field(default_factory=list)


@dataclass
class Header:
    path: str
    purpose: str
    symbols: list


def first_sentence(text):
    for end in SENTENCE_END.finditer(text):
        sentence = text[:end.end()]
        if not sentence.endswith(ABBREVIATIONS):
            return sentence
    return text


def sentences(text):
    found = []
    while text:
        one = first_sentence(text)
        found.append(one)
        text = text[len(one):].strip()
    return found


def split_code(text):
    """Code and comments of a source, each as long as the source: what belongs to the other, and literals, are blanks."""
    code, comments, at = [], [], 0
    for found in NO_CODE.finditer(text):
        plain = text[at:found.start()]
        blank = NO_LINE_FEED.sub(" ", found[0])
        code += [plain, blank]
        comments += [NO_LINE_FEED.sub(" ", plain), found[0] if found[0].startswith("/") else blank]
        at = found.end()
    return "".join(code) + text[at:], "".join(comments) + NO_LINE_FEED.sub(" ", text[at:])


def without_template(head):
    """`head` without template <…>, requires-clauses, attributes and specifiers at its beginning."""
    head = ATTRIBUTE.sub("", head).strip()
    while True:
        head = re.sub(r"\s+", " ", head)
        before = head
        if found := re.match(r"template\s*<", head):
            depth, at = 1, found.end()
            while depth and at < len(head):
                depth += {"<": 1, ">": -1}.get(head[at], 0) if head[at - 1:at + 1] not in ("->", "=>") else 0
                at += 1
            head = head[at:].strip()
        if found := re.match(r"requires\b", head):
            rest = head[found.end():].lstrip()
            if rest.startswith("("):
                head = rest[matching(rest, 0):].lstrip(" &|")
            elif found := re.match(r"[!\w:]+(<[^>]*>)*(\s*(&&|\|\|)\s*[!\w:]+(<[^>]*>)*)*\s+", rest):
                head = rest[found.end():]
        head = re.sub(r"^(inline|static|constexpr|consteval|constinit|extern|virtual|explicit|mutable|friend inline)\s+", "", head)
        if head == before:
            return head


def matching(text, at):
    """The place after the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


class Comments:
    """The comments of a header, by line."""

    def __init__(self, code, comments):
        self.code = [line.strip() for line in code.split("\n")]
        self.comments = [re.sub(r"^\s*//[/!]? ?", "", line).rstrip() for line in comments.split("\n")]
        self.has = [bool(line.strip()) for line in comments.split("\n")]

    def is_whole_line(self, line):
        return 0 <= line < len(self.has) and self.has[line] and not self.code[line]

    def above(self, line):
        first = line
        while self.is_whole_line(first - 1):
            first -= 1
        said = []
        for text in self.comments[first:line]:
            if not text or text.startswith("  ") or re.match(r"\S+ {3,}\S", text):
                break  # A list, a table or an example.
            said.append(text)
        return " ".join(said).strip()

    def beside(self, line, last):
        return next((self.comments[at].strip() for at in range(line, last + 1) if self.has[at] and self.code[at]), "")

    def head(self):
        """The sentences of the comment that the header begins with, without its first paragraph, examples and labels."""
        last = next(i for i, has in enumerate(self.has) if not has)
        paragraphs, lines = [], []
        for line in self.comments[:last] + [""]:
            if not line or line.startswith("  ") or LABEL.match(line):
                paragraphs.append(" ".join(lines))
                lines = []
            if line and not line.startswith("  ") and not LABEL.match(line):
                lines.append(line)
        return [one for paragraph in paragraphs[1:] for one in sentences(paragraph)]


def names_declared(statement, owner):
    """(kind, name) of a declaration that is no type; None for what is no symbol, such as an operator or a friend."""
    head = without_template(statement)
    if not head or re.match(r"(friend|static_assert|using namespace|typedef|namespace|asm|extern \"C\")\b", head):
        return None
    if found := ALIAS.match(head):
        return "alias", found[1]
    if found := CONCEPT.match(head):
        return "concept", found[1]
    if head.startswith("using "):
        return None
    if re.match(r"(class|struct|union|enum class|enum struct|enum)\s+[\w:]+(\s*:\s*[\w:]+)?$", head):
        return None  # Declared here, defined elsewhere.
    plain = re.split(r"(?<![=!<>+\-*/|&^%~])=(?!=)", head)[0] if "operator" not in head else head
    if found := FUNCTION.search(re.sub(r"\b(decltype|noexcept|alignas)\s*\(", "(", plain)):
        name = found[1]
        if name.startswith("operator") or "operator" in plain[:found.start()] or name.startswith("~"):
            return None
        if owner and name == owner or re.search(r"=\s*delete$", head) or re.search(r"\)\s*->\s*\w+(<.*>)?$", head) and not re.search(
                r"\bauto\b", plain):
            return None
        if "::" in plain[:found.start(1)].split(" ")[-1]:
            return None  # Defined outside of its class.
        if " " not in plain[:found.end(1)].strip():
            return None  # A macro that is called.
        return "function", name
    if found := VARIABLE.search(head):
        if " " not in head[:found.start(1)].strip() + " x" or found[1].isdigit() or "<" in head[found.start(1):].split("=")[0]:
            return None
        return "constant", found[1]
    return None


class Parser:
    def __init__(self, path, text):
        self.text = text
        self.path = path
        code, comments = split_code(text)
        self.macros = []
        self.code = self.without_preprocessor(code)
        self.comments = Comments(code, comments)
        self.starts = [0] + [found.end() for found in re.finditer("\n", text)]
        self.symbols = []
        self.group = (-2, "")  # The line after the last declaration, and what was said of it.

    def without_preprocessor(self, code):
        def blank(found):
            if name := re.match(r"#\s*define (KEEL_\w+)", found[0]):
                self.macros.append((name[1], code.count("\n", 0, found.start())))
            return re.sub(r"[^\n]", " ", found[0])
        return re.sub(r"^[ ]*#(?:[^\n]*\\\n)*[^\n]*", blank, code, flags=re.MULTILINE)

    def line(self, at):
        return bisect.bisect_right(self.starts, at) - 1

    def say(self, first, last):
        """What is written about the declaration in these lines; that of a group holds for all of it."""
        text = self.comments.above(first) or self.comments.beside(first, last)
        if not text and self.group[0] == first:
            text = self.group[1]
        above = self.comments.above(first)
        self.group = (last + 1, above or (self.group[1] if self.group[0] == first else ""))
        return first_sentence(text)

    def parse(self):
        self.scope(0, len(self.code), [], None, True)
        for name, line in self.macros:
            if not name.endswith(("_INTERNAL", "_")) and "INTERNAL" not in name:
                self.symbols.append(Symbol("macro", name, line + 1, first_sentence(self.comments.above(line))))
        purpose = re.match(r"// \S+ — (.*(?:\n// \S.*)*)", self.text)
        sentence = first_sentence(re.sub(r"\n// ", " ", purpose[1])) if purpose else ""
        head = self.comments.head()
        stem = self.path.rsplit("/", 1)[-1].removesuffix(".h")
        for symbol in self.symbols:
            word = symbol.name.rsplit("::", 1)[-1]
            if not symbol.text:
                symbol.text = next((one for one in head if re.search(rf"\b{re.escape(word)}\b", one)), "")
            if not symbol.text and re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", word).lower() == stem:
                symbol.text = sentence[:1].upper() + sentence[1:]
            if not symbol.text and re.search(rf"\b{re.escape(word)}\b", sentence):
                symbol.text = sentence[:1].upper() + sentence[1:]
        merged = {}
        for symbol in self.symbols:
            known = merged.setdefault(symbol.name, symbol)
            if known is not symbol:
                known.text = known.text or symbol.text
                known.members += [one for one in symbol.members if one not in known.members]
        return Header(self.path, sentence, list(merged.values()))

    def scope(self, at, end, namespace, owner, is_public):
        """Declarations from `at` to `end`: of a namespace, or of the class `owner`, a Symbol."""
        code, begin = self.code, at
        while at < end:
            char = code[at]
            if char in "([":
                at = matching(code, at)
                continue
            if found := (owner is not None or None) and ACCESS.match(code[at:at + 12]):
                if not code[begin:at].strip():
                    is_public = found[1] == "public"
                    at += found.end()
                    begin = at
                    continue
            if char == ";":
                self.declare(begin, at, namespace, owner, is_public)
                begin = at + 1
            elif char == "{":
                stop = matching(code, at)
                statement = code[begin:at]
                if self.is_part_of_statement(statement):
                    at = stop
                    continue
                self.open(begin, at, stop, namespace, owner, is_public)
                # A type may be followed by the names of variables; a function by nothing.
                rest = re.match(r"\s*;", code[stop:])
                at = stop + (rest.end() if rest else 0)
                begin = at
                continue
            at += 1

    @staticmethod
    def is_part_of_statement(statement):
        tail = statement.rstrip(" \n")
        if statement != tail and re.search(r"requires(\s*\([^{}]*\))?$", tail):
            return True
        head = without_template(" ".join(statement.split()))
        if re.match(r"(namespace|class|struct|union|enum)\b", head) and "(" not in head:
            return False
        if "operator" not in head and re.search(r"(?<![=!<>])=(?![=>])", re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", head)):
            return True
        return bool(re.search(r"[\w>]$", statement)) and statement == tail

    def open(self, begin, brace, stop, namespace, owner, is_public):
        head = without_template(" ".join(self.code[begin:brace].split()))
        if found := re.match(r"(?:inline )?namespace\s*([\w:]*)$", head):
            name = found[1]
            if name and not re.search(r"internal|detail", name):
                count, first = len(self.symbols), self.first_line(begin)
                text = first_sentence(self.comments.above(first) or self.comments.beside(first, self.line(brace)))
                self.scope(brace + 1, stop - 1, namespace + name.split("::"), None, True)
                for symbol in self.symbols[count:]:
                    symbol.text = symbol.text or text
            return None
        if not head and "extern" in self.code[begin:brace]:
            return self.scope(brace + 1, stop - 1, namespace, owner, is_public)
        if found := TYPE.match(head):
            first = self.first_line(begin)
            kind = found[1].split()[0]
            name = found[2]
            symbol = Symbol(kind, self.full(namespace, name), first + 1, self.say(first, self.line(brace)))
            if "::" in name and owner is None:
                return None  # A nested class that is defined later; its owner lists it.
            if kind == "enum":
                inner = self.code[brace + 1:stop - 1]
                symbol.members = [one.split("=")[0].strip() for one in inner.split(",") if one.split("=")[0].strip()]
            else:
                self.scope(brace + 1, stop - 1, namespace + [name], symbol, kind != "class")
            if owner is None:
                if "<" not in head.split(":")[0]:
                    self.symbols.append(symbol)
            elif is_public:
                self.add_member(owner, name)
            self.group = (-2, "")
            return None
        self.declare(begin, brace, namespace, owner, is_public)
        if self.group[0] == self.line(brace) + 1:
            self.group = (self.line(stop - 1) + 1, self.group[1])
        return None

    def first_line(self, begin):
        code = self.code
        while code[begin] in " \n":
            begin += 1
        return self.line(begin)

    @staticmethod
    def full(namespace, name):
        parts = [part for part in namespace if part not in ("keel", "literals")]
        return "::".join(parts + [name])

    @staticmethod
    def add_member(owner, name):
        if name not in owner.members and not name.endswith("_"):
            owner.members.append(name)

    def declare(self, begin, end, namespace, owner, is_public):
        if not (statement := " ".join(self.code[begin:end].split())):
            return
        first = self.first_line(begin)
        text = self.say(first, self.line(end))
        if not (found := names_declared(statement, owner and owner.name.rsplit("::", 1)[-1])):
            return
        kind, name = found
        if owner is not None:
            if is_public:
                self.add_member(owner, name)
        else:
            self.symbols.append(Symbol(kind, self.full(namespace, name), first + 1, text))


def parse(path, text):
    return Parser(path, text).parse()
