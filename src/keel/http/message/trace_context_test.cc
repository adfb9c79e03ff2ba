#include "keel/http/message/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::http::trace_context_test {
namespace {

const std::string usual = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr log::TraceId trace{0x0af7651916cd43dd, 0x8448eb211c80319c};

TEST(TraceContext, names_a_trace) {
  EXPECT_EQ(parse_traceparent(usual), trace);
  EXPECT_EQ(parse_traceparent("00-00000000000000000000000000000001-0000000000000001-00"), (log::TraceId{0, 1}));
}

TEST(TraceContext, of_a_later_version_is_read_as_far_as_it_is_known) {
  EXPECT_EQ(parse_traceparent("01" + usual.substr(2)), trace);
  EXPECT_EQ(parse_traceparent("fe" + usual.substr(2) + "-whatever follows"), trace);
  EXPECT_EQ(parse_traceparent("01" + usual.substr(2) + "x"), std::nullopt);
  EXPECT_EQ(parse_traceparent(usual + "-x"), std::nullopt) << "version 00 has nothing behind its flags";
}

TEST(TraceContext, of_another_form_is_none) {
  for (const std::string& value : {
           std::string(),
           std::string("00"),
           usual.substr(0, usual.size() - 1),
           "ff" + usual.substr(2),
           "0g" + usual.substr(2),
           "00-00000000000000000000000000000000-b7ad6b7169203331-01" + std::string(),
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01" + std::string(),
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01" + std::string(),
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x" + std::string(),
           "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01" + std::string(),
           "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" + std::string(),
           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01" + std::string(),
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01" + std::string(),
           " " + usual,
       }) {
    EXPECT_EQ(parse_traceparent(value), std::nullopt) << value;
  }
  // One wrong byte anywhere.
  for (std::size_t at = 0; at < usual.size(); ++at) {
    std::string value = usual;
    value[at] = 'G';
    EXPECT_EQ(parse_traceparent(value), std::nullopt) << at;
  }
}

TEST(TraceContext, is_read_as_it_is_written) {
  Buffer line;
  append_traceparent(line, trace, 0xb7ad6b7169203331);
  EXPECT_EQ(line.view(), "traceparent: " + usual + "\r\n");
}

}  // namespace
}  // namespace keel::http::trace_context_test
