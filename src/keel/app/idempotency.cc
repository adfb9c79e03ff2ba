#include "keel/app/idempotency.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "keel/app/app.h"
#include "keel/base/bug.h"
#include "keel/base/hex.h"
#include "keel/base/siphash.h"
#include "keel/data/timestamp.h"
#include "keel/http/message/response_reader.h"
#include "keel/http/server/problem.h"

namespace keel::app {
namespace {

constexpr std::size_t key_size_max = 255;
constexpr int forgotten_at_once = 1000;

bool is_bare(char c) noexcept { return c > ' ' && c < 0x7F && c != '"' && c != ',' && c != ';' && c != '\\'; }

// The digest is 128 bits in hexadecimal digits. The fingerprint must stay the same as long as rows are stored, so the
// keys of the hash are constants, which anybody can read; but a client that constructs two requests with the same
// fingerprint harms only itself.
std::string digest(std::string_view text) {
  char digits[2 * hex_digits];
  const std::uint64_t low = siphash({0x6b65656c2d6f6e63, 0x652d6f6e6365206f}, text);
  write_hex(write_hex(digits, low), siphash({0x66696e6765727072, 0x696e742d6b65656c}, text));
  return std::string(digits, sizeof digits);
}

std::string fingerprint_of(const http::Request& request) {
  std::string text;
  for (const std::string_view part : {http::to_string(request.method()), request.path(), request.query()}) {
    text.append(part).push_back('\n');
  }
  return digest(text + digest(request.body()));
}

struct StoredResponse {
  std::string fingerprint;
  int status = 0;
  std::string content_type;
  std::string fields;
  std::string content;
};

http::Response response_of(const StoredResponse& stored) {
  const auto status = static_cast<http::Status>(stored.status);
  http::Response response(status);
  if (!stored.content_type.empty()) {
    response = http::Response::text(status, stored.content, stored.content_type);
  } else if (!stored.content.empty()) {
    response = http::Response::text(status, stored.content, std::string_view());
  }
  http::Field field;
  for (std::string_view rest = stored.fields; http::next_field(rest, field);) response.header(field.name, field.value);
  response.header("Idempotent-Replayed", "true");
  return response;
}

}  // namespace

struct Idempotency::Claim {
  std::string client;
  std::string key;
  std::string fingerprint;
};

// Marks a request as in progress in this process, until this object is destroyed.
class Idempotency::Running {
 public:
  explicit Running(Idempotency& owner) noexcept : owner_(owner) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (!is_first_) return;
    const std::lock_guard lock(owner_.mutex_);
    owner_.running_.erase(name_);
  }
  // False: this process is already handling another request with this key.
  bool begin(const Claim& claim) {
    // The key contains no line break, so a line break can separate the client from the key.
    name_ = claim.client + '\n' + claim.key;
    const std::lock_guard lock(owner_.mutex_);
    is_first_ = owner_.running_.insert(name_).second;
    return is_first_;
  }

 private:
  Idempotency& owner_;
  std::string name_;
  bool is_first_ = false;
};

Idempotency::Idempotency(App& app, IdempotencyOptions options)
    : database_(app.database()),
      options_(options),
      replayed_(app.metrics().counter("idempotency_replayed_total", "Repeated requests that got a stored response")),
      mismatched_(app.metrics().counter("idempotency_rejected_total",
                                        "Requests that were rejected because of their idempotency key",
                                        {{"reason", "mismatch"}})),
      still_running_(app.metrics().counter("idempotency_rejected_total",
                                           "Requests that were rejected because of their idempotency key",
                                           {{"reason", "running"}})) {
  app.at_start("check idempotency_keys", [this] { return check_table(); });
  app.every(std::min(options.retention, 1_h), "forget idempotency keys", [this] { return forget(); });
}

Result<std::string> Idempotency::parse_key(std::string_view field) {
  constexpr const char* expected =
      "Idempotency-Key must be one string of 1 to 255 visible characters, such as a UUID, with or without quotes";
  std::string key;
  if (field.starts_with('"')) {
    std::size_t i = 1;
    for (; i < field.size() && field[i] != '"'; ++i) {
      const bool is_escaped = field[i] == '\\';
      if (is_escaped && (++i == field.size() || (field[i] != '"' && field[i] != '\\'))) break;
      if (field[i] < ' ' || field[i] == 0x7F) break;
      key += field[i];
    }
    if (i + 1 != field.size() || field[i] != '"') return fail(Code::InvalidArgument, expected);
  } else {
    if (!std::ranges::all_of(field, is_bare)) return fail(Code::InvalidArgument, expected);
    key = field;
  }
  if (key.empty() || key.size() > key_size_max) return fail(Code::InvalidArgument, expected);
  return key;
}

