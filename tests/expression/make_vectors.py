"""Prints vectors.txt: random expressions, and their results in a slow and simple model.

    make_vectors.py [SEED [COUNT]] > vectors.txt

vectors_test.cpp reads another file if ROCKLOCK_VECTORS names one.

The first line is a list of items. Each further line is a question about one of them and the answer,
as JSON:
    {"kind": "condition", "item": 3, "text": ..., "names": ..., "values": ..., "answer": true}
    {"kind": "projection", ..., "answer": {...}}
    {"kind": "update", ..., "existed": true, "answer": {...}}, or "error": the message

The model does not parse the text: it evaluates the nested tuples from which the text is written.
"""

import base64
import json
import random
import sys
from decimal import Decimal

NAMES = ["a", "b", "c", "d", "Ab", "x_1", "with space", "a.b", "größe", "name", "Size"]
PLAIN = {"a", "b", "c", "d", "Ab", "x_1"}
WORDS = ["", "a", "ab", "abc", "b", "B", "é", "\U0001F600", "zz", "a\u0000b"]
BLANKS = ["", "", " ", "  ", "\t", "\n", " \r\n"]
COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
SCALARS = ("S", "N", "B")
TYPES = ["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"]
MISSING = None

NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
WRONG_PATH = "The document path provided in the update expression is invalid for update"


class Fault(Exception):
    pass


# Values in the form of requests. Numbers are normalised, and sets are sorted.

def number(value):
    text = format(value.normalize(), "f")
    return {"N": "0" if text in ("-0", "0") else text}


def random_number(rng):
    return number(Decimal(rng.choice(["0", "1", "2", "-1", "1.5", "10", "-0.25", "100", "3"])))


def random_bytes(rng):
    return rng.choice(["", "AQ==", "AQI=", "AQID", "/w==", "AA=="])


def random_value(rng, depth=0):
    kind = rng.choice(TYPES if depth < 3 else TYPES[:5])
    if depth == 0 and rng.random() < 0.4:
        kind = rng.choice(["L", "M", "M"])
    if kind == "S":
        return {"S": rng.choice(WORDS)}
    if kind == "N":
        return random_number(rng)
    if kind == "B":
        return {"B": random_bytes(rng)}
    if kind == "BOOL":
        return {"BOOL": rng.random() < 0.5}
    if kind == "NULL":
        return {"NULL": True}
    if kind == "L":
        return {"L": [random_value(rng, depth + 1) for _ in range(rng.randrange(5))]}
    if kind == "M":
        return {"M": random_map(rng, depth + 1)}
    return random_set(rng, kind)


def random_map(rng, depth):
    return {name: random_value(rng, depth)
            for name in rng.sample(NAMES, rng.randrange(5 if depth else 9))}


def random_set(rng, kind):
    makers = {"SS": lambda: rng.choice(WORDS), "NS": lambda: random_number(rng)["N"],
              "BS": lambda: random_bytes(rng)}
    return {kind: sorted({makers[kind]() for _ in range(rng.randrange(1, 4))})}


def type_of(value):
    return next(iter(value))


def content(value):
    return next(iter(value.values()))


def same(left, right):
    if type_of(left) != type_of(right):
        return False
    one, two = content(left), content(right)
    if type_of(left) == "L":
        return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two))
    if type_of(left) == "M":
        return one.keys() == two.keys() and all(same(one[name], two[name]) for name in one)
    return one == two


def raw(value):
    """Returns the sort key of a scalar."""
    kind = type_of(value)
    if kind == "S":
        return content(value).encode()
    if kind == "N":
        return Decimal(content(value))
    return base64.b64decode(content(value))


# Paths: tuples of names and indexes.

def find(item, path):
    value = {"M": item}
    for step in path:
        if isinstance(step, int):
            if type_of(value) != "L" or step >= len(content(value)):
                return MISSING
            value = content(value)[step]
        else:
            if type_of(value) != "M" or step not in content(value):
                return MISSING
            value = content(value)[step]
    return value


