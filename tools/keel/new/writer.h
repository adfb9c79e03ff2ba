// new/writer.h — writes the files of a new service, all of them or none.
//
// Errors:  AlreadyExists if the folder or a file already exists; no existing file is changed. System errors name the
//          path; files that were written before the error are removed.
// Threads: one.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "keel/base/result.h"
#include "new/files.h"
#include "new/names.h"

namespace keel::create {

// Returns the number of files that were written; files that begin with "#!" become executable. The parent of `folder`
// must exist.
Result<std::size_t> write_service(std::span<const File> files, const Names& names, const std::string& folder);

}  // namespace keel::create
