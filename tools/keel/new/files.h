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
// The files of new/contract/, which replace files of the template or are added in a service with a contract.
std::span<const File> contract_files();

}  // namespace keel::create
