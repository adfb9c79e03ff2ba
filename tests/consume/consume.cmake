# Configures, builds and runs tests/consume/project in SCRATCH; WAY is package or subdirectory.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
set(options -D KEEL_WAY=${WAY})
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
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${SCRATCH}/build -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${COMPILER} ${options})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build --target hello)
run(${SCRATCH}/build/hello)
