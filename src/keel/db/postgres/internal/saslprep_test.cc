#include "keel/db/postgres/internal/saslprep.h"

#include <gtest/gtest.h>

namespace keel::db::postgres::saslprep_test {
namespace {

TEST(Saslprep, leaves_letters_digits_and_signs_as_they_are) {
  for (const char* password : {"pencil", "correct horse battery staple", "pässwörd", "пароль", "λόγος", "パスワード",
                               "비밀번호", "密码", "€5", "Ünïcode-Ÿ", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"}) {
    EXPECT_EQ(normalised_password(password).value(), password);
  }
}

// RFC 4013 §2.1
TEST(Saslprep, maps_spaces_to_a_space_and_what_nobody_sees_to_nothing) {
  EXPECT_EQ(normalised_password("I\xC2\xADX").value(), "IX") << "the soft hyphen, RFC 4013 §3";
  EXPECT_EQ(normalised_password("a\xC2\xA0"
                                "b")
                .value(),
            "a b");
  EXPECT_EQ(normalised_password("a\xE3\x80\x80"
                                "b")
                .value(),
            "a b");
  EXPECT_EQ(normalised_password("\xEF\xBB\xBF"
                                "a")
                .value(),
            "a");
}

// As pg_saslprep() does.
TEST(Saslprep, takes_the_bytes_of_what_it_prohibits) {
  for (const char* password : {"a\x01", "\x7f", "a\xC2\x80", "\xff\xfe", "😀 smile", "\xC2\xAD"}) {
    EXPECT_EQ(normalised_password(password).value(), password);
  }
}

TEST(Saslprep, says_which_character_it_does_not_know) {
  const auto error = [](std::string_view password) {
    return std::string(normalised_password(password).error().message());
  };
  EXPECT_EQ(normalised_password("e\xCC\x81").error().code(), Code::Unsupported);
  EXPECT_NE(error("e\xCC\x81").find("U+0301"), std::string::npos) << "a combining accent";
  EXPECT_NE(error("\xE2\x85\xA8").find("U+2168"), std::string::npos) << "a Roman numeral, RFC 4013 §3";
  EXPECT_NE(error("\xC2\xAA").find("U+00AA"), std::string::npos);
  EXPECT_NE(error("\xEF\xAC\x81").find("U+FB01"), std::string::npos) << "a ligature";
  EXPECT_NE(error("\xD7\xA9").find("U+05E9"), std::string::npos) << "right to left";
}

}  // namespace
}  // namespace keel::db::postgres::saslprep_test
