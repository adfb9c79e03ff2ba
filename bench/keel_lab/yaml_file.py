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
        try:
            node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            raise Mistakes([
                f"{self.name}:{mark.line + 1 if mark else 1}: not YAML: {getattr(problem, 'problem', problem)}"
            ]) from None
        self.value = self._read(node, ()) if node else None

    def _read(self, node, where):
        self.lines[where] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            found, merged = {}, {}
            for key, value in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    merged = self._read(value, where)
                    continue
                at = (*where, key.value)
                if key.value in found:
                    self.lines[at] = key.start_mark.line + 1
                    self.wrong(at, "is there twice")
                found[key.value] = self._read(value, at)
                self.lines[at] = key.start_mark.line + 1
            return merged | found
        if isinstance(node, yaml.SequenceNode):
            return [self._read(value, (*where, number)) for number, value in enumerate(node.value)]
        return yaml.SafeLoader("").construct_object(node)

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
            if value not in wanted:
                self.wrong(where, f"{value!r} is none of: {', '.join(sorted(wanted))}")
            return
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = {
                str: "text",
                int: "a whole number",
                float: "a number",
                bool: "true or false",
                list: "a list",
                dict: "a mapping"
            }
            self.wrong(where, f"{' or '.join(names[kind] for kind in kinds)} is needed, not {value!r}")

    def finish(self):
        if self.mistakes:
            raise Mistakes(self.mistakes)
