# keel_module(NAME [DEPENDS target...] [SOURCES file...])
#   one library per module: keel_NAME, alias keel::NAME; it is installed with the headers of its folder. Without sources
#   it is headers only, or a name for the modules that it depends on. The module a_b lies in src/keel/a/b; the helpers
#   for tests of the module a, which programs that use Keel test with too, are the module a_testing.
# keel_program(NAME)  the executable NAME is installed.
# keel_test(NAME [ALONE] [LABELS label...] [LIBS target...] [OPTIONS option...] [TIMEOUT seconds] [COST seconds]
#   SOURCES file...)
#   one GoogleTest executable, one ctest entry per executable; those with the highest cost start first. ALONE: no other
#   test runs beside it, which measures real delays. It links keel::base_testing. With OPTIONS of its own for the compiler it does without the
#   precompiled header.
# keel_fuzzer(NAME SOURCES file... [LIBS target...])  one libFuzzer executable; Clang only.
# keel_bench(NAME SOURCES file... [LIBS target...])   one Google Benchmark executable.
# keel_list_fuzzers()  target `fuzzers` builds all of them; their paths are in fuzzers.txt in the build folder.

include(GNUInstallDirs)

function(keel_options target)
  target_compile_features(${target} PUBLIC cxx_std_23)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
  # The libraries are static: nobody replaces their functions, which may therefore be inlined within a file, and their
  # thread-local variables lie in the program's own block, which saves a call at each access.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition -ftls-model=initial-exec)
endfunction()

function(keel_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;SOURCES" ${ARGN})
  set(target keel_${name})
  if(arg_SOURCES)
    set(scope PUBLIC)
    add_library(${target} STATIC ${arg_SOURCES})
    keel_options(${target})
    keel_precompile_library(${target})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_23)
  endif()
  add_library(keel::${name} ALIAS ${target})
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${scope} ${arg_DEPENDS})
  target_compile_definitions(${target} ${scope} $<$<BOOL:${KEEL_BARE}>:KEEL_BARE=1>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY KEEL_MODULES ${target})
endfunction()

function(keel_program name)
  set_property(GLOBAL APPEND PROPERTY KEEL_PROGRAMS ${name})
endfunction()

function(keel_test name)
  if(NOT KEEL_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "ALONE" "TIMEOUT;COST" "LABELS;LIBS;OPTIONS;SOURCES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  keel_options(${name})
  target_compile_options(${name} PRIVATE ${KEEL_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} keel::base_testing GTest::gtest_main)
  if(KEEL_PRECOMPILE AND NOT arg_OPTIONS)
    keel_precompile_test(${name})
  endif()
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  if(KEEL_TESTS_WITH_LABEL AND NOT KEEL_TESTS_WITH_LABEL IN_LIST arg_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_COST)
    set(arg_COST 1)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} COST ${arg_COST}
    RUN_SERIAL ${arg_ALONE})
endfunction()

# A test of a program in Python, where there is Python.
function(keel_python_test name file)
  if(NOT KEEL_TESTS OR KEEL_TESTS_WITH_LABEL)
    return()
  endif()
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endif()
endfunction()

# GoogleTest and what most tests include of the standard library, compiled once for all: half of what a test's file
# takes. With headers of our own in it, a change of one would compile every test again.
function(keel_precompile_test name)
  set(target keel_precompiled)
  if(NOT TARGET ${target})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "int main() {}\n")
    add_executable(${target} ${PROJECT_BINARY_DIR}/precompiled.cc)  # Compiled as the tests are: it must be a program.
    keel_options(${target})
    target_compile_options(${target} PRIVATE ${KEEL_TEST_OPTIONS})
    target_link_libraries(${target} PRIVATE GTest::gtest)
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <algorithm> <atomic> <cerrno> <chrono> <cstdio> <deque>
      <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string>
      <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
  endif()
  keel_use_precompiled(${name} ${target})
endfunction()

# The same for a library, with what most of them include. Not where benchmarks are built: these measure the library as
# others compile it, and a source that forgets to include something is seen there.
function(keel_precompile_library name)
  if(NOT KEEL_PRECOMPILE_LIBRARY OR KEEL_BENCH)
    return()
  endif()
  set(target keel_precompiled_library)
  if(NOT TARGET ${target})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_library.cc CONTENT "")
    add_library(${target} STATIC ${PROJECT_BINARY_DIR}/precompiled_library.cc)
    keel_options(${target})
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <bit> <cerrno> <charconv> <concepts>
      <condition_variable> <coroutine> <cstdint> <cstring> <expected> <limits> <memory> <mutex> <new> <optional>
      <source_location> <span> <string> <string_view> <type_traits> <typeinfo> <utility> <vector>)
  endif()
  keel_use_precompiled(${name} ${target})
endfunction()

function(keel_use_precompiled name from)
  target_precompile_headers(${name} REUSE_FROM ${from})
  # The first is for ccache, which looks at what the preprocessor says. GCC 12 warns without reason about what it inlines
  # of std::string, and does not know system headers any more when they come from a precompiled one.
  target_compile_options(${name} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()

# What must not compile: `source` compiles with CASE=0, and with CASE=1, 2, … the compiler says what stands here, as a
# regular expression, for each; a dropped [[nodiscard]] is a mistake. A sanitizer changes nothing about it: once for each compiler is enough.
function(keel_must_not_compile name source)
  if(NOT KEEL_TESTS OR (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize"))
    return()
  endif()
  set(compile ${CMAKE_CXX_COMPILER} -std=c++23 -Werror=unused-result -I${PROJECT_SOURCE_DIR}/src)
  set(includes "")
  list(LENGTH ARGN cases)
  if(KEEL_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND cases GREATER 8)  # Worth it from there on.
    set(header ${CMAKE_CURRENT_BINARY_DIR}/${name}.h)
    file(STRINGS ${source} lines REGEX "^#include")
    list(JOIN lines "\n" lines)
    file(CONFIGURE OUTPUT ${header} CONTENT "${lines}\n")
    add_custom_command(OUTPUT ${header}.gch COMMAND ${compile} -x c++-header -MD -MF ${header}.d -MT ${name}.h.gch
      ${header} -o ${header}.gch DEPENDS ${header} DEPFILE ${header}.d VERBATIM)
    add_custom_target(${name} ALL DEPENDS ${header}.gch)
    set(includes -include ${header})
  endif()
  set(case 0)
  foreach(reason IN ITEMS "-" ${ARGN})
    add_test(NAME ${name}_${case} COMMAND ${compile} -fsyntax-only ${includes} -DCASE=${case}
      ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    if(case GREATER 0)
      set_tests_properties(${name}_${case} PROPERTIES PASS_REGULAR_EXPRESSION "${reason}")
    endif()
    math(EXPR case "${case} + 1")
  endforeach()
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

function(keel_list_fuzzers)
  if(NOT KEEL_FUZZ)
    return()
  endif()
  get_property(fuzzers GLOBAL PROPERTY KEEL_FUZZERS)
  set(paths "")
  foreach(fuzzer IN LISTS fuzzers)
    string(APPEND paths "$<TARGET_FILE:${fuzzer}>\n")
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/fuzzers.txt CONTENT "${paths}")
  add_custom_target(fuzzers DEPENDS ${fuzzers})
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
