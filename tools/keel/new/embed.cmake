# Writes a C++ source with the files of two folders in it: cmake -D FOLDER= -D CONTRACT= -D OUTPUT= -P this. A name that begins with dot_
# stands for one that begins with a dot.
set(text "// Made of ${FOLDER} and ${CONTRACT}.\n\n#include \"new/files.h\"\n\nnamespace keel::create {\nnamespace {\n")
function(embed folder array)
  file(GLOB_RECURSE names RELATIVE ${folder} LIST_DIRECTORIES FALSE ${folder}/*)
  list(SORT names)
  string(APPEND text "\nconstexpr File ${array}[] = {\n")
  foreach(name IN LISTS names)
    file(READ ${folder}/${name} content)
    string(REGEX REPLACE "(^|/)dot_" "\\1." path "${name}")
    # A literal may have 64 KiB; a file of a template is far from it.
    string(APPEND text "    {\"${path}\", R\"~~(${content})~~\"},\n")
  endforeach()
  string(APPEND text "};\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()
embed(${FOLDER} all)
embed(${CONTRACT} with_contract)
string(APPEND text "\n}  // namespace\n\nstd::span<const File> files() { return all; }\n"
  "std::span<const File> contract_files() { return with_contract; }\n\n}  // namespace keel::create\n")
file(WRITE ${OUTPUT} "${text}")