def random_path(rng, item):
    """Returns a random path, usually one that exists or almost exists."""
    path, value = [], {"M": item}
    while True:
        if type_of(value) == "M" and content(value) and rng.random() < 0.85:
            path.append(rng.choice(sorted(content(value))))
        elif type_of(value) == "L" and path and rng.random() < 0.85:
            path.append(rng.randrange(len(content(value)) + 2))
        else:
            path.append(rng.choice(NAMES) if not path or rng.random() < 0.7 else rng.randrange(4))
        value = find(item, path)
        if value is MISSING or rng.random() < 0.45:
            return tuple(path)


# Texts.

class Writer:
    def __init__(self, rng):
        self.rng = rng
        self.names = {}
        self.values = {}

    def blank(self):
        return self.rng.choice(BLANKS)

    def word(self, word):
        """Returns a keyword with random case and blanks around it."""
        cased = "".join(self.rng.choice([c.lower(), c.upper()]) for c in word)
        return " " + self.blank() + cased + " " + self.blank()

    def name(self, name):
        if name in PLAIN and self.rng.random() < 0.7:
            return name
        for placeholder, known in self.names.items():
            if known == name and self.rng.random() < 0.5:
                return placeholder
        placeholder = f"#n{len(self.names)}"
        self.names[placeholder] = name
        return placeholder

    def value(self, value):
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def path(self, path):
        text = self.name(path[0])
        for step in path[1:]:
            if isinstance(step, int):
                text += f"{self.blank()}[{self.blank()}{step}{self.blank()}]"
            else:
                text += f"{self.blank()}.{self.blank()}{self.name(step)}"
        return text

    def listed(self, parts):
        return f"{self.blank()},{self.blank()}".join(parts)

    def call(self, name, arguments):
        return f"{name}{self.blank()}({self.blank()}{self.listed(arguments)}{self.blank()})"

    def wrapped(self, text, likely=0.1):
        return f"({self.blank()}{text}{self.blank()})" if self.rng.random() < likely else text

    def operand(self, operand):
        kind = operand[0]
        if kind == "path":
            return self.wrapped(self.path(operand[1]))
        if kind == "value":
            return self.wrapped(self.value(operand[1]))
        return self.wrapped(self.call("size", [self.operand(operand[1])]))

    # The precedence of conditions: OR 0, AND 1, NOT 2, all others 3.
    STRENGTH = {"or": 0, "and": 1, "not": 2}

    def condition(self, node, outer=0):
        strength = self.STRENGTH.get(node[0], 3)
        text = self.bare_condition(node, strength)
        if strength < outer or self.rng.random() < 0.1:
            return f"({self.blank()}{text}{self.blank()})"
        return text

    def bare_condition(self, node, strength):
        kind = node[0]
        if kind in ("or", "and"):
            # A condition with the same operator needs no parentheses if it is the left operand.
            parts = [self.condition(part, strength + (i > 0)) for i, part in enumerate(node[1])]
            return self.word(kind).join(parts)
        if kind == "not":
            return self.word("not") + self.condition(node[1], 2)
        if kind == "between":
            value, lower, upper = [self.operand(part) for part in node[1:]]
            return value + self.word("between") + lower + self.word("and") + upper
        if kind == "in":
            listed = self.listed([self.operand(part) for part in node[2]])
            return f"{self.operand(node[1])}{self.word('in')}({self.blank()}{listed})"
        if kind in COMPARISONS:
            left, right = self.operand(node[1]), self.operand(node[2])
            return f"{left}{self.blank()}{kind}{self.blank()}{right}"
        return self.call(kind, [self.operand(part) for part in node[1:]])

    def assigned(self, node):
        kind = node[0]
        if kind == "path":
            return self.path(node[1])
        if kind == "value":
            return self.value(node[1])
        if kind in "+-":
            left, right = self.assigned(node[1]), self.assigned(node[2])
            return self.wrapped(f"{left}{self.blank()}{kind}{self.blank()}{right}")
        return self.call(kind, [self.assigned(part) for part in node[1:]])

    def update(self, actions):
        sections = {}
        for kind, path, value in actions:
            sections.setdefault(kind, []).append((path, value))
        texts = []
        for kind, listed in sections.items():
            parts = []
            for path, value in listed:
                text = self.path(path)
                if kind == "SET":
                    text += f"{self.blank()}={self.blank()}{self.assigned(value)}"
                elif kind != "REMOVE":
                    text += f" {self.blank()}{self.value(value)}"
                parts.append(text)
            texts.append(self.word(kind) + self.listed(parts))
        return "".join(texts)


