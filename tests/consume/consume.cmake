# Configures, builds and runs tests/consume/project in SCRATCH; WAY is package or subdirectory. Of a package also
# tests/consume/headers, which includes all that is installed; testing, which tests with the helpers for it; telemetry,
# config, net and core, which use modules without what stands above them, and have none of the libraries that only this
# needs.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
# With the flags of the build that this test belongs to, whose library it uses.
set(options -D KEEL_WAY=${WAY} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS=${FLAGS}
  -D CMAKE_COMPILE_WARNING_AS_ERROR=ON)
if(WAY STREQUAL "package")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
  if(NOT EXISTS ${SCRATCH}/prefix/share/doc/keel/keel.spdx.json)
    message(FATAL_ERROR "the package does not say what it is made of")
  endif()
  list(APPEND options -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix)
else()
  list(APPEND options -D KEEL_SOURCE=${SOURCE} -D KEEL_UNITE_LIBRARY=${UNITE}
    -D CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CURRENT_LIST_DIR}/reuse)
  set(ENV{KEEL_REUSE} ${BUILD})
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${SCRATCH}/build ${options})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build --target hello)
run(${SCRATCH}/build/hello)
if(WAY STREQUAL "package")
  # keel::harden reaches a program of somebody else.
  execute_process(COMMAND readelf -d ${SCRATCH}/build/hello OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  if(NOT dynamic MATCHES "BIND_NOW" OR NOT dynamic MATCHES "PIE")
    message(FATAL_ERROR "a program that links keel::harden is not hardened:\n${dynamic}")
  endif()
  run(${CMAKE_CTEST_COMMAND} --test-dir ${SCRATCH}/build --tests-regex "^hello_sql$" --no-tests=error)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/headers -B ${SCRATCH}/headers ${options})
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH}/headers RESULT_VARIABLE code
    OUTPUT_VARIABLE said ERROR_VARIABLE said)
  # GCC 12's std::filesystem has an inline function, used by nobody, that needs what is in no library.
  string(REGEX REPLACE "undefined reference to `std::[^\n]*" "" missing "${said}")
  if(NOT code EQUAL 0 OR missing MATCHES "undefined reference")
    message(FATAL_ERROR "the installed headers do not compile or link:\n${said}")
  endif()
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/testing -B ${SCRATCH}/testing ${options})
  run(${CMAKE_COMMAND} --build ${SCRATCH}/testing)
  run(${SCRATCH}/testing/testing)
  list(APPEND options -D CMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/telemetry -B ${SCRATCH}/telemetry ${options}
    -D CMAKE_DISABLE_FIND_PACKAGE_yaml-cpp=ON)
  run(${CMAKE_COMMAND} --build ${SCRATCH}/telemetry)
  run(${SCRATCH}/telemetry/telemetry)
  list(APPEND options -D CMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/config -B ${SCRATCH}/config ${options})
  run(${CMAKE_COMMAND} --build ${SCRATCH}/config)
  run(${SCRATCH}/config/config --shelves=5)
  list(APPEND options -D CMAKE_DISABLE_FIND_PACKAGE_yaml-cpp=ON)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/net -B ${SCRATCH}/net ${options})
  run(${CMAKE_COMMAND} --build ${SCRATCH}/net)
  run(${SCRATCH}/net/echo)
  foreach(library fmt PkgConfig)
    list(APPEND options -D CMAKE_DISABLE_FIND_PACKAGE_${library}=ON)
  endforeach()
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/core -B ${SCRATCH}/core ${options})
  run(${CMAKE_COMMAND} --build ${SCRATCH}/core)
  run(${SCRATCH}/core/core)
  # A module that there is not is said.
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/core -B ${SCRATCH}/unknown ${options}
    -D KEEL_MODULES=sockets RESULT_VARIABLE code ERROR_VARIABLE said OUTPUT_QUIET)
  if(code EQUAL 0 OR NOT said MATCHES "keel has no module[ \n]+sockets")
    message(FATAL_ERROR "a module that there is not was not said:\n${said}")
  endif()
endif()
