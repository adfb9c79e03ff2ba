// keel/contract/internal/page_files.h — the files of the page, which embed.cmake turns into a source.

#pragma once

#include <string_view>

namespace keel::contract::internal {

struct PageFile {
  std::string_view name;  // The name contains a hash of the content: "page.0123456789abcdef.js".
  std::string_view text;
  std::string_view gzip;
};

// The page, with {{script}}, {{style}} and {{document}} in the places of the addresses.
std::string_view page_html() noexcept;
const PageFile& page_script() noexcept;
const PageFile& page_style() noexcept;

}  // namespace keel::contract::internal
