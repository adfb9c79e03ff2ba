#include "keel/http/server/multipart.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/testing/internal/request_test.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::multipart_test {
namespace {

using namespace std::string_literals;

struct Part {
  std::string name;
  std::optional<std::string> filename = std::nullopt;
  std::string content_type = "text/plain";
  std::string body = {};
  bool operator==(const Part&) const = default;
};
void PrintTo(const Part& part, std::ostream* out) {
  *out << part.name << " file " << part.filename.value_or("(none)") << " " << part.content_type << ": " << part.body;
}

struct Form {
  std::vector<Part> parts = {};
  Status status = Status::Ok;
  std::string reason = {};  // Of a rejection, or why it is not whole.
};

// Fed in pieces of that size.
Form read(std::string_view bytes, std::size_t piece, std::string_view boundary = "b", MultipartLimits limits = {}) {
  Form form;
  MultipartReader reader(boundary, limits);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view rest = bytes.substr(at, piece);
    for (bool more = true; more;) {
      const MultipartStep step = reader.feed(rest);
      rest.remove_prefix(step.consumed);
      if (step.state == MultipartState::Part) {
        form.parts.push_back({std::string(reader.part().name), std::nullopt, std::string(reader.part().content_type)});
        if (reader.part().filename) form.parts.back().filename = *reader.part().filename;
      } else if (step.state == MultipartState::Data) {
        form.parts.back().body += step.data;
      } else if (step.state == MultipartState::Refused) {
        form.status = step.status;
        form.reason = step.reason;
        return form;
      } else if (step.state == MultipartState::Need) {
        more = false;
      }
    }
  }
  if (const auto whole = reader.finish(); !whole) form.reason = whole.error().message();
  return form;
}

std::string part(const std::string& head, const std::string& body) {
  return "--b\r\n" + head + "\r\n\r\n" + body + "\r\n";
}
std::string field(const std::string& parameters, const std::string& body = "x") {
  return part("Content-Disposition: form-data; " + parameters, body) + "--b--\r\n";
}

struct Accepted {
  const char* name;
  std::string bytes;
  std::vector<Part> parts;
};

const std::vector<Accepted>& accepted() {
  static const std::vector<Accepted> list = {
      {"a field", field("name=\"a\""), {{"a", {}, "text/plain", "x"}}},
      {"no line end behind the last boundary",
       part("Content-Disposition: form-data; name=a", "x") + "--b--",
       {{"a", {}, "text/plain", "x"}}},
      {"no part", "--b--\r\n", {}},
      {"an empty field", field("name=\"a\"", ""), {{"a", {}, "text/plain", ""}}},
      {"a file",
       part("Content-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png", "\x89PNG\0"s) +
           "--b--\r\n",
       {{"f", "a.png", "image/png", "\x89PNG\0"s}}},
      {"no file chosen", field("name=\"f\"; filename=\"\"", ""), {{"f", "", "text/plain", ""}}},
      {"parts",
       part("Content-Disposition: form-data; name=a", "1") + part("content-disposition:FORM-DATA;NAME=b", "2") +
           "--b--",
       {{"a", {}, "text/plain", "1"}, {"b", {}, "text/plain", "2"}}},
      {"the same name twice",
       part("Content-Disposition: form-data; name=a", "1") + part("Content-Disposition: form-data; name=a", "2") +
           "--b--",
       {{"a", {}, "text/plain", "1"}, {"a", {}, "text/plain", "2"}}},
      {"escaped quotes and backslashes", field("name=\"a\\\"b\\\\c\""), {{"a\"b\\c", {}, "text/plain", "x"}}},
      {"a backslash of a file name",
       field("name=f; filename=\"C:\\dir\\a.txt\""),
       {{"f", "C:\\dir\\a.txt", "text/plain", "x"}}},
      {"percent-escapes stay", field("name=\"a%22b%0D%0A\""), {{"a%22b%0D%0A", {}, "text/plain", "x"}}},
      {"semicolons in quotes", field("name=\"a;b=c\""), {{"a;b=c", {}, "text/plain", "x"}}},
      {"empty parameters", field(";; name=a ; ;"), {{"a", {}, "text/plain", "x"}}},
      {"a file name that is encoded too, as .NET sends it",
       field("name=f; filename=x.txt; filename*=utf-8''x.txt"),
       {{"f", "x.txt", "text/plain", "x"}}},
      {"the encoded one first",
       field("filename*=utf-8''y; name=f; filename=\"x y\""),
       {{"f", "x y", "text/plain", "x"}}},
      {"UTF-8", field("name=\"\xc3\xa4\""), {{"\xc3\xa4", {}, "text/plain", "x"}}},
      {"unknown parameters and fields",
       part("X-Y: z\r\nContent-Disposition: form-data; size=3; name=a\r\nContent-Transfer-Encoding: Binary", "x") +
           "--b--",
       {{"a", {}, "text/plain", "x"}}},
      {"what looks like a boundary",
       field("name=a", "--b\r--b\n--b\r\n-\r\n-b\r\n--c \r\n\r\n--\r\n\r"),
       {{"a", {}, "text/plain", "--b\r--b\n--b\r\n-\r\n-b\r\n--c \r\n\r\n--\r\n\r"}}},
      {"line ends alone", field("name=a", "\r\n\r\n"), {{"a", {}, "text/plain", "\r\n\r\n"}}},
      {"blanks behind a boundary",
       "--b \t\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b-- \r\n",
       {{"a", {}, "text/plain", "x"}}},
      {"as much text before as there may be",
       "\r\n" + std::string(1022, 'x') + "\r\n" + field("name=a"),
       {{"a", {}, "text/plain", "x"}}},
      {"text before and behind", "before\r\n" + field("name=a") + "behind", {{"a", {}, "text/plain", "x"}}},
      {"a line end in front", "\r\n" + field("name=a"), {{"a", {}, "text/plain", "x"}}},
      {"what looks like a boundary in front", "-\r\n-b\r\n--\r\n" + field("name=a"), {{"a", {}, "text/plain", "x"}}},
  };
  return list;
}

