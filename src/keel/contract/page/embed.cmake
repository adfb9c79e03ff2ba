# Writes a C++ source with the files of the page in it: cmake -D FOLDER= -D SCRIPTS= -D OUTPUT= -P this. SCRIPTS, separated
# by commas, become one script in their order.
file(READ ${FOLDER}/page.html html)
file(READ ${FOLDER}/page.css style)
string(REPLACE "," ";" scripts "${SCRIPTS}")
set(script "")
foreach(name IN LISTS scripts)
  file(READ ${FOLDER}/${name} part)
  string(APPEND script "${part}")
endforeach()

# The text as a raw literal, and its gzip as one literal for each byte: "\x1f" "a" is not "\x1fa".
function(define name extension text result)
  set(file ${OUTPUT}.${extension})
  file(WRITE ${file} "${text}")
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 16 hash)
  file(ARCHIVE_CREATE OUTPUT ${file}.gz PATHS ${file} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  file(READ ${file}.gz bytes HEX)
  string(REGEX REPLACE "^(1f8b08..)........" "\\100000000" bytes "${bytes}")  # The time, which would differ from build to build.
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "\"\\\\x\\1\"" bytes "${bytes}")
  set(${result} "constexpr PageFile ${name}{\"page.${hash}.${extension}\", R\"~~(${text})~~\",\n  {${bytes}, ${size}}};\n"
    PARENT_SCOPE)
endfunction()
define(script js "${script}" script_source)
define(style css "${style}" style_source)

file(WRITE ${OUTPUT} "// Made of ${FOLDER}.\n
#include \"keel/contract/internal/page_files.h\"\n
namespace keel::contract::internal {
namespace {\n
${script_source}
${style_source}
}  // namespace\n
std::string_view page_html() noexcept { return R\"~~(${html})~~\"; }
const PageFile& page_script() noexcept { return script; }
const PageFile& page_style() noexcept { return style; }\n
}  // namespace keel::contract::internal\n")
