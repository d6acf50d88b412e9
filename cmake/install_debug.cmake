# Part of `cmake --install BUILD --component debug`: puts the debug information of PROGRAM under FOLDER/.build-id, where gdb and
# its like look for it. The installed programs themselves carry none.
execute_process(COMMAND readelf --notes --wide ${PROGRAM} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
if(NOT notes MATCHES "Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)")
  message(FATAL_ERROR "${PROGRAM} has no build-id")
endif()
set(file ${FOLDER}/.build-id/${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.debug)
file(MAKE_DIRECTORY ${FOLDER}/.build-id/${CMAKE_MATCH_1})
execute_process(COMMAND objcopy --only-keep-debug --compress-debug-sections ${PROGRAM} ${file} COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "Installing: ${file}")
