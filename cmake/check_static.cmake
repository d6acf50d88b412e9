# Run after linking with HEAPTAPE_STATIC: PROGRAM must start, and must need no shared library and no loader.
execute_process(COMMAND ${PROGRAM} --version RESULT_VARIABLE status OUTPUT_VARIABLE version)
if(NOT status EQUAL 0 OR NOT version MATCHES "static")
  message(FATAL_ERROR "${PROGRAM} --version ended with ${status}: ${version}")
endif()
execute_process(COMMAND readelf --dynamic --program-headers --wide ${PROGRAM} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
if(text MATCHES "NEEDED|INTERP")
  message(FATAL_ERROR "${PROGRAM} is not static: ${text}")
endif()
