# keel_module(NAME [DEPENDS target...] [SOURCES file...])  one library per module: keel_NAME, alias keel::NAME.
# keel_test(NAME [LABELS label...] [LIBS target...] SOURCES file...)  one GoogleTest executable, one ctest entry per executable.
# keel_fuzzer(NAME SOURCES file... [LIBS target...])  one libFuzzer executable; Clang only.
# keel_bench(NAME SOURCES file... [LIBS target...])   one Google Benchmark executable.

include(GNUInstallDirs)

function(keel_options target)
  target_compile_features(${target} PUBLIC cxx_std_23)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    $<$<BOOL:${PROJECT_IS_TOP_LEVEL}>:-Werror>)
endfunction()

function(keel_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;SOURCES" ${ARGN})
  set(target keel_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(keel::${name} ALIAS ${target})
  keel_options(${target})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS})
  target_compile_definitions(${target} PUBLIC $<$<BOOL:${KEEL_BARE}>:KEEL_BARE=1>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY KEEL_MODULES ${target})
endfunction()

function(keel_test name)
  if(NOT KEEL_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;LIBS;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  keel_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

function(keel_fuzzer name)
  if(NOT KEEL_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LIBS;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  keel_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_property(GLOBAL APPEND PROPERTY KEEL_FUZZERS ${name})
endfunction()

function(keel_bench name)
  if(NOT KEEL_BENCH)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LIBS;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  keel_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} benchmark::benchmark_main)
endfunction()
