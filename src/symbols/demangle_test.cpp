#include "symbols/demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptape {
namespace {

std::string brief(const char* linkage_name) { return demangle(linkage_name, NameForm::Short); }
std::string full(const char* linkage_name) { return demangle(linkage_name, NameForm::Full); }

TEST(Demangle, FullFormIsWhatCompilersSay) {
  EXPECT_EQ(full("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(full("_Znwm"), "operator new(unsigned long)");
}

TEST(Demangle, MangledFormIsTheNameItself) {
  EXPECT_EQ(demangle("_Znwm", NameForm::Mangled), "_Znwm");
  EXPECT_EQ(demangle("helper.isra.0", NameForm::Mangled), "helper.isra.0");
}

TEST(Demangle, WhatIsNoMangledNameStaysAsItIs) {
  for (const char* name :
       {"malloc", "_start", "main", "_Z", "_ZN", "_R", "_D", "_DYNAMIC", "_Zzzz", "", "__libc_start_main"}) {
    EXPECT_EQ(full(name), name);
    EXPECT_EQ(brief(name), name);
  }
}

TEST(Demangle, RustNamesLoseTheirHash) {
  EXPECT_EQ(full("_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE"),
            "core::ptr::drop_in_place<alloc::string::String>");
  EXPECT_EQ(brief("_ZN3std2io5stdio6_print17hd6bd08d4b32f2b80E"), "std::io::stdio::_print");
  EXPECT_EQ(full("_RNvC6_123foo3bar"), "123foo::bar");
}

TEST(Demangle, DNamesAreKnownByTheirPrefix) {
  EXPECT_EQ(full("_D2rt3dso12register_dsoFZv"), "rt.dso.register_dso()");
  EXPECT_EQ(brief("_D2rt3dso12register_dsoFZv"), "rt.dso.register_dso");
  EXPECT_EQ(full("_Dmain"), "D main");
}

TEST(ShortName, ParametersAndReturnTypesAreLeftOut) {
  EXPECT_EQ(brief("_ZN6shapes5totalERKSt6vectorIiSaIiEE"), "shapes::total");
  EXPECT_EQ(brief("_Z5applyIZ4mainEUliE_EiT_i"), "apply<main::{lambda#1}>");
  EXPECT_EQ(short_name("void std::sort<int*, Compare>(int*, int*, Compare)"), "std::sort<int*, Compare>");
  EXPECT_EQ(short_name("std::unique_ptr<Foo, std::default_delete<Foo> > std::make_unique<Foo, int>(int&&)"),
            "std::make_unique<Foo, int>");
  EXPECT_EQ(short_name("Foo::bar() const &"), "Foo::bar");
}

TEST(ShortName, DefaultArgumentsOfContainersAreLeftOut) {
  EXPECT_EQ(brief("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<int>::push_back");
  EXPECT_EQ(
      brief("_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiSt4lessIS5_ESaISt4pairIKS5_iEEEixERS9_"),
      "std::map<std::string, int>::operator[]");
  EXPECT_EQ(
      short_name("std::unordered_map<int, Foo, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, "
                 "Foo> > >::clear()"),
      "std::unordered_map<int, Foo>::clear");
  EXPECT_EQ(short_name("std::priority_queue<int, std::deque<int, std::allocator<int> > >::pop()"),
            "std::priority_queue<int, std::deque<int>>::pop");
  EXPECT_EQ(short_name("Pool<std::allocator<int> >::take()"), "Pool<std::allocator<int>>::take")
      << "the only argument is what matters";
}

TEST(ShortName, LongArgumentsAreFolded) {
  EXPECT_EQ(
      short_name(
          "std::vector<some_project::with_long_names::Thing, std::allocator<some_project::with_long_names::Thing> "
          ">::push_back(some_project::with_long_names::Thing const&)"),
      "std::vector<…>::push_back");
  EXPECT_EQ(short_name("std::vector<std::map<int, std::set<long> >, std::allocator<X> >::size() const"),
            "std::vector<…>::size");
}

TEST(ShortName, StringsAndStreamsHaveTheNamesPeopleWrite) {
  EXPECT_EQ(brief("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm"), "std::string::_M_create");
  EXPECT_EQ(brief("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2IS3_EEPKcRKS3_"), "std::string::string");
  EXPECT_EQ(brief("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev"), "std::string::~string");
  EXPECT_EQ(
      short_name(
          "std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >::append(int)"),
      "std::wstring::append");
  EXPECT_EQ(short_name("std::__1::basic_string<char, std::__1::char_traits<char> >::size()"), "std::string::size")
      << "libc++";
  EXPECT_EQ(brief("_ZNSolsEi"), "std::ostream::operator<<");
}

TEST(ShortName, OperatorsSurvive) {
  EXPECT_EQ(brief("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc"), "std::operator<<");
  EXPECT_EQ(brief("_ZltIiEbRK1AIT_ES4_"), "operator<");
  EXPECT_EQ(brief("_ZssRK1AS1_"), "operator<=>");
  EXPECT_EQ(brief("_ZN3FooptEv"), "Foo::operator->");
  EXPECT_EQ(brief("_ZN1AclEv"), "A::operator()");
  EXPECT_EQ(brief("_ZN1AixEm"), "A::operator[]");
  EXPECT_EQ(brief("_Znwm"), "operator new");
  EXPECT_EQ(brief("_Znam"), "operator new[]");
  EXPECT_EQ(brief("_ZdaPv"), "operator delete[]");
  EXPECT_EQ(short_name("bool A<int>::operator> <long>(A<long> const&) const"), "A<int>::operator>");
  EXPECT_EQ(short_name("operator\"\" _km(unsigned long long)"), "operator\"\" _km");
  EXPECT_EQ(short_name("A::operator,(A const&)"), "A::operator,");
  EXPECT_EQ(short_name("my_operator(int)"), "my_operator");
}

TEST(ShortName, ConversionOperatorsKeepTheirType) {
  EXPECT_EQ(brief("_ZNKSt8functionIFiiEEcvbEv"), "std::function<int (int)>::operator bool");
  EXPECT_EQ(brief("_ZN3FoocvNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEv"), "Foo::operator std::string");
}

TEST(ShortName, LambdasAreNamedAfterTheirFunction) {
  EXPECT_EQ(brief("_ZZ4mainENKUliE_clEi"), "main::{lambda#1}");
  EXPECT_EQ(short_name("run(int, char**)::{lambda(auto:1 const&, int)#2}::operator()<Foo>(Foo const&, int) const"),
            "run::{lambda#2}");
  EXPECT_EQ(short_name("outer(int)::Local::inner(long)"), "outer::Local::inner");
}

TEST(ShortName, UnnamedNamespacesTagsAndClonesAreLeftOut) {
  EXPECT_EQ(brief("_ZN12_GLOBAL__N_16helperEi.isra.0"), "helper");
  EXPECT_EQ(short_name("shapes::(anonymous namespace)::Square::area() const"), "shapes::Square::area");
  EXPECT_EQ(short_name("names[abi:cxx11](int)"), "names");
  EXPECT_EQ(short_name("work() [clone .part.0] [clone .cold]"), "work");
  for (const char* clone : {"work.isra.0", "work.part.3", "work.constprop.0", "work.cold", "work.lto_priv.0",
                            "work.llvm.1234567", "work.constprop.0.isra.0", "work.part.0.cold"})
    EXPECT_EQ(short_name(clone), "work") << clone;
  EXPECT_EQ(short_name("known_sums.partition"), "known_sums.partition") << "a D function, no clone";
}

TEST(ShortName, ThunksAreTheirTargets) { EXPECT_EQ(brief("_ZThn16_N3Foo3barEv"), "Foo::bar"); }

TEST(ShortName, RustImplementationsShowTypeAndTrait) {
  EXPECT_EQ(short_name("<core::ops::range::Range<T> as core::iter::range::RangeIteratorImpl>::spec_next"),
            "<Range<T> as RangeIteratorImpl>::spec_next");
  EXPECT_EQ(
      short_name(
          "core::iter::range::<impl core::iter::traits::iterator::Iterator for core::ops::range::Range<A>>::next"),
      "<Range<A> as Iterator>::next");
  EXPECT_EQ(short_name("<alloc::raw_vec::RawVec<alloc::vec::Vec<u8>>>::grow_one"),
            "alloc::raw_vec::RawVec<alloc::vec::Vec<u8>>::grow_one");
  EXPECT_EQ(short_name("core::ptr::drop_in_place::<alloc::vec::Vec<u8>>"), "core::ptr::drop_in_place<Vec<u8>>");
  EXPECT_EQ(short_name("std::panicking::panic_handler::{{closure}}"), "std::panicking::panic_handler::{{closure}}");
  EXPECT_EQ(short_name("<&u64 as core::fmt::Debug>::fmt"), "<&u64 as Debug>::fmt");
}

TEST(ShortName, DTemplatesKeepShortArguments) {
  EXPECT_EQ(short_name("std.array.Appender!(char[]).Appender.put!(char).put(char)"),
            "std.array.Appender!(char[]).Appender.put!(char).put");
}

TEST(ShortName, NothingIsLostOfWhatCannotBeRead) {
  for (const char* odd : {"<", ">", "(", "operator", "a<b", "f(", "{lambda(", "::", "operator<", "a::operator",
                          "[abi:", " ", "decltype (x)", "void (*f(int))(char)", "-><>", "!(", "std::basic_<char>"})
    EXPECT_FALSE(short_name(odd).empty()) << odd;
  const std::string deep = std::string(5000, '<') + std::string(5000, '>');
  EXPECT_FALSE(short_name("a" + deep).empty());
  EXPECT_FALSE(short_name(std::string(20000, '(')).empty());
}

} // namespace
} // namespace heaptape
