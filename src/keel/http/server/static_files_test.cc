// A folder as it is served, on every engine: what is found, what never is, and what of it is sent.

#include "keel/http/server/static_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/message/date.h"
#include "keel/http/middleware/compression.h"
#include "keel/http/middleware/security_headers.h"
#include "keel/http/testing/internal/decode_testing.h"
#include "keel/http/testing/internal/request_test.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/io/file.h"
#include "keel/io/testing/disk.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"

namespace keel::http::static_files_test {
namespace {

struct Answer {
  Status status = Status::InternalServerError;
  std::string fields;
  std::string body;
  std::string content_type;
  std::string field(const std::string& name) const {
    const std::string all = "\r\n" + fields;
    const auto at = all.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const auto begin = at + name.size() + 4;
    return all.substr(begin, all.find("\r\n", begin) - begin);
  }
};

class StaticFilesTest : public internal::Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    if (loop_ == nullptr) return;
    std::string made = is_sim() ? "/data" : (std::filesystem::temp_directory_path() / "keel-static-XXXXXX").string();
    ASSERT_TRUE(is_sim() || ::mkdtemp(made.data()) != nullptr);
    folder_ = made;
    for (const char* name : {"", "/site", "/site/sub", "/site/.git", "/site/.well-known"}) {
      if (!is_sim() && *name != 0) {
        ASSERT_EQ(::mkdir((folder_ + name).c_str(), 0700), 0);
      }
    }
    put("secret", "no");
    put("site/index.html", "<p>home");
    put("site/page.txt", text_);
    put("site/empty.css", "");
    put("site/a b%41.bin", "odd");
    put("site/sub/index.html", "<p>sub");
    put("site/.git/config", "hidden");
    put("site/.well-known/x", "known");
    files_.emplace(StaticFilesOptions{.folder = folder_ + "/site", .cache_control = "max-age=60"});
    files_->mount(router_, "/s");
  }
  void TearDown() override {
    Servers::TearDown();
    std::error_code ignored;
    if (!is_sim() && !folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  // Old, so that its tag is strong.
  void put(const std::string& name, std::string_view text) {
    ASSERT_TRUE(run(write_whole(folder_ + "/" + name, std::string(text))));
    if (!is_sim()) age(name, changed);
  }
  void age(const std::string& name, std::int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ + "/" + name).c_str(), times, 0), 0);
  }
  Answer ask(std::string_view method, std::string_view target, std::string_view fields = "") {
    TestRequest request(router_, method, target, fields);
    if (!request.match().handler->later) {
      ADD_FAILURE() << target << " is not routed to the files";
      return {};
    }
    const Result<Response> got = run(request.answer_later());
    if (!got) return {static_cast<Status>(http_status(got.error().code())), got.error().describe(), "", ""};
    EXPECT_TRUE(got->is_valid());
    return {got->status(), std::string(got->fields()), std::string(got->content()), std::string(got->content_type())};
  }
  Answer get(std::string_view target, std::string_view fields = "") { return ask("GET", target, fields); }

  static constexpr std::int64_t changed = 784'111'777;
  const std::string text_ = io::testing::pattern(5000);
  std::string folder_;
  std::optional<StaticFiles> files_;
};

