// The admin listener: metrics in Prometheus's text format (version 0.0.4), health, and nothing of the service.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "client.h"
#include "keel/base/arena.h"
#include "keel/data/json.h"
#include "service.h"

namespace e2e::admin_test {
namespace {

using namespace keel;

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

bool is_name(const std::string& text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:") ==
             std::string::npos;
}

// Reads `name{a="b",…} value`; nothing when it is not that.
std::optional<Sample> read_sample(const std::string& line) {
  Sample sample;
  std::size_t at = line.find_first_of("{ ");
  if (at == std::string::npos) return std::nullopt;
  sample.name = line.substr(0, at);
  if (!is_name(sample.name)) return std::nullopt;
  if (line[at] == '{') {
    ++at;
    while (at < line.size() && line[at] != '}') {
      const std::size_t equals = line.find("=\"", at);
      if (equals == std::string::npos) return std::nullopt;
      const std::string label = line.substr(at, equals - at);
      std::string value;
      for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] == '\\' && ++at < line.size() && line[at] != '\\' && line[at] != '"' && line[at] != 'n') return {};
        value += line[at];
      }
      if (!is_name(label) || !sample.labels.emplace(label, value).second) return std::nullopt;
      if (++at < line.size() && line[at] == ',') ++at;
    }
    if (++at >= line.size() || line[at] != ' ') return std::nullopt;
  }
  const char* const begin = line.c_str() + at + 1;
  char* end = nullptr;
  sample.value = std::strtod(begin, &end);
  if (end == begin || *end != '\0') return std::nullopt;
  return sample;
}

// What the format forbids and `text` has; the samples go to `samples`.
std::vector<std::string> problems_of(const std::string& text, std::vector<Sample>& samples) {
  std::vector<std::string> problems;
  if (!text.ends_with('\n')) problems.push_back("the last line does not end");
  std::set<std::string> families;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> series;
  std::string family;
  std::string type;
  bool has_help = false;
  for (const std::string& line : lines(text)) {
    const auto refuse = [&](const std::string& why) { problems.push_back(why + ": " + line); };
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) {
      const std::size_t end = line.find(' ', 7);
      const std::string name = line.substr(7, end - 7);
      if (!is_name(name) || end == std::string::npos) refuse("no name");
      if (line[2] == 'H') {
        if (!families.insert(name).second) refuse("a family in two places");
        family = name;
        has_help = true;
      } else {
        if (name != family || !has_help) refuse("a type without its help");
        type = line.substr(end + 1);
        has_help = false;
        if (type != "counter" && type != "gauge" && type != "histogram") refuse("unknown type");
      }
      continue;
    }
    const auto sample = read_sample(line);
    if (!sample) {
      refuse("not a sample");
      continue;
    }
    const std::string suffix = sample->name.starts_with(family) ? sample->name.substr(family.size()) : "?";
    if (type == "histogram" ? suffix != "_bucket" && suffix != "_sum" && suffix != "_count" : !suffix.empty()) {
      refuse("not of the family " + family);
    }
    if (type == "histogram" && (suffix == "_bucket") != sample->labels.contains("le")) refuse("bucket without le");
    if (type == "counter" && !(sample->value >= 0)) refuse("a counter below zero");
    if (!series.emplace(sample->name, sample->labels).second) refuse("a series twice");
    samples.push_back(*sample);
  }
  // Buckets never fall, and the last one is +Inf and equal to the count.
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& bucket = samples[i];
    if (!bucket.name.ends_with("_bucket")) continue;
    auto labels = bucket.labels;
    const std::string le = labels["le"];
    labels.erase("le");
    const std::string base = bucket.name.substr(0, bucket.name.size() - 7);
    if (le != "+Inf") {
      const Sample next = i + 1 < samples.size() ? samples[i + 1] : Sample();
      auto next_labels = next.labels;
      next_labels.erase("le");
      if (next.name != bucket.name || next_labels != labels || next.value < bucket.value) {
        problems.push_back("buckets out of order: " + base + " le=" + le);
      }
    } else {
      double count = -1;
      for (const Sample& other : samples) {
        if (other.name == base + "_count" && other.labels == labels) count = other.value;
      }
      if (count != bucket.value) problems.push_back("+Inf is not the count: " + base);
    }
  }
  return problems;
}

double sum_of(const std::vector<Sample>& samples, const std::string& name,
              const std::map<std::string, std::string>& labels) {
  double sum = 0;
  for (const Sample& sample : samples) {
    bool fits = sample.name == name;
    for (const auto& [label, value] : labels) {
      const auto found = sample.labels.find(label);
      fits = fits && found != sample.labels.end() && found->second == value;
    }
    if (fits) sum += sample.value;
  }
  return sum;
}

TEST(Metrics, the_check_finds_what_is_wrong) {
  std::vector<Sample> samples;

  EXPECT_EQ(problems_of("# HELP a x\n# TYPE a counter\na{b=\"c\"} 1\n", samples).size(), 0u);
  for (const char* wrong :
       {"a 1\n", "# HELP a x\n# TYPE a counter\na 1\na 1\n", "# HELP a x\n# TYPE a counter\na x\n",
        "# HELP a x\n# TYPE a counter\na 1", "# HELP a x\n# TYPE a text\na 1\n", "# TYPE a gauge\na 1\n",
        "# HELP a x\n# TYPE a counter\na{b=c} 1\n", "# HELP a x\n# TYPE a counter\nb 1\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n"}) {
    samples.clear();
    EXPECT_NE(problems_of(wrong, samples).size(), 0u) << wrong;
  }
}

