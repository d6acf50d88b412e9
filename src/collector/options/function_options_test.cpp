#include "collector/options/function_options.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

using List = std::vector<std::string>;

TEST(FunctionOptions, ListsAreTakenApartAndPutTogetherAgain) {
  const std::string text = "g_malloc,pool_calloc:2:1=mine,_ZN5Arena4takeEm:2,g_strdup:0=text";
  const auto functions = parse_alloc_functions(text);
  ASSERT_TRUE(functions.ok()) << functions.error().sentence;
  EXPECT_EQ(functions.value(), (List{"g_malloc", "pool_calloc:2:1=mine", "_ZN5Arena4takeEm:2", "g_strdup:0=text"}));
  EXPECT_EQ(functions_text(functions.value()), text);
  EXPECT_EQ(parse_free_functions("g_free,pool_free:2").value(), (List{"g_free", "pool_free:2"}));
}

TEST(FunctionOptions, WhatMakesNoSenseIsRefused) {
  for (const char* text :
       {":1", "a:0:1", "a:1:0", "a:7", "a:x", "a:1:2:3", "a=", "two words", "a:12", "malloc", "a,,b"})
    EXPECT_FALSE(parse_alloc_functions(text).ok()) << text;
  for (const char* text : {"a:1:2", "a=pool", "free:1", "a:0"}) EXPECT_FALSE(parse_free_functions(text).ok()) << text;
}

TEST(FunctionOptions, MoreThanTheRecorderHasRoomForAreRefused) {
  CollectorOptions options;
  for (int i = 0; i < 32; ++i) options.alloc_functions.push_back("function" + std::to_string(i) + ":2");
  options.free_functions = {"function0:1"}; // the same once more
  EXPECT_TRUE(check_function_count(options).ok());
  options.free_functions.push_back("another");
  EXPECT_FALSE(check_function_count(options).ok());
}

TEST(FunctionOptions, OnlyFunctionsThatWereNeverFoundAreTold) {
  CollectorOptions options;
  options.alloc_functions = {"g_malloc", "my_alloc:2=pool"};
  options.free_functions = {"g_free", "my_alloc:1"};
  EXPECT_TRUE(unseen_functions(options, {"g_malloc", "g_free", "my_alloc"}).empty());
  const List told = unseen_functions(options, {"g_malloc"});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_TRUE(told[0].starts_with("--alloc-fn my_alloc: "));
  EXPECT_TRUE(told[1].starts_with("--free-fn g_free: "));
}

} // namespace
} // namespace heaptape
