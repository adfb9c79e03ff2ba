// keel/db/postgres/testing/internal/fake_session.h — the state of a FakeServer's session, and a class that writes its
// messages.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/db/postgres/oid.h"
#include "keel/db/postgres/testing/fake_server.h"

namespace keel::db::postgres::testing {

inline std::uint32_t read_u32(const char* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}
inline std::uint16_t read_u16(const char* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap16(value);
}
// Removes the text up to the first zero byte, or everything if there is none, and returns it.
inline std::string take_text(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\0'), rest.size());
  std::string text(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return text;
}

// Writes a message; the length is filled in when the message ends.
class FakeMessage {
 public:
  FakeMessage(Buffer& out, char type) : out_(out), start_(out.size()) {
    out_.push_back(type);
    u32(0);
  }
  FakeMessage(const FakeMessage&) = delete;
  FakeMessage& operator=(const FakeMessage&) = delete;
  ~FakeMessage() {
    if (length_ == 0) length_ = static_cast<std::uint32_t>(out_.size() - start_ - 1);
    const std::uint32_t length = __builtin_bswap32(length_);
    std::memcpy(out_.data() + start_ + 1, &length, sizeof length);
  }
  void byte(char value) { out_.push_back(value); }
  void u16(std::uint16_t value) {
    value = __builtin_bswap16(value);
    out_.append({reinterpret_cast<const char*>(&value), sizeof value});
  }
  void u32(std::uint32_t value) {
    value = __builtin_bswap32(value);
    out_.append({reinterpret_cast<const char*>(&value), sizeof value});
  }
  void text(std::string_view value) {
    out_.append(value);
    out_.push_back('\0');
  }
  void bytes(std::string_view value) { out_.append(value); }
  // Makes the message announce a wrong length.
  void set_length(std::uint32_t length) { length_ = length; }

 private:
  Buffer& out_;
  const std::size_t start_;
  std::uint32_t length_ = 0;
};

enum class FakePhase : std::uint8_t { Startup, Authentication, Ready, Closed };

struct FakePrepared {
  std::string sql;
  FakeStatement described;
};

struct FakePortal {
  std::string sql;
  FakeStatement described;
  std::vector<FakeValue> arguments;
  std::vector<Format> formats;       // Of the columns.
  std::optional<FakeResult> result;  // Empty until the statement has been executed.
  std::size_t next_row = 0;
};

struct FakeNotification {
  std::string channel;
  std::string payload;
  std::uint32_t process;
};

struct FakeServer::State {
  State(FakeDatabase& the_database, FakeOptions the_options, std::uint64_t number);

  std::uint64_t next_random();
  void run();
  void take_messages();
  void leave();
  void close();
  void refill();
  void cancel();
  void notify(std::string_view channel, std::string_view payload, std::uint32_t from);
  void finish_held(std::optional<FakeError> error);
  void fatal(const char* sqlstate, const std::string& text);

  // The login.
  void start(std::string_view body);
  void ask_for_password();
  void let_in();
  void password(std::string_view body);
  void scram_first(std::string_view mechanism, std::string_view message);
  void scram_final(std::string_view message);

  // The messages that a client sends.
  void handle(char type, std::string_view body);
  void parse(std::string_view body);
  void bind(std::string_view body);
  void describe(std::string_view body);
  void execute(std::string_view body);
  void close_named(std::string_view body);
  void sync();
  void query(std::string_view body);
  void copy_done();

  // Statements.
  std::optional<FakeResult> own_statement(std::string_view sql);
  FakeStatement prepare(std::string_view sql);
  FakeResult run_statement(const FakePortal& portal);
  void run_portal(FakePortal& portal, std::uint32_t rows_max);
  void continue_portal(FakePortal& portal, std::uint32_t rows_max);
  void keep(const std::string& name, FakePortal portal);
  void run_queries();
  void end_transaction(bool is_commit);
  void failed(const FakeError& error);
  void protocol_error(const char* text);

  // What is sent.
  void authentication(std::uint32_t kind, std::string_view data);
  void parameter(std::string_view name, std::string_view value);
  void ready();
  void complete(std::string_view tag);
  void send_error(const FakeError& error, char type);
  void send_notifications();
  void row_description(const std::vector<FakeColumn>& columns, const std::vector<Format>& formats);
  bool send_row(const FakeRow& row, const FakePortal& portal);
  bool send_row(char message_type, const FakeRow& row, const std::vector<Oid>& types,
                const std::vector<Format>& formats);
  bool copy_out(const FakeResult& result);
  bool misbehave(const FakePortal& portal);

  FakeDatabase& database;
  FakeOptions options;
  const std::uint64_t session;
  std::uint64_t random;
  std::uint32_t process = 0;
  std::uint32_t secret = 0;
  Buffer input;
  Buffer output;
  std::function<void()> on_output;
  bool is_running = false;  // Within run().
  FakePhase phase = FakePhase::Startup;
  bool is_starting_tls = false;
  std::map<std::string, std::string> settings;

  std::string user;
  std::string salt;
  std::string gs2_header;
  std::string client_first;
  std::string server_first;
  std::string nonce;

  char status = 'I';
  bool is_changed = false;   // Whether a statement has been executed in the implicit transaction.
  bool is_skipping = false;  // Whether all messages up to the next Sync are skipped.
  bool is_simple = false;    // Within a Query.
  std::map<std::string, FakePrepared> statements;
  std::map<std::string, FakePortal> portals;
  std::vector<std::string> savepoints;
  std::vector<std::string> channels;
  std::vector<FakeNotification> notifications;  // For this client.
  std::vector<FakeNotification> outgoing;       // Notifications that this client's transaction will send.
  std::deque<std::string> queries;              // Statements of a Query that have not been run yet.

  struct Held {
    std::string portal;
    std::uint32_t rows_max;
  };
  std::optional<Held> held;
  struct Copy {
    std::string sql;
    std::string data;
  };
  std::optional<Copy> copying;
  std::optional<FakePortal> endless;  // The portal that is sending an endless sequence of rows.

  std::size_t parses = 0;
  std::size_t executes = 0;
  std::size_t syncs = 0;
};

}  // namespace keel::db::postgres::testing
