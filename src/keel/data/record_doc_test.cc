// docs/records.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/binary_stream.h"
#include "keel/data/cbor.h"
#include "keel/data/json_parse.h"
#include "keel/data/message_pack.h"
#include "keel/data/record.h"
#include "keel/data/record_fields.h"

namespace keel::record_doc_test {

struct Reading {
  struct Device {
    Uuid id;
    std::uint16_t port = 0;
  };
  Device device;
  std::vector<double> samples;
  void rules(Check& check) const { check.each(samples).range(-90, 60); }
};

namespace {

Result<> ask(double& sample) {
  Record reading;
  KEEL_TRY_VOID(reading.set("device.id", Uuid::v7()));
  KEEL_TRY_VOID(reading.set("device.port", std::uint16_t{8080}));
  KEEL_TRY_VOID(reading.set("samples", {21.5, 22.0}));
  KEEL_TRY_VOID(reading.append("samples", 22.5));
  KEEL_TRY(const double last, reading.get<double>("samples[2]"));
  sample = last;
  for (const Record::Field field : reading) {
    std::puts((std::string(field.name) + ": " + std::string(Record::name_of(field.value.kind()))).c_str());
  }

  EXPECT_EQ(reading.get<double>("samples[7]").error().message(), "samples[7] is missing");
  EXPECT_EQ(reading.get<std::uint8_t>("device.port").error().message(), "device.port: 8080 does not fit into a uint8");
  EXPECT_EQ(reading.get<bool>("samples").error().message(), "samples: is an array, not a bool");
  EXPECT_EQ(reading.set("samples.x", 1).error().message(), "samples: is an array, not a record");
  EXPECT_EQ(reading.set("samples[7]", 1).error().message(), "samples[7] is missing: samples has 3 elements");

  const std::string bytes = cbor::write(reading);
  KEEL_TRY(const Record again, cbor::parse<Record>(bytes));
  EXPECT_EQ(again, reading);

  Arena arena;
  Record message(arena);
  Violations wrong;
  if (!cbor::read(message, bytes, arena, wrong)) return wrong.error();
  EXPECT_EQ(message, reading);

  KEEL_TRY(const Reading checked, from_record<Reading>(reading));
  const Record back = to_record(checked);
  EXPECT_EQ(back, reading);
  EXPECT_EQ(back.at("device.port")->kind(), Record::Kind::Uint16);
  static_cast<void>(reading.set("samples[1]", 61));
  EXPECT_EQ(from_record<Reading>(reading).error().message(), "/samples/1 must be from -90 to 60");

  cbor::Stream in;
  std::size_t texts = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    in.feed(std::string_view(bytes).substr(at, 16));
    while (const cbor::Stream::Event* event = in.next()) {
      if (event->type == cbor::Stream::Type::Key) ++texts;
    }
  }
  KEEL_TRY_VOID(in.finish());
  EXPECT_EQ(texts, 4u);
  return {};
}

TEST(RecordsPage, makes_sends_and_checks_a_record) {
  double last = 0;
  const Result<> done = ask(last);
  EXPECT_TRUE(done.is_ok()) << (done ? "" : done.error().message());
  EXPECT_EQ(last, 22.5);
}

}  // namespace
}  // namespace keel::record_doc_test
