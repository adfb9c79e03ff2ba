// A sample of GitHub's contract, whose client asks a service that is made from the same document. suites.py fetches the
// document and builds this.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "github/api.h"
#include "github/gists_client.h"
#include "github/issues_client.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/client/client.h"
#include "keel/http/server/server.h"
#include "keel/io/testing/loop_test.h"

namespace github_test {

using namespace keel;
using namespace github;

class Gists final : public GistsHandler {
 public:
  Task<GistsGetResponse> gists_get(http::Request&, const GistsGetRequest& request) override {
    if (request.gist_id != "aa5a315d") {
      const BasicError error{.message = "Not Found"};
      co_return GistsGetResponse::not_found(error);
    }
    GistSimple gist;
    gist.id = request.gist_id;
    gist.public_ = true;
    gist.description = Patch<std::string>::null();
    GistSimpleFilesValue file;
    file.filename = "hello.rb";
    gist.files.emplace().emplace("hello.rb", file);
    co_return gist;
  }
  Task<GistsCreateResponse> gists_create(http::Request&, const GistsCreateRequest& request) override {
    GistSimple gist;
    gist.id = "b" + std::to_string(request.body.files.size());
    if (request.body.description) gist.description = Patch<std::string>::of(*request.body.description);
    co_return GistsCreateResponse::created(gist, {.location = "https://api.github.com/gists/b1"});
  }
};

class Issues final : public IssuesHandler {
 public:
  Task<IssuesCreateLabelResponse> issues_create_label(http::Request&,
                                                      const IssuesCreateLabelRequest& request) override {
    Label label;
    label.id = 7;
    label.node_id = "MDU6TGFiZWwy";
    label.url = "https://api.github.com/repos/" + request.owner + '/' + request.repo + "/labels/7";
    label.name = request.body.name;
    label.color = request.body.color.value_or("ededed");
    co_return IssuesCreateLabelResponse::created(label);
  }
};

class GitHub : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (loop_ == nullptr) return;
    mount(router_, gists_, issues_);
    http::ServerOptions options;
    options.address = Address::parse("127.0.0.1:0").value();
    options.limits.queue_delay_max = Duration::forever();
    server_.emplace(router_, std::move(options));
    ASSERT_TRUE(server_->start(*loop_));
    resolver_.emplace(pool_);
    http::ClientOptions client;
    client.base_url = "http://127.0.0.1:" + std::to_string(server_->address().port());
    client_.emplace(*resolver_, std::move(client));
  }
  void TearDown() override {
    if (loop_ == nullptr) return;
    client_.reset();
    resolver_.reset();
    server_->begin_drain(Duration());
    EXPECT_TRUE(until([&] { return server_->is_drained(); }));
    server_.reset();
    LoopTest::TearDown();
  }

  Gists gists_;
  Issues issues_;
  http::Router router_;
  ThreadPool pool_{{.name = "resolver", .threads = 1}};
  std::optional<Resolver> resolver_;
  std::optional<http::Server> server_;
  std::optional<http::Client> client_;
};
INSTANTIATE_TEST_SUITE_P(, GitHub, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(GitHub, gives_a_gist_with_its_files_or_says_that_there_is_none) {
  GistsClient gists(*client_);
  const GistsGetRequest request{.gist_id = "aa5a315d"};
  const GistsGetRequest unknown{.gist_id = "a/b"};

  const Result<GistsGetResult> one = run(gists.gists_get(request));
  const Result<GistsGetResult> none = run(gists.gists_get(unknown));

  ASSERT_TRUE(one) << one.error().describe();
  ASSERT_NE(one->ok(), nullptr);
  EXPECT_EQ(one->ok()->id, "aa5a315d");
  EXPECT_EQ(one->ok()->public_, true);
  EXPECT_TRUE(one->ok()->description.is_null());
  EXPECT_TRUE(one->ok()->history.is_absent());
  ASSERT_TRUE(one->ok()->files && one->ok()->files->contains("hello.rb"));
  EXPECT_EQ(one->ok()->files->at("hello.rb")->filename, "hello.rb");
  ASSERT_TRUE(none) << none.error().describe();
  ASSERT_NE(none->not_found(), nullptr);
  EXPECT_EQ(none->not_found()->message, "Not Found");
}

TEST_P(GitHub, makes_a_gist_and_a_label_from_bodies) {
  GistsClient gists(*client_);
  IssuesClient issues(*client_);
  GistsCreateRequest gist;
  gist.body.description = "two lines";
  gist.body.files["a.txt"].content = "a\nb\n";
  IssuesCreateLabelRequest label{.owner = "octocat", .repo = "Hello-World", .body = {}};
  label.body.name = "bug :bug:";

  const Result<GistsCreateResult> made = run(gists.gists_create(gist));
  const Result<IssuesCreateLabelResult> labelled = run(issues.issues_create_label(label));

  ASSERT_TRUE(made) << made.error().describe();
  ASSERT_NE(made->created(), nullptr);
  EXPECT_EQ(made->created()->id, "b1");
  EXPECT_EQ(*made->created()->description, "two lines");
  EXPECT_EQ(made->created_headers()->location, "https://api.github.com/gists/b1");
  ASSERT_TRUE(labelled) << labelled.error().describe();
  ASSERT_NE(labelled->created(), nullptr);
  EXPECT_EQ(labelled->created()->url, "https://api.github.com/repos/octocat/Hello-World/labels/7");
  EXPECT_EQ(labelled->created()->name, "bug :bug:");
  EXPECT_EQ(labelled->created()->color, "ededed");
}

}  // namespace github_test
