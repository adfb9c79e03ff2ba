#include "keel/http/server/rejection.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/server/problem.h"

namespace keel::http::rejection_test {
namespace {

Violations two() {
  Violations wrong;
  wrong.add("/sku", "is required", "required");
  wrong.add("/lines/0/quantity", "must be from 1 to 100", "minimum");
  return wrong;
}
Violations malformed() {
  Violations wrong;
  wrong.set_malformed({"/user", "expected ':'", 3, 4});
  return wrong;
}

TEST(Rejection, is_what_an_error_carries) {
  const Error error = Rejection::error(Rejection::What::Body, two());

  EXPECT_EQ(error.code(), Code::InvalidArgument);
  EXPECT_FALSE(error.is_from_environment());
  EXPECT_EQ(error.message(), "/sku is required; /lines/0/quantity must be from 1 to 100");
  const Rejection* const why = Rejection::of(error);
  ASSERT_NE(why, nullptr);
  EXPECT_EQ(why->what(), Rejection::What::Body);
  ASSERT_EQ(why->violations().size(), 2u);
  EXPECT_EQ(why->violations()[1].pointer, "/lines/0/quantity");
  EXPECT_EQ(Rejection::of(Error(Code::InvalidArgument, "/sku is required")), nullptr);
}

TEST(Rejection, has_the_status_of_what_is_wrong) {
  const auto status = [](const Error& error) { return Rejection::of(error)->status(); };
  EXPECT_EQ(status(Rejection::error(Rejection::What::Body, two())), Status::UnprocessableContent);
  EXPECT_EQ(status(Rejection::error(Rejection::What::Body, malformed())), Status::BadRequest);
  EXPECT_EQ(status(Rejection::error(Rejection::What::Query, two())), Status::BadRequest);
  EXPECT_EQ(status(Rejection::error(Rejection::What::Form, two())), Status::UnprocessableContent);
  EXPECT_EQ(status(Rejection::unsupported("x", "Accept", "y")), Status::UnsupportedMediaType);
  EXPECT_EQ(status(Rejection::too_large("x")), Status::ContentTooLarge);
  EXPECT_EQ(problem(Rejection::too_large("x is too large")).content(),
            R"({"type":"about:blank","title":"Content Too Large","status":413,"detail":"x is too large"})");
}

TEST(Rejection, stays_with_its_error_until_somebody_says_that_it_is_another) {
  Error error = Rejection::error(Rejection::What::Query, two()).because("listing").because(std::string(300, 'x'));
  const Error copy = error.clone();
  error = std::move(error).as(Code::Conflict);

  EXPECT_EQ(Rejection::of(error), nullptr);
  EXPECT_EQ(problem(error).status(), Status::Conflict);
  ASSERT_NE(Rejection::of(copy), nullptr);
  EXPECT_EQ(problem(copy).content(),
            R"({"type":"about:blank","title":"Bad Request","status":400,"detail":"the query has invalid values",)"
            R"("errors":[{"parameter":"/sku","keyword":"required","detail":"is required"},)"
            R"({"parameter":"/lines/0/quantity","keyword":"minimum","detail":"must be from 1 to 100"}]})");
}

TEST(Rejection, of_a_type_says_what_is_accepted) {
  const Response response = problem(Rejection::unsupported("expected B", "Accept-Patch", "b/c"));

  EXPECT_EQ(response.field("Accept-Patch"), "b/c");
  EXPECT_EQ(response.content(),
            R"({"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"expected B"})");
}

}  // namespace
}  // namespace keel::http::rejection_test
