#include "gen/parts.h"

#include <algorithm>

namespace keel::gen {
namespace {

constexpr std::size_t weight_least = 64'000;  // If there are several parts, a part has at least this weight.

// Counts only bytes that take time to compile. Literals on separate lines take almost no time and are not counted; most
// of these literals belong to the document.
std::size_t weight_of(std::string_view text) {
  std::size_t weight = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!text.starts_with("    \"")) weight += end;
    text.remove_prefix(end);
  }
  return weight;
}

}  // namespace

Parts::Parts(int count) : count_(static_cast<std::size_t>(std::max(count, 1))) {}

std::string& Parts::of(std::string_view header, std::string_view name) {
  return texts_[{std::string(header), std::string(name)}];
}

std::vector<Parts::Part> Parts::spread() const {
  std::vector<std::size_t> weights;
  std::size_t all = 0;
  for (const auto& [key, text] : texts_) all += weights.emplace_back(weight_of(text));
  const std::size_t used = std::clamp(all / weight_least, std::size_t{1}, count_);
  std::vector<Part> parts(count_);
  std::size_t before = 0;
  std::size_t i = 0;
  for (const auto& [key, text] : texts_) {
    // If a definition crosses the boundary between parts, it belongs to the part that contains its middle.
    const std::size_t middle = before + weights[i] / 2;
    before += weights[i++];
    Part& part = parts[all == 0 ? 0 : std::min(middle * used / all, used - 1)];
    part.text += text;
    if (!key.first.empty()) part.headers.insert(key.first);
  }
  return parts;
}

}  // namespace keel::gen
