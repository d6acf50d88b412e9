# cmake --install, the Debian package (cpack), and the test that tries both.
#   bin/heaptape
#   lib/MULTIARCH/heaptape/libheaptape.so   in a folder of its own: it is preloaded, never linked against
#   lib/MULTIARCH/heaptape/libheaptape.so-gdb.py   where gdb looks for it
#   include/heaptape/*.h
#   share/man/man1/heaptape*.1, man5, man7, and completions for bash, zsh and fish
#   share/doc/heaptape/copyright, CHANGELOG.md, guide/*.md, tape-format.md, definitions.md
install(TARGETS heaptape RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS heaptape_recorder LIBRARY DESTINATION ${HEAPTAPE_INSTALL_RECORDER_DIR})
# Without debug information, which is five times as large; `cmake --install BUILD --component debug` installs it beside.
foreach(target heaptape heaptape_recorder)
  if(target STREQUAL heaptape)
    set(installed ${CMAKE_INSTALL_BINDIR}/$<TARGET_FILE_NAME:heaptape>)
  else()
    set(installed ${HEAPTAPE_INSTALL_RECORDER_DIR}/$<TARGET_FILE_NAME:heaptape_recorder>)
  endif()
  install(
    CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${installed}\"
                          COMMAND_ERROR_IS_FATAL ANY)")
  install(
    CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DPROGRAM=$<TARGET_FILE:${target}>\"
                                  \"-DFOLDER=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/debug\" -P
                                  \"${PROJECT_SOURCE_DIR}/cmake/install_debug.cmake\" COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT debug EXCLUDE_FROM_ALL)
endforeach()
install(
  FILES ${PROJECT_SOURCE_DIR}/src/recorder/heaptape-gdb.py
  DESTINATION ${HEAPTAPE_INSTALL_RECORDER_DIR}
  RENAME libheaptape.so-gdb.py)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/include/heaptape ${PROJECT_BINARY_DIR}/include/heaptape
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING
  PATTERN "*.h")
install(
  FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  RENAME copyright)
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What the help and the manual refer to.
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/docs/guide
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING
  PATTERN "*.md")
install(FILES ${PROJECT_SOURCE_DIR}/docs/tape-format.md ${PROJECT_SOURCE_DIR}/docs/definitions.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual and the completions are made by the program itself: what they say is what it does.
if(NOT HEAPTAPE_SANITIZE AND NOT HEAPTAPE_FUZZ)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(manual ${PROJECT_BINARY_DIR}/manual)
  add_custom_command(
    OUTPUT ${manual}/man/heaptape.1
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/make_manual.py $<TARGET_FILE:heaptape> ${manual}
    DEPENDS heaptape
            ${PROJECT_SOURCE_DIR}/tools/make_manual.py
            ${PROJECT_SOURCE_DIR}/tools/manual/completions.py
            ${PROJECT_SOURCE_DIR}/tools/manual/help_text.py
            ${PROJECT_SOURCE_DIR}/tools/manual/man_pages.py
            ${PROJECT_SOURCE_DIR}/docs/guide/filters.md
            ${PROJECT_SOURCE_DIR}/docs/guide/sql.md
            ${PROJECT_SOURCE_DIR}/docs/tape-format.md)
  add_custom_target(heaptape_manual ALL DEPENDS ${manual}/man/heaptape.1)
  foreach(section 1 5 7)
    install(
      DIRECTORY ${manual}/man/
      DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
      FILES_MATCHING
      PATTERN "*.${section}")
  endforeach()
  install(FILES ${manual}/completions/heaptape DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${manual}/completions/_heaptape DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${manual}/completions/heaptape.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heaptape)
set(CPACK_PACKAGE_VENDOR "the heaptape authors")
set(CPACK_PACKAGE_CONTACT "the heaptape authors <authors@heaptape.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "memory profiler and debugger that can go back in time")
set(CPACK_PACKAGE_DESCRIPTION
    "heaptape runs an unmodified program and records every allocation and release
it makes: time, thread, address, size and call stack. A process beside it
writes them to a small compressed file, the tape, which is complete even when
the program crashes or is killed.
.
Reports on a tape answer who leaks, what made the peak, what keeps the process
so large, and what allocates for nothing. A shell goes to any moment of the
run and says what was at an address, who freed it, and who used it next.
.
Programs in C, C++, Rust, D and other languages that allocate through libc are
recorded without being recompiled, at a fraction of the usual cost.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_HEAPTAPE_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_staging.cmake)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gdb, linux-perf")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
include(CPack)

if(NOT HEAPTAPE_SANITIZE AND NOT HEAPTAPE_FUZZ)
  add_test(NAME package COMMAND ${PROJECT_SOURCE_DIR}/tools/check_package ${PROJECT_BINARY_DIR}
                                ${HEAPTAPE_INSTALL_RECORDER_DIR})
  set_tests_properties(package PROPERTIES LABELS package TIMEOUT 300)
endif()
