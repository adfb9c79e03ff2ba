#include "keel/base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <ios>
#include <new>
#include <set>
#include <source_location>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace keel::error_test {
namespace {

static_assert(sizeof(Error) == 8);

TEST(Error, keeps_a_literal_by_pointer) {
  static const char text[] = "no such user";
  const Error error(Code::NotFound, text);

  EXPECT_EQ(error.code(), Code::NotFound);
  EXPECT_EQ(error.message().data(), text);
  EXPECT_EQ(error.errno_value(), 0);
}

TEST(Error, copies_a_text_that_was_made) {
  std::string text = "user 7";
  const Error error = Error::text(Code::Conflict, text);
  text = "other!";

  EXPECT_EQ(error.message(), "user 7");
  EXPECT_EQ(error.describe(), "user 7");
}

TEST(Error, puts_context_in_front_and_keeps_code_and_errno) {
  const Error error = Error::from_errno("open", ENOENT).because("reading config").because("starting");

  EXPECT_EQ(error.code(), Code::NotFound);
  EXPECT_EQ(error.errno_value(), ENOENT);
  EXPECT_EQ(error.message(), "starting: reading config: open");
  EXPECT_EQ(error.describe(), "starting: reading config: open: No such file or directory");
}

TEST(Error, keeps_context_of_any_length_in_order) {
  std::string expected = "cause";
  Error error(Code::Internal, "cause");

  for (int i = 0; i < 200; ++i) {
    const std::string line = "level " + std::to_string(i);
    error = std::move(error).because(line);
    expected = line + ": " + expected;
    ASSERT_EQ(error.message(), expected);
  }
  EXPECT_EQ(error.clone().because("top").message(), "top: " + expected);
}

TEST(Error, takes_context_from_its_own_message_and_none_from_nothing) {
  Error error = Error::text(Code::Internal, "twice");

  error = std::move(error).because(error.message());
  EXPECT_EQ(error.message(), "twice: twice");
  error = std::move(error).because("");
  EXPECT_EQ(error.message(), "twice: twice");
  EXPECT_EQ(Error(Code::Internal, "").because("only this").message(), "only this");
}

TEST(Error, gives_errnos_the_code_that_says_what_to_do) {
  const std::pair<int, Code> rows[] = {{ENOENT, Code::NotFound},
                                       {EADDRINUSE, Code::AlreadyExists},
                                       {EACCES, Code::PermissionDenied},
                                       {EINVAL, Code::InvalidArgument},
                                       {ESPIPE, Code::InvalidArgument},
                                       {EMFILE, Code::ResourceExhausted},
                                       {ENOSPC, Code::ResourceExhausted},
                                       {ETIMEDOUT, Code::DeadlineExceeded},
                                       {ECANCELED, Code::Cancelled},
                                       {EAGAIN, Code::Unavailable},
                                       {ECONNRESET, Code::Unavailable},
                                       {ENOSYS, Code::Unsupported},
                                       {EPROTO, Code::Protocol},
                                       {EIO, Code::DataLoss},
                                       {EXDEV, Code::Internal}};
  for (const auto& [number, code] : rows) {
    EXPECT_EQ(Error::from_errno("call", number).code(), code) << number;
    EXPECT_EQ(Error::from_errno("call", number).errno_value(), number);
  }
}

TEST(Error, changes_its_code_and_nothing_else) {
  const Error error = Error::from_errno("connect", ECONNREFUSED).because("peer").as(Code::Internal);

  EXPECT_EQ(error.code(), Code::Internal);
  EXPECT_EQ(error.errno_value(), ECONNREFUSED);
  EXPECT_EQ(error.message(), "peer: connect");
}

TEST(Error, clones_deeply) {
  Error first = Error::text(Code::DataLoss, "page 3");
  Error second = first.clone();
  const Error literal = Error(Code::NotFound, "gone").clone();
  first = Error(Code::NotFound, "replaced");

  EXPECT_EQ(second.message(), "page 3");
  EXPECT_EQ(second.code(), Code::DataLoss);
  EXPECT_EQ(literal.message(), "gone");
}

TEST(Error, moves_its_text) {
  Error first = Error::text(Code::DataLoss, "page 3");
  Error second(std::move(first));
  Error third(Code::NotFound, "x");
  third = std::move(second);

  EXPECT_EQ(third.message(), "page 3");
  EXPECT_EQ(second.message(), "");
}

TEST(Error, of_a_failed_call_takes_the_threads_errno) {
  errno = EMFILE;
  const Error error = Error::from_errno("accept", errno);

  EXPECT_EQ(error.code(), Code::ResourceExhausted);
  EXPECT_EQ(error.errno_value(), EMFILE);
}

TEST(Error, gives_every_code_a_name_a_status_and_a_level) {
  std::set<std::string> names;
  for (int i = 0; i < code_count; ++i) {
    const auto code = static_cast<Code>(i);
    names.emplace(to_string(code));
    EXPECT_GE(http_status(code), 400);
    EXPECT_LE(http_status(code), 504);
    EXPECT_GE(log_level(code), Level::Info);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(code_count));
  EXPECT_EQ(to_string(Code::Internal), "Internal");
  EXPECT_EQ(http_status(Code::InvalidArgument), 400);
  EXPECT_EQ(http_status(Code::Upstream), 502);
  EXPECT_EQ(http_status(Code::ResourceExhausted), 503);
  EXPECT_EQ(log_level(Code::Internal), Level::Error);
}

TEST(Error, of_an_exception_says_what_it_was_and_whether_to_come_again) {
  const auto of = [](auto&& thrown) {
    try {
      throw thrown;
    } catch (...) {
      return Error::from_exception();
    }
  };

  EXPECT_EQ(of(std::runtime_error("broken")).describe(), "exception: broken");
  EXPECT_EQ(of(std::runtime_error("broken")).code(), Code::Internal);
  EXPECT_EQ(of(5).code(), Code::Internal);
  EXPECT_EQ(of(std::bad_alloc()).code(), Code::ResourceExhausted);
  EXPECT_EQ(of(std::bad_alloc()).describe(), "out of memory");

  // An errno is kept, but what to do about it is not for whoever is told of a bug.
  const Error denied = of(std::system_error(EACCES, std::generic_category(), "open /etc/shadow"));
  EXPECT_EQ(denied.code(), Code::Internal);
  EXPECT_EQ(denied.errno_value(), EACCES);
  EXPECT_EQ(denied.describe(), "exception: open /etc/shadow: Permission denied");
  EXPECT_EQ(of(std::system_error(EACCES, std::generic_category())).describe(), "exception: Permission denied");
  EXPECT_EQ(of(std::system_error(std::make_error_code(std::io_errc::stream))).errno_value(), 0);
}

TEST(Error, is_the_applications_own_unless_its_maker_says_otherwise) {
  EXPECT_FALSE(Error(Code::NotFound, "no such user").is_from_environment());
  EXPECT_FALSE(Error::text(Code::NotFound, "no such user").is_bug());
  EXPECT_TRUE(Error::from_errno("open", ENOENT).is_from_environment());
  EXPECT_TRUE(Error::text(Code::Conflict, "UNIQUE").from_environment().is_from_environment());
}

TEST(Error, keeps_its_origin_whatever_becomes_of_it) {
  Error error = Error::from_errno("open", ENOENT).because("reading").because(std::string(300, 'x')).as(Code::Conflict);

  EXPECT_TRUE(error.is_from_environment());
  EXPECT_TRUE(error.clone().is_from_environment());
  EXPECT_EQ(error.code(), Code::Conflict);
  EXPECT_EQ(error.errno_value(), ENOENT);
}

TEST(Error, of_an_exception_is_a_bug_unless_memory_or_the_system_was_the_cause) {
  const auto of = [](const auto& exception) {
    try {
      throw exception;
    } catch (...) {
      return Error::from_exception();
    }
  };
  EXPECT_TRUE(of(std::out_of_range("at")).is_bug());
  EXPECT_TRUE(of(7).is_bug());
  EXPECT_FALSE(of(std::bad_alloc()).is_bug());
  EXPECT_TRUE(of(std::bad_alloc()).is_from_environment());
  EXPECT_TRUE(of(std::system_error(std::make_error_code(std::errc::io_error))).is_from_environment());
}

TEST(Error, remembers_the_statement_and_the_places_it_has_passed) {
  const auto first = std::source_location::current();
  const auto second = std::source_location::current();
  Error error = Error::text(Code::Conflict, "UNIQUE").from_environment();

  error = std::move(error).awaited_at(second).during("insert into t", first).awaited_at(second);

  EXPECT_EQ(error.statement(), "insert into t");
  EXPECT_EQ(error.place().line(), first.line());
  const std::string places =
      "error_test.cc:" + std::to_string(first.line()) + " < error_test.cc:" + std::to_string(second.line());
  EXPECT_EQ(error.describe_places(), places);
  EXPECT_EQ(error.message(), "UNIQUE");
  const Error copy = std::move(error).because(std::string(300, 'x')).clone();
  EXPECT_EQ(copy.describe_places(), places);
  EXPECT_EQ(copy.statement(), "insert into t");
}

struct Doubts : Error::Details {
  explicit Doubts(int how_many) : count(how_many) { ++alive; }
  Doubts(const Doubts& other) : Error::Details(other), count(other.count) { ++alive; }
  ~Doubts() override { --alive; }
  const Details* clone() const override { return new Doubts(*this); }
  int count;
  static inline int alive = 0;
};

TEST(Error, keeps_its_details_whatever_becomes_of_it) {
  const auto count = [](const Error& error) {
    const auto* const doubts = dynamic_cast<const Doubts*>(error.details());
    return doubts != nullptr ? doubts->count : 0;
  };
  {
    Error error = Error(Code::InvalidArgument, "a literal").with(new Doubts(7));
    EXPECT_EQ(error.message(), "a literal");
    EXPECT_EQ(count(error), 7);

    error = std::move(error).because("reading").because(std::string(300, 'x')).as(Code::Conflict);
    EXPECT_EQ(count(error), 7);
    EXPECT_EQ(Doubts::alive, 1);

    const Error copy = error.clone();
    error = Error(Code::NotFound, "another");
    EXPECT_EQ(error.details(), nullptr);
    EXPECT_EQ(count(copy), 7);
    EXPECT_EQ(Doubts::alive, 1);
  }
  EXPECT_EQ(Doubts::alive, 0);
  EXPECT_EQ(Error::text(Code::NotFound, "nothing beside it").details(), nullptr);
}

TEST(Error, remembers_four_places_and_an_await_of_a_statement_on_its_line_as_one) {
  Error error = Error::from_errno("open", ENOENT);
  const auto here = std::source_location::current();
  error = std::move(error).awaited_at(here).awaited_at(here);
  EXPECT_EQ(error.describe_places(), "error_test.cc:" + std::to_string(here.line()));
  error = std::move(error)
              .awaited_at(std::source_location::current())
              .awaited_at(std::source_location::current())
              .awaited_at(std::source_location::current())
              .awaited_at(std::source_location::current());

  const std::string text = error.describe_places();
  EXPECT_EQ(std::count(text.begin(), text.end(), '<'), Error::places_max - 1) << text;
}

}  // namespace
}  // namespace keel::error_test
