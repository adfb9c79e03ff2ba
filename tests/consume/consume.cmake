# Configures, builds and runs tests/consume/project in SCRATCH; WAY is package or subdirectory. Of a package also
# tests/consume/core, which uses modules without the server, and has none of the libraries that only this needs.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
set(options -D KEEL_WAY=${WAY} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER})
if(WAY STREQUAL "package")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
  list(APPEND options -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix)
else()
  list(APPEND options -D KEEL_SOURCE=${SOURCE})
endif()
if(LAUNCHER)
  # With the flags of the build that this test belongs to: then its compiler cache has every object of the library.
  list(APPEND options -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_COMPILE_WARNING_AS_ERROR=ON
    -D CMAKE_CXX_FLAGS=${FLAGS})
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${SCRATCH}/build ${options})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build --target hello)
run(${SCRATCH}/build/hello)
if(WAY STREQUAL "package")
  foreach(library fmt PkgConfig ZLIB SQLite3 yaml-cpp)
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