struct Refused {
  const char* name;
  std::string bytes;
  const char* reason;
};

const std::vector<Refused>& refused() {
  static const std::vector<Refused> list = {
      {"nothing", "", ""},
      {"no boundary", "abc", "ends before"},
      {"another boundary", "--c\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--c--\r\n", "ends before"},
      {"no last boundary", part("Content-Disposition: form-data; name=a", "x"), "ends before"},
      {"one dash", "--b-\r\n", "a single dash"},
      {"a longer boundary", "--bb\r\n", "something other"},
      {"LF behind a boundary", "--b\nContent-Disposition: form-data; name=a\n\nx\n--b--\n", "something other"},
      {"CR behind a boundary", "--b\rX", "CR without LF"},
      {"a blank and a dash", "--b --\r\n", "something other"},
      {"no disposition", part("X: y", "x") + "--b--", "has no Content-Disposition"},
      {"no head", "--b\r\n\r\nx\r\n--b--", "has no Content-Disposition"},
      {"another disposition", part("Content-Disposition: attachment; name=a", "x") + "--b--", "not form-data"},
      {"no name", part("Content-Disposition: form-data", "x") + "--b--", "has no name"},
      {"a file name alone", field("filename=a"), "has no name"},
      {"two names", field("name=a; name=b"), "more than one name"},
      {"two file names", field("name=a; filename=b; filename=c"), "more than one file name"},
      {"an encoded file name alone", field("name=a; filename*=UTF-8''b"), "filename*"},
      {"an encoded name", field("name=a; name*=UTF-8''b"), "name*"},
      {"two encoded file names", field("name=a; filename=b; filename*=UTF-8''b; filename*=UTF-8''c"),
       "more than one file name"},
      {"a parameter without a value", field("name=a; filename"), "malformed"},
      {"two dispositions",
       part("Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b", "x") + "--b--",
       "more than one Content-Disposition"},
      {"two types",
       part("Content-Type: a/b\r\nContent-Type: a/b\r\nContent-Disposition: form-data; name=a", "x") + "--b--",
       "more than one Content-Type"},
      {"base64", part("Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64", "eA==") + "--b--",
       "changes bytes"},
      {"a quote that stays open", field("name=\"a"), "malformed"},
      {"a quote closed by an escape", field("name=\"a\\\""), "malformed"},
      {"no semicolon", part("Content-Disposition: form-data name=a", "x") + "--b--", "malformed"},
      {"text behind a quote", field("name=\"a\"b"), "malformed"},
      {"an empty token", field("name="), "malformed"},
      {"a blank before the equals sign", field("name =a"), "malformed"},
      {"no colon", part("Content-Disposition form-data; name=a", "x") + "--b--", "malformed field"},
      {"a blank before the colon", part("Content-Disposition : form-data; name=a", "x") + "--b--", "malformed field"},
      {"a folded line", part("Content-Disposition: form-data;\r\n name=a", "x") + "--b--", "has no name"},
      {"LF in a head", part("Content-Disposition: form-data; name=a\nX: y", "x") + "--b--", "control byte"},
      {"CR in a head", part("Content-Disposition: form-data; name=a\rX: y", "x") + "--b--", "control byte"},
      {"NUL in a head", part("Content-Disposition: form-data; name=\"a\0b\""s, "x") + "--b--", "control byte"},
      {"many blanks behind a boundary", "--b" + std::string(65, ' ') + "\r\n", "something other"},
      {"much text before, from a line end", "\r\n" + std::string(1023, 'x') + "\r\n" + field("name=a"),
       "before the first"},
      {"much text before", std::string(1025, 'x') + "\r\n" + field("name=a"), "before the first"},
      {"much text behind", field("name=a") + std::string(1025, 'x'), "after the last"},
  };
  return list;
}

