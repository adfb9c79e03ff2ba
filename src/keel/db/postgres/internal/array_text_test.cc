#include "keel/db/postgres/internal/array_text.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::db::postgres::array_text_test {
namespace {

using namespace std::string_literals;

std::string bytes_of(Oid element, std::string_view text) {
  Buffer out;
  return append_array_bytes(element, text, out) ? std::string(out.view()) : "none";
}
std::string text_of(Oid element, std::string_view bytes, std::size_t bytes_max = 1'000'000) {
  Buffer out;
  return append_array_text(element, bytes, bytes_max, out) ? std::string(out.view()) : "none";
}

TEST(ArrayText, comes_back) {
  struct Case {
    Oid element;
    const char* text;
  };
  const Case cases[] = {
      {oid::int4, "{}"},
      {oid::int4, "{1}"},
      {oid::int4, "{1,NULL,-2147483648}"},
      {oid::int8, "{{1,2},{3,4},{5,6}}"},
      {oid::int2, "{{{{{{1}}}}}}"},
      {oid::int4, "[0:2]={1,2,3}"},
      {oid::int4, "[-1:0][5:6]={{1,2},{3,4}}"},
      {oid::boolean, "{t,f,NULL}"},
      {oid::float8, "{1.5,NaN,-Infinity,1e+20}"},
      {oid::float4, "{0.1,1e+06}"},
      {oid::text, R"({a,"b c","","NULL","null","x,y","q\"q","back\\slash","{x}",NULL,é})"},
      {oid::uuid, "{0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50}"},
      {oid::numeric, "{1.50,-0.001,NaN}"},
      {oid::date, R"({2026-11-24,infinity,"0044-03-15 BC"})"},
      {oid::timestamptz, "{2026-11-24T12:00:37.250000000Z}"},
      {oid::interval, "{P1DT2H}"},
      {oid::inet, "{10.0.0.1,::1/64}"},
      {oid::bytea, R"({"\\x00ff","\\x"})"},
      {oid::jsonb, R"({"{\"a\": 1}"})"},
  };
  for (const Case& one : cases) EXPECT_EQ(text_of(one.element, bytes_of(one.element, one.text)), one.text);
}

TEST(ArrayText, has_the_binary_form_of_the_server) {
  EXPECT_EQ(bytes_of(oid::int2, "{7,NULL}"),
            "\0\0\0\x01\0\0\0\x01\0\0\0\x15\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\x07\xff\xff\xff\xff"s);
  EXPECT_EQ(bytes_of(oid::int2, "{}"), "\0\0\0\0\0\0\0\0\0\0\0\x15"s);
}

TEST(ArrayText, rejects_texts_that_are_none) {
  for (const char* text : {"",
                           "1",
                           "{",
                           "}",
                           "{1",
                           "{1,",
                           "{1,}",
                           "{,1}",
                           "{1}}",
                           "{1}x",
                           "{{1},{2,3}}",
                           "{{1},2}",
                           "{1,{2}}",
                           "{{}}",
                           "{{{{{{{1}}}}}}}",
                           "[0:1]={1}",
                           "[1:0]={}",
                           "[1:1]{1}",
                           "[1]={1}",
                           "[1:1][1:1]={1}",
                           "[x:1]={1}",
                           "{\"1}",
                           "{1\\",
                           "{1 ,2}",
                           "{x}",
                           "{99999999999}",
                           "[-2147483648:2147483647]={1}"}) {
    EXPECT_EQ(bytes_of(oid::int4, text), "none") << text;
  }
  EXPECT_EQ(bytes_of(oid::bytea, R"({"\\x0"})"), "none");
  EXPECT_EQ(bytes_of(oid::bytea, R"({"\\xzz"})"), "none");
}

TEST(ArrayText, rejects_bytes_that_are_none) {
  const std::string good = bytes_of(oid::int4, "{{1,2},{3,NULL}}");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(text_of(oid::int4, good.substr(0, size)), "none") << size;
  }
  EXPECT_EQ(text_of(oid::int4, good + "x"), "none");
  EXPECT_EQ(text_of(oid::int8, good), "none") << "another element";
  const auto head = [](std::string_view depth, std::string_view sizes) {
    return std::string(depth) + "\0\0\0\0\0\0\0\x17"s + std::string(sizes);
  };
  EXPECT_EQ(text_of(oid::int4, head("\0\0\0\x07"s, std::string(56, '\x01'))), "none") << "7 dimensions";
  EXPECT_EQ(text_of(oid::int4, head("\xff\xff\xff\xff"s, "")), "none");
  EXPECT_EQ(text_of(oid::int4, head("\0\0\0\x01"s, "\x7f\xff\xff\xff\0\0\0\x01"s)), "none") << "2^31 elements";
  EXPECT_EQ(text_of(oid::int4, head("\0\0\0\x01"s, "\0\0\0\0\0\0\0\x01"s)), "none") << "a dimension of nothing";
  EXPECT_EQ(text_of(oid::int4, head("\0\0\0\x02"s, "\0\x01\0\0\0\0\0\x01\0\x01\0\0\0\0\0\x01"s)), "none") << "2^32";
}

TEST(ArrayText, bounds_what_few_bytes_can_become) {
  const std::string large = bytes_of(oid::numeric, "{1e100000,1e100000}");
  EXPECT_LT(large.size(), 60u);
  EXPECT_EQ(text_of(oid::numeric, large).size(), 200'005u);
  EXPECT_EQ(text_of(oid::numeric, large, 150'000), "none");
}

}  // namespace
}  // namespace keel::db::postgres::array_text_test
