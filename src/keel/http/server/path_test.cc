#include "keel/http/server/path.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/sanitizers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::path_test {
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
  EXPECT_EQ(matched(tree, "/users/\xff"), "0 id=\xff");
  EXPECT_EQ(matched(tree, "/\xff"), "none");
}

TEST(PathTree, sees_an_escape_wherever_it_stands) {
  for (std::size_t size = 1; size <= 30; ++size) {
    PathTree tree;
    const std::string literal = "/" + std::string(size, 'a');
    ASSERT_TRUE(tree.add(literal, 7));
    for (std::size_t at = 1; at <= size; ++at) {
      std::string path = literal;
      EXPECT_EQ(matched(tree, path.replace(at, 1, "%61")), "7") << path;
    }
  }
}

TEST(PathTree, decodes_once_and_resolves_nothing) {
  const PathTree tree = tree_of({"/a/{x}", "/a/b/c", "/{r...}", "/b"});

  EXPECT_EQ(matched(tree, "/a/%2525"), "0 x=%2525");
  EXPECT_EQ(matched(tree, "/a%2fb%2Fc"), "2 r=a%2fb%2Fc");
  EXPECT_EQ(matched(tree, "/a/%2562/c"), "2 r=a/%2562/c");  // "%62", not "b".
  // RFC 3986 §5.2.4 is for whoever sends.
  EXPECT_EQ(matched(tree, "/a/../b"), "2 r=a/../b");
  EXPECT_EQ(matched(tree, "/a/%2e%2e"), "0 x=%2e%2e");
  EXPECT_EQ(matched(tree, "/a/."), "0 x=.");
  EXPECT_EQ(matched(tree, "/./b"), "2 r=./b");
}

TEST(PathTree, takes_what_fits_a_type_and_nothing_else) {
  struct Vector {
    const char* type;
    std::vector<std::string> fit;
    std::vector<std::string> unfit;
  };
  const Vector vectors[] = {
      {"uint",
       {"0", "7", "007", "18446744073709551615", "%37", "1%30"},
       {"-1", "+1", "18446744073709551616", "1.0", "0x1", "1a", "a", "%", "%3", "%2D1", "1%00", "%25"}},
      {"int",
       {"0", "-1", "9223372036854775807", "-9223372036854775808", "%2d5"},
       {"9223372036854775808", "-9223372036854775809", "-", "--1", "+1", "1-", "1e3"}},
      {"uuid",
       {"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
        "%6681d4fae-7dec-11d0-a765-00a0c91e6bf6"},
       {"f81d4fae7dec11d0a76500a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf",
        "g81d4fae-7dec-11d0-a765-00a0c91e6bf6", "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6f"}},
      {"slug",
       {"a", "a-b_C9", "-", "%61", std::string(255, 'x')},
       {"a.b", "a b", "a%2Fb", "caf%C3%a9", "~", std::string(256, 'x'), std::string(255, 'x') + "%61"}},
  };
  for (const Vector& vector : vectors) {
    PathTree tree;
    ASSERT_TRUE(tree.add("/x/{v:" + std::string(vector.type) + "}", 0));
    ASSERT_TRUE(tree.add("/x/{v:" + std::string(vector.type) + "}/y", 1));
    for (const std::string& value : vector.fit) {
      EXPECT_EQ(matched(tree, "/x/" + value), "0 v=" + value) << vector.type;
      EXPECT_EQ(matched(tree, "/x/" + value + "/y"), "1 v=" + value) << vector.type;
    }
    for (const std::string& value : vector.unfit) {
      EXPECT_EQ(matched(tree, "/x/" + value), "none") << vector.type << " " << value;
    }
    EXPECT_EQ(matched(tree, "/x/"), "none") << vector.type;
  }
}