constexpr std::size_t at_once = 1 << 20;

TEST(Multipart, reads_forms_however_they_are_cut) {
  for (const Accepted& one : accepted()) {
    for (std::size_t piece :
         {at_once, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{11}}) {
      const Form form = read(one.bytes, piece);
      EXPECT_EQ(form.parts, one.parts) << one.name << " in pieces of " << piece;
      EXPECT_EQ(form.reason, "") << one.name << " in pieces of " << piece;
    }
  }
}

TEST(Multipart, refuses_what_two_readers_could_understand_differently) {
  for (const Refused& one : refused()) {
    for (std::size_t piece : {at_once, std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
      const Form form = read(one.bytes, piece);
      EXPECT_NE(form.reason, "") << one.name << " in pieces of " << piece;
      EXPECT_NE(form.reason.find(one.reason), std::string::npos) << one.name << ": " << form.reason;
    }
  }
}

TEST(Multipart, behaves_the_same_wherever_it_is_cut) {
  for (const Accepted& one : accepted())
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(one.bytes.data()), one.bytes.size());
  for (const Refused& one : refused())
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(one.bytes.data()), one.bytes.size());
}

TEST(Multipart, has_at_most_so_many_parts) {
  std::string form;
  for (int i = 0; i < 3; ++i) form += part("Content-Disposition: form-data; name=a", "x");
  form += "--b--";

  EXPECT_EQ(read(form, at_once, "b", {.parts_max = 3}).reason, "");
  const Form many = read(form, at_once, "b", {.parts_max = 2});
  EXPECT_EQ(many.status, Status::ContentTooLarge);
  EXPECT_EQ(many.parts.size(), 2u);
}