TEST(Metrics, are_valid_and_count_what_happened) {
  Folder folder;
  Service service(folder);
  ASSERT_TRUE(service.is_ready()) << service.errors();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(call(service.address(), "GET", "/api/users/1").status, 200);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(service.address(), "POST", "/api/data", "{}").status, 201);
  EXPECT_EQ(call(service.address(), "GET", "/api/users/999").status, 404);
  EXPECT_EQ(call(service.address(), "GET", "/nowhere").status, 404);
  EXPECT_EQ(call(service.address(), "BAD REQUEST", "/").status, 400);

  const Reply reply = call(service.admin(), "GET", "/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  std::vector<Sample> samples;
  EXPECT_EQ(problems_of(reply.body, samples), std::vector<std::string>());

  EXPECT_EQ(sum_of(samples, "http_requests_total", {{"server", "http"}}), 10) << reply.body;
  EXPECT_EQ(sum_of(samples, "http_requests_total", {{"server", "http"}, {"route", "/api/users/{id}"}}), 6);
  EXPECT_EQ(sum_of(samples, "http_refused_total", {{"server", "http"}, {"status_class", "4xx"}}), 1);
  EXPECT_EQ(sum_of(samples, "db_writes_total", {}), 3);
  EXPECT_GE(sum_of(samples, "db_write_groups_total", {}), 1);
  EXPECT_GE(sum_of(samples, "process_resident_memory_bytes", {}), 1e6);

  // Prometheus's own opinion, where it is installed.
  if (std::system("command -v promtool > /dev/null") == 0) {
    folder.write("metrics.txt", reply.body);
    EXPECT_EQ(std::system(("promtool check metrics < " + folder / "metrics.txt").c_str()), 0);
  } else {
    std::printf("promtool is not installed: its check was left out\n");
  }
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

// Whether `text` is one JSON value and nothing else.
bool is_json(const std::string& text) {
  Arena arena;
  json::Reader reader(text, arena);
  reader.skip();
  return reader.finish().has_value();
}

TEST(Admin, shows_the_tasks_that_live_under_load) {
  EXPECT_FALSE(is_json("{\"workers\":[}"));
  Folder folder;
  Service service(folder);
  ASSERT_TRUE(service.is_ready()) << service.errors();
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::set<std::string> operations;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 3; ++i) {
      clients.emplace_back([&] {
        while (!is_over) wrong += call(service.address(), "POST", "/api/data", "{}").status != 201;
      });
    }
    int pages = 0;
    // Until one was seen that waits for the database, and often enough.
    for (; pages < 3000 && (pages < 30 || operations.empty()); ++pages) {
      const Reply tree = call(service.admin(), "GET", "/admin/tasks?format=text");
      const Reply page = call(service.admin(), "GET", "/admin/tasks");
      const bool is_good =
          tree.status == 200 && tree.body.starts_with("worker 0: ") && page.status == 200 && is_json(page.body);
      if (!is_good) {
        ADD_FAILURE() << tree.body << page.body;
        break;
      }
      const std::string key = R"("operation":")";
      for (std::size_t at = 0; (at = page.body.find(key, at)) != std::string::npos;) {
        at += key.size();
        operations.insert(page.body.substr(at, page.body.find('"', at) - at));
      }
    }
    is_over = true;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(operations.empty());
  for (const std::string& operation : operations) EXPECT_TRUE(operation.starts_with("db::")) << operation;
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

TEST(Admin, tells_health_and_serves_nothing_else) {
  Folder folder;
  Service service(folder);
  ASSERT_TRUE(service.is_ready()) << service.errors();

  const Reply live = call(service.admin(), "GET", "/healthz");
  EXPECT_EQ(live.status, 200);
  EXPECT_TRUE(live.body.starts_with(R"({"status":"ok","checks":[{"name":"worker 0","status":"ok","since":")"))
      << live.body;
  const Reply ready = call(service.admin(), "GET", "/readyz");
  EXPECT_EQ(ready.status, 200);
  for (const char* check : {"start", "database", "database writes", "disk space", "log"}) {
    EXPECT_NE(ready.body.find(std::string("{\"name\":\"") + check + "\",\"status\":\"ok\""), std::string::npos)
        << ready.body;
  }
  EXPECT_EQ(call(service.admin(), "GET", "/startupz").status, 200);
  EXPECT_EQ(ready.field("Cache-Control"), "no-store");
  for (const char* path : {"/health", "/api/users"}) EXPECT_EQ(call(service.admin(), "GET", path).status, 404);
  const Reply list = call(service.admin(), "GET", "/");
  EXPECT_EQ(list.status, 200);
  for (const char* page :
       {"/metrics\n", "/readyz\n", "/admin/config\n", "/admin/start    /admin/start?format=text\n"}) {
    EXPECT_NE(list.body.find(page), std::string::npos) << list.body;
  }
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

TEST(Admin, is_not_there_without_monitoring) {
  Folder folder;
  Service service(folder, {"--monitoring.enabled=false"});
  ASSERT_TRUE(service.is_ready()) << service.errors();

  EXPECT_EQ(service.admin().port(), 0);
  EXPECT_EQ(call(service.address(), "GET", "/health").status, 200);
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

}  // namespace
}  // namespace e2e::admin_test
