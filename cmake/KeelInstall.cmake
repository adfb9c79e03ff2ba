# Libraries, headers, programs and keel-config.cmake. As a subdirectory of another project nothing is installed.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY KEEL_MODULES)
get_property(programs GLOBAL PROPERTY KEEL_PROGRAMS)

# What was built last need not be all that is installed: `make run` builds one example. This comes before the other
# rules, says what it does, and builds nothing where everything is built.
add_custom_target(keel_installed DEPENDS ${modules} ${programs})
install(CODE "message(STATUS \"Building what is missing of the libraries and programs that are installed (target keel_installed)\")
execute_process(
  COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_CURRENT_BINARY_DIR}\" --config \"\${CMAKE_INSTALL_CONFIG_NAME}\"
    --target keel_installed
  COMMAND_ERROR_IS_FATAL ANY)")

install(TARGETS ${modules} keel_harden keel_re2 EXPORT keel ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# Public headers include some of internal/. A header that needs GoogleTest or Google Benchmark is for the tests and
# benchmarks of this repository, and no program that uses Keel needs either.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/src CONFIGURE_DEPENDS src/keel/*.h)
foreach(header IN LISTS headers)
  file(STRINGS src/${header} frameworks REGEX "#include <(gtest|benchmark)/")
  if(NOT frameworks)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endif()
endforeach()

# What each module stands on, for keel-config.cmake.
set(module_needs "")
foreach(module IN LISTS modules)
  get_target_property(links ${module} INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM links REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
  list(TRANSFORM links REPLACE "^keel_re2$" "keel::re2")
  list(FILTER links INCLUDE REGEX "::")
  string(REGEX REPLACE "^keel_" "" name ${module})
  list(JOIN links " " links)
  string(APPEND module_needs "set(keel_${name}_needs ${links})\n")
endforeach()

include(KeelSbom)
keel_write_sbom(${PROJECT_BINARY_DIR}/keel.spdx.json ${modules})
install(FILES ${PROJECT_BINARY_DIR}/keel.spdx.json DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/keel)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/keel)
install(EXPORT keel FILE keel-targets.cmake NAMESPACE keel:: DESTINATION ${package})
list(TRANSFORM modules REPLACE "^keel_" "" OUTPUT_VARIABLE module_names)
configure_package_config_file(cmake/keel-config.cmake.in keel-config.cmake INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(keel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/keel-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/keel-config-version.cmake
  cmake/KeelApi.cmake cmake/KeelSql.cmake DESTINATION ${package})
