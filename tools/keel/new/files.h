// new/files.h — the files of new/template/ and new/contract/, which are part of the program.
//
// Threads: any.

#pragma once

#include <span>
#include <string_view>

namespace keel::create {

struct File {
  std::string_view path;
  std::string_view text;
};

// The files of new/template/, sorted by path.
std::span<const File> files();
// The files of new/contract/: in a service with a contract, they replace files of the template or are added to them.
std::span<const File> contract_files();

}  // namespace keel::create
