#include "keel/http/path.h"

#include <gtest/gtest.h>

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http {
namespace {

PathTree tree_of(std::initializer_list<const char*> patterns) {
  PathTree tree;
  std::uint32_t id = 0;
  for (const char* pattern : patterns) {
    Result<> added = tree.add(pattern, id++);
    EXPECT_TRUE(added) << (added ? "" : added.error().describe());
  }
  return tree;
}

// "2 x=1 y=a/b", or "none".
std::string matched(const PathTree& tree, std::string_view path) {
  PathParams params;
  const auto id = tree.match(path, params);
  if (!id) return "none";
  std::string text = std::to_string(*id);
  for (unsigned i = 0; i < params.size(); ++i) {
    text += " " + std::string(params[i].name) + "=" + std::string(params[i].value);
  }
  return text;
}

TEST(PathTree, matches_whole_literal_paths_only) {
  const PathTree tree = tree_of({"/", "/users", "/users/", "/users/new"});

  EXPECT_EQ(matched(tree, "/"), "0");
  EXPECT_EQ(matched(tree, "/users"), "1");
  EXPECT_EQ(matched(tree, "/users/"), "2");
  EXPECT_EQ(matched(tree, "/users/new"), "3");
  for (const char* path : {"", "*", "users", "/user", "/usersx", "/users/new/", "//", "/users//new", "/USERS"}) {
    EXPECT_EQ(matched(tree, path), "none") << path;
  }
}

TEST(PathTree, takes_one_segment_of_at_least_one_byte) {
  const PathTree tree = tree_of({"/users/{id}", "/users/{id}/posts/{post}", "/{top}"});

  EXPECT_EQ(matched(tree, "/users/42"), "0 id=42");
  EXPECT_EQ(matched(tree, "/users/42/posts/a-b"), "1 id=42 post=a-b");
  EXPECT_EQ(matched(tree, "/users"), "2 top=users");
  EXPECT_EQ(matched(tree, "/users/"), "none");
  EXPECT_EQ(matched(tree, "/users/42/"), "none");
  EXPECT_EQ(matched(tree, "/users//posts/1"), "none");
  EXPECT_EQ(matched(tree, "/users/42/posts/"), "none");
}

TEST(PathTree, takes_the_rest) {
  const PathTree tree = tree_of({"/static/{path...}", "/static/index", "/{user}/{rest...}"});

  EXPECT_EQ(matched(tree, "/static/a"), "0 path=a");
  EXPECT_EQ(matched(tree, "/static/a/b//c/"), "0 path=a/b//c/");
  EXPECT_EQ(matched(tree, "/static/"), "0 path=");
  EXPECT_EQ(matched(tree, "/static/index"), "1");
  EXPECT_EQ(matched(tree, "/static/index/x"), "0 path=index/x");
  EXPECT_EQ(matched(tree, "/static"), "none");
  EXPECT_EQ(matched(tree, "/me/x/y"), "2 user=me rest=x/y");
}

TEST(PathTree, prefers_literals_and_comes_back_when_they_lead_nowhere) {
  const PathTree tree = tree_of({"/a/{x}/c", "/a/b/d", "/a/{x}/{y}/e", "/{r...}"});

  EXPECT_EQ(matched(tree, "/a/b/c"), "0 x=b");
  EXPECT_EQ(matched(tree, "/a/b/d"), "1");
  EXPECT_EQ(matched(tree, "/a/b/d/e"), "2 x=b y=d");
  EXPECT_EQ(matched(tree, "/a/b/c/e"), "2 x=b y=c");
  EXPECT_EQ(matched(tree, "/a/b/x"), "3 r=a/b/x");
  EXPECT_EQ(matched(tree, "/"), "3 r=");
}

TEST(PathTree, compares_literals_with_what_escapes_mean) {
  const PathTree tree = tree_of({"/users/{id}", "/caf\xc3\xa9", "/users/me"});

  EXPECT_EQ(matched(tree, "/%75sers/1"), "0 id=1");
  EXPECT_EQ(matched(tree, "/caf%C3%a9"), "1");
  EXPECT_EQ(matched(tree, "/users/%6de"), "2");
  // The cut at slashes comes before the decoding.
  EXPECT_EQ(matched(tree, "/users/a%2Fb"), "0 id=a%2Fb");
  EXPECT_EQ(matched(tree, "/users%2Fme"), "none");
  EXPECT_EQ(matched(tree, "/users/%2e%2e"), "0 id=%2e%2e");
  EXPECT_EQ(matched(tree, "/%"), "none");
  EXPECT_EQ(matched(tree, "/caf%C3%"), "none");
  EXPECT_EQ(matched(tree, "/%zzsers/1"), "none");
  EXPECT_EQ(matched(tree, "/%75" + std::string(400, 'x')), "none");
}

TEST(PathTree, keeps_sixteen_parameters) {
  std::string pattern;
  std::string path;
  for (int i = 0; i < 16; ++i) {
    pattern += "/{p" + std::to_string(i) + "}";
    path += "/" + std::to_string(i);
  }
  PathTree tree;
  ASSERT_TRUE(tree.add(pattern, 1));
  PathParams params;

  ASSERT_TRUE(tree.match(path, params));
  EXPECT_EQ(params.size(), 16u);
  EXPECT_EQ(params.find("p15"), "15");
  EXPECT_EQ(params.find("p16"), std::nullopt);
  EXPECT_EQ(tree.add(pattern + "/{p16}", 2).error().code(), Code::InvalidArgument);
}

TEST(PathTree, says_what_is_wrong_with_a_pattern) {
  PathTree tree = tree_of({"/a/{x}", "/a/b", "/r/{rest...}"});
  struct Vector {
    const char* pattern;
    Code code;
    const char* why;
  };
  const Vector vectors[] = {
      {"", Code::InvalidArgument, "begins with '/'"},
      {"a", Code::InvalidArgument, "begins with '/'"},
      {"/a?b", Code::InvalidArgument, "without '%' and '?'"},
      {"/a%20b", Code::InvalidArgument, "without '%' and '?'"},
      {"/a b", Code::InvalidArgument, "blanks"},
      {"/a#b", Code::InvalidArgument, "blanks"},
      {"/a\n", Code::InvalidArgument, "blanks"},
      {"/a/../b", Code::InvalidArgument, "dot segments"},
      {"/x{id}", Code::InvalidArgument, "whole segment"},
      {"/{id}x", Code::InvalidArgument, "whole segment"},
      {"/{id", Code::InvalidArgument, "whole segment"},
      {"/id}", Code::InvalidArgument, "whole segment"},
      {"/{}", Code::InvalidArgument, "letters, digits"},
      {"/{...}", Code::InvalidArgument, "letters, digits"},
      {"/{1a}", Code::InvalidArgument, "letters, digits"},
      {"/{a b}", Code::InvalidArgument, "letters, digits"},
      {"/{a...}/b", Code::InvalidArgument, "comes last"},
      {"/{a}/{a}", Code::InvalidArgument, "same name"},
      {"/a/{y}", Code::Conflict, "{y} stands where another pattern has {x}"},
      {"/a/{y}/c", Code::Conflict, "{y} stands where another pattern has {x}"},
      {"/r/{other...}", Code::Conflict, "{other} stands where another pattern has {rest}"},
      {"/a/b", Code::AlreadyExists, "is there already"},
      {"/a/{x}", Code::AlreadyExists, "is there already"},
      {"/r/{rest...}", Code::AlreadyExists, "is there already"},
  };
  for (const Vector& vector : vectors) {
    Result<> added = tree.add(vector.pattern, 9);

    ASSERT_FALSE(added) << vector.pattern;
    EXPECT_EQ(added.error().code(), vector.code) << vector.pattern;
    EXPECT_NE(added.error().message().find(vector.why), std::string_view::npos) << added.error().describe();
  }
  EXPECT_EQ(matched(tree, "/a/b"), "1");
  EXPECT_EQ(matched(tree, "/a/z"), "0 x=z");
  EXPECT_EQ(tree.add("/" + std::string(256, 'a'), 1).error().code(), Code::InvalidArgument);
}

TEST(PathTree, finds_its_way_among_thousands) {
  PathTree tree;
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(tree.add("/v1/things" + std::to_string(i), 2 * i));
    ASSERT_TRUE(tree.add("/v1/things" + std::to_string(i) + "/{id}", 2 * i + 1));
  }

  for (std::uint32_t i = 0; i < 2'000; i += 37) {
    EXPECT_EQ(matched(tree, "/v1/things" + std::to_string(i)), std::to_string(2 * i));
    EXPECT_EQ(matched(tree, "/v1/things" + std::to_string(i) + "/7"), std::to_string(2 * i + 1) + " id=7");
  }
  EXPECT_EQ(matched(tree, "/v1/things2000"), "none");
}

TEST(PathTree, agrees_with_a_list_that_is_searched) {
  // Every subset of a few patterns against paths made of the same few segments.
  const char* const patterns[] = {"/a\n",       "/{x}\n",      "/a/b\n",    "/{x}/b\n", "/a/{y}\n",
                                  "/{x}/{y}\n", "/a/{r...}\n", "/{r...}\n", "/a/\n"};
  const char* const segments[] = {"/a", "/b", "/c", "/", "/%61"};
  for (unsigned subset = 0; subset < 1u << std::size(patterns); ++subset) {
    std::string input;
    for (unsigned i = 0; i < std::size(patterns); ++i) {
      if (subset >> i & 1) input += patterns[i];
    }
    for (const char* first : segments) {
      for (const char* second : segments) {
        for (const std::string& path : {std::string(first), std::string(first) + second}) {
          const std::string whole = input + path;
          LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size());
        }
      }
    }
  }
}

}  // namespace
}  // namespace keel::http
