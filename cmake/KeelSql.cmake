# keel_sql(TARGET MIGRATIONS folder [DATABASE sqlite] [SOURCES file...])
#   Checks the SQL statements in the C++ sources of TARGET against the migrations of the folder, with the program keel
#   (keel sql --help says what it finds): when TARGET is built, before it is compiled, and as the test TARGET_sql. A
#   statement that is wrong fails both, with its file, line and column. SOURCES are further files, such as headers
#   that no target names. What target_sources() adds after this call is not checked.
function(keel_sql target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MIGRATIONS;DATABASE" "SOURCES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_MIGRATIONS)
    message(FATAL_ERROR "expected: keel_sql(TARGET MIGRATIONS folder [DATABASE sqlite] [SOURCES file...])")
  endif()
  if(NOT TARGET keel::keel AND NOT KEEL_TOOLS)
    message(FATAL_ERROR "keel_sql(${target}) runs the program keel, which is built with KEEL_TOOLS=ON")
  endif()
  if(NOT arg_DATABASE)
    set(arg_DATABASE sqlite)
  endif()
  cmake_path(ABSOLUTE_PATH arg_MIGRATIONS NORMALIZE)
  file(GLOB migrations CONFIGURE_DEPENDS ${arg_MIGRATIONS}/*.sql)
  if(NOT migrations)
    message(FATAL_ERROR "keel_sql(${target}): the folder ${arg_MIGRATIONS} has no migrations, NNNN_name.sql")
  endif()

  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.(cc|cpp|cxx|c\\+\\+|h|hh|hpp|hxx|ipp|inl)$")
  list(TRANSFORM sources PREPEND ${folder}/ REGEX "^[^/$]")
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    list(APPEND sources ${source})
  endforeach()

  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${target}_sql.checked)
  set(check $<TARGET_FILE:keel::keel> sql check --migrations ${arg_MIGRATIONS} --database ${arg_DATABASE} ${sources})
  add_custom_command(OUTPUT ${stamp} COMMAND ${check} COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${sources} ${migrations} $<TARGET_FILE:keel::keel> COMMENT "Checking the SQL of ${target}" VERBATIM)
  add_custom_target(${target}_sql DEPENDS ${stamp})
  add_dependencies(${target} ${target}_sql)
  add_test(NAME ${target}_sql COMMAND ${check})
endfunction()
