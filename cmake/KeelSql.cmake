# keel_sql(TARGET MIGRATIONS folder [QUERIES file... [NAMESPACE queries] [CONTRACT document]]
#   [DATABASE sqlite] [LOCK file] [SOURCES file... [SOURCES_LOCK file] | NO_SOURCES])
#   Checks the SQL statements in the C++ sources of TARGET against the migrations of the folder, with the program keel
#   (keel sql --help says what it finds): when TARGET is built, before it is compiled, and as the test TARGET_sql. A
#   statement that is wrong fails both, with its file, line and column. SOURCES are further files, such as headers
#   that no target names. What target_sources() adds after this call is not checked.
#   QUERIES are files of SQL queries, for which typed functions are generated and added to TARGET (keel gen sql --help says
#   what they are): of users.sql "queries/users.h". They are generated when TARGET is built, and again when a query or a
#   migration has changed. CONTRACT is the OpenAPI document that the program's types in them are made of, for messages.
#   DATABASE postgres, or DATABASE sqlite postgres: what queries and statements are for. What PostgreSQL says of them is in
#   the files LOCK (queries.lock beside the migrations) and SOURCES_LOCK (statements.lock, for the statements in C++
#   sources), which belong into the repository; the target TARGET_sql_prepare asks a server and writes them.
#   NO_SOURCES: the C++ sources have no SQL, and are not checked.
function(keel_sql target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_SOURCES" "MIGRATIONS;NAMESPACE;CONTRACT;LOCK;SOURCES_LOCK" "SOURCES;QUERIES;DATABASE")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_MIGRATIONS)
    message(FATAL_ERROR "expected: keel_sql(TARGET MIGRATIONS folder [QUERIES file... [NAMESPACE name] [CONTRACT document]] "
      "[DATABASE sqlite] [LOCK file] [SOURCES file... [SOURCES_LOCK file] | NO_SOURCES])")
  endif()
  if(NOT arg_DATABASE)
    set(arg_DATABASE sqlite)
  endif()
  cmake_path(ABSOLUTE_PATH arg_MIGRATIONS NORMALIZE)
  string(REGEX REPLACE "/+$" "" arg_MIGRATIONS ${arg_MIGRATIONS})  # Else its parent would be itself.
  file(GLOB migrations CONFIGURE_DEPENDS ${arg_MIGRATIONS}/*.sql)
  if(NOT migrations)
    message(FATAL_ERROR "keel_sql(${target}): the folder ${arg_MIGRATIONS} has no migrations, NNNN_name.sql")
  endif()

  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.(cc|cpp|cxx|c\\+\\+|h|hh|hpp|hxx|ipp|inl)$")
  if(arg_QUERIES)
    keel_sql_queries(${target} ${arg_MIGRATIONS} "${arg_DATABASE}" "${arg_NAMESPACE}" "${arg_CONTRACT}" "${migrations}"
      "${arg_QUERIES}" "${arg_LOCK}")
    set(may_be_none --allow-none)
  else()
    set(may_be_none "")
  endif()
  list(TRANSFORM sources PREPEND ${folder}/ REGEX "^[^/$]")
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    list(APPEND sources ${source})
  endforeach()
  # Sources that this build generates are checked by what makes them.
  foreach(source IN LISTS sources)
    cmake_path(IS_PREFIX CMAKE_CURRENT_BINARY_DIR "${source}" NORMALIZE is_generated)
    if(is_generated)
      list(REMOVE_ITEM sources "${source}")
    endif()
  endforeach()
  if(arg_NO_SOURCES OR (arg_QUERIES AND NOT sources))
    return()
  endif()
  if(NOT TARGET keel::keel AND NOT KEEL_TOOLS)
    message(FATAL_ERROR "keel_sql(${target}) runs the program keel, which is built with KEEL_TOOLS=ON")
  endif()

  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${target}_sql.checked)
  string(REPLACE ";" "," database "${arg_DATABASE}")
  set(options --migrations ${arg_MIGRATIONS} ${may_be_none})
  set(lock_file "")
  if(postgres IN_LIST arg_DATABASE)
    keel_sql_lock(${target} SOURCES_LOCK "${arg_SOURCES_LOCK}" ${arg_MIGRATIONS} statements.lock)
    list(APPEND options ${lock_options})
    if(NOT TARGET ${target}_sql_prepare)
      add_custom_target(${target}_sql_prepare)
      add_dependencies(${target}_sql_prepare keel::keel)
    endif()
    add_custom_command(TARGET ${target}_sql_prepare POST_BUILD WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      COMMAND $<TARGET_FILE:keel::keel> sql prepare ${options} ${sources}
      COMMENT "Asking PostgreSQL about the statements of ${target}" VERBATIM)
  endif()
  set(check $<TARGET_FILE:keel::keel> sql check --database ${database} ${options} ${sources})
  add_custom_command(OUTPUT ${stamp} COMMAND ${check} COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    DEPENDS ${sources} ${migrations} ${lock_file} $<TARGET_FILE:keel::keel> COMMENT "Checking the SQL of ${target}" VERBATIM)
  add_custom_target(${target}_sql DEPENDS ${stamp})
  add_dependencies(${target} ${target}_sql)
  add_test(NAME ${target}_sql COMMAND ${check} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()

# The file of what PostgreSQL says: the argument `keyword`, or `name` beside the migrations. Sets lock_options, the
# options of the program for it, and lock_file, the file if it is there. A file has the statements of one target.
function(keel_sql_lock target keyword lock migrations name)
  if(NOT lock)
    cmake_path(GET migrations PARENT_PATH lock)
    string(APPEND lock /${name})
  endif()
  cmake_path(ABSOLUTE_PATH lock NORMALIZE)
  get_property(owner GLOBAL PROPERTY "keel_sql_lock ${lock}")
  if(owner)
    message(FATAL_ERROR "keel_sql(${target}): ${lock} has the statements of ${owner} already, and preparing one would "
      "remove those of the other: name another file with ${keyword}")
  endif()
  set_property(GLOBAL PROPERTY "keel_sql_lock ${lock}" ${target})
  cmake_path(RELATIVE_PATH lock BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE short_lock)
  file(GLOB file CONFIGURE_DEPENDS ${lock})
  set(lock_file ${file} PARENT_SCOPE)
  set(lock_options --lock ${short_lock}
    --prepare-by "cmake --build ${CMAKE_BINARY_DIR} --target ${target}_sql_prepare" PARENT_SCOPE)
endfunction()

# The part of keel_sql() that generates.
function(keel_sql_queries target migrations databases space contract migration_files queries lock)
  if(TARGET keel_gen_sql_alone)
    set(program keel_gen_sql_alone)
    set(generate $<TARGET_FILE:keel_gen_sql_alone>)
  elseif(TARGET keel::keel)
    set(program keel::keel)
    set(generate $<TARGET_FILE:keel::keel> gen sql)
  else()
    message(FATAL_ERROR "keel_sql(${target}) runs the program keel, which is built with KEEL_TOOLS=ON")
  endif()
  if(NOT space)
    set(space queries)
  endif()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}_sql)
  string(REGEX REPLACE ".*::" "" subfolder ${space})
  set(files "")
  set(sources "")
  foreach(query IN LISTS queries)
    # As it is written: messages name it so, and the code is the same wherever the project lies.
    cmake_path(IS_ABSOLUTE query is_absolute)
    if(is_absolute)
      cmake_path(RELATIVE_PATH query BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    endif()
    list(APPEND files ${query})
    cmake_path(GET query STEM LAST_ONLY stem)
    list(APPEND sources ${out}/${subfolder}/${stem}.cc)
  endforeach()
  list(TRANSFORM files PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  set(options "")
  if(contract)
    set(options --contract ${contract})
    cmake_path(ABSOLUTE_PATH contract NORMALIZE)
    list(APPEND paths ${contract})
  endif()
  string(REPLACE ";" "," database "${databases}")
  if(postgres IN_LIST databases)
    keel_sql_lock(${target} LOCK "${lock}" ${migrations} queries.lock)
    list(APPEND options ${lock_options})
    list(APPEND paths ${lock_file})
    add_custom_target(${target}_sql_prepare WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      COMMAND ${generate} --migrations ${migrations} --database ${database} --prepare ${lock_options} ${files}
      COMMENT "Asking PostgreSQL about the queries of ${target}" VERBATIM)
    add_dependencies(${target}_sql_prepare ${program})
  endif()
  # The stamp says that it has run; a file whose text is the same keeps its time, and is not compiled again.
  list(TRANSFORM sources REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE headers)
  list(APPEND headers ${out}/${subfolder}/rows.h)
  # The headers are named so that Ninja compiles in the same build what includes one that has changed.
  add_custom_command(OUTPUT ${out}/generated BYPRODUCTS ${sources} ${headers}
    COMMAND ${generate} --migrations ${migrations} --database ${database} --namespace ${space} --out ${out} ${options}
      ${files}
    COMMAND ${CMAKE_COMMAND} -E touch ${out}/generated WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    DEPENDS ${paths} ${migration_files} ${program} COMMENT "Generating the queries of ${target}" VERBATIM)
  add_custom_target(${target}_queries DEPENDS ${out}/generated)
  add_dependencies(${target} ${target}_queries)
  set_source_files_properties(${sources} PROPERTIES GENERATED ON)
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${out}>)
  target_link_libraries(${target} PUBLIC keel::db)
endfunction()
