"""A YAML file, and the line of everything in it, so that each mistake can be pointed at."""

import difflib

import yaml


class Mistakes(Exception):
    """What is wrong with a file: one line each, with file, line and key."""
    def __init__(self, lines):
        super().__init__("\n".join(lines))
        self.lines = list(lines)


DATE = "tag:yaml.org,2002:timestamp"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Knows no dates: what looks like one is text."""
    yaml_implicit_resolvers = {first: [one for one in resolvers if one[0] != DATE]
                               for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
    yaml_constructors = {tag: made for tag, made in yaml.SafeLoader.yaml_constructors.items() if tag != DATE}


class File:
    """`value` is the content; `mistakes` collects what `wrong` was told."""
    def __init__(self, name, text):
        self.name = str(name)
        self.mistakes = []
        self.lines = {(): 1}
        try:
            self._loader = _Loader(text)
            node = self._loader.get_single_node()
            if node:
                self._walk(node, (), ())
            self.finish()
            self.value = self._loader.construct_document(node) if node else None
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            why = getattr(problem, "problem", None) or str(problem).partition("\n")[0]
            line = mark.line if mark else text.encode().count(b"\n", 0, getattr(problem, "position", 0))
            raise Mistakes([f"{self.name}:{line + 1}: not YAML: {why}"]) from None

    def _walk(self, node, where, within):
        """Notes the line of everything, and what the library would let pass; `within` are the nodes around."""
        self.lines[where] = node.start_mark.line + 1
        if node in within:
            self.wrong(where, "an alias of what it stands in")
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                self._walk(value, (*where, number), (*within, node))
        elif isinstance(node, yaml.MappingNode):
            seen = set()
            for key, value in node.value:
                is_text = key.tag in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")
                at = (*where, key.value if is_text else "?")
                self._walk(value, at, (*within, node))
                self.lines[at] = key.start_mark.line + 1
                if not is_text or at in seen:
                    self.wrong(at, "is there twice" if is_text else "a key is text")
                seen.add(at)
        else:
            try:
                self._loader.construct_object(node)
            except ValueError as problem:  # A number that looks like one, and is none.
                self.wrong(where, f"{node.value}: {problem}")

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
