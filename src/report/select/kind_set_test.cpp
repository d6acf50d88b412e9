#include "report/select/kind_set.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

TEST(KindSet, NamesAndGroupsCanBeMixed) {
  const KindSet kinds = KindSet::parse("free,new[],map").value();
  EXPECT_TRUE(kinds.contains(EventKind::Free));
  EXPECT_TRUE(kinds.contains(EventKind::NewArray));
  EXPECT_TRUE(kinds.contains(EventKind::Munmap));
  EXPECT_FALSE(kinds.contains(EventKind::New));
  EXPECT_FALSE(kinds.contains(EventKind::Malloc));
}

TEST(KindSet, ReallocBothMakesAndEndsABlock) {
  EXPECT_TRUE(KindSet::parse("alloc").value().contains(EventKind::Realloc));
  EXPECT_TRUE(KindSet::parse("release").value().contains(EventKind::Realloc));
  EXPECT_FALSE(KindSet::parse("release").value().contains(EventKind::Calloc));
}

TEST(KindSet, UnknownNameIsAnsweredWithTheKnownOnes) {
  EXPECT_EQ(KindSet::parse("malloc,mallloc").error().sentence,
            "'mallloc' is not a kind of event; did you mean 'malloc'?");
  const Result<KindSet> kinds = KindSet::parse("malloc,allowance");
  ASSERT_FALSE(kinds);
  EXPECT_NE(kinds.error().sentence.find("'allowance'"), std::string::npos);
  EXPECT_NE(kinds.error().sentence.find("posix_memalign"), std::string::npos);
  EXPECT_FALSE(KindSet::parse("malloc,"));
}

TEST(KindSet, ReallocarrayIsAReallocToo) {
  EXPECT_TRUE(KindSet::parse("realloc").value().contains(EventKind::ReallocArray));
  EXPECT_FALSE(KindSet::parse("reallocarray").value().contains(EventKind::Realloc));
}

} // namespace
} // namespace heaptape
