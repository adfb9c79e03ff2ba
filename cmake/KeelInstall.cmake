# Libraries, headers and keel-config.cmake. As a subdirectory of another project nothing is installed.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY KEEL_MODULES)
install(TARGETS ${modules} EXPORT keel ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Public headers include some of internal/; what only tests include stays here.
install(DIRECTORY src/keel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "testing.h" EXCLUDE PATTERN "allocation_count.h" EXCLUDE
  PATTERN "*_bench.h" EXCLUDE PATTERN "scan_kernels.h" EXCLUDE)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/keel)
install(EXPORT keel FILE keel-targets.cmake NAMESPACE keel:: DESTINATION ${package})
list(TRANSFORM modules REPLACE "^keel_" "" OUTPUT_VARIABLE module_names)
configure_package_config_file(cmake/keel-config.cmake.in keel-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(keel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/keel-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/keel-config-version.cmake
  DESTINATION ${package})
