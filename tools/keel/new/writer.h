// new/writer.h — the files of a new service, all of them or none.
//
// Errors:  AlreadyExists, when there is something where the folder is to be: that stays as it is. Those of the system,
//          with the path: what had been written is gone again.
// Threads: one.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "keel/base/result.h"
#include "new/files.h"
#include "new/names.h"

namespace keel::create {

// How many files were written; what begins with "#!" may be executed. The folder above `folder` exists.
Result<std::size_t> write_service(std::span<const File> files, const Names& names, const std::string& folder);

}  // namespace keel::create
