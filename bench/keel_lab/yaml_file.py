"""A YAML file, and the line of everything in it, so that each mistake can be pointed at."""

import difflib

import yaml


class Mistakes(Exception):
    """What is wrong with a file: one line each, with file, line and key."""
    def __init__(self, lines):
        super().__init__("\n".join(lines))
        self.lines = list(lines)


class File:
    """`value` is the content; `mistakes` collects what `wrong` was told."""
    def __init__(self, name, text):
        self.name = str(name)
        self.mistakes = []
        self.lines = {(): 1}
        self._within = []  # The nodes around the one that is read.
        try:
            node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            self.value = self._read(node, ()) if node else None
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            why = getattr(problem, "problem", None) or str(problem).partition("\n")[0]
            line = mark.line if mark else text.encode().count(b"\n", 0, getattr(problem, "position", 0))
            raise Mistakes([f"{self.name}:{line + 1}: not YAML: {why}"]) from None

    def _read(self, node, where):
        self.lines[where] = node.start_mark.line + 1
        if node in self._within:
            self.wrong(where, "an alias of what it stands in")
            return None
        self._within.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, where)
            if isinstance(node, yaml.SequenceNode):
                return [self._read(value, (*where, number)) for number, value in enumerate(node.value)]
            return self._scalar(node, where)
        finally:
            self._within.pop()

    def _scalar(self, node, where):
        try:
            return yaml.SafeLoader("").construct_object(node)
        except ValueError as problem:  # A date that looks like one, and is none.
            self.wrong(where, f"{node.value}: {problem}")
            return None

    def _mapping(self, node, where):
        found, merged = {}, {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.lines[(*where, "?")] = key.start_mark.line + 1
                self.wrong((*where, "?"), "a key is text, not a list or a mapping")
                continue
            if key.tag == "tag:yaml.org,2002:merge":
                merged = self._merged(value, where)
                continue
            at = (*where, key.value)
            if key.value in found:
                self.lines[at] = key.start_mark.line + 1
                self.wrong(at, "is there twice")
            found[key.value] = self._read(value, at)
            self.lines[at] = key.start_mark.line + 1
        return merged | found

    def _merged(self, node, where):
        """Of <<: a mapping, or several, of which the first that has a key gives its value."""
        found = {}
        for one in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(one, yaml.MappingNode):
                found = (self._read(one, where) or {}) | found
            else:
                self.lines[(*where, "<<")] = one.start_mark.line + 1
                self.wrong((*where, "<<"), "a mapping is needed, or a list of them")
        return found

    def wrong(self, where, text):
        line = next(self.lines[where[:length]] for length in range(len(where), -1, -1) if where[:length] in self.lines)
        key = ".".join(str(part) for part in where)
        self.mistakes.append(f"{self.name}:{line}: {key + ': ' if key else ''}{text}")

    def mapping(self, value, where, keys, required=()):
        """Whether `value` is a mapping of these keys; {key: type or tuple of types or set of allowed values}."""
        if not isinstance(value, dict):
            self.wrong(where, f"a mapping is needed here (allowed: {', '.join(keys)})")
            return False
        before = len(self.mistakes)
        for key, one in value.items():
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                self.wrong(
                    (*where, key),
                    "no such key" + (f"; did you mean {near[0]}?" if near else "") + f" (allowed: {', '.join(keys)})")
                continue
            self._typed(one, (*where, key), keys[key])
        for key in required:
            if key not in value:
                self.wrong((*where, key), "is missing")
        return len(self.mistakes) == before

    def _typed(self, value, where, wanted):
        if isinstance(wanted, set):
            if not isinstance(value, str) or value not in wanted:
                self.wrong(where, f"{value!r} is none of: {', '.join(sorted(wanted))}")
            return
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = {
                str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list",
                dict: "a mapping"
            }
            self.wrong(where, f"{' or '.join(names[kind] for kind in kinds)} is needed, not {value!r}")

    def finish(self):
        if self.mistakes:
            raise Mistakes(self.mistakes)
