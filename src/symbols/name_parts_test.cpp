#include "symbols/name_parts.h"

#include <gtest/gtest.h>

#include <string>

#include "symbols/demangle.h"

namespace heaptape {
namespace {

std::string joined(std::string_view demangled) {
  std::string text;
  for (const NamePart& part : name_parts(demangled))
    text += (text.empty() ? "" : " :: ") + std::string(part.name) +
            (part.arguments.empty() ? "" : " of " + std::string(part.arguments));
  return text;
}

TEST(NameParts, AreScopesAndFunctionWithTheirArguments) {
  EXPECT_EQ(joined("std::vector<int, std::allocator<int> >::push_back(int const&)"),
            "std :: vector of int, std::allocator<int> :: push_back");
  EXPECT_EQ(joined("main"), "main");
}

TEST(NameParts, LeaveOutTheReturnType) {
  EXPECT_EQ(joined("std::_MakeUniq<A>::__single_object std::make_unique<A, int>(int&&)"),
            "std :: make_unique of A, int");
}

TEST(NameParts, LeaveOutTagsAndKeepUnnamedScopes) {
  EXPECT_EQ(joined("std::__1::allocator<A>::allocate[abi:v15007](unsigned long)"),
            "std :: __1 :: allocator of A :: allocate");
  EXPECT_EQ(joined("(anonymous namespace)::make(int)"), "(anonymous namespace) :: make");
}

TEST(NameParts, AreNoneOfOperatorsAndBrokenNames) {
  EXPECT_EQ(joined("operator new(unsigned long)"), "");
  EXPECT_EQ(joined("std::vector<int::push_back("), "");
}

TEST(ShortType, LeavesOutWhatTheLibraryAdds) {
  EXPECT_EQ(short_type("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"),
            "std::string");
  EXPECT_EQ(short_type("std::map<int, (anonymous namespace)::Circle, std::less<int>, "
                       "std::allocator<std::pair<int const, (anonymous namespace)::Circle> > >"),
            "std::map<int, Circle>");
  EXPECT_EQ(short_type("std::__1::unique_ptr<Shape, std::__1::default_delete<Shape> >"), "std::unique_ptr<Shape>");
}

} // namespace
} // namespace heaptape
