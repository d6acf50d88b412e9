"""map: the cells add up to what is live, the files are what they claim to be, and the picture shows where blocks lie."""

import json
import struct
import xml.etree.ElementTree
import zlib

from harness import case, check, equal, main, program
from tape import demand, heaptape


def pixels_of(png):
    """Gives width, height and an iterator over the rows of (red, green, blue) of a PNG file with 8 bits RGB, checked chunk by chunk."""
    equal(png[:8], b"\x89PNG\r\n\x1a\n", "signature")
    at, data, width = 8, b"", 0
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + size]
        equal(struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0], zlib.crc32(kind + body), f"checksum of {kind}")
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            equal((depth, color), (8, 2), "depth and colour type")
        if kind == b"IDAT":
            data += body
        at += 12 + size
    raw = zlib.decompress(data)
    equal(len(raw), height * (3 * width + 1), "bytes of all rows")
    return width, height, rows_of(raw, width, height)


def rows_of(raw, width, height):
    before = bytes(3 * width)
    for y in range(height):
        line = raw[y * (3 * width + 1) : (y + 1) * (3 * width + 1)]
        row = bytearray(line[1:])
        for i in range(3 * width):
            left = row[i - 3] if i >= 3 else 0
            corner = before[i - 3] if i >= 3 else 0
            guess = left + before[i] - corner
            paeth = min((abs(guess - left), 0, left), (abs(guess - before[i]), 1, before[i]), (abs(guess - corner), 2, corner))[2]
            row[i] = (row[i] + (0, left, before[i], (left + before[i]) // 2, paeth)[line[0]]) & 255
        yield [tuple(row[x : x + 3]) for x in range(0, 3 * width, 3)]
        before = bytes(row)


def recorded(test):
    outcome = test.recording_of([program("call_sites"), "counts", 2, 3000])
    equal(outcome.status, 0, "status of the program")
    return outcome.tape


@case
def cells_add_up_to_what_is_live(test):
    tape = recorded(test)
    for moment in ("peak", "1000", "$"):
        answer = json.loads(demand("map", tape.path, "--json", "--at", moment))
        live = json.loads(demand("report", "--json", "--at", "end" if moment == "$" else moment, tape.path))
        cells = sum(cell.get("live_bytes", 0) for part in answer["ranges"] for cell in part["cells"])
        tree = live["trees"][0]
        pools = sum(pool["bytes"] for pool in tree.get("runtime", []))  # listed besides the tree
        equal(cells + answer["left_out_bytes"], tree["tree"]["bytes"] + pools, f"live bytes at {moment}")
        equal(sum(part["live_bytes"] for part in answer["ranges"]), cells, "live bytes of the ranges")


@case
def page_lists_the_blocks_of_the_dump(test):
    tape = recorded(test)
    live = {}
    for event in tape.events("--to", "1000", stacks=False):
        if event.old:
            live.pop(event.old, None)
        if event.size or "alloc" in event.kind or "new" in event.kind:
            live[event.address] = event.size
        else:
            live.pop(event.address, None)
    some = sorted(live)[len(live) // 2]
    page = some & ~4095
    answer = json.loads(demand("map", tape.path, hex(some), "--zoom", "page", "--json", "--at", "1000"))
    equal({int(block["address"], 16): block["bytes"] for block in answer["blocks"]},
          {address: size for address, size in live.items() if address < page + 4096 and address + max(size, 1) > page},
          "blocks of the page")


@case
def png_and_svg_are_what_they_claim_to_be(test):
    tape = recorded(test)
    white = (255, 255, 255)
    for name, options in {"moment": ["--at", "peak"], "by": ["--at", "peak", "--by", "stack"], "over": ["--over", "time"]}.items():
        png, svg = test.work / f"{name}.png", test.work / f"{name}.svg"
        demand("map", tape.path, *options, "--png", png)
        width, height, rows = pixels_of(png.read_bytes())
        first, colours = next(rows), set()
        equal(first[0], white, "background")
        for row in rows:
            colours.update(row)
            if len(colours) > 8:
                break
        check(len(colours) > 8, f"{name}: hardly any colours")
        demand("map", tape.path, *options, "--svg", svg)
        root = xml.etree.ElementTree.parse(svg).getroot()
        equal(root.tag, "{http://www.w3.org/2000/svg}svg", "root")
        equal((int(root.get("width")), int(root.get("height")) > 100), (width, True), "size of the SVG")


@case
def picture_is_not_overwritten(test):
    tape = recorded(test)
    path = test.work / "heap.png"
    path.write_text("precious")
    result = heaptape("map", tape.path, "--png", path)
    check(result.returncode != 0 and "--force" in result.stderr, f"no refusal: {result.stderr}")
    equal(path.read_text(), "precious", "the file")


if __name__ == "__main__":
    raise SystemExit(main())
