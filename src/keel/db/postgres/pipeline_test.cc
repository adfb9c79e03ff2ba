#include "keel/db/postgres/pipeline.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace keel::db::postgres::pipeline_test {
namespace {

Pipeline of(std::initializer_list<Step> steps) {
  Pipeline pipeline;
  for (const Step step : steps) EXPECT_TRUE(pipeline.add(step).is_ok());
  return pipeline;
}

// The responses as text: "0 0. 1." is two to the first step, of which the second is the last, and one to the second;
// "a" is an asynchronous one, "!" an error.
std::string responses(Pipeline& pipeline, std::string_view types) {
  std::string text;
  for (const char type : types) {
    const Result<StepMessage> received = pipeline.receive(static_cast<MessageType>(type));
    if (!text.empty()) text.push_back(' ');
    if (!received) {
      EXPECT_EQ(received.error().code(), Code::Protocol);
      text.push_back('!');
    } else if (received->is_asynchronous()) {
      text.push_back('a');
    } else {
      text.append(std::to_string(received->number)).append(received->is_last ? "." : "");
    }
  }
  return text;
}
std::string responses(std::initializer_list<Step> steps, std::string_view types) {
  Pipeline pipeline = of(steps);
  return responses(pipeline, types);
}

TEST(Pipeline, answers_steps_in_their_order) {
  EXPECT_EQ(responses({Step::Parse, Step::DescribeStatement, Step::Sync}, "1tTZ"), "0. 1 1. 2.");
  EXPECT_EQ(responses({Step::Parse, Step::DescribeStatement, Step::Sync}, "1tnZ"), "0. 1 1. 2.");
  EXPECT_EQ(responses({Step::Bind, Step::Execute, Step::Bind, Step::Execute, Step::Sync}, "2DDC2CZ"),
            "0. 1 1 1. 2. 3. 4.");
  EXPECT_EQ(responses({Step::Bind, Step::DescribePortal, Step::Execute, Step::Sync}, "2TDsZ"), "0. 1. 2 2. 3.");
  EXPECT_EQ(responses({Step::Close, Step::Sync}, "3Z"), "0. 1.");
  EXPECT_EQ(responses({Step::Execute, Step::Sync}, "IZ"), "0. 1.");
}

TEST(Pipeline, passes_what_may_come_at_any_time) {
  EXPECT_EQ(responses({Step::Bind, Step::Execute, Step::Sync}, "N2SDACNZA"), "a 0. a 1 a 1. a 2. a");
  EXPECT_EQ(responses({}, "NASE"), "a a a a") << "and an error before the server stops";
}

TEST(Pipeline, skips_to_the_sync_after_an_error) {
  EXPECT_EQ(
      responses({Step::Bind, Step::Execute, Step::Bind, Step::Execute, Step::Sync, Step::Bind, Step::Sync}, "2DEZ2Z"),
      "0. 1 1. 4. 5. 6.");
  EXPECT_EQ(responses({Step::Parse, Step::Sync}, "EZ"), "0. 1.");
  EXPECT_EQ(responses({Step::Sync}, "EZ"), "0 0.") << "at the commit";
}

TEST(Pipeline, skips_what_is_added_after_an_error_and_before_the_sync) {
  Pipeline pipeline = of({Step::Bind, Step::Execute});
  EXPECT_EQ(responses(pipeline, "E"), "0.");
  EXPECT_EQ(pipeline.waiting(), 0u);
  EXPECT_TRUE(pipeline.add(Step::Bind).is_ok());
  EXPECT_TRUE(pipeline.add(Step::Query).is_ok()) << "the server ignores this one, too";
  EXPECT_TRUE(pipeline.add(Step::Sync).is_ok());
  EXPECT_TRUE(pipeline.add(Step::Parse).is_ok());
  EXPECT_EQ(pipeline.next_number(), 6u);
  EXPECT_EQ(responses(pipeline, "Z1"), "4. 5.");
}

TEST(Pipeline, follows_the_simple_protocol) {
  EXPECT_EQ(responses({Step::Query, Step::Query}, "CZTDDCZ"), "0 0. 1 1 1 1 1.");
  EXPECT_EQ(responses({Step::Query}, "TDCTCIZ"), "0 0 0 0 0 0 0.");
  EXPECT_EQ(responses({Step::Query, Step::Sync}, "TDEZZ"), "0 0 0 0. 1.");
  EXPECT_EQ(responses({Step::Query}, "Z"), "!") << "without any result";
  EXPECT_EQ(responses({Step::Query}, "D"), "!") << "a row that was not described";
  EXPECT_EQ(responses({Step::Query}, "CEC"), "0 0 !") << "nothing but the end follows an error";
}

TEST(Pipeline, follows_copy_in_both_directions) {
  Pipeline pipeline = of({Step::Query});
  EXPECT_EQ(responses(pipeline, "G"), "0");
  EXPECT_TRUE(pipeline.is_copying_in());
  EXPECT_EQ(responses(pipeline, "C"), "0");
  EXPECT_FALSE(pipeline.is_copying_in());
  EXPECT_EQ(responses(pipeline, "Z"), "0.");
  EXPECT_EQ(responses({Step::Query}, "GEZ"), "0 0 0.");
  EXPECT_EQ(responses({Step::Query}, "HddcCZ"), "0 0 0 0 0 0.");
  EXPECT_EQ(responses({Step::Execute, Step::Sync}, "HdcCZ"), "0 0 0 0. 1.");
  EXPECT_EQ(responses({Step::Execute, Step::Sync}, "GCZ"), "0 0. 1.");
  EXPECT_EQ(responses({Step::Query}, "HdC"), "0 0 !") << "without its end";
  EXPECT_EQ(responses({Step::Execute}, "HD"), "0 !");
  EXPECT_EQ(responses({Step::Query}, "d"), "!");
}

TEST(Pipeline, rejects_what_is_no_answer_and_says_so_again) {
  struct Case {
    Step step;
    std::string_view good;  // Before it.
    std::string_view bad;   // Each is none.
  };
  const Case cases[] = {
      {Step::Parse, "", "2DCZTtn3sIGHdcWVvRK"},
      {Step::Bind, "", "1DCZTtn3sIGHdcWVvRK"},
      {Step::Close, "", "12DCZTtnsIGHdcWVvRK"},
      {Step::Sync, "", "12DCTtn3sIGHdcWVvRK"},
      {Step::DescribeStatement, "", "12DCZTn3sIGHdcWVvRK"},
      {Step::DescribeStatement, "t", "12DCZt3sIGHdcWVvRK"},
      {Step::DescribePortal, "", "12DCZt3sIGHdcWVvRK"},
      {Step::Execute, "", "12ZTtn3dcWVvRK"},
      {Step::Execute, "D", "12ZTtn3dcIGHWVvRK"},
      {Step::Execute, "G", "12ZTtn3dcDIGHsWVvRK"},
      {Step::Query, "", "12ZDtn3sdcWVvRK"},
      {Step::Query, "T", "12ZTtn3sdcIGHWVvRK"},
  };
  for (const Case& one : cases) {
    for (const char bad : one.bad) {
      Pipeline pipeline = of({one.step, Step::Sync});
      EXPECT_EQ(responses(pipeline, one.good).find('!'), std::string::npos);
      EXPECT_EQ(responses(pipeline, std::string(1, bad)), "!") << to_string(one.step) << ' ' << bad;
      EXPECT_EQ(responses(pipeline, "1"), "!") << "it stays";
    }
  }
  EXPECT_EQ(responses({}, "Z"), "!") << "nothing was asked";
  Pipeline pipeline = of({Step::Parse});
  EXPECT_EQ(pipeline.receive(MessageType::DataRow).error().message(),
            "the server sent DataRow, which is not a response to Parse");
}

TEST(Pipeline, is_full_at_its_bound) {
  Pipeline pipeline;
  for (std::size_t i = 0; i < Pipeline::steps_max; ++i) ASSERT_TRUE(pipeline.add(Step::Sync).is_ok());
  EXPECT_EQ(pipeline.room(), 0u);
  EXPECT_EQ(pipeline.add(Step::Sync).error().code(), Code::ResourceExhausted);
  EXPECT_EQ(responses(pipeline, "Z"), "0.");
  EXPECT_TRUE(pipeline.add(Step::Sync).is_ok());
}

}  // namespace
}  // namespace keel::db::postgres::pipeline_test
