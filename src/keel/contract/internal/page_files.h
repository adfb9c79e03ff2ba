// keel/contract/internal/page_files.h — the files of the documentation page, which embed.cmake turns into a C++ source.

#pragma once

#include <string_view>

namespace keel::contract::internal {

struct PageFile {
  std::string_view name;  // The file's name, which contains a hash of the file's content: "page.0123456789abcdef.js".
  std::string_view text;
  std::string_view gzip;
};

// The HTML of the page, with {{script}}, {{style}} and {{document}} as placeholders for the addresses.
std::string_view page_html() noexcept;
const PageFile& page_script() noexcept;
const PageFile& page_style() noexcept;

}  // namespace keel::contract::internal
