#include "keel/observe/unhandled.h"

#include <gtest/gtest.h>

#include <optional>
#include <source_location>
#include <string>

#include "keel/base/bug.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"

namespace keel::unhandled_test {
namespace {

std::string drained(log::Reader& reader) {
  std::string text;
  reader.drain([&](const log::Record& record) {
    if (record.component() != "unhandled") return;
    text.append(log::to_string(record.level())).append(" ").append(record.message());
    record.for_each(
        [&](const log::FieldView& field) { text.append(" ").append(field.name).append("=").append(field.text); });
    text.append(" at ").append(record.where().file_name()).append("\n");
  });
  return text;
}
Error a_bug() { return Error::from_bug(Bug("the row has no column 4")); }

TEST(Unhandled, is_a_line_with_sentence_place_and_stack_and_counted) {
  log::Reader reader(false);
  (void)drained(reader);
  const std::uint64_t before = unhandled_errors();

  report_unhandled("a task ended with a bug", a_bug());

  const std::string line = drained(reader);
  for (const char* wanted : {"a task ended with a bug", "error=the row has no column 4",
                             "places=unhandled_test.cc:", "stack=", "unhandled_test.cc\n"}) {
    EXPECT_NE(line.find(wanted), line.npos) << wanted << " in " << line;
  }
  EXPECT_EQ(unhandled_errors(), before + 1);
}

TEST(Unhandled, goes_to_standard_error_while_nobody_reads_the_log) {
  ::testing::internal::CaptureStderr();

  report_unhandled("a task ended with a bug", a_bug());

  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(line.find("error: a task ended with a bug: the row has no column 4 (unhandled_test.cc:"), 0u) << line;
}

}  // namespace
}  // namespace keel::unhandled_test
