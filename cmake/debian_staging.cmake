# What Debian's policy asks of a package and `cmake --install` does not do: run by cpack on the files of the package, before it
# packs them. Manual pages and changelogs are compressed, and what lintian may overlook
# is said.
#   CPACK_TEMPORARY_INSTALL_DIRECTORY  the files, below usr/
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
if(NOT IS_DIRECTORY ${usr})
  message(FATAL_ERROR "no files of a package in ${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
endif()
set(doc ${usr}/share/doc/heaptape)

# The date of the sources, so that the same sources make the same package.
execute_process(
  COMMAND git -C ${CPACK_HEAPTAPE_SOURCE} log -1 --format=%ct
  OUTPUT_VARIABLE seconds
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT seconds MATCHES "^[0-9]+$")
  string(TIMESTAMP seconds "%s" UTC)
endif()
execute_process(
  COMMAND date --utc --rfc-email --date=@${seconds}
  OUTPUT_VARIABLE date
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(
  WRITE ${doc}/changelog.Debian
  "heaptape (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) stable; urgency=medium\n\n"
  "  * Version ${CPACK_PACKAGE_VERSION}: what is new stands in changelog.gz.\n\n" " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)

file(MAKE_DIRECTORY ${usr}/share/lintian/overrides)
file(COPY_FILE ${CPACK_HEAPTAPE_SOURCE}/packaging/lintian-overrides ${usr}/share/lintian/overrides/heaptape)

file(GLOB pages ${usr}/share/man/man*/*.[1-8])
execute_process(COMMAND gzip --best --no-name ${pages} ${doc}/changelog ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
