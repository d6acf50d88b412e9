# Options, compiler flags, output folders and the functions every folder uses: heaptape_library(), heaptape_test(),
# heaptape_fuzz(); heaptape_recorder_gate() comes from recorder_gate.cmake.
option(HEAPTAPE_TESTS "Build the tests" ON)
option(HEAPTAPE_WERROR "Treat warnings as errors" ON)
option(HEAPTAPE_PCH "Precompile the headers that the libraries share; without it a missing #include is found" ON)
option(HEAPTAPE_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(HEAPTAPE_STATIC "Link heaptape statically: it needs nothing of the host, and cannot ask debuginfod" OFF)
set(HEAPTAPE_SANITIZE "" CACHE STRING "Sanitizers for the hosted code, e.g. address,undefined; never for the recorder")
set(HEAPTAPE_FUZZ_SECONDS 10 CACHE STRING "How long each fuzz target runs as a test")

# build/PRESET/bin/heaptape finds build/PRESET/lib/libheaptape.so beside it, as the installed ones find each other.
# Test programs go elsewhere, so that bin/ holds what is installed and nothing more.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(HEAPTAPE_TEST_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)

# Where libheaptape.so is installed, from the prefix: lib/x86_64-linux-gnu/heaptape on Debian, whatever the prefix.
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(HEAPTAPE_INSTALL_RECORDER_DIR lib/${CMAKE_LIBRARY_ARCHITECTURE}/heaptape)
else()
  set(HEAPTAPE_INSTALL_RECORDER_DIR ${CMAKE_INSTALL_LIBDIR}/heaptape)
endif()

# The public headers, <heaptape/version.h> among them: link heaptape_headers to use them.
configure_file(${PROJECT_SOURCE_DIR}/include/heaptape/version.h.in ${PROJECT_BINARY_DIR}/include/heaptape/version.h @ONLY)
add_library(heaptape_headers INTERFACE)
target_include_directories(heaptape_headers INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

add_library(heaptape_warnings INTERFACE)
# g++ 12 sees overlapping copies inside std::string that are not there (its bug 105329).
target_compile_options(heaptape_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow
                                                   $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                                                   $<$<BOOL:${HEAPTAPE_WERROR}>:-Werror>)

# What a sanitizer adds to the code confuses g++'s own checks of it; the other builds have them.
if(HEAPTAPE_SANITIZE)
  target_compile_options(heaptape_warnings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
endif()

# Flags of everything that is not the recorder.
add_library(heaptape_hosted INTERFACE)
target_link_libraries(heaptape_hosted INTERFACE heaptape_warnings)
# The same for bounds (its bug 105651), the more so with a precompiled header; clang looks for these in the stage `check`.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(heaptape_hosted INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(HEAPTAPE_SANITIZE)
  target_compile_options(heaptape_hosted INTERFACE -fsanitize=${HEAPTAPE_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(heaptape_hosted INTERFACE -fsanitize=${HEAPTAPE_SANITIZE})
endif()
if(HEAPTAPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HEAPTAPE_FUZZ needs clang; use the preset 'check'")
  endif()
  target_compile_options(heaptape_hosted INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(HEAPTAPE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# All that a sanitizer or fuzz build needs: no recorder, no command, no programs to record.
add_custom_target(heaptape_unit_tests)
add_custom_target(heaptape_fuzzers)

# heaptape_library(NAME SOURCES file... [LINK library...] [PRIVATE_LINK library...])
# A static library for one folder; src/ is the include root. LINK repeats the arrows of docs/architecture.md.
function(heaptape_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE heaptape_hosted ${arg_PRIVATE_LINK})
  # A third quicker to compile; what fuzz targets and tests run most stays optimised.
  if(HEAPTAPE_SANITIZE AND NOT name MATCHES "^heaptape_(base|tape|analysis|symbols|collector)(_|$)")
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(NOT HEAPTAPE_PCH)
    set_target_properties(${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  elseif(NOT name STREQUAL heaptape_base)
    target_precompile_headers(${name} REUSE_FROM heaptape_base)
  endif()
endfunction()

# heaptape_test(NAME SOURCES file... LINK library...)
# A GoogleTest program; each TEST becomes a test of ctest, with the label "unit". Under a sanitizer, where starting a program
# takes longer than most tests, the whole program is one test.
function(heaptape_test name)
  if(NOT HEAPTAPE_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${HEAPTAPE_TEST_OUTPUT_DIRECTORY})
  target_link_libraries(${name} PRIVATE ${arg_LINK} heaptape_hosted GTest::gtest GTest::gtest_main)
  # A test file takes 4.2 s to compile optimised, 1.9 s without, and 1.1 s when GoogleTest's header is compiled before.
  target_precompile_headers(${name} PRIVATE <gtest/gtest.h>)
  target_compile_options(${name} PRIVATE -O0)
  add_dependencies(heaptape_unit_tests ${name})
  if(HEAPTAPE_SANITIZE)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 900)
  else()
    # PRE_TEST: a build without running what was built is quicker, and possible for another machine.
    gtest_discover_tests(
      ${name}
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endfunction()

# heaptape_fuzz(NAME SOURCES file... LINK library... [CORPUS folder])
# A libFuzzer program (LLVMFuzzerTestOneInput). As a test, label "fuzz", it first runs every file of CORPUS and then
# HEAPTAPE_FUZZ_SECONDS of new input; what it finds stays in the build folder.
function(heaptape_fuzz name)
  if(NOT HEAPTAPE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${HEAPTAPE_TEST_OUTPUT_DIRECTORY})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${arg_LINK} heaptape_hosted)
  add_dependencies(heaptape_fuzzers ${name})

  set(corpus "")
  if(arg_CORPUS)
    get_filename_component(corpus ${arg_CORPUS} ABSOLUTE)
    if(NOT IS_DIRECTORY ${corpus})
      message(FATAL_ERROR "heaptape_fuzz(${name}): no corpus folder ${corpus}")
    endif()
  endif()
  set(found ${PROJECT_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${found}/corpus)
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${HEAPTAPE_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048
                                -print_final_stats=1 -artifact_prefix=${found}/ ${found}/corpus ${corpus})
  math(EXPR timeout "${HEAPTAPE_FUZZ_SECONDS} + 120")
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT ${timeout})
endfunction()

include(recorder_gate)
