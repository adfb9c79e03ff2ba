# Writes a C++ source with the files of a folder in it: cmake -D FOLDER= -D OUTPUT= -P this. A name that begins with dot_
# stands for one that begins with a dot.
file(GLOB_RECURSE names RELATIVE ${FOLDER} LIST_DIRECTORIES FALSE ${FOLDER}/*)
list(SORT names)
set(text "// Made of ${FOLDER}.\n\n#include \"new/files.h\"\n\nnamespace keel::create {\nnamespace {\n\nconstexpr File all[] = {\n")
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} content)
  string(REGEX REPLACE "(^|/)dot_" "\\1." path "${name}")
  # A literal may have 64 KiB; a file of a template is far from it.
  string(APPEND text "    {\"${path}\", R\"~~(${content})~~\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\nstd::span<const File> files() { return all; }\n\n}  // namespace keel::create\n")
file(WRITE ${OUTPUT} "${text}")
