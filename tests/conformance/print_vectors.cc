// The requests of vectors.h for programs in other languages: a line of JSON each, its bytes in hexadecimal.

#include <cstdio>

#include "vectors.h"

namespace {

// Names are plain text, with quotes at most.
void print(const char* kind, const std::string& name, const std::string& wire) {
  std::printf(R"({"kind":"%s","name":")", kind);
  for (const char c : name) {
    if (c == '"' || c == '\\') std::putchar('\\');
    std::putchar(c);
  }
  std::fputs(R"(","wire":")", stdout);
  for (const char c : wire) std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  std::puts("\"}");
}

}  // namespace

int main() {
  for (const conformance::Accepted& one : conformance::accepted()) print("accepted", one.name, one.wire);
  for (const conformance::Refused& one : conformance::refused()) print("refused", one.name, one.wire);
  print("last", "the last request", std::string(conformance::last_request));
}