Task<http::Response> Idempotency::run_once(http::Request& request, std::string_view client, Body body) {
  const std::optional<std::string_view> field = request.header_list("Idempotency-Key");
  if (!field) {
    if (options_.required) {
      co_return http::refuse(http::Status::BadRequest,
                             "Idempotency-Key is required: send a new value, such as a UUID, with each operation, and "
                             "the same value when you repeat the operation");
    }
    co_return co_await write(nullptr, body);
  }
  Claim claim;
  claim.key = co_await parse_key(*field);
  claim.client = client;
  claim.fingerprint = fingerprint_of(request);
  Running running(*this);
  if (!running.begin(claim)) {
    still_running_.add();
    co_return http::refuse(http::Status::Conflict,
                           "a request with this Idempotency-Key is in progress: repeat the request later")
        .header("Retry-After", "1");
  }
  std::optional<http::Response> known = co_await stored(claim);
  if (known) co_return *std::move(known);
  http::Response response = co_await write(&claim, body);
  co_return response;
}

Task<std::optional<http::Response>> Idempotency::stored(const Claim& claim) {
  const auto found = co_await database_.query_optional<StoredResponse>(
      "select fingerprint, status, content_type, fields, content from idempotency_keys where client = $1 and "
      "idempotency_key = $2",
      claim.client, claim.key);
  if (!found) co_return std::nullopt;
  if (found->fingerprint != claim.fingerprint) {
    mismatched_.add();
    co_return http::refuse(http::Status::UnprocessableContent,
                           "this Idempotency-Key was sent with another request: send a new value with each operation");
  }
  replayed_.add();
  co_return response_of(*found);
}

// Awaits `body` and stores its response, both in one transaction; if `claim` is null, no response is stored.
Task<http::Response> Idempotency::write(const Claim* claim, Body body) {
  bool is_taken = false;  // By another process.
  // If set, the transaction is rolled back, and this response is returned.
  std::optional<http::Response> not_stored;
  auto work = [&](db::Transaction& transaction) -> Task<http::Response> {
    is_taken = false;
    not_stored.reset();
    if (claim != nullptr) {
      // From this statement on, another process that uses this key waits until this transaction ends.
      const db::Written claimed = co_await transaction.execute(
          "insert into idempotency_keys (client, idempotency_key, fingerprint, status, content_type, fields, content, "
          "created_at) values ($1, $2, $3, 0, '', '', $4, $5) on conflict (client, idempotency_key) do nothing",
          claim->client, claim->key, claim->fingerprint, std::span<const std::byte>(), Timestamp::now());
      if (claimed.changes == 0) {
        is_taken = true;
        co_return fail(Code::Conflict, "the key is taken");
      }
    }
    http::Response response = co_await body(transaction);
    KEEL_EXPECT(!response.is_streamed() && !response.is_upgrade(),
                "the body of Idempotency::run() returned a streamed response or an upgrade, which cannot be stored: "
                "return a response with its whole content");
    const int status = static_cast<int>(response.status());
    if (status >= 500 || !response.is_valid()) {
      not_stored = std::move(response);
      co_return fail(Code::Internal, "the response is not stored");
    }
    if (claim != nullptr) {
      const std::string_view type =
          response.field("Content-Type") ? std::string_view() : std::string_view(response.content_type());
      co_await transaction.execute(
          "update idempotency_keys set status = $1, content_type = $2, fields = $3, content = $4 where client = $5 and "
          "idempotency_key = $6",
          status, type, response.fields(), std::as_bytes(std::span(response.content())), claim->client, claim->key);
    }
    co_return response;
  };
  Result<http::Response> done = co_await attempt(database_.transact(work));
  if (done) co_return *std::move(done);
  if (not_stored) co_return *std::move(not_stored);
  if (is_taken) {
    std::optional<http::Response> known = co_await stored(*claim);
    if (known) co_return *std::move(known);
    co_return http::refuse(http::Status::Conflict,
                           "a request with this Idempotency-Key is in progress: repeat the request later")
        .header("Retry-After", "1");  // The stored response was deleted in the meantime.
  }
  co_return std::move(done);
}

Task<> Idempotency::check_table() {
  auto found = co_await attempt(database_.query_many<StoredResponse>(
      "select client, idempotency_key, fingerprint, status, content_type, fields, content, created_at from "
      "idempotency_keys limit 0"));
  if (found) co_return;
  if (found.error().code() == Code::Unavailable) co_await std::move(found).error();
  co_await Error::text(Code::FailedPrecondition,
                       "the table idempotency_keys cannot be read: add the migration of docs/idempotency.md (" +
                           std::string(found.error().message()) + ")");
}

Task<> Idempotency::forget() {
  // The rows are deleted in batches, so that no request has to wait long for the database.
  while (true) {
    const db::Written deleted = co_await database_.execute(
        "delete from idempotency_keys where (client, idempotency_key) in (select client, idempotency_key from "
        "idempotency_keys where created_at < $1 limit $2)",
        Timestamp::now() - options_.retention, forgotten_at_once);
    if (deleted.changes < forgotten_at_once) co_return;
  }
}

}  // namespace keel::app