# Conditions.

def random_operand(rng, item, literals=TYPES):
    chance = rng.random()
    if chance < 0.55:
        return ("path", random_path(rng, item))
    if chance < 0.65:
        inner = ("path", random_path(rng, item))
        return ("size", inner)
    found = find(item, random_path(rng, item))
    if found is not MISSING and type_of(found) in literals and rng.random() < 0.6:
        return ("value", found)
    while True:
        value = random_value(rng, 1)
        if type_of(value) in literals:
            return ("value", value)


def random_condition(rng, item, depth=0):
    if depth < 3 and rng.random() < 0.45:
        kind = rng.choice(["or", "and", "not"])
        if kind == "not":
            return ("not", random_condition(rng, item, depth + 1))
        return (kind, [random_condition(rng, item, depth + 1) for _ in range(rng.randrange(2, 4))])
    while True:
        node = random_clause(rng, item)
        if node:
            return node


def random_clause(rng, item):
    """Returns a clause, or None if the service would refuse it."""
    kind = rng.choice(["compare", "compare", "between", "in", "attribute_exists",
                       "attribute_not_exists", "attribute_type", "begins_with", "contains"])
    path = ("path", random_path(rng, item))
    if kind == "compare":
        kind = rng.choice(COMPARISONS)
        literals = TYPES if kind in ("=", "<>") else SCALARS
        node = (kind, random_operand(rng, item, literals), random_operand(rng, item, literals))
    elif kind == "between":
        node = (kind, *(random_operand(rng, item, SCALARS) for _ in range(3)))
        lower, upper = node[2:]
        if lower[0] == upper[0] == "value" and (
                type_of(lower[1]) != type_of(upper[1]) or raw(lower[1]) > raw(upper[1])):
            return None
    elif kind == "in":
        node = (kind, random_operand(rng, item),
                [random_operand(rng, item) for _ in range(rng.randrange(1, 5))])
    elif kind == "attribute_type":
        node = (kind, path, ("value", {"S": rng.choice(TYPES)}))
    elif kind == "begins_with":
        node = (kind, random_operand(rng, item, "SB"), random_operand(rng, item, "SB"))
        if "size" in (node[1][0], node[2][0]):
            return None
    elif kind == "contains":
        node = (kind, random_operand(rng, item), random_operand(rng, item))
    else:
        return (kind, path)
    others = node[2] if kind == "in" else node[2:]
    return None if node[1][0] == "path" and node[1] in others else node


