#include "keel/db/postgres/testing/fake_server.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/data/base64.h"
#include "keel/db/postgres/scram.h"
#include "keel/db/postgres/testing/internal/fake_session.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres::testing {
namespace {

constexpr std::uint32_t ssl_request = 1234 << 16 | 5679;
constexpr std::uint32_t gss_request = 1234 << 16 | 5680;
constexpr std::uint32_t cancel_request = 1234 << 16 | 5678;

// The first words of a statement; words without quotes are converted to lower case.
std::string first_words(std::string_view sql) {
  std::string words;
  bool was_blank = true;
  bool is_quoted = false;
  for (const char c : sql) {
    if (words.size() >= 256) break;
    is_quoted = is_quoted != (c == '"');
    const bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ';';
    if (is_blank && was_blank) continue;
    words.push_back(is_blank ? ' ' : is_quoted ? c : ascii::to_lower(c));
    was_blank = is_blank;
  }
  while (words.ends_with(' ')) words.pop_back();
  return words;
}

// The word after `prefix`, without quotes, and with its case unchanged.
std::string word_after(std::string_view words, std::string_view prefix) {
  std::string_view rest = words.substr(std::min(prefix.size(), words.size()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest.starts_with('"')) return std::string(rest.substr(1, rest.find('"', 1) - 1));
  return std::string(rest.substr(0, rest.find_first_of(" ,")));
}

}  // namespace

FakeDatabase::~FakeDatabase() = default;
FakeResult FakeDatabase::copied(std::uint64_t, std::string_view, std::string_view data) {
  return {.tag = "COPY " + std::to_string(std::ranges::count(data, '\n'))};
}
std::optional<FakeError> FakeDatabase::begin(std::uint64_t) { return std::nullopt; }
void FakeDatabase::commit(std::uint64_t) {}
void FakeDatabase::roll_back(std::uint64_t) {}
std::optional<FakeError> FakeDatabase::savepoint(std::uint64_t, std::string_view) { return std::nullopt; }
void FakeDatabase::release(std::uint64_t, std::string_view) {}
void FakeDatabase::roll_back_to(std::uint64_t, std::string_view) {}

void FakeDatabase::notify(std::string_view channel, std::string_view payload, std::uint32_t process) {
  const std::vector<FakeServer*> servers = servers_;
  for (FakeServer* server : servers) server->state_->notify(channel, payload, process);
}

void FakeDatabase::cancel(std::uint32_t process, std::uint32_t secret) {
  const std::vector<FakeServer*> servers = servers_;
  for (FakeServer* server : servers) {
    if (server->state_->process == process && server->state_->secret == secret) server->state_->cancel();
  }
}

FakeServer::FakeServer(FakeDatabase& database, FakeOptions options)
    : state_(std::make_unique<State>(database, std::move(options), database.next_session_++)) {
  database.servers_.push_back(this);
}

FakeServer::~FakeServer() {
  state_->leave();
  std::erase(state_->database.servers_, this);
}

void FakeServer::receive(std::string_view bytes) {
  state_->input.append(bytes);
  state_->run();
}

Buffer& FakeServer::output() noexcept { return state_->output; }
void FakeServer::refill() { state_->refill(); }
void FakeServer::set_on_output(std::function<void()> on_output) { state_->on_output = std::move(on_output); }
bool FakeServer::is_closed() const noexcept { return state_->phase == FakePhase::Closed; }
bool FakeServer::is_starting_tls() const noexcept { return state_->is_starting_tls; }
void FakeServer::release() { state_->finish_held({}); }
bool FakeServer::is_holding() const noexcept { return state_->held.has_value(); }
void FakeServer::shut_down() {
  if (is_closed()) return;
  state_->fatal("57P01", "terminating connection due to administrator command");
  if (state_->on_output) state_->on_output();
}
std::uint64_t FakeServer::session() const noexcept { return state_->session; }
std::uint32_t FakeServer::process() const noexcept { return state_->process; }
char FakeServer::transaction_status() const noexcept { return state_->status; }
std::size_t FakeServer::prepared_statements() const noexcept { return state_->statements.size(); }
std::size_t FakeServer::parses() const noexcept { return state_->parses; }
std::size_t FakeServer::executes() const noexcept { return state_->executes; }
std::size_t FakeServer::syncs() const noexcept { return state_->syncs; }

// ---- The session: from bytes to messages.

FakeServer::State::State(FakeDatabase& the_database, FakeOptions the_options, std::uint64_t number)
    : database(the_database), options(std::move(the_options)), session(number), random(options.seed * 977 + number) {
  process = static_cast<std::uint32_t>(1000 + number);
  secret = static_cast<std::uint32_t>(next_random());
  // The salt depends only on the seed, because a real server stores one salt and one set of keys, which all logins use.
  random = options.seed;
  for (int i = 0; i < 16; ++i) salt.push_back(static_cast<char>(next_random() >> 24));
  random = options.seed * 977 + number;
}

std::uint64_t FakeServer::State::next_random() {
  // splitmix64
  std::uint64_t z = (random += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void FakeServer::State::leave() {
  if (status != 'I' || is_changed) database.roll_back(session);
  status = 'I';
  is_changed = false;
}

void FakeServer::State::close() {
  leave();
  phase = FakePhase::Closed;
  input.clear();
}

void FakeServer::State::run() {
  is_running = true;
  take_messages();
  is_running = false;
}

void FakeServer::State::take_messages() {
  std::size_t at = 0;
  while (phase != FakePhase::Closed && !held && !endless) {
    const std::string_view rest = input.view().substr(std::min(at, input.size()));
    const bool is_startup = phase == FakePhase::Startup;
    const std::size_t head = is_startup ? 4 : 5;
    if (rest.size() < head) break;
    const std::size_t length = read_u32(rest.data() + head - 4);
    if (length < 4 || length > 0x4000'0000 || (is_startup && (length < 8 || length > 10'000))) {
      fatal("08P01", "invalid message length");
      return;
    }
    const std::size_t size = head - 4 + length;
    if (rest.size() < size) break;
    const std::string body(rest.substr(head, size - head));
    const char type = is_startup ? '\0' : rest[0];
    at += size;
    if (is_startup) {
      start(body);
      // Bytes that arrived together with the SSLRequest are cleartext, and are discarded.
      if (is_starting_tls && phase == FakePhase::Startup && body.size() == 4) {
        input.clear();
        return;
      }
    } else {
      handle(type, body);
    }
  }
  if (phase != FakePhase::Closed) input.consume(std::min(at, input.size()));
}

void FakeServer::State::start(std::string_view body) {
  const std::uint32_t code = read_u32(body.data());
  if (code == ssl_request || code == gss_request) {
    const bool has_tls = code == ssl_request && options.offers_tls && !is_starting_tls;
    output.push_back(has_tls ? 'S' : 'N');
    if (has_tls && options.fault == Fault::ResponseToTlsTwice) output.append("E");
    is_starting_tls = is_starting_tls || has_tls;
    return;
  }
  if (code == cancel_request) {
    phase = FakePhase::Closed;
    if (body.size() == 12) database.cancel(read_u32(body.data() + 4), read_u32(body.data() + 8));
    return;
  }
  if (code >> 16 != 3) return fatal("0A000", "unsupported frontend protocol");
  std::string_view rest = body.substr(4);
  while (!rest.empty() && rest[0] != '\0') {
    const std::string name = take_text(rest);
    const std::string value = take_text(rest);
    if (name == "user") user = value;
    settings[name] = value;
  }
  if (rest.size() != 1) return fatal("08P01", "invalid startup packet layout: expected terminator as last byte");
  if (user.empty()) return fatal("28000", "no PostgreSQL user name specified in startup packet");
  phase = FakePhase::Authentication;
  ask_for_password();
}

void FakeServer::State::ask_for_password() {
  if (options.fault == Fault::AsksForCleartext) return authentication(3, {});
  if (options.fault == Fault::AsksForMd5) return authentication(5, "salt");
  if (options.passwords.empty()) return let_in();
  std::string mechanisms;
  if (!options.channel_binding.empty() && options.fault != Fault::HidesPlus) {
    mechanisms.append(Scram::name_plus).push_back('\0');
  }
  mechanisms.append(Scram::name).push_back('\0');
  mechanisms.push_back('\0');
  authentication(10, mechanisms);
}

void FakeServer::State::let_in() {
  authentication(0, {});
  parameter("server_version", options.server_version);
  parameter("client_encoding", "UTF8");
  parameter("DateStyle", "ISO, MDY");
  parameter("integer_datetimes", "on");
  parameter("standard_conforming_strings", "on");
  parameter("default_transaction_read_only", options.is_read_only ? "on" : "off");
  parameter("in_hot_standby", options.is_read_only ? "on" : "off");
  parameter("application_name", settings["application_name"]);
  if (!options.is_pooler) {
    FakeMessage key(output, 'K');
    key.u32(process);
    key.u32(secret);
  }
  phase = FakePhase::Ready;
  ready();
}

void FakeServer::State::password(std::string_view body) {
  if (options.fault == Fault::AsksForCleartext || options.fault == Fault::AsksForMd5) return let_in();
  if (!client_first.empty()) return scram_final(body);
  std::string_view rest = body;
  const std::string mechanism = take_text(rest);
  if (rest.size() < 4) return fatal("08P01", "invalid SASL initial response");
  scram_first(mechanism, rest.substr(4));
}

void FakeServer::State::scram_first(std::string_view mechanism, std::string_view message) {
  const bool is_plus = mechanism == Scram::name_plus;
  if (!is_plus && mechanism != Scram::name) {
    return fatal("08P01", "client selected an invalid SASL authentication mechanism");
  }
  const std::size_t comma = message.find(",,");
  if (comma == std::string_view::npos) return fatal("08P01", "malformed SCRAM message");
  gs2_header = message.substr(0, comma + 2);
  if (gs2_header.starts_with('p') != is_plus) return fatal("08P01", "malformed SCRAM message");
  if (gs2_header.starts_with('y') && !options.channel_binding.empty()) {
    return fatal("08P01", "SCRAM channel binding negotiation error");
  }
  client_first = message.substr(comma + 2);
  const std::size_t nonce_at = client_first.find("r=");
  if (nonce_at == std::string::npos) return fatal("08P01", "malformed SCRAM message");
  std::string ours;
  for (int i = 0; i < 18; ++i) ours.push_back(static_cast<char>('a' + next_random() % 26));
  nonce = client_first.substr(nonce_at + 2) + ours;
  if (options.fault == Fault::BadNonce) nonce[0] = nonce[0] == 'x' ? 'y' : 'x';
  std::string iterations = std::to_string(options.iterations);
  if (options.fault == Fault::HugeIterations) iterations = "2147483647";
  if (options.fault == Fault::NoIterations) iterations = "0";
  server_first =
      "r=" + nonce + ",s=" + base64::encode(std::string_view(salt), base64::Form::Standard) + ",i=" + iterations;
  if (options.fault == Fault::SkipsProof) return let_in();
  authentication(11, server_first);
}

void FakeServer::State::scram_final(std::string_view message) {
  const std::size_t proof_at = message.find(",p=");
  const auto known = options.passwords.find(user);
  if (proof_at == std::string_view::npos) return fatal("08P01", "malformed SCRAM message");
  const std::string without_proof(message.substr(0, proof_at));
  std::string binding = gs2_header;
  if (gs2_header.starts_with('p')) binding += options.channel_binding;
  const std::string expected = "c=" + base64::encode(std::string_view(binding), base64::Form::Standard) + ",r=" + nonce;
  const Result<std::string> proof = base64::decode(message.substr(proof_at + 3), base64::Form::Standard);
  bool is_good = known != options.passwords.end() && without_proof == expected && proof && proof->size() == 32;
  const ScramKeys keys = scram_keys(known != options.passwords.end() ? known->second : "", salt, options.iterations);
  const std::string signed_text = client_first + "," + server_first + "," + without_proof;
  if (is_good) {
    // The proof XOR the signature that is made with the stored key gives the client's key, whose hash must be the
    // stored key.
    const auto signature = hmac_sha256(keys.stored, signed_text);
    for (std::size_t i = 0; i < signature.size(); ++i) {
      const auto byte = static_cast<std::byte>((*proof)[i]) ^ signature[i];
      is_good = is_good && byte == keys.client[i];
    }
  }
  if (!is_good) return fatal("28P01", "password authentication failed for user \"" + user + "\"");
  auto signature = hmac_sha256(keys.server, signed_text);
  if (options.fault == Fault::BadSignature) signature[0] ^= std::byte{1};
  authentication(12, "v=" + base64::encode(signature, base64::Form::Standard));
  let_in();
}

// ---- Messages of the server.

void FakeServer::State::authentication(std::uint32_t kind, std::string_view data) {
  FakeMessage message(output, 'R');
  message.u32(kind);
  message.bytes(data);
}

void FakeServer::State::parameter(std::string_view name, std::string_view value) {
  FakeMessage message(output, 'S');
  message.text(name);
  message.text(value);
}

void FakeServer::State::ready() {
  FakeMessage message(output, 'Z');
  message.byte(status);
}

void FakeServer::State::complete(std::string_view tag) {
  FakeMessage message(output, 'C');
  message.text(tag);
}

void FakeServer::State::send_error(const FakeError& error, char type) {
  FakeMessage message(output, type);
  const auto field = [&](char name, std::string_view text) {
    if (text.empty()) return;
    message.byte(name);
    message.text(text);
  };
  field('S', error.severity);
  field('V', error.severity);
  field('C', error.sqlstate);
  field('M', error.message);
  field('D', error.detail);
  field('n', error.constraint);
  message.byte('\0');
}

void FakeServer::State::fatal(const char* sqlstate, const std::string& text) {
  send_error({.sqlstate = sqlstate, .message = text, .severity = "FATAL"}, 'E');
  close();
}

void FakeServer::State::notify(std::string_view channel, std::string_view payload, std::uint32_t from) {
  if (phase != FakePhase::Ready || std::ranges::find(channels, channel) == channels.end()) return;
  // Notifications that arrive within a transaction are sent by a server when the transaction has ended.
  notifications.push_back({std::string(channel), std::string(payload), from});
  if (status == 'I' && !held && !is_changed) {
    send_notifications();
    if (on_output && !is_running) on_output();
  }
}

void FakeServer::State::send_notifications() {
  for (const FakeNotification& notification : std::exchange(notifications, {})) {
    FakeMessage message(output, 'A');
    message.u32(notification.process);
    message.text(notification.channel);
    message.text(notification.payload);
  }
}

// ---- The statements that the server executes without the FakeDatabase.

std::optional<FakeResult> FakeServer::State::own_statement(std::string_view sql) {
  const std::string words = first_words(sql);
  const auto is = [&](std::string_view prefix) {
    return words == prefix ||
           (words.starts_with(prefix) && words.size() > prefix.size() && words[prefix.size()] == ' ');
  };
  if (words.empty()) return FakeResult{};
  if (is("begin") || is("start transaction")) {
    if (status == 'I') {
      if (std::optional<FakeError> error = database.begin(session)) return FakeResult{.error = *std::move(error)};
      status = 'T';
    }
    return FakeResult{.tag = "BEGIN"};
  }
  if (is("commit") || is("end")) {
    const bool is_failed = status == 'E';
    end_transaction(!is_failed);
    return FakeResult{.tag = is_failed ? "ROLLBACK" : "COMMIT"};
  }
  if (is("rollback to") || is("rollback to savepoint")) {
    const std::string name = word_after(words, is("rollback to savepoint") ? "rollback to savepoint" : "rollback to");
    const auto known = std::ranges::find(savepoints, name);
    if (known == savepoints.end()) {
      return FakeResult{.error =
                            FakeError{.sqlstate = "3B001", .message = "savepoint \"" + name + "\" does not exist"}};
    }
    savepoints.erase(known + 1, savepoints.end());
    database.roll_back_to(session, name);
    status = 'T';
    return FakeResult{.tag = "ROLLBACK"};
  }
  if (is("rollback") || is("abort")) {
    end_transaction(false);
    return FakeResult{.tag = "ROLLBACK"};
  }
  if (status == 'E') {
    return FakeResult{.error = FakeError{.sqlstate = "25P02",
                                         .message = "current transaction is aborted, commands ignored until end of "
                                                    "transaction block"}};
  }
  if (is("savepoint")) {
    if (status == 'I') {
      return FakeResult{
          .error = FakeError{.sqlstate = "25P01", .message = "SAVEPOINT can only be used in transaction blocks"}};
    }
    std::string name = word_after(words, "savepoint");
    if (std::optional<FakeError> error = database.savepoint(session, name)) {
      return FakeResult{.error = *std::move(error)};
    }
    savepoints.push_back(std::move(name));
    return FakeResult{.tag = "SAVEPOINT"};
  }
  if (is("release")) {
    const std::string name = word_after(words, is("release savepoint") ? "release savepoint" : "release");
    const auto known = std::ranges::find(savepoints, name);
    if (known == savepoints.end()) {
      return FakeResult{.error =
                            FakeError{.sqlstate = "3B001", .message = "savepoint \"" + name + "\" does not exist"}};
    }
    savepoints.erase(known, savepoints.end());
    database.release(session, name);
    return FakeResult{.tag = "RELEASE"};
  }
  if (is("set") || is("reset")) {
    const std::string name = word_after(words, is("set session") ? "set session"
                                               : is("set local") ? "set local"
                                                                 : "set");
    if (name == "application_name") parameter(name, "");
    return FakeResult{.tag = is("set") ? "SET" : "RESET"};
  }
  if (is("discard")) {
    statements.clear();
    channels.clear();
    return FakeResult{.tag = "DISCARD ALL"};
  }
  if (is("deallocate")) {
    const std::string name = word_after(words, is("deallocate prepare") ? "deallocate prepare" : "deallocate");
    if (name == "all") {
      statements.clear();
    } else if (statements.erase(name) == 0) {
      return FakeResult{
          .error = FakeError{.sqlstate = "26000", .message = "prepared statement \"" + name + "\" does not exist"}};
    }
    return FakeResult{.tag = name == "all" ? "DEALLOCATE ALL" : "DEALLOCATE"};
  }
  if (is("listen")) {
    const std::string channel = word_after(words, "listen");
    if (std::ranges::find(channels, channel) == channels.end()) channels.push_back(channel);
    return FakeResult{.tag = "LISTEN"};
  }
  if (is("unlisten")) {
    const std::string channel = word_after(words, "unlisten");
    if (channel == "*") {
      channels.clear();
    } else {
      std::erase(channels, channel);
    }
    return FakeResult{.tag = "UNLISTEN"};
  }
  if (is("notify")) {
    const std::size_t quote = sql.find('\'');
    std::string payload;
    for (std::size_t i = quote; quote != std::string_view::npos && ++i < sql.size();) {
      if (sql[i] == '\'' && (i + 1 == sql.size() || sql[i + 1] != '\'')) break;
      if (sql[i] == '\'') ++i;
      payload.push_back(sql[i]);
    }
    outgoing.push_back({word_after(words, "notify"), payload, process});
    is_changed = true;
    return FakeResult{.tag = "NOTIFY"};
  }
  return std::nullopt;
}

void FakeServer::State::end_transaction(bool is_commit) {
  if (is_commit) {
    database.commit(session);
  } else {
    database.roll_back(session);
  }
  status = 'I';
  is_changed = false;
  savepoints.clear();
  portals.clear();
  const std::vector<FakeNotification> sent = std::exchange(outgoing, {});
  if (!is_commit) return;
  for (const FakeNotification& one : sent) database.notify(one.channel, one.payload, one.process);
}

}  // namespace keel::db::postgres::testing
