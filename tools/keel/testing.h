// For tests of the program: what a command says, and how it ends.

#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace keel::testing {

struct Ran {
  int code = -1;    // -1: it did not start, or a signal ended it.
  std::string out;  // Both streams.
};

// By the shell.
inline Ran run(const std::string& command) {
  Ran ran;
  std::FILE* const pipe = ::popen(('(' + command + ") 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) ran.out.append(part, size);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

}  // namespace keel::testing
