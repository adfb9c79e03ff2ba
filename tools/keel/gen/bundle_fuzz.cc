// Any bytes are a document, and behind a zero byte a file that it refers to as "b.yaml": writing them as one text ends.
// Of a document without errors it is one that says the same, and whose own text is the same again.

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "gen/bundle.h"
#include "openapi/diff.h"
#include "openapi/document.h"
#include "openapi/lint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  using namespace keel::openapi;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = text.find('\0');
  std::map<std::string, std::string> files = {{"a.yaml", text.substr(0, zero)},
                                              {"b.yaml", zero == text.npos ? "" : text.substr(zero + 1)}};
  const ReadFile read = [&](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::NotFound, "there is no such file");
    return found->second;
  };
  Problems problems;
  const auto document = Document::load("a.yaml", read, problems);
  if (document == nullptr) return 0;
  files["bundle.json"] = gen::bundle(*document, problems);
  lint(*document, problems);
  if (problems.errors() != 0) return 0;

  Problems others;
  const auto again = Document::load("bundle.json", read, others);
  if (again == nullptr || gen::bundle(*again, others) != files["bundle.json"]) std::abort();
  lint(*again, others);
  if (others.errors() != 0 || !diff(*document, *again).empty() || !diff(*again, *document).empty()) std::abort();
  return 0;
}
