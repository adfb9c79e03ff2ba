// What a client says it accepts: the choice is one of what there is, and does not depend on the order of the elements
// (those without quotes, where a list can be turned round without knowing its grammar).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/check.h"
#include "keel/http/message/negotiate.h"

namespace {

std::string turned_round(std::string_view list) {
  std::string turned;
  for (std::size_t end = list.size();;) {
    const std::size_t comma = end == 0 ? std::string_view::npos : list.rfind(',', end - 1);
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    turned += std::string(list.substr(begin, end - begin)) + ",";
    if (comma == std::string_view::npos) return turned;
    end = comma;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  const std::string text(reinterpret_cast<const char*>(data), size);
  static const std::vector<std::string> types = {"application/json", "text/html", "text/plain"};
  constexpr std::string_view codings[] = {"zstd", "br", "gzip"};

  const auto type = choose_media_type(text, types);
  const auto coding = choose_coding(text, codings);
  KEEL_CHECK(!type || *type < types.size(), "what is chosen is there");
  KEEL_CHECK(!coding || *coding < std::size(codings), "what is chosen is there");
  if (text.find('"') == std::string::npos) {
    const std::string other = turned_round(text);
    KEEL_CHECK(choose_media_type(other, types) == type, "the order of the elements does not decide");
  }
  KEEL_CHECK(is_of_media_range(text, "*/*"), "everything is of */*");
  return 0;
}
