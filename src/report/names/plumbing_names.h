// Which functions allocate on behalf of their caller, by their names as they stand in binaries: the standard libraries of C, C++, Rust
// and D, Boost, absl, fmt, Qt's containers, glib, CPython's objects, and whatever is called xmalloc, strdup and so on.
//
//   std::vector<Foo>::push_back                     yes: its scope decides, not what it was instantiated with
//   parse<std::string>                              no: the scope is the program's
//   parse::{lambda#1}::operator()                   no: code of the program that an algorithm of std:: calls
//   <alloc::vec::Vec<T> as Clone>::clone            yes: the type in front of "as" decides
//   <app::Item as core::clone::Clone>::clone        no
//   <T as alloc::string::ToString>::to_string       yes: the type says nothing, so the trait decides
#pragma once

#include <string>
#include <string_view>

namespace heaptape {

// Whether everything in a module of this name (the last part of its path) is plumbing: libc.so.6, libstdc++.so.6, ...
bool is_plumbing_module(std::string_view module_name);

// Whether a function is, by its linkage name, whatever module it is in.
bool is_plumbing_function(std::string_view linkage_name);

// Whether it is because it is called after allocating: xmalloc, allocate_page, my_strdup.
bool is_named_after_allocating(std::string_view linkage_name);

// CPython's evaluation loop, which works for the function of Python that it runs, if that has a frame of its own.
bool is_python_loop(std::string_view linkage_name);
bool is_python_function(std::string_view linkage_name);

// The function that a closure of Rust or a lambda of D was written in, demangled; empty: it is none of these.
std::string enclosing_function(std::string_view linkage_name);

// What a function of a container makes, for people and in the singular: "vector", "string", "map node"; empty: it is none that is known.
std::string_view container_made_by(std::string_view linkage_name);

} // namespace heaptape
