"""Reads a .heapsnapshot, and refuses one that breaks the rules that DevTools rely on."""

import json

from harness import check, equal


class Snapshot:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.file = json.load(file)
        head = self.file["snapshot"]
        meta = head["meta"]
        self.node_fields, self.edge_fields = meta["node_fields"], meta["edge_fields"]
        self.node_types, self.edge_types = meta["node_types"][0], meta["edge_types"][0]
        self.strings = self.file["strings"]
        self.nodes, self.edges = self.rows("nodes", self.node_fields), self.rows("edges", self.edge_fields)
        equal(len(self.nodes), head["node_count"], "number of nodes")
        equal(len(self.edges), head["edge_count"], "number of edges")
        equal(list(self.file), ["snapshot", "nodes", "edges", "trace_function_infos", "trace_tree", "samples", "locations", "strings"],
              "the order in which DevTools read")
        check(all(isinstance(text, str) for text in self.strings), "strings")
        self.check_nodes()
        self.check_edges()
        self.check_traces(head["trace_function_count"], meta["trace_function_info_fields"])

    def rows(self, name, fields):
        flat, width = self.file[name], len(fields)
        equal(len(flat) % width, 0, f"numbers of {name}")
        check(all(isinstance(number, int) and 0 <= number < 2**32 for number in flat), f"{name} are numbers of 32 bits")
        return [dict(zip(fields, flat[at:at + width])) for at in range(0, len(flat), width)]

    def check_nodes(self):
        first = 0
        for node in self.nodes:
            check(node["type"] < len(self.node_types) and node["name"] < len(self.strings), node)
            node["edges"] = self.edges[first:first + node["edge_count"]]
            first += node["edge_count"]
        equal(first, len(self.edges), "edges that belong to a node")
        ids = [node["id"] for node in self.nodes]
        equal(len(set(ids)), len(ids), "ids are different")
        equal(self.node_types[self.nodes[0]["type"]], "synthetic", "the root")

    def check_edges(self):
        width = len(self.node_fields)
        reached = {0}
        for edge in self.edges:
            check(edge["to_node"] % width == 0 and edge["to_node"] // width < len(self.nodes), edge)
            check(edge["type"] < len(self.edge_types), edge)
            check(self.edge_types[edge["type"]] == "element" or edge["name_or_index"] < len(self.strings), edge)
        waiting = [0]
        while waiting:
            for edge in self.nodes[waiting.pop()]["edges"]:
                to = edge["to_node"] // width
                if to not in reached and self.edge_types[edge["type"]] != "weak":
                    reached.add(to)
                    waiting.append(to)
        equal(len(reached), len(self.nodes), "nodes that hang somewhere")

    def check_traces(self, functions, fields):
        infos, width = self.file["trace_function_infos"], len(fields)
        equal(len(infos), functions * width, "functions of traces")
        for at in range(0, len(infos), width):
            check(infos[at + 1] < len(self.strings) and infos[at + 2] < len(self.strings), infos[at:at + width])
        known = set()
        waiting = [self.file["trace_tree"]]
        while waiting:
            nodes = waiting.pop()
            equal(len(nodes) % 5, 0, "a node of the tree of traces")
            for at in range(0, len(nodes), 5):
                check(nodes[at] not in known and nodes[at + 1] < functions, nodes[at:at + 4])
                known.add(nodes[at])
                waiting.append(nodes[at + 4])
        check(all(node["trace_node_id"] == 0 or node["trace_node_id"] in known for node in self.nodes), "traces of nodes")

    def name(self, node):
        return self.strings[node["name"]]

    def size(self, node):
        return node["self_size"]

    def named(self, name):
        found = [node for node in self.nodes if self.name(node) == name]
        equal(len(found), 1, f"nodes named {name}")
        return found[0]

    def child(self, node, edge_name):
        for edge in node["edges"]:
            if self.edge_types[edge["type"]] != "element" and self.strings[edge["name_or_index"]] == edge_name:
                return self.nodes[edge["to_node"] // len(self.node_fields)]
        raise AssertionError(f"{self.name(node)} has no edge {edge_name}")

    def bytes_of(self, *types):
        return sum(node["self_size"] for node in self.nodes if self.node_types[node["type"]] in types)

    def ids(self):
        return {node["id"]: self.name(node) for node in self.nodes}
