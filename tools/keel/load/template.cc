#include "load/template.h"

#include <charconv>
#include <cstring>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/data/uri.h"
#include "load/text.h"

namespace keel::load {
namespace {

void append_number(Buffer& out, std::uint64_t value) {
  char* at = out.reserve(20);
  out.commit(static_cast<std::size_t>(std::to_chars(at, at + 20, value).ptr - at));
}

void append_uuid(Buffer& out, Random& random) {
  // RFC 9562 §5.4: the version is 4, and the variant is binary 10.
  const std::uint64_t high = (random.next() & ~std::uint64_t{0xf000}) | 0x4000;
  const std::uint64_t low = (random.next() & ~(std::uint64_t{3} << 62)) | std::uint64_t{2} << 62;
  char* at = out.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) *at++ = '-';
    const std::uint64_t half = i < 16 ? high : low;
    *at++ = ascii::hex_lower[half >> (60 - i % 16 * 4) & 15];
  }
  out.commit(36);
}

Result<> wrong(std::string_view name, const std::string& what) {
  return Error::text(Code::InvalidArgument, "{" + std::string(name) + "}: " + what);
}

}  // namespace

Result<Template::Part> Template::place(std::string_view name, const Csv* csv) {
  if (name == "uuid") return Part{.kind = Kind::Uuid};
  if (name.starts_with("csv.")) {
    const std::string_view column = name.substr(4);
    if (csv == nullptr) return wrong(name, "there is no CSV file; give one with --csv").error();
    const auto found = csv->column(column);
    if (found) return Part{.kind = Kind::Column, .column = *found};
    std::string columns;
    for (const std::string& one : csv->columns()) columns += (columns.empty() ? "" : ", ") + one;
    return wrong(name, "the CSV file has no such column; it has " + columns).error();
  }
  const std::size_t colon = name.find(':');
  const std::string_view word = name.substr(0, colon);
  if (word != "n" && word != "random") {
    return wrong(name,
                 "not a placeholder; the placeholders are {n}, {n:1..1000}, {random}, {random:1..1000}, {uuid} and "
                 "{csv.COLUMN}; write {{ for a brace")
        .error();
  }
  Part part{.kind = word == "n" ? Kind::Number : Kind::Random};
  if (colon == std::string_view::npos) return part;
  const std::string_view range = name.substr(colon + 1);
  const std::size_t dots = range.find("..");
  const auto first = parse_count(range.substr(0, dots));
  const auto last = dots == std::string_view::npos ? std::nullopt : parse_count(range.substr(dots + 2));
  if (!first || !last || *last < *first || *last - *first == ~std::uint64_t{0}) {
    return wrong(name, "expected a range of two numbers, the smaller one first: 1..1000").error();
  }
  part.first = *first;
  part.count = *last - *first + 1;
  return part;
}

Result<Template> Template::compile(std::string_view text, const Csv* csv, Escape escape) {
  Template compiled;
  compiled.csv_ = csv;
  compiled.escape_ = escape;
  std::string plain;
  const auto end_plain = [&] {
    if (!plain.empty()) compiled.parts_.push_back({.kind = Kind::Text, .text = std::exchange(plain, {})});
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '{' || at + 1 == text.size()) {
      plain += text[at];
    } else if (text[at + 1] == '{') {
      plain += text[at++];
    } else if (!ascii::is_letter(text[at + 1])) {
      plain += text[at];
    } else {
      const std::size_t end = text.find('}', at);
      if (end == std::string_view::npos) {
        return wrong(text.substr(at + 1, 20), "the closing brace is missing; write {{ for a brace").error();
      }
      KEEL_TRY(Part part, place(text.substr(at + 1, end - at - 1), csv));
      end_plain();
      compiled.parts_.push_back(std::move(part));
      at = end;
    }
  }
  end_plain();
  return compiled;
}

bool Template::is_fixed() const noexcept {
  for (const Part& part : parts_) {
    if (part.kind != Kind::Text) return false;
  }
  return true;
}

void Template::fill(Buffer& out, std::uint64_t n, Random& random) const {
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Kind::Text:
        out.append(part.text);
        break;
      case Kind::Number:
        append_number(out, part.count == 0 ? n : part.first + (n - 1) % part.count);
        break;
      case Kind::Random:
        append_number(out, part.count == 0 ? random.next() >> 1 : part.first + random.below(part.count));
        break;
      case Kind::Uuid:
        append_uuid(out, random);
        break;
      case Kind::Column: {
        const std::string_view value = csv_->value(static_cast<std::size_t>((n - 1) % csv_->rows()), part.column);
        if (escape_ == Escape::Percent) {
          uri::percent_encode(out, value);
        } else {
          out.append(value);
        }
        break;
      }
    }
  }
}

}  // namespace keel::load
