#include "keel/db/postgres/encoder.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"

namespace keel::db::postgres::encoder_test {
namespace {

using namespace std::string_literals;

template <class F>
std::string encoded(F&& f) {
  Buffer out;
  Encoder encoder(out);
  f(encoder);
  return std::string(out.view());
}
template <class F>
std::string good(F&& f) {
  return encoded([&](Encoder& encoder) {
    const Result<> result = f(encoder);
    EXPECT_TRUE(result.is_ok()) << result.error().message();
  });
}

TEST(Encoder, writes_each_message_as_the_protocol_has_it) {
  EXPECT_EQ(encoded([](Encoder& e) { e.ssl_request(); }), "\0\0\0\x08\x04\xd2\x16\x2f"s);
  EXPECT_EQ(encoded([](Encoder& e) { e.cancel_request(1, 0x01020304); }),
            "\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\x01\x02\x03\x04"s);
  EXPECT_EQ(good([](Encoder& e) {
              const std::array<StartupParameter, 2> parameters = {{{"user", "app"}, {"database", "shop"}}};
              return e.startup(parameters);
            }),
            "\0\0\0\x20\0\x03\0\0user\0app\0database\0shop\0\0"s);
  EXPECT_EQ(good([](Encoder& e) { return e.password("pw"); }), "p\0\0\0\x07pw\0"s);
  EXPECT_EQ(good([](Encoder& e) { return e.sasl_initial_response("M", "abc"); }), "p\0\0\0\x0dM\0\0\0\0\x03"s + "abc");
  EXPECT_EQ(good([](Encoder& e) { return e.sasl_response("abc"); }), "p\0\0\0\x07"s + "abc");
  EXPECT_EQ(good([](Encoder& e) {
              const std::array<Oid, 2> types = {20, 0};
              return e.parse("s", "select 1", types);
            }),
            "P\0\0\0\x19s\0select 1\0\0\x02\0\0\0\x14\0\0\0\0"s);
  EXPECT_EQ(good([](Encoder& e) { return e.describe_statement("s"); }), "D\0\0\0\x07Ss\0"s);
  EXPECT_EQ(good([](Encoder& e) { return e.describe_portal(""); }), "D\0\0\0\x06P\0"s);
  EXPECT_EQ(good([](Encoder& e) { return e.execute("p", 7); }), "E\0\0\0\x0ap\0\0\0\0\x07"s);
  EXPECT_EQ(good([](Encoder& e) { return e.execute("", 0xffff'ffff); }), "E\0\0\0\x09\0\x7f\xff\xff\xff"s);
  EXPECT_EQ(good([](Encoder& e) { return e.close_statement("s"); }), "C\0\0\0\x07Ss\0"s);
  EXPECT_EQ(good([](Encoder& e) { return e.close_portal("p"); }), "C\0\0\0\x07Pp\0"s);
  EXPECT_EQ(encoded([](Encoder& e) { e.sync(); }), "S\0\0\0\x04"s);
  EXPECT_EQ(encoded([](Encoder& e) { e.flush(); }), "H\0\0\0\x04"s);
  EXPECT_EQ(good([](Encoder& e) { return e.query("select 1"); }), "Q\0\0\0\x0dselect 1\0"s);
  EXPECT_EQ(good([](Encoder& e) { return e.copy_data("1\n"); }), "d\0\0\0\x06"s + "1\n");
  EXPECT_EQ(encoded([](Encoder& e) { e.copy_done(); }), "c\0\0\0\x04"s);
  EXPECT_EQ(good([](Encoder& e) { return e.copy_fail("no"); }), "f\0\0\0\x07no\0"s);
  EXPECT_EQ(encoded([](Encoder& e) { e.terminate(); }), "X\0\0\0\x04"s);
}

TEST(Encoder, binds_each_value_as_its_parameter_has_it) {
  const std::array<Value, 4> values = {Value(7), Value(), Value("a"), Value("1 day")};
  const std::array<Oid, 4> types = {oid::int4, oid::int8, oid::text, oid::interval};
  const std::array<Format, 1> results = {Format::Binary};

  EXPECT_EQ(good([&](Encoder& e) { return e.bind("p", "s", values, types, results); }),
            "B\0\0\0\x32p\0s\0"s +                               //
                "\0\x04\0\x01\0\x01\0\x01\0\0"s +                // The last one is text: the server reads it.
                "\0\x04\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff"s +  //
                "\0\0\0\x01"s + "a" + "\0\0\0\x05"s + "1 day" +  //
                "\0\x01\0\x01"s);
  EXPECT_EQ(good([&](Encoder& e) { return e.bind("", "", {}, {}, {}); }), "B\0\0\0\x0c\0\0\0\0\0\0\0\0"s);
}

TEST(Encoder, rejects_a_zero_byte_that_would_end_a_text_and_writes_nothing) {
  const std::string zero = "a\0b"s;
  Buffer out;
  out.append("before");
  Encoder e(out);
  const std::array<StartupParameter, 1> in_value = {{{"user", zero}}};
  const std::array<StartupParameter, 1> in_name = {{{zero, "x"}}};
  const std::array<StartupParameter, 1> no_name = {{{"", "x"}}};

  for (const Result<>& result :
       {e.parse(zero, "select 1"), e.parse("s", zero), e.bind(zero, "s", {}, {}, {}), e.bind("", zero, {}, {}, {}),
        e.describe_statement(zero), e.describe_portal(zero), e.execute(zero), e.close_statement(zero),
        e.close_portal(zero), e.query(zero), e.copy_fail(zero), e.password(zero), e.sasl_initial_response(zero, ""),
        e.startup(in_value), e.startup(in_name), e.startup(no_name)}) {
    ASSERT_TRUE(result.is_err());
    EXPECT_EQ(result.error().code(), Code::InvalidArgument);
    EXPECT_TRUE(result.error().is_from_environment());
  }
  EXPECT_EQ(out.view(), "before");
}

TEST(Encoder, rejects_a_message_that_is_too_large_and_writes_nothing) {
  Buffer out;
  out.append("before");
  Encoder e(out, 100);
  const std::string large(101, 'x');
  const std::array<Value, 1> values = {Value(large)};
  const std::array<Oid, 1> types = {oid::text};
  const std::string long_value(10'000, 'x');
  const std::array<StartupParameter, 1> parameters = {{{"user", long_value}}};

  for (const Result<>& result :
       {e.query(large), e.parse("", large), e.parse(large, ""), e.copy_data(large), e.copy_fail(large),
        e.bind("", "", values, types, {}), e.sasl_response(large), e.sasl_initial_response("m", large),
        e.password(large), e.startup(parameters), e.describe_statement(large)}) {
    ASSERT_TRUE(result.is_err());
    EXPECT_EQ(result.error().code(), Code::ResourceExhausted);
  }
  EXPECT_EQ(out.view(), "before");
  EXPECT_TRUE(e.query(std::string(95, 'x'))) << "the length itself is 4, and the zero byte 1";
}

// CVE-2024-27304: a length beyond 32 bits must not be truncated to them.
TEST(Encoder, never_truncates_a_length_to_32_bits) {
  Buffer out;
  Encoder e(out);
  const std::string_view huge(out.data(), 0x1'0000'0005);  // Never read.
  Value value("");
  value.size = 0xffff'ffff;
  const std::array<Value, 2> values = {value, value};
  const std::array<Oid, 2> types = {oid::text, oid::bytea};

  EXPECT_EQ(e.copy_data(huge).error().code(), Code::ResourceExhausted);
  EXPECT_EQ(e.sasl_response(huge).error().code(), Code::ResourceExhausted);
  EXPECT_EQ(e.bind("", "", values, types, {}).error().code(), Code::ResourceExhausted);
  EXPECT_TRUE(out.empty());
}

TEST(Encoder, takes_a_bind_back_when_a_value_is_none_of_its_parameter) {
  Buffer out;
  out.append("before");
  Encoder e(out);
  const std::array<Value, 2> values = {Value(1), Value(70'000)};
  const std::array<Oid, 2> types = {oid::int4, oid::int2};

  const Result<> result = e.bind("", "s", values, types, {});

  EXPECT_EQ(result.error().message(), "parameter $2: 70000 is not in the range of smallint");
  EXPECT_EQ(result.error().code(), Code::InvalidArgument);
  EXPECT_EQ(out.view(), "before");
}

TEST(Encoder, bounds_what_a_value_becomes_in_binary) {
  Buffer out;
  Encoder e(out, 64);
  // 12 bytes an element in binary, 2 as text.
  const std::array<Value, 1> values = {Value("{1,2,3,4,5,6,7,8,9}")};
  const std::array<Oid, 1> types = {array_of(oid::int8)};

  EXPECT_EQ(e.bind("", "", values, types, {}).error().code(), Code::ResourceExhausted);
  EXPECT_TRUE(out.empty());
}

TEST(Encoder, needs_no_heap_in_steady_state) {
  Buffer out;
  Encoder e(out);
  const std::array<Value, 5> values = {Value(7), Value("2026-11-24T12:00:37.250000000Z"), Value(0.12345678901234568),
                                       Value("{\"a text that is quoted\"}"), Value("2001:db8:1:2:3:4:5:6/64")};
  const std::array<Oid, 5> types = {oid::int8, oid::timestamptz, oid::numeric, array_of(oid::text), oid::inet};
  const auto send = [&] {
    out.clear();
    return e.parse("s1", "select 1").is_ok() && e.bind("", "s1", values, types, {}).is_ok() && e.execute("").is_ok();
  };
  ASSERT_TRUE(send());
  const std::size_t before = keel::internal::allocations();

  for (int i = 0; i < 100; ++i) ASSERT_TRUE(send());

  EXPECT_EQ(keel::internal::allocations(), before);
}

}  // namespace
}  // namespace keel::db::postgres::encoder_test
