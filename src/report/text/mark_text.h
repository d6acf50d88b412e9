// What the program said about itself, in words: marks, texts, numbers, check points, scopes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "tape/contents.h"

namespace heaptape {

std::string_view
mark_kind_name(MarkKind kind); // "mark", "snapshot", "text", "number", "check point", "scope begin", ...

// The mark as one would read it aloud, control characters shown: "loaded", "queue length = 12", "row read  4711 (802
// us)".
std::string mark_words(const Mark& mark);
// Event, time, thread ("-" for one that was made from outside), kind and words, in columns.
std::string mark_row(const Mark& mark);

// Whether the mark is a moment that can be asked for by name, not just words or a number.
bool is_moment(const Mark& mark);
// Those that are, in order; without scopes, of which there may be millions.
std::vector<Mark> moments_of(const std::vector<Mark>& marks);

// The same marks; where a name occurs several times it says which one it is, as positions do: "NAME#2".
std::vector<Mark> numbered(std::vector<Mark> marks);

// The moments that reports about snapshots are made of: the snapshots; where there are none, the check points; where
// there are none either, the marks.
std::vector<Mark> snapshots_of(const std::vector<Mark>& marks);

// The moments for a first page: a heading and a few lines; empty where there are none.
std::string moments_text(const std::vector<Mark>& marks, const TextStyle& style);

// The fields of a mark, into an object that has been begun.
void write_mark_fields(JsonWriter& json, const Mark& mark);

} // namespace heaptape