TEST(Multipart, has_heads_of_at_most_so_many_bytes) {
  const std::string head = "Content-Disposition: form-data; name=a\r\n\r\n";
  const std::string form = "--b\r\n" + head + "x\r\n--b--";
  const auto size = static_cast<std::uint32_t>(head.size());
  for (std::size_t piece : {at_once, std::size_t{1}}) {
    EXPECT_EQ(read(form, piece, "b", {.part_head_bytes_max = size}).reason, "");
    EXPECT_EQ(read(form, piece, "b", {.part_head_bytes_max = size - 1}).status, Status::ContentTooLarge);
  }
  EXPECT_EQ(read("--b\r\n" + std::string(100'000, 'x'), 100).status, Status::ContentTooLarge)
      << "a head without an end";
}

// Attackers send what matches nearly: the work must not grow with the length of the match.
TEST(Multipart, hands_over_near_misses_unchanged) {
  const std::string boundary(70, 'b');
  std::string body;
  for (int i = 0; i < 2000; ++i) body += "\r\n--" + boundary.substr(0, 69) + "\r";
  const std::string form =
      "--" + boundary + "\r\nContent-Disposition: form-data; name=a\r\n\r\n" + body + "\r\n--" + boundary + "--";
  for (std::size_t piece : {at_once, std::size_t{1}, std::size_t{73}}) {
    const Form got = read(form, piece, boundary);
    ASSERT_EQ(got.parts.size(), 1u) << got.reason;
    EXPECT_TRUE(got.parts[0].body == body);
    EXPECT_EQ(got.reason, "");
  }
}

TEST(Boundary, is_taken_from_the_content_type) {
  EXPECT_EQ(*multipart_boundary("multipart/form-data; boundary=b"), "b");
  EXPECT_EQ(*multipart_boundary("multipart/form-data; ; boundary=b ;; "), "b");
  EXPECT_EQ(*multipart_boundary("Multipart/Form-Data;charset=utf-8;BOUNDARY=\"a b(c)=?\""), "a b(c)=?");
  EXPECT_EQ(*multipart_boundary("multipart/form-data ; boundary=----WebKitFormBoundary7MA4YWxk"),
            "----WebKitFormBoundary7MA4YWxk");
  EXPECT_EQ(*multipart_boundary("multipart/form-data; boundary=" + std::string(70, 'x')), std::string(70, 'x'));
}

TEST(Boundary, is_refused_when_it_is_none) {
  for (const std::string text :
       {"", "text/plain; boundary=b", "multipart/mixed; boundary=b", "multipart/form-data",
        "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"", "multipart/form-data; boundary=\"a \"",
        "multipart/form-data; boundary=a; boundary=a", "multipart/form-data; boundary=a b",
        "multipart/form-data; boundary=\"a\\\"b\"", "multipart/form-data; boundary=\"a",
        "multipart/form-data; boundary", "multipart/form-data, boundary=b"}) {
    const auto boundary = multipart_boundary(text);
    ASSERT_FALSE(boundary) << text;
    EXPECT_EQ(boundary.error().code(), Code::InvalidArgument);
  }
  EXPECT_FALSE(multipart_boundary("multipart/form-data; boundary=" + std::string(71, 'x')));
}

class ReadForm : public ::testing::Test {
 protected:
  ReadForm() {
    router_.post("/", [](Request&) { return Response(Status::Ok); });
  }
  static std::string fields(const std::string& body, const std::string& type = "multipart/form-data; boundary=b") {
    return "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  Router router_;
};

TEST_F(ReadForm, gives_all_parts_with_their_bodies) {
  std::string body;
  for (int i = 0; i < 30; ++i) {
    body += part("Content-Disposition: form-data; name=n" + std::to_string(i),
                 std::string(static_cast<std::size_t>(i), 'x'));
  }
  body += "--b--\r\n";
  TestRequest request(router_, "POST", "/", fields(body), body);

  const auto form = read_form(*request);

  ASSERT_TRUE(form) << form.error().describe();
  ASSERT_EQ(form->size(), 30u);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ((*form)[i].name, "n" + std::to_string(i));
    EXPECT_EQ((*form)[i].body, std::string(i, 'x'));
    EXPECT_EQ((*form)[i].filename, std::nullopt);
  }
}

TEST_F(ReadForm, says_what_is_wrong) {
  const auto code = [&](const std::string& body, const std::string& type, MultipartLimits limits = {}) {
    TestRequest request(router_, "POST", "/", fields(body, type), body);
    const auto form = read_form(*request, limits);
    EXPECT_FALSE(form);
    return form ? Code::Internal : form.error().code();
  };
  const std::string type = "multipart/form-data; boundary=b";
  EXPECT_EQ(code("x", "text/plain"), Code::InvalidArgument);
  EXPECT_EQ(code("x", type), Code::InvalidArgument);
  EXPECT_EQ(code("--bb", type), Code::InvalidArgument);
  EXPECT_EQ(code(field("name=a"), type, {.parts_max = 0}), Code::OutOfRange);
}

}  // namespace
}  // namespace keel::http::multipart_test
