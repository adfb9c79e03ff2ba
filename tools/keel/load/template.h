// A text with placeholders, whose values differ from request to request.
//
//   {n}            1, 2, 3, … over all threads, never the same twice       {n:1..1000}       1 to 1000, again and again
//   {random}       a random number of 63 bits                              {random:1..1000}  1 to 1000
//   {uuid}         a random UUID, version 4                                {csv.name}        that column of a CSV file
//
// All placeholders of one request use the same number n and the same line of the CSV file: line n; the last line is
// followed by the first line again. A '{' followed by a letter must begin a placeholder; any other '{' stands for
// itself, so JSON can be written unchanged. "{{" stands for one '{'.
//
// Errors:   InvalidArgument for an unknown placeholder, a column that the file does not have, or an empty range.
// Lifetime: the Csv must outlive the template.
// Threads:  call compile() on one thread; any number of threads may then call fill().

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "load/csv.h"
#include "load/random.h"

namespace keel::load {

class Template {
 public:
  // With Percent, values of a CSV file are percent-encoded, as a path requires.
  enum class Escape : bool { None, Percent };

  // `csv` may be null.
  static Result<Template> compile(std::string_view text, const Csv* csv, Escape escape = Escape::None);

  bool is_fixed() const noexcept;
  // Appends the text for request `n`, which counts from 1.
  void fill(Buffer& out, std::uint64_t n, Random& random) const;

 private:
  enum class Kind : std::uint8_t { Text, Number, Random, Uuid, Column };
  struct Part {
    Kind kind;
    std::string text = {};
    std::uint64_t first = 0;
    std::uint64_t count = 0;  // The number of values in the range; 0 if the placeholder has no range.
    std::size_t column = 0;
  };
  static Result<Part> place(std::string_view name, const Csv* csv);

  std::vector<Part> parts_;
  const Csv* csv_ = nullptr;
  Escape escape_ = Escape::None;
};

}  // namespace keel::load