def evaluate(item, operand):
    if operand[0] == "path":
        return find(item, operand[1])
    if operand[0] == "value":
        return operand[1]
    value = evaluate(item, operand[1])
    if value is MISSING or type_of(value) in ("N", "BOOL", "NULL"):
        return MISSING
    if type_of(value) == "S":
        return number(Decimal(len(content(value).encode("utf-16-le")) // 2))
    return number(Decimal(len(raw(value) if type_of(value) == "B" else content(value))))


def in_order(left, right, kind):
    if left is MISSING or right is MISSING or type_of(left) != type_of(right):
        return False
    if type_of(left) not in SCALARS:
        return False
    one, two = raw(left), raw(right)
    return {"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[kind]


def contains(whole, part):
    kind = type_of(whole)
    if kind in "SB" and type_of(part) == kind:
        return raw(part) in raw(whole)
    if kind in ("SS", "NS", "BS"):
        return type_of(part) == kind[0] and content(part) in content(whole)
    return kind == "L" and any(same(element, part) for element in content(whole))


def holds(item, node):
    kind = node[0]
    if kind == "or":
        return any(holds(item, part) for part in node[1])
    if kind == "and":
        return all(holds(item, part) for part in node[1])
    if kind == "not":
        return not holds(item, node[1])
    first = evaluate(item, node[1])
    if kind == "in":
        others = [evaluate(item, part) for part in node[2]]
        return any(first is not MISSING and other is not MISSING and same(first, other)
                   for other in others)
    if kind in ("attribute_exists", "attribute_not_exists"):
        return (first is not MISSING) == (kind == "attribute_exists")
    second = evaluate(item, node[2])
    if kind in ("=", "<>"):
        equal = first is not MISSING and second is not MISSING and same(first, second)
        return equal == (kind == "=")
    if kind in COMPARISONS:
        return in_order(first, second, kind)
    if kind == "between":
        return in_order(first, second, ">=") and in_order(first, evaluate(item, node[3]), "<=")
    if first is MISSING or second is MISSING:
        return False
    if kind == "attribute_type":
        return type_of(first) == content(second)
    if kind == "begins_with":
        return (type_of(first) == type_of(second) and type_of(first) in "SB" and
                raw(first).startswith(raw(second)))
    return contains(first, second)


# Projections and updates.

def random_paths(rng, item, count):
    """Returns paths that neither overlap nor conflict."""
    paths = []
    for _ in range(count):
        path = random_path(rng, item)
        if not any(clash(path, other) for other in paths):
            paths.append(path)
    return paths


def clash(left, right):
    for one, two in zip(left, right):
        if isinstance(one, int) != isinstance(two, int):
            return True
        if one != two:
            return False
    return True


def selected(value, here, paths):
    """Returns the parts of a value that the paths select."""
    if here in paths:
        return value
    if not any(path[:len(here)] == here for path in paths):
        return MISSING
    if type_of(value) == "L":
        parts = [selected(part, here + (i,), paths) for i, part in enumerate(content(value))]
        parts = [part for part in parts if part is not MISSING]
        return {"L": parts} if parts else MISSING
    if type_of(value) == "M":
        parts = selected_map(content(value), here, paths)
        return {"M": parts} if parts else MISSING
    return MISSING


def selected_map(attributes, here, paths):
    parts = {name: selected(part, here + (name,), paths) for name, part in attributes.items()}
    return {name: part for name, part in parts.items() if part is not MISSING}


def random_assigned(rng, item, depth=0):
    """Returns a value to assign: a value, a path, or a function with such operands."""
    chance = rng.random()
    if chance < 0.3 or depth > 2:
        return ("value", random_value(rng, 1))
    if chance < 0.55 or (depth > 0 and (chance < 0.7 or chance >= 0.85)):
        return ("path", random_path(rng, item))
    if chance < 0.7:
        numbers = [("value", random_number(rng)) if rng.random() < 0.6 else
                   ("path", random_path(rng, item)) for _ in range(2)]
        return (rng.choice("+-"), *numbers)
    if chance < 0.85:
        path, otherwise = random_path(rng, item), random_assigned(rng, item, depth + 1)
        return ("if_not_exists", ("path", path), otherwise)
    lists = [("value", {"L": [random_value(rng, 2)]}) if rng.random() < 0.5 else
             ("path", random_path(rng, item)) for _ in range(2)]
    return ("list_append", *lists)


def random_actions(rng, item, existed):
    """Returns update actions that are usually valid."""
    actions = []
    for path in random_paths(rng, item, rng.randrange(1, 9)):
        kind = rng.choice(["SET", "SET", "REMOVE", "ADD", "DELETE"])
        old = find(item, path)
        value = None
        if kind == "SET":
            value = random_assigned(rng, item)
        elif kind == "ADD" and rng.random() < 0.5:
            value = random_number(rng)
        elif kind != "REMOVE":
            fits = old is not MISSING and type_of(old) in ("SS", "NS", "BS")
            likely = type_of(old) if fits and rng.random() < 0.8 else None
            value = random_set(rng, likely or rng.choice(["SS", "NS", "BS"]))
        try:
            updated(item, [(kind, path, value)], existed)
        except Fault:
            if rng.random() < 0.9:
                continue
        actions.append((kind, path, value))
    # Sorted as in the text: sections appear in the order in which they are first used.
    order = list(dict.fromkeys(kind for kind, _, _ in actions))
    actions.sort(key=lambda action: order.index(action[0]))
    return actions or [("REMOVE", ("d",), None)]


def assigned(item, node):
    kind = node[0]
    if kind == "path":
        return find(item, node[1])
    if kind == "value":
        return node[1]
    if kind == "if_not_exists":
        found = find(item, node[1][1])
        return assigned(item, node[2]) if found is MISSING else found
    left = assigned(item, node[1])
    if left is MISSING:
        raise Fault(NO_ATTRIBUTE)
    right = assigned(item, node[2])
    if right is MISSING:
        raise Fault(NO_ATTRIBUTE)
    wanted = "L" if kind == "list_append" else "N"
    if type_of(left) != wanted or type_of(right) != wanted:
        raise Fault(WRONG_TYPE)
    if kind == "list_append":
        return {"L": content(left) + content(right)}
    one, two = Decimal(content(left)), Decimal(content(right))
    return number(one + two if kind == "+" else one - two)


def changed(item, kind, path, given):
    """Returns the new value at the path, or MISSING if there is none."""
    if kind == "SET":
        value = assigned(item, given)
        if value is MISSING:
            raise Fault(NO_ATTRIBUTE)
    holder = find(item, path[:-1])
    if type_of(holder or {"S": ""}) != ("L" if isinstance(path[-1], int) else "M"):
        raise Fault(WRONG_PATH)
    if kind == "SET":
        return value
    old = find(item, path)
    if kind == "REMOVE" or (kind == "DELETE" and old is MISSING):
        return MISSING
    if old is MISSING:
        return given
    if type_of(old) != type_of(given) or type_of(given) not in ("N", "SS", "NS", "BS"):
        raise Fault(WRONG_TYPE)
    if type_of(given) == "N":
        return number(Decimal(content(old)) + Decimal(content(given)))
    members = set(content(old))
    members = members | set(content(given)) if kind == "ADD" else members - set(content(given))
    return {type_of(given): sorted(members)} if members else MISSING


def rebuilt(value, here, changes):
    """Returns the value with all changes below it. Elements keep their old indexes until all
    changes are made.
    """
    below = {path[len(here)] for path in changes if path[:len(here)] == here and path != here}
    if not below:
        return value
    if type_of(value) == "M":
        parts = dict(content(value))
        for name in below:
            put(parts, name, here, changes)
        return {"M": parts}
    places = dict(enumerate(content(value)))
    for index in below:
        put(places, index, here, changes)
    return {"L": [places[index] for index in sorted(places)]}


def put(parts, key, here, changes):
    path = here + (key,)
    if path not in changes:
        parts[key] = rebuilt(parts[key], path, changes)
    elif changes[path] is MISSING:
        parts.pop(key, None)
    else:
        parts[key] = changes[path]


def updated(item, actions, existed):
    changes = {}
    for kind, path, given in actions:
        if not existed and kind in ("REMOVE", "DELETE"):
            continue
        changes[path] = changed(item, kind, path, given)
    return content(rebuilt({"M": item}, (), changes))


# Questions.

def question(rng, items):
    number_of_item = rng.randrange(len(items))
    item = items[number_of_item]
    writer = Writer(rng)
    kind = rng.choice(["condition", "condition", "projection", "update", "update"])
    asked = {"kind": kind, "item": number_of_item}
    if kind == "condition":
        node = random_condition(rng, item)
        asked["text"], asked["answer"] = writer.condition(node), holds(item, node)
    elif kind == "projection":
        paths = random_paths(rng, item, rng.randrange(1, 6))
        asked["text"] = writer.listed([writer.path(path) for path in paths])
        asked["answer"] = selected_map(item, (), set(paths))
    else:
        asked["existed"] = rng.random() < 0.9
        item = item if asked["existed"] else {}
        actions = random_actions(rng, item, asked["existed"])
        asked["text"] = writer.update(actions)
        try:
            asked["answer"] = updated(item, actions, asked["existed"])
        except Fault as fault:
            asked["error"] = str(fault)
    asked["names"], asked["values"] = writer.names, writer.values
    return asked


def main():
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 20261121)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    items = [random_map(rng, 0) for _ in range(25)] + [{}]
    for asked in [items] + [question(rng, items) for _ in range(count)]:
        print(json.dumps(asked, separators=(",", ":")))


if __name__ == "__main__":
    main()
