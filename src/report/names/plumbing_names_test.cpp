// With names as compilers make them.
#include "report/names/plumbing_names.h"

#include <gtest/gtest.h>

#include "symbols/demangle.h"

namespace heaptape {
namespace {

void expect_plumbing(std::initializer_list<const char*> names) {
  for (const char* name : names) EXPECT_TRUE(is_plumbing_function(name)) << demangle(name, NameForm::Full);
}
void expect_charged(std::initializer_list<const char*> names) {
  for (const char* name : names) EXPECT_FALSE(is_plumbing_function(name)) << demangle(name, NameForm::Full);
}

TEST(PlumbingNames, ContainersAndAlgorithmsOfLibstdcxxAndLibcxx) {
  expect_plumbing({"_Znwm", "_ZnamRKSt9nothrow_t", "_ZNSt15__new_allocatorIcE8allocateEmPKv",
                   "_ZN9__gnu_cxx13new_allocatorIiE8allocateEmPKv", "_ZNSt16allocator_traitsISaIiEE8allocateERS0_m",
                   "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_EEDpOT_",
                   "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm",
                   "_ZNSt3__16vectorIiNS_9allocatorIiEEE9push_backB8ne180100ERKi",
                   "_ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE6appendEPKc",
                   "_ZNSt3__121__libcpp_operator_newIJmEEEPvDpT_", "_ZNSt3__117__libcpp_allocateEmm",
                   "_ZNSt3__116allocator_traitsINS_9allocatorIcEEE8allocateERS2_m",
                   "_ZSt11make_sharedI3FooJiEESt10shared_ptrIT_EDpOT0_",
                   "_ZNSt17_Function_handlerIFviEZ4mainEUliE_E9_M_invokeERKSt9_Any_dataOi",
                   "_ZSt13__invoke_implIvZ4mainEUlvE_JEET_St14__invoke_otherOT0_DpOT1_"});
}

TEST(PlumbingNames, CodeOfTheProgramIsItsOwnWhateverItIsInstantiatedWith) {
  expect_charged({"main", "_Z5parseISt6vectorIiSaIiEEEiRKT_", "_ZZ4mainENKUliE_clEi", "_ZN5shop85addItemERKSs",
                  "_ZN6shapes5totalERKSt6vectorIiSaIiEE",
                  "_ZN3app4loadINSt3__112basic_stringIcNS1_11char_traitsIcEENS1_9allocatorIcEEEEEEvT_",
                  "core.constprop.0", "std_main", "allotment"});
}

TEST(PlumbingNames, BoostAbslFmtAndQt) {
  expect_plumbing(
      {"_ZN5boost9container13new_allocatorIiE8allocateEm",
       "_ZN5boost9container22small_vector_allocatorIiNS0_13new_allocatorIvEEvE8allocateEmPKv",
       "_ZN5boost9container8flat_mapIiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4lessIiEvEixERKi",
       "_ZN4absl7debian318container_internal8AllocateILm8ESaISt4pairIKiiEEEEPvPT0_m",
       "_ZN5boost11make_sharedI3FooJEEENS_6detail15sp_if_not_arrayIT_E4typeEDpOT0_",
       "_ZN4absl12lts_2022062318container_internal12raw_hash_setINS1_17FlatHashSetPolicyIiEENS1_13hash_"
       "internal4HashIiEESt8equal_toIiESaIiEE6resizeEm",
       "_ZN4absl12lts_202206236StrCatERKNS0_8AlphaNumES3_",
       "_ZN3fmt2v97vformatB5cxx11ENS0_17basic_string_viewIcEENS0_17basic_format_argsINS0_20basic_format_"
       "contextINS0_8appenderEcEEEE",
       "_ZN10QArrayData8allocateEmmm6QFlagsINS_16AllocationOptionEE", "_ZN7QString6appendE5QChar",
       "_ZN7QVectorIiE7reallocEi6QFlagsIN10QArrayData16AllocationOptionEE", "_ZN5QListI7QStringE6appendERKS0_",
       "_ZN9QHashData12allocateNodeEi", "_Z7qMallocm"});
  // As Debian's programs have them.
  expect_plumbing({"_ZNK4absl7debian311string_viewcvNSt7__cxx1112basic_stringIcSt11char_traitsIcET_EEISaIcEEEv",
                   "_ZN7QString6numberEii", "_ZplRK7QStringS1_", "_ZN9QListData12realloc_growEi",
                   "_ZN10QArrayData19reallocateUnalignedEPS_mm6QFlagsINS_16AllocationOptionEE",
                   "_ZN12QMapDataBase10createNodeEiiP12QMapNodeBaseb",
                   "_ZN9QtPrivate16QStringList_joinEPK11QStringListPK5QChari", "_ZN10QJsonArray6insertEiRK10QJsonValue",
                   "_ZN11QJsonObject6insertE11QStringViewRK10QJsonValue",
                   "_ZN13QJsonDocument8fromJsonERK10QByteArrayP15QJsonParseError"});
  expect_charged({"_ZN9QFileInfoC1ERK7QString", "_ZplRK5MoneyS1_", "_ZNK5absl27string_viewcvT_ISaIcEEEv",
                  "_ZN10MainWindow4loadERK7QString", "_ZN12QStringCache3getEi", "_ZN9QListView5paintEv"});
}

TEST(PlumbingNames, RustInsideAngleBracketsToo) {
  expect_plumbing(
      {"__rust_alloc", "__rdl_alloc", "_ZN5alloc3fmt6format12format_inner17h0123456789abcdefE",
       "_ZN63_$LT$alloc..alloc..Global$u20$as$u20$core..alloc..Allocator$GT$8allocate17h0123456789abcdefE",
       "_ZN95_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$alloc..vec..spec_from_iter..SpecFromIter$LT$T$C$I$GT$$GT$9from_"
       "iter17h0123456789abcdefE",
       "_ZN45_$LT$T$u20$as$u20$alloc..string..ToString$GT$9to_string17h0123456789abcdefE",
       "_ZN4core4iter6traits8iterator8Iterator7collect17h0123456789abcdefE",
       "_ZN9hashbrown3raw21RawTable$LT$T$C$A$GT$14reserve_rehash17h0123456789abcdefE",
       "_ZN5alloc5slice64_$LT$impl$u20$alloc..borrow..ToOwned$u20$for$u20$$u5b$T$u5d$$GT$8to_owned17h0123456789abcdefE",
       "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE",
       "_RNvXs_NtNtCs1234_5alloc3vec4ItemNtB4_5Clone5clone"});
  expect_charged({"_ZN2rs5build17h0123456789abcdefE", "_ZN2rs5build28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
                  "_ZN58_$LT$rs..shop..Item$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
                  "_ZN57_$LT$rs..shop..Item$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE"});
}

TEST(PlumbingNames, DruntimeAndPhobosByTheirModules) {
  expect_plumbing({"_d_newarrayT", "_d_newclass", "_d_arrayappendcTX", "gc_malloc",
                   "_D4core6memory2GC6mallocFNaNbmkxC8TypeInfoZPv", "_D2rt8lifetime12_d_newarrayUFNbxC8TypeInfomZAv",
                   "_D3std5array__T8AppenderTAiZQn13ensureAddableMFmZv"});
  expect_charged({"_D3app5buildFiZC3app4Node", "_Dmain", "_D8standard4loadFZv"});
}

TEST(PlumbingNames, GlibCPythonAndWrappersOfC) {
  expect_plumbing({"g_malloc0",
                   "g_slice_alloc",
                   "g_key_file_set_value",
                   "g_time_zone_new_identifier",
                   "g_vasprintf",
                   "g_iconv_open",
                   "g_async_queue_new_full",
                   "g_uri_parse_relative",
                   "g_strdup_printf",
                   "g_hash_table_insert",
                   "g_ptr_array_add",
                   "xmalloc",
                   "sqlite3DbMallocRaw",
                   "my_strdup",
                   "xasprintf",
                   "PyObject_Malloc",
                   "_PyObject_GC_NewVar",
                   "PyUnicode_New",
                   "PyList_Append",
                   "list_resize",
                   "PyDict_SetItem",
                   "new_keys_object",
                   "_PyLong_New"});
  expect_charged(
      {"g_main_context_iteration", "gtk_widget_show", "_PyEval_EvalFrameDefault", "load_file", "py::matrix:/job.py"});
}

TEST(PlumbingNames, GrowersOfGccAndNotAUsersOwnOfSuchNames) {
  expect_plumbing({"_obstack_newchunk", "_obstack_begin", "htab_find_slot_with_hash", "htab_expand",
                   "_ZN3vecIP9tree_node5va_gc8vl_embedE17safe_grow_clearedEjb", "_ZN3vecIi7va_heap6vl_ptrE7reserveEjb",
                   "_ZN7va_heap7reserveIiEEvRP3vecIT_S_8vl_embedEjb",
                   "_ZN5va_gc7reserveIP9tree_nodeS_EEvRP3vecIT_T0_8vl_embedEjb"});
  expect_charged({"_ZN3vecIiE17safe_grow_clearedEj", "obstack_newchunk", "my_htab_expand", "htab_expander",
                  "_ZN2my7va_heap7reserveEi", "safe_grow_cleared"});
}

TEST(PlumbingNames, AClosureOfRustKnowsTheFunctionItStandsIn) {
  EXPECT_EQ(enclosing_function("_ZN2rs5build28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE"), "rs::build");
  EXPECT_EQ(enclosing_function("_ZN2rs5build17h0123456789abcdefE"), "");
  EXPECT_EQ(enclosing_function("_ZZ4mainENKUliE_clEi"), "") << "lambdas of C++ are charged themselves";
  EXPECT_EQ(enclosing_function("main"), "");
}

TEST(PlumbingNames, ContainersSayWhatTheyMake) {
  EXPECT_EQ(container_made_by("_ZNSt6vectorIiSaIiEE9push_backERKi"), "vector");
  EXPECT_EQ(container_made_by("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm"), "string");
  EXPECT_EQ(container_made_by("_ZNSt8_Rb_treeIiSt4pairIKiiESt10_Select1stIS2_ESt4lessIiESaIS2_EE14_M_create_nodeIJS2_"
                              "EEEPSt13_Rb_tree_nodeIS2_EDpOT_"),
            "map node");
  EXPECT_EQ(container_made_by("_ZN5alloc3fmt6format12format_inner17h0123456789abcdefE"), "string");
  EXPECT_EQ(container_made_by("_ZN4absl7debian318container_internal8AllocateILm8ESaISt4pairIKiiEEEEPvPT0_m"),
            "hash table");
  EXPECT_EQ(container_made_by("xstrdup"), "string");
  EXPECT_EQ(container_made_by("_Znwm"), "");
}

} // namespace
} // namespace heaptape