INSTANTIATE_TEST_SUITE_P(, StaticFilesTest, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(StaticFilesTest, a_file_is_sent_with_what_caches_need) {
  const Answer page = get("/s/page.txt?v=1");

  EXPECT_EQ(page.status, Status::Ok);
  EXPECT_TRUE(page.body == text_);
  EXPECT_EQ(page.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(page.field("Accept-Ranges"), "bytes");
  EXPECT_EQ(page.field("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(page.field("Cache-Control"), "max-age=60");
  EXPECT_TRUE(page.field("ETag").starts_with("\"1388-")) << page.fields;
  EXPECT_EQ(page.field("Last-Modified"), is_sim() ? "Thu, 01 Jan 1970 00:00:00 GMT" : "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(get("/s/empty.css").status, Status::Ok);
  EXPECT_EQ(get("/s/empty.css").body, "");
  EXPECT_EQ(get("/s/a%20b%2541.bin").body, "odd") << "decoded once";
}

TEST_P(StaticFilesTest, nothing_outside_is_sent) {
  for (const char* target : {"/s/../secret",
                             "/s/%2e%2e/secret",
                             "/s/..%2fsecret",
                             "/s/%2e%2e%2fsecret",
                             "/s/sub/../../secret",
                             "/s//page.txt",
                             "/s/sub//index.html",
                             "/s/./page.txt",
                             "/s/%2fetc/passwd",
                             "/s//etc/passwd",
                             "/s/..",
                             "/s/.",
                             "/s/%252e%252e/secret",
                             "/s/..%5csecret",
                             "/s/%5c..%5csecret",
                             "/s/.../secret",
                             "/s/page.txt/",
                             "/s/page.txt/x",
                             "/s/missing",
                             "/s/missing/"}) {
    const Answer answer = get(target);
    EXPECT_EQ(answer.status, Status::NotFound) << target << answer.fields;
    EXPECT_EQ(answer.body.find(folder_), std::string::npos) << "where it is, is nobody's business";
  }
  TestRequest request(router_, "GET", "/s/" + std::string(3000, 'x'));
  EXPECT_EQ(run(request.answer_later())->status(), Status::NotFound) << "a name too long";
}

TEST_P(StaticFilesTest, hidden_files_are_not_sent) {
  EXPECT_EQ(get("/s/.git/config").status, Status::NotFound);
  EXPECT_EQ(get("/s/%2egit/config").status, Status::NotFound);
  EXPECT_EQ(get("/s/.well-known/x").body, "known");
  EXPECT_EQ(get("/s/sub/.well-known/x").status, Status::NotFound);

  StaticFiles all({.folder = folder_ + "/site", .hidden = true});
  all.mount(router_, "/all");
  EXPECT_EQ(get("/all/.git/config").body, "hidden");
}

TEST_P(StaticFilesTest, links_to_what_is_hidden_are_not_sent) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk has no links";
  ASSERT_EQ(::symlink(".git/config", (folder_ + "/site/config.txt").c_str()), 0);
  ASSERT_EQ(::symlink(".git", (folder_ + "/site/git").c_str()), 0);
  ASSERT_EQ(::symlink("config.txt", (folder_ + "/site/twice.txt").c_str()), 0);
  ASSERT_EQ(::symlink(".well-known/x", (folder_ + "/site/known").c_str()), 0);
  ASSERT_EQ(::symlink("sub", (folder_ + "/site/other").c_str()), 0);
  ASSERT_EQ(::symlink("site", (folder_ + "/.now").c_str()), 0);

  for (const char* target : {"/s/config.txt", "/s/git/config", "/s/twice.txt", "/s/git", "/s/git/"}) {
    EXPECT_EQ(get(target).status, Status::NotFound) << target;
  }
  EXPECT_EQ(get("/s/known").body, "known");
  EXPECT_EQ(get("/s/other/").body, "<p>sub");
  StaticFiles all({.folder = folder_ + "/site", .hidden = true});
  all.mount(router_, "/all");
  EXPECT_EQ(get("/all/config.txt").body, "hidden");
  StaticFiles deployed({.folder = folder_ + "/.now"});
  deployed.mount(router_, "/deployed");
  EXPECT_EQ(get("/deployed/other/index.html").body, "<p>sub") << "the folder itself may be one";
}

TEST_P(StaticFilesTest, links_lead_nowhere_else) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk has no links";
  ASSERT_EQ(::symlink("../secret", (folder_ + "/site/up").c_str()), 0);
  ASSERT_EQ(::symlink("/etc", (folder_ + "/site/etc").c_str()), 0);
  ASSERT_EQ(::symlink("page.txt", (folder_ + "/site/near.txt").c_str()), 0);
  ASSERT_EQ(::symlink("loop", (folder_ + "/site/loop").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder_ + "/site/pipe").c_str(), 0600), 0);

  EXPECT_EQ(get("/s/up").status, Status::NotFound);
  EXPECT_EQ(get("/s/etc/passwd").status, Status::NotFound);
  EXPECT_EQ(get("/s/loop").status, Status::NotFound);
  EXPECT_EQ(get("/s/pipe").status, Status::NotFound);
  EXPECT_TRUE(get("/s/near.txt").body == text_);
}

TEST_P(StaticFilesTest, a_folder_is_its_index) {
  EXPECT_EQ(get("/s/").body, "<p>home");
  EXPECT_EQ(get("/s/").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(get("/s/sub/").body, "<p>sub");
  StaticFiles bare({.folder = folder_ + "/site", .index = ""});
  bare.mount(router_, "/bare");
  EXPECT_EQ(get("/bare/").status, Status::NotFound);
  if (is_sim()) return;  // It has no folders, only names.
  EXPECT_EQ(get("/s/sub").status, Status::MovedPermanently);
  EXPECT_EQ(get("/s/sub").field("Location"), "/s/sub/");
  EXPECT_EQ(get("/s/sub?a=b").field("Location"), "/s/sub/?a=b");
  EXPECT_EQ(get("/bare/sub").status, Status::NotFound);
}

TEST_P(StaticFilesTest, a_mounted_folder_without_its_slash_leads_to_it) {
  start();
  const auto location = [&](const char* target) {
    const internal::Reply reply = ask_one(internal::get(target));
    EXPECT_EQ(reply.status, 301);
    return reply.field("Location");
  };
  EXPECT_EQ(location("/s"), "/s/");
  EXPECT_EQ(location("/s?a=b&c"), "/s/?a=b&c");
}

TEST_P(StaticFilesTest, a_route_decides_who_may_embed_its_files) {
  StaticFiles shared({.folder = folder_ + "/site", .cross_origin_resource_policy = "cross-origin"});
  router_.use(SecurityHeaders());
  shared.mount(router_, "/shared");
  StaticFiles own({.folder = folder_ + "/site"});
  own.mount(router_, "/own");
  Group group = router_.group("/group");
  group.use(SecurityHeaders({.cross_origin_resource_policy = "same-site"}));
  own.mount(group, "/files");
  start();

  const auto policy = [&](const std::string& target, const std::string& fields = "") {
    return ask_one("GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n")
        .field("Cross-Origin-Resource-Policy");
  };
  EXPECT_EQ(policy("/shared/page.txt"), "cross-origin");
  EXPECT_EQ(policy("/shared/page.txt", "Range: bytes=0-1\r\n"), "cross-origin");
  EXPECT_EQ(policy("/own/page.txt"), "same-origin");
  EXPECT_EQ(policy("/group/files/page.txt"), "same-site");
  EXPECT_EQ(ask_one(internal::get("/group/files")).field("Location"), "/group/files/");
}

// The classic open redirect: "//evil.example/.." as a Location would be another host.
TEST_P(StaticFilesTest, a_site_of_its_own_never_redirects_elsewhere) {
  StaticFiles site({.folder = folder_ + "/site"});
  site.mount(router_, "");

  EXPECT_TRUE(get("/page.txt").body == text_);
  EXPECT_EQ(get("//sub").status, Status::NotFound);
  EXPECT_EQ(get("//evil.example/..").status, Status::NotFound);
}

TEST_P(StaticFilesTest, what_the_client_has_is_not_sent_again) {
  const std::string etag = get("/s/page.txt").field("ETag");
  const std::string date = get("/s/page.txt").field("Last-Modified");
  for (const std::string& field :
       {"If-None-Match: " + etag, "If-None-Match: W/" + etag, "If-None-Match: \"x\", " + etag,
        std::string("If-None-Match: *"), "If-Modified-Since: " + date}) {
    const Answer answer = get("/s/page.txt", field + "\r\n");
    EXPECT_EQ(answer.status, Status::NotModified) << field;
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(answer.field("ETag"), etag);
    EXPECT_EQ(answer.field("Cache-Control"), "max-age=60");
  }
  EXPECT_EQ(get("/s/page.txt", "If-None-Match: \"x\"\r\nIf-Modified-Since: " + date + "\r\n").status, Status::Ok);
  EXPECT_EQ(get("/s/page.txt", "If-Match: \"x\"\r\n").status, Status::PreconditionFailed);
  EXPECT_EQ(get("/s/page.txt", "If-Match: " + etag + "\r\n").status, Status::Ok);
}

TEST_P(StaticFilesTest, a_change_changes_the_tag) {
  const std::string before = get("/s/page.txt").field("ETag");
  put("site/page.txt", "shorter");
  const std::string shorter = get("/s/page.txt").field("ETag");
  EXPECT_NE(shorter, before);
  if (is_sim()) return;  // Its files have no times.
  put("site/page.txt", "SHORTER");
  age("site/page.txt", changed + 1);
  EXPECT_NE(get("/s/page.txt").field("ETag"), shorter) << "of the same size";
}

// A second change within the resolution of the time of a file would have the same tag.
TEST_P(StaticFilesTest, a_file_just_written_has_a_weak_tag) {
  if (is_sim()) GTEST_SKIP() << "its files have no times";
  ASSERT_TRUE(run(write_whole(folder_ + "/site/new.txt", "abc")));
  age("site/new.txt", Host::system().wall_ns() / 1'000'000'000 + 100);  // Also when its time is still to come.

  const Answer fresh = get("/s/new.txt");

  EXPECT_TRUE(fresh.field("ETag").starts_with("W/\"")) << fresh.fields;
  EXPECT_EQ(get("/s/new.txt", "Range: bytes=0-0\r\nIf-Range: " + fresh.field("ETag") + "\r\n").status, Status::Ok);
}

TEST_P(StaticFilesTest, a_part_is_sent_where_it_was_asked_for) {
  const auto range = [&](const std::string& value, const std::string& more = "") {
    return get("/s/page.txt", "Range: " + value + "\r\n" + more);
  };
  const Answer one = range("bytes=10-19");
  EXPECT_EQ(one.status, Status::PartialContent);
  EXPECT_TRUE(one.body == text_.substr(10, 10));
  EXPECT_EQ(one.field("Content-Range"), "bytes 10-19/5000");
  EXPECT_EQ(one.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(one.field("ETag"), get("/s/page.txt").field("ETag"));

  EXPECT_EQ(range("bytes=-10").field("Content-Range"), "bytes 4990-4999/5000");
  EXPECT_TRUE(range("bytes=4990-").body == text_.substr(4990));
  EXPECT_EQ(range("bytes=0-99999").field("Content-Range"), "bytes 0-4999/5000");
  EXPECT_EQ(range("bytes=5000-").status, Status::RangeNotSatisfiable);
  EXPECT_EQ(range("bytes=5000-").field("Content-Range"), "bytes */5000");
  EXPECT_EQ(range("items=0-1").status, Status::Ok);
  EXPECT_EQ(ask("HEAD", "/s/page.txt", "Range: bytes=0-1\r\n").status, Status::Ok) << "a range is for GET";

  const std::string etag = get("/s/page.txt").field("ETag");
  EXPECT_EQ(range("bytes=0-1", "If-Range: " + etag + "\r\n").status, Status::PartialContent);
  EXPECT_EQ(range("bytes=0-1", "If-Range: \"x\"\r\n").status, Status::Ok);
  EXPECT_EQ(get("/s/empty.css", "Range: bytes=0-0\r\n").status, Status::RangeNotSatisfiable);
}

TEST_P(StaticFilesTest, parts_are_sent_with_boundaries_between) {
  const Answer parts = get("/s/page.txt", "Range: bytes=0-1,-2,100-103\r\n");

  EXPECT_EQ(parts.status, Status::PartialContent);
  EXPECT_EQ(parts.field("Content-Range"), "");
  const std::string type = parts.field("Content-Type");
  ASSERT_TRUE(type.starts_with("multipart/byteranges; boundary=")) << type;
  const std::string boundary = "\r\n--" + type.substr(31);
  const auto part = [&](const char* where, std::string_view bytes) {
    return boundary + "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes " + where + "/5000\r\n\r\n" +
           std::string(bytes);
  };
  EXPECT_TRUE(parts.body == part("0-1", text_.substr(0, 2)) + part("4998-4999", text_.substr(4998)) +
                                part("100-103", text_.substr(100, 4)) + boundary + "--\r\n")
      << parts.body;
  EXPECT_EQ(get("/s/page.txt", "Range: bytes=0-1,9000-\r\n").field("Content-Range"), "bytes 0-1/5000") << "one is left";
}

// CVE-2011-3192: no request makes more of a file than it is.
TEST_P(StaticFilesTest, many_or_overlapping_parts_are_the_whole) {
  std::string many = "Range: bytes=";
  for (int i = 0; i < 9; ++i) many += std::to_string(i * 2) + "-" + std::to_string(i * 2) + ",";
  EXPECT_EQ(get("/s/page.txt", many + "\r\n").status, Status::Ok);
  EXPECT_EQ(get("/s/page.txt", many.substr(0, many.rfind(',', many.size() - 2)) + "\r\n").status,
            Status::PartialContent);
  EXPECT_TRUE(get("/s/page.txt", "Range: bytes=0-,0-,0-\r\n").body == text_);
}

// Above 32 KiB nothing is held but a piece: the server sends what it reads.
TEST_P(StaticFilesTest, a_large_file_is_sent_while_it_is_read) {
  const std::string big = io::testing::pattern(300'000);
  put("site/big.bin", big);
  put("site/edge.bin", big.substr(0, 32 * 1024));
  put("site/above.bin", big.substr(0, 32 * 1024 + 1));
  start();

  const internal::Reply whole = ask_one(internal::get("/s/big.bin"));
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.field("Content-Length"), "300000");
  EXPECT_EQ(whole.field("Transfer-Encoding"), "");
  EXPECT_TRUE(whole.body == big);
  EXPECT_TRUE(ask_one(internal::get("/s/edge.bin")).body == big.substr(0, 32 * 1024));
  EXPECT_TRUE(ask_one(internal::get("/s/above.bin")).body == big.substr(0, 32 * 1024 + 1));

  const internal::Reply part = ask_one(internal::get("/s/big.bin", "Range: bytes=1000-200999\r\n"));
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.field("Content-Range"), "bytes 1000-200999/300000");
  EXPECT_TRUE(part.body == big.substr(1000, 200'000));

  const internal::Reply parts = ask_one(internal::get("/s/big.bin", "Range: bytes=0-99999,200000-299999\r\n"));
  EXPECT_EQ(parts.status, 206);
  EXPECT_NE(parts.body.find(big.substr(0, 100'000) + "\r\n--"), std::string::npos);
  EXPECT_NE(parts.body.find("/300000\r\n\r\n" + big.substr(200'000) + "\r\n--"), std::string::npos);
  EXPECT_TRUE(parts.body.ends_with("--\r\n"));
}

TEST_P(StaticFilesTest, what_a_read_did_not_fill_is_read_on) {
  if (!is_sim()) GTEST_SKIP() << "needs a disk that gives less than it is asked for";
  const std::string big = io::testing::pattern(100'000);
  put("site/big.bin", big);
  simulation_->disk().set_faults({.short_read = 1});

  EXPECT_TRUE(get("/s/page.txt").body == text_);
  EXPECT_TRUE(get("/s/page.txt", "Range: bytes=10-2000\r\n").body == text_.substr(10, 1991));
  start();
  EXPECT_TRUE(ask_one(internal::get("/s/big.bin")).body == big);
  EXPECT_GT(simulation_->disk().counts().short_reads, 10u);
}

TEST_P(StaticFilesTest, head_tells_the_length) {
  put("site/big.bin", std::string(300'000, 'b'));
  start();
  for (const auto& [target, length] : {std::pair("/s/big.bin", "300000"), std::pair("/s/page.txt", "5000")}) {
    const std::string wire = exchange(std::string("HEAD ") + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(wire.starts_with("HTTP/1.1 200 ")) << wire;
    EXPECT_NE(wire.find(std::string("\r\nContent-Length: ") + length + "\r\n"), std::string::npos) << wire;
    EXPECT_TRUE(wire.ends_with("\r\n\r\n")) << wire;
  }
}

// RFC 9110 §8.6: a Content-Length of HEAD is that of GET, or there is none.
TEST_P(StaticFilesTest, head_of_what_is_compressed_says_what_get_does) {
  put("site/long.txt", std::string(20'000, 'a'));
  router_.use(Compression({.codings = {"gzip"}}));
  files_->mount(router_, "/c");
  const auto fields_of = [&](const char* method) {
    TestRequest request(router_, method, "/c/long.txt", "Accept-Encoding: gzip\r\n");
    const Response response = request.finished(run(request.answer_later()));
    return std::string(response.fields()) + std::to_string(response.content().size());
  };

  const std::string get = fields_of("GET");

  EXPECT_NE(get.find("Content-Encoding: gzip\r\n"), std::string::npos) << get;
  EXPECT_EQ(fields_of("HEAD"), get);
}

// And a large one is compressed while it leaves; a part of it never is.
TEST_P(StaticFilesTest, a_large_file_is_compressed_while_it_leaves) {
  const std::string rows = [] {
    std::string made;
    for (int i = 0; made.size() < 300'000; ++i) made += "row " + std::to_string(i) + "\n";
    return made;
  }();
  put("site/rows.txt", rows);
  router_.use(Compression({.codings = {"gzip"}}));
  files_->mount(router_, "/c");
  start();
  const auto list =
      internal::replies(exchange("GET /c/rows.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"
                                 "GET /c/rows.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n"
                                 "Range: bytes=0-99999\r\n\r\n"));

  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].status, 200);
  EXPECT_EQ(list[0].field("Content-Encoding"), "gzip");
  EXPECT_TRUE(list[0].field("ETag").starts_with("W/")) << list[0].field("ETag");
  EXPECT_EQ(list[0].field("Accept-Ranges"), "") << "no part of it can be had";
  EXPECT_LT(list[0].body.size(), rows.size() / 2);
  EXPECT_TRUE(internal::decode("gzip", list[0].body) == rows);
  EXPECT_EQ(list[1].status, 206);
  EXPECT_EQ(list[1].field("Content-Encoding"), "");
  EXPECT_TRUE(list[1].body == rows.substr(0, 100'000));
}

Task<> cut(std::string path) {
  File file = co_await File::open(path, File::Mode::Write);
  co_await file.truncate(1);
}

// The length has been announced: only the end of the connection can say that less has come.
TEST_P(StaticFilesTest, a_file_cut_while_it_is_sent_ends_the_connection) {
  if (!is_sim()) GTEST_SKIP() << "the kernel's buffers take more than a test should send";
  constexpr std::size_t size = 4 * 1024 * 1024;
  put("site/big.bin", std::string(size, 'b'));
  start();
  internal::Peer& one = peer();
  one.send(internal::get("/s/big.bin"));
  ASSERT_TRUE(until([&] { return !one.wire().empty(); }));

  ASSERT_TRUE(run(cut(folder_ + "/site/big.bin")));

  EXPECT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_NE(one.wire().find("Content-Length: 4194304\r\n"), std::string::npos);
  EXPECT_LT(one.wire().size(), size);
}

TEST_P(StaticFilesTest, a_folder_that_is_gone_is_our_mistake) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk has every folder";
  StaticFiles gone({.folder = folder_ + "/gone"});
  gone.mount(router_, "/gone");

  EXPECT_EQ(get("/gone/page.txt").status, Status::InternalServerError);
}

// Whoever can reset a connection could fill the log with warnings of a folder that is as it should be.
TEST_P(StaticFilesTest, a_request_that_is_stopped_is_no_trouble_with_the_folder) {
  log::Reader log{false};
  const log::Ring ring;
  log.drain([](const log::Record&) {});  // What earlier tests have said.
  TestRequest request(router_, "GET", "/s/page.txt");
  Task<Response> task = request.answer_later();
  Start<Response> start;
  ASSERT_FALSE(start.begin(std::move(task), [](StartCore&) noexcept {})) << "it waits for the folder";

  start.stop();

  ASSERT_TRUE(until([&] { return start.has_ended(); }));
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  std::string lines;
  log.drain([&](const log::Record& record) { lines += record.message(); });
  EXPECT_EQ(lines, "");
}

TEST_P(StaticFilesTest, tell_nobody_where_the_folder_is_when_descriptors_have_run_out) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no descriptors to run out of";
  start();
  internal::Peer& one = peer();
  one.send(internal::get("/s/page.txt"));
  ASSERT_TRUE(has_replies(one, 1));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  one.send(internal::get("/s/page.txt"));
  const bool is_answered = has_replies(one, 2);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);

  ASSERT_TRUE(is_answered);
  EXPECT_EQ(one.all()[1].status, 503);
  EXPECT_EQ(one.wire().find(folder_), std::string::npos) << one.wire();
}

}  // namespace
}  // namespace keel::http::static_files_test