TEST(PathTree, tries_types_from_the_narrow_to_the_wide_and_comes_back) {
  const PathTree tree = tree_of({"/{name}", "/{s:slug}", "/{i:int}", "/{u:uint}", "/{id:uuid}", "/7", "/{u:uint}/a",
                                 "/{i:int}/b", "/{s:slug}/c", "/{name}/d", "/{r...}"});

  EXPECT_EQ(matched(tree, "/7"), "5");
  EXPECT_EQ(matched(tree, "/f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), "4 id=f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
  EXPECT_EQ(matched(tree, "/8"), "3 u=8");
  EXPECT_EQ(matched(tree, "/-8"), "2 i=-8");
  EXPECT_EQ(matched(tree, "/x"), "1 s=x");
  EXPECT_EQ(matched(tree, "/x.y"), "0 name=x.y");
  EXPECT_EQ(matched(tree, "/8/a"), "6 u=8");
  EXPECT_EQ(matched(tree, "/8/b"), "7 i=8");
  EXPECT_EQ(matched(tree, "/8/c"), "8 s=8");
  EXPECT_EQ(matched(tree, "/8/d"), "9 name=8");
  EXPECT_EQ(matched(tree, "/8/e"), "10 r=8/e");
}

TEST(PathTree, names_the_pattern_that_is_in_the_way) {
  PathTree tree = tree_of({"/a/{x}", "/a/{n:int}/b", "/r/{rest...}", "/s"});
  const auto conflict = [&](const char* pattern) {
    std::uint32_t other = 99;
    const Result<> added = tree.add(pattern, 50, &other);
    return (added ? "taken" : added.error().describe()) + " " + std::to_string(other);
  };

  EXPECT_NE(conflict("/a/{y}/c").find("{y} stands where \"/a/{x}\" has {x} 0"), std::string::npos);
  EXPECT_NE(conflict("/a/{m:int}").find("{m} stands where \"/a/{n:int}/b\" has {n} 1"), std::string::npos);
  EXPECT_NE(conflict("/r/{rest...}").find("exists already, as \"/r/{rest...}\" 2"), std::string::npos);
  EXPECT_NE(conflict("/s").find("exists already, as \"/s\" 3"), std::string::npos);
  EXPECT_NE(conflict("/{").find(" 99"), std::string::npos);
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

TEST(PathTree, parameters_follow_a_path_that_moves) {
  PathTree tree;
  ASSERT_TRUE(tree.add("/users/{id}/files/{path...}", 0));
  std::string path = "/users/42/files/a/b";
  PathParams params;
  ASSERT_TRUE(tree.match(path, params));

  PathParams copy = params;
  const std::string moved = path;
  copy.rebase(moved.data());
  path.assign(path.size(), 'x');

  EXPECT_EQ(copy.find("id"), "42");
  EXPECT_EQ(copy[1].name, "path");
  EXPECT_EQ(copy[1].value, "a/b");
}

TEST(PathTree, says_what_is_wrong_with_a_pattern) {
  PathTree tree = tree_of({"/a/{x}", "/a/b", "/r/{rest...}", "/s/{x}.txt"});
  struct Vector {
    const char* pattern;
    Code code;
    const char* why;
  };
  const Vector vectors[] = {
      {"", Code::InvalidArgument, "a pattern must begin with '/'"},
      {"a", Code::InvalidArgument, "a pattern must begin with '/'"},
      {"/a?b", Code::InvalidArgument, "without '%' and '?'"},
      {"/a%20b", Code::InvalidArgument, "without '%' and '?'"},
      {"/a b", Code::InvalidArgument, "blanks"},
      {"/a#b", Code::InvalidArgument, "blanks"},
      {"/a\n", Code::InvalidArgument, "blanks"},
      {"/a/../b", Code::InvalidArgument, "dot segments"},
      {"/{id}{x}", Code::InvalidArgument, "at most one parameter"},
      {"/{id}-{x}", Code::InvalidArgument, "at most one parameter"},
      {"/{id", Code::InvalidArgument, "written {name}"},
      {"/id}", Code::InvalidArgument, "at most one parameter"},
      {"/id}{x}", Code::InvalidArgument, "at most one parameter"},
      {"/a?{x}", Code::InvalidArgument, "without '%' and '?'"},
      {"/{x}%", Code::InvalidArgument, "without '%' and '?'"},
      {"/{x} ", Code::InvalidArgument, "blanks"},
      {"/x{rest...}", Code::InvalidArgument, "{name...} must be a whole segment"},
      {"/{rest...}.txt", Code::InvalidArgument, "{name...} must be a whole segment"},
      {"/s/{y}.txt", Code::Conflict, "{y} stands where \"/s/{x}.txt\" has {x}"},
      {"/s/{x}.txt", Code::AlreadyExists, "exists already"},
      {"/{}", Code::InvalidArgument, "letters, digits"},
      {"/{...}", Code::InvalidArgument, "letters, digits"},
      {"/{1a}", Code::InvalidArgument, "letters, digits"},
      {"/{a b}", Code::InvalidArgument, "letters, digits"},
      {"/{a...}/b", Code::InvalidArgument, "must come last"},
      {"/{a:}", Code::InvalidArgument, "int, uint, uuid or slug"},
      {"/{a:float}", Code::InvalidArgument, "int, uint, uuid or slug"},
      {"/{a:int...}", Code::InvalidArgument, "int, uint, uuid or slug"},
      {"/{:int}", Code::InvalidArgument, "letters, digits"},
      {"/{a}/{a:int}", Code::InvalidArgument, "same name"},
      {"/{a}/{a}", Code::InvalidArgument, "same name"},
      {"/a/{y}", Code::Conflict, "{y} stands where \"/a/{x}\" has {x}"},
      {"/a/{y}/c", Code::Conflict, "{y} stands where \"/a/{x}\" has {x}"},
      {"/r/{other...}", Code::Conflict, "{other} stands where \"/r/{rest...}\" has {rest}"},
      {"/a/b", Code::AlreadyExists, "exists already"},
      {"/a/{x}", Code::AlreadyExists, "exists already"},
      {"/r/{rest...}", Code::AlreadyExists, "exists already"},
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

TEST(PathTree, takes_text_before_and_after_a_parameter) {
  PathTree tree =
      tree_of({"/v{version:uint}/pets", "/v{version:uint}/pets/{id}.json", "/v{version:uint}/pets/{id}:cancel",
               "/v{version:uint}/pets/{id}", "/v{version:uint}/pets/{file}.tar.json", "/vault/pets"});

  EXPECT_EQ(matched(tree, "/v2/pets"), "0 version=2");
  EXPECT_EQ(matched(tree, "/vault/pets"), "5");
  EXPECT_EQ(matched(tree, "/v/pets"), "none");
  EXPECT_EQ(matched(tree, "/vx/pets"), "none");
  EXPECT_EQ(matched(tree, "/v1/pets/7.json"), "1 version=1 id=7");
  EXPECT_EQ(matched(tree, "/v1/pets/7.tar.json"), "4 version=1 file=7");
  EXPECT_EQ(matched(tree, "/v1/pets/7:cancel"), "2 version=1 id=7");
  EXPECT_EQ(matched(tree, "/v1/pets/7:rename"), "3 version=1 id=7:rename");
  EXPECT_EQ(matched(tree, "/v1/pets/.json"), "3 version=1 id=.json");  // A value has at least one byte.
  EXPECT_EQ(matched(tree, "/v1/pets/.tar.json"), "1 version=1 id=.tar");
  EXPECT_EQ(matched(tree, "/v1/pets/7.json/x"), "none");
}

TEST(PathTree, reads_escapes_in_the_text_around_a_parameter) {
  PathTree tree = tree_of({"/v{n}/x", "/f/{name}.txt", "/g/{id:int}ee"});

  EXPECT_EQ(matched(tree, "/%761/x"), "0 n=1");
  EXPECT_EQ(matched(tree, "/f/a%2Etxt"), "1 name=a");
  EXPECT_EQ(matched(tree, "/f/a%2Fb.%74%78%74"), "1 name=a%2Fb");
  EXPECT_EQ(matched(tree, "/f/%2Etxt"), "none");
  EXPECT_EQ(matched(tree, "/f/a%2etx"), "none");
  EXPECT_EQ(matched(tree, "/g/%37e%65"), "2 id=%37");
  EXPECT_EQ(matched(tree, "/g/7%ee"), "none");  // The 'e's are those of the escape.
}

TEST(PathTree, tries_the_longest_text_around_a_parameter_first) {
  PathTree tree = tree_of({"/{a}", "/{b}.c", "/x{c}", "/x{d}.c", "/xy", "/x{e:int}.c", "/x{f}.b.c/z"});

  EXPECT_EQ(matched(tree, "/q"), "0 a=q");
  EXPECT_EQ(matched(tree, "/q.c"), "1 b=q");
  EXPECT_EQ(matched(tree, "/xq"), "2 c=q");
  EXPECT_EQ(matched(tree, "/xq.c"), "3 d=q");
  EXPECT_EQ(matched(tree, "/xy"), "4");
  EXPECT_EQ(matched(tree, "/x7.c"), "5 e=7");
  EXPECT_EQ(matched(tree, "/x7.b.c"), "3 d=7.b");
  EXPECT_EQ(matched(tree, "/x7.b.c/z"), "6 f=7");
  EXPECT_EQ(matched(tree, "/x"), "0 a=x");
  EXPECT_EQ(matched(tree, "/x.c"), "2 c=.c");
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
  // Subsets of a few patterns, every fifth, with sanitizers every eleventh, against paths made of the same few
  // segments.
  const char* const patterns[] = {"/a\n",      "/{x}\n",     "/a/b\n",          "/{x}/b\n",
                                  "/a/{y}\n",  "/{x}/{y}\n", "/{s:slug}/{y}\n", "/a/{r...}\n",
                                  "/{r...}\n", "/a/\n",      "/a{p}\n",         "/{q}b\n"};
  const char* const segments[] = {"/a", "/ab", "/c", "/", "/%61b"};
  for (unsigned subset = 0; subset < 1u << std::size(patterns); subset += KEEL_SANITIZED ? 11 : 5) {
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
}  // namespace keel::http::path_test
