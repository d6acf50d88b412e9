# heaptape_recorder_gate(TARGET LIST [USES library...] [INIT function...] [FINI function...])
#
# Refuses code that must not run inside another program (docs/architecture.md, "The recorder gate"). What is checked
# depends on what TARGET is:
#   static or object library  LIST is an imports.allow file: the only symbols it may leave undefined. USES names libraries
#                             whose hidden symbols it may use as well. Nothing may run by itself at load or exit but the
#                             functions named by INIT and FINI.
#   shared library            LIST is the linker's version script: exactly these names are exported, libc alone is needed,
#                             and everything is bound at load.
# Runs in every build (target TARGET_gate, part of `all`) and as the test recorder_gate.TARGET.
function(heaptape_recorder_gate target list)
  cmake_parse_arguments(arg "" "" "USES;INIT;FINI" ${ARGN})
  get_filename_component(list ${list} ABSOLUTE)
  set(tool ${PROJECT_SOURCE_DIR}/tools/check_recorder.py)

  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" OR type STREQUAL "MODULE_LIBRARY")
    set(options shared --exports ${list})
    set(files $<TARGET_FILE:${target}>)
  else()
    set(options objects --allow ${list})
    heaptape_target_binaries(files ${target})
    foreach(library IN LISTS arg_USES)
      heaptape_target_binaries(used ${library})
      list(APPEND options --uses ${used})
    endforeach()
    foreach(function IN LISTS arg_INIT)
      list(APPEND options --init ${function})
    endforeach()
    foreach(function IN LISTS arg_FINI)
      list(APPEND options --fini ${function})
    endforeach()
  endif()
  set(command ${Python3_EXECUTABLE} ${tool} --nm ${CMAKE_NM} --ld ${CMAKE_LINKER} --readelf ${CMAKE_READELF} ${options}
              -- ${files})

  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${target}.gate)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${command}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${target} ${arg_USES} ${files} ${list} ${tool}
    COMMENT "Recorder gate: ${target}"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${target}_gate ALL DEPENDS ${stamp})
  # Sanitizer and fuzz builds do not build the recorder.
  if(HEAPTAPE_TESTS AND NOT HEAPTAPE_SANITIZE AND NOT HEAPTAPE_FUZZ)
    add_test(NAME recorder_gate.${target} COMMAND ${command} COMMAND_EXPAND_LISTS)
    set_tests_properties(recorder_gate.${target} PROPERTIES LABELS gate)
  endif()
endfunction()

# The archive of a static library, or the objects of an object library.
function(heaptape_target_binaries result target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "OBJECT_LIBRARY")
    set(${result} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
  else()
    set(${result} $<TARGET_FILE:${target}> PARENT_SCOPE)
  endif()
endfunction()
