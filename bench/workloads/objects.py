"""objects.py ROUNDS: what scripts do with memory: dicts, lists, strings, JSON, regular expressions, classes."""
import json
import re
import sys


class Node:
    def __init__(self, name, children):
        self.name = name
        self.children = children


def tree(depth, name):
    if depth == 0:
        return Node(name, [])
    return Node(name, [tree(depth - 1, name + "." + str(i)) for i in range(3)])


def flatten(node):
    yield node.name
    for child in node.children:
        yield from flatten(child)


def one_round(number):
    records = [{"id": i, "name": "record-%d" % (i * number), "tags": ["t%d" % (i % 7), "u%d" % (i % 11)], "weight": i / 3}
               for i in range(3000)]
    again = json.loads(json.dumps(records))
    by_tag = {}
    for record in again:
        for tag in record["tags"]:
            by_tag.setdefault(tag, []).append(record["name"].upper())
    words = re.findall(r"[a-z]+-\d+", " ".join(record["name"] for record in again))
    counts = {}
    for word in re.sub(r"\d", lambda m: chr(97 + int(m.group())), " ".join(words)).split():
        counts[word] = counts.get(word, 0) + 1
    names = sorted(flatten(tree(7, "root")), key=lambda name: name[::-1])
    return len(by_tag) + len(counts) + len(names)


def main():
    total = 0
    for number in range(1, int(sys.argv[1]) + 1):
        total += one_round(number)
    print(total)


main()
