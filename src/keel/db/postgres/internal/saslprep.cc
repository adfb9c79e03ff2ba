#include "keel/db/postgres/internal/saslprep.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "keel/data/utf8.h"

namespace keel::db::postgres {
namespace {

struct PointRange {
  char32_t first;
  char32_t last;
};

bool is_in(std::span<const PointRange> ranges, char32_t point) {
  const auto at = std::ranges::upper_bound(ranges, point, {}, &PointRange::first);
  return at != ranges.begin() && point <= std::prev(at)->last;
}

// RFC 3454 B.1: characters that are commonly mapped to nothing.
constexpr PointRange mapped_to_nothing[] = {{0xAD, 0xAD},     {0x34F, 0x34F},   {0x1806, 0x1806}, {0x180B, 0x180D},
                                            {0x200B, 0x200D}, {0x2060, 0x2060}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}};
// RFC 3454 C.1.2, without U+200B, which is in mapped_to_nothing.
constexpr PointRange spaces[] = {{0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                                 {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
// RFC 3454 C.2 to C.9, and those code points unassigned in Unicode 3.2 (A.1) that are emoji today.
constexpr PointRange prohibited[] = {
    {0x0, 0x1F},         {0x7F, 0x9F},       {0x340, 0x341},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
    {0x180E, 0x180E},    {0x200E, 0x200F},   {0x2028, 0x202E},   {0x2061, 0x2063},   {0x206A, 0x206F},
    {0x2FF0, 0x2FFB},    {0xD800, 0xF8FF},   {0xFDD0, 0xFDEF},   {0xFFF9, 0xFFFF},   {0x1D173, 0x1D17A},
    {0x1D800, 0x1FFFF},  {0x2FFFE, 0x2FFFF}, {0x3FFFE, 0x3FFFF}, {0x4FFFE, 0x4FFFF}, {0x5FFFE, 0x5FFFF},
    {0x6FFFE, 0x6FFFF},  {0x7FFFE, 0x7FFFF}, {0x8FFFE, 0x8FFFF}, {0x9FFFE, 0x9FFFF}, {0xAFFFE, 0xAFFFF},
    {0xBFFFE, 0xBFFFF},  {0xCFFFE, 0xCFFFF}, {0xDFFFE, 0xDFFFF}, {0xE0001, 0xE0001}, {0xE0020, 0xE007F},
    {0xEFFFE, 0x10FFFF},
};
// Characters that Unicode 3.2 assigns (RFC 3454 A.1 lists those that it does not assign), that are their own NFKC form,
// and that do not combine with the preceding character. The table omits the characters of right-to-left scripts,
// because RFC 3454 §6 has further rules for them.
constexpr PointRange normal[] = {
    {0x20, 0x7E},     {0xA1, 0xA7},     {0xA9, 0xA9},     {0xAB, 0xAC},     {0xAE, 0xAE},     {0xB0, 0xB1},
    {0xB6, 0xB7},     {0xBB, 0xBB},     {0xBF, 0x131},    {0x134, 0x13E},   {0x141, 0x148},   {0x14A, 0x17E},
    {0x180, 0x1C3},   {0x1CD, 0x1F0},   {0x1F4, 0x1F5},   {0x1F8, 0x220},   {0x222, 0x233},   {0x250, 0x2AD},
    {0x386, 0x386},   {0x388, 0x38A},   {0x38C, 0x38C},   {0x38E, 0x3A1},   {0x3A3, 0x3CE},   {0x400, 0x482},
    {0x48A, 0x4CE},   {0x4D0, 0x4F5},   {0x4F8, 0x4F9},   {0x531, 0x556},   {0x561, 0x586},   {0x10D0, 0x10F8},
    {0x1E00, 0x1E99}, {0x1EA0, 0x1EF9}, {0x2010, 0x2010}, {0x2012, 0x2016}, {0x2018, 0x2023}, {0x2027, 0x2027},
    {0x2030, 0x2032}, {0x20A0, 0x20A7}, {0x20A9, 0x20B1}, {0x2190, 0x21FF}, {0x2500, 0x2613}, {0x3001, 0x3007},
    {0x3041, 0x3096}, {0x309D, 0x309E}, {0x30A1, 0x30FE}, {0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0xAC00, 0xD7A3},
};

}  // namespace

Result<std::string> normalised_password(std::string_view password) {
  if (!utf8::is_valid(password)) return std::string(password);
  std::string normalised;
  normalised.reserve(password.size());
  char32_t unknown = 0;
  const char* at = password.data();
  const char* const end = at + password.size();
  while (at != end) {
    const int length = utf8::sequence_length(at, end);
    constexpr unsigned char lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    char32_t point = static_cast<unsigned char>(*at) & lead_bits[length];
    for (int i = 1; i < length; ++i) point = point << 6 | (static_cast<unsigned char>(at[i]) & 0x3F);
    const std::string_view sequence(at, static_cast<std::size_t>(length));
    at += length;
    if (is_in(mapped_to_nothing, point)) continue;
    if (is_in(spaces, point)) {
      normalised.push_back(' ');
      continue;
    }
    if (is_in(prohibited, point)) return std::string(password);
    if (!is_in(normal, point) && unknown == 0) unknown = point;
    normalised.append(sequence);
  }
  if (unknown != 0) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string number;
    for (int shift = unknown > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4)
      number.push_back(digits[unknown >> shift & 15]);
    return Error::text(Code::Unsupported, "the password for the database has the character U+" + number +
                                              ", whose normal form (SASLprep) is not known to this client: use "
                                              "letters, digits and signs without combining marks")
        .from_environment();
  }
  // If no characters remain, the password is used without normalization.
  if (normalised.empty()) return std::string(password);
  return normalised;
}

}  // namespace keel::db::postgres
