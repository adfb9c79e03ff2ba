// The part of FakeServer after the login: both protocols, portals, COPY, and faults in responses.

#include <algorithm>
#include <charconv>
#include <utility>

#include "keel/db/postgres/testing/internal/fake_session.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres::testing {
namespace {

constexpr std::size_t endless_output_bytes = 64 * 1024;

// Converts a cell or an argument to the text that decode() would give.
FakeValue text_of_argument(Oid type, Format format, std::string_view bytes, bool& is_good) {
  Buffer scratch;
  if (format == Format::Text) return std::string(bytes);
  if (format_of(type) == Format::Text) return std::string(bytes);
  const Result<Value> value = decode(type, format, bytes, scratch);
  is_good = value.is_ok();
  if (!value) return std::nullopt;
  switch (value->kind) {
    case ValueKind::Integer:
      return type == oid::boolean ? std::string(value->integer != 0 ? "true" : "false")
                                  : std::to_string(value->integer);
    case ValueKind::Real: {
      char text[32];
      char* end = std::to_chars(text, text + sizeof text, value->real).ptr;
      return std::string(text, static_cast<std::size_t>(end - text));
    }
    default:
      return std::string(value->bytes, value->size);
  }
}

// The end of the first statement, which is after its ';', or the end of the text. A ';' within quotes does not end a
// statement.
std::size_t end_of_statement(std::string_view sql) {
  char quote = '\0';
  for (std::size_t i = 0; i < sql.size(); ++i) {
    const char c = sql[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == ';') {
      return i + 1;
    }
  }
  return sql.size();
}

bool is_blank_statement(std::string_view sql) { return sql.find_first_not_of(" \n\t\r;") == std::string_view::npos; }

Format format_at(const std::vector<Format>& formats, std::size_t column) {
  if (formats.empty()) return Format::Text;
  return formats.size() == 1 ? formats[0] : formats[std::min(column, formats.size() - 1)];
}

}  // namespace

void FakeServer::State::handle(char type, std::string_view body) {
  if (phase == FakePhase::Authentication) {
    if (type == 'p') return password(body);
    return fatal("08P01", "expected SASL response");
  }
  if (type == 'X') return close();
  if (copying && type != 'd' && type != 'c' && type != 'f') {
    if (type == 'S' || type == 'H') return;  // A real server also ignores Sync and Flush during a COPY.
    return fatal("08P01", "unexpected message type during COPY from stdin");
  }
  if (is_skipping && type != 'S') return;
  switch (type) {
    case 'P':
      return parse(body);
    case 'B':
      return bind(body);
    case 'D':
      return describe(body);
    case 'E':
      return execute(body);
    case 'C':
      return close_named(body);
    case 'S':
      return sync();
    case 'H':
      return;
    case 'Q':
      return query(body);
    case 'd':
      if (copying) copying->data.append(body);
      return;
    case 'c':
      if (copying) copy_done();
      return;
    case 'f':
      if (copying) {
        copying.reset();
        std::string_view rest = body;
        failed({.sqlstate = "57014", .message = "COPY from stdin failed: " + take_text(rest)});
      }
      return;
    default:
      return fatal("08P01", "invalid frontend message type");
  }
}

void FakeServer::State::failed(const FakeError& error) {
  send_error(error, 'E');
  if (error.severity == "FATAL") return close();
  if (status == 'T') {
    status = 'E';
  } else if (status == 'I') {
    end_transaction(false);
  }
  if (is_simple) {
    is_simple = false;
    queries.clear();
    ready();
  } else {
    is_skipping = true;
  }
}

void FakeServer::State::protocol_error(const char* text) { failed({.sqlstate = "08P01", .message = text}); }

FakeStatement FakeServer::State::prepare(std::string_view sql) {
  if (is_blank_statement(sql)) return {};
  // A statement that the server itself executes must not be executed when the client only asks for its description.
  for (const char* own : {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "set",
                          "reset", "discard", "deallocate", "listen", "unlisten", "notify"}) {
    std::string_view text = sql.substr(sql.find_first_not_of(" \n\t\r"));
    const std::string_view word(own);
    bool is_same = text.size() >= word.size();
    for (std::size_t i = 0; is_same && i < word.size(); ++i) is_same = (text[i] | 0x20) == word[i];
    if (is_same && (text.size() == word.size() || text[word.size()] == ' ' || text[word.size()] == ';')) return {};
  }
  if (status == 'E') {
    return {.error = FakeError{.sqlstate = "25P02",
                               .message = "current transaction is aborted, commands ignored until end of transaction "
                                          "block"}};
  }
  return database.prepare(sql);
}

void FakeServer::State::parse(std::string_view body) {
  ++parses;
  std::string_view rest = body;
  const std::string name = take_text(rest);
  const std::string sql = take_text(rest);
  if (rest.size() < 2 || rest.size() != 2 + 4u * read_u16(rest.data())) return protocol_error("invalid Parse message");
  if (!name.empty() && statements.contains(name)) {
    return failed({.sqlstate = "42P05", .message = "prepared statement \"" + name + "\" already exists"});
  }
  FakeStatement described = prepare(sql);
  if (described.error) return failed(*described.error);
  statements[name] = {sql, std::move(described)};
  FakeMessage(output, '1');
}

void FakeServer::State::bind(std::string_view body) {
  std::string_view rest = body;
  const std::string portal_name = take_text(rest);
  const std::string name = take_text(rest);
  const auto known = statements.find(name);
  if (known == statements.end()) {
    return failed({.sqlstate = "26000", .message = "prepared statement \"" + name + "\" does not exist"});
  }
  FakePortal portal{.sql = known->second.sql,
                    .described = known->second.described,
                    .arguments = {},
                    .formats = {},
                    .result = std::nullopt};
  bool is_good = true;
  const auto take_u16 = [&]() -> std::uint16_t {
    if (rest.size() < 2) {
      is_good = false;
      return 0;
    }
    const std::uint16_t value = read_u16(rest.data());
    rest.remove_prefix(2);
    return value;
  };
  std::vector<Format> formats(take_u16());
  for (Format& format : formats) format = static_cast<Format>(take_u16());
  const std::size_t count = take_u16();
  const std::vector<Oid>& types = portal.described.parameters;
  if (count != types.size()) {
    return failed({.sqlstate = "08P01",
                   .message = "bind message supplies " + std::to_string(count) +
                              " parameters, but prepared statement \"" + name + "\" requires " +
                              std::to_string(types.size())});
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (rest.size() < 4) return protocol_error("invalid Bind message");
    const auto size = static_cast<std::int32_t>(read_u32(rest.data()));
    rest.remove_prefix(4);
    if (size < 0) {
      portal.arguments.emplace_back();
      continue;
    }
    if (static_cast<std::size_t>(size) > rest.size()) return protocol_error("invalid Bind message");
    bool is_value = true;
    portal.arguments.push_back(
        text_of_argument(types[i], format_at(formats, i), rest.substr(0, static_cast<std::size_t>(size)), is_value));
    if (!is_value) {
      return failed(
          {.sqlstate = "22P03", .message = "incorrect binary data format in bind parameter " + std::to_string(i + 1)});
    }
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  portal.formats.resize(take_u16());
  for (Format& format : portal.formats) format = static_cast<Format>(take_u16());
  if (!is_good || !rest.empty()) return protocol_error("invalid Bind message");
  portals[portal_name] = std::move(portal);
  FakeMessage(output, '2');
}

void FakeServer::State::row_description(const std::vector<FakeColumn>& columns, const std::vector<Format>& formats) {
  if (columns.empty()) {
    FakeMessage(output, 'n');
    return;
  }
  FakeMessage message(output, 'T');
  message.u16(static_cast<std::uint16_t>(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    message.text(columns[i].name);
    message.u32(0);
    message.u16(0);
    message.u32(columns[i].type);
    message.u16(0xffff);
    message.u32(0xffff'ffff);
    message.u16(static_cast<std::uint16_t>(format_at(formats, i)));
  }
}

void FakeServer::State::describe(std::string_view body) {
  std::string_view rest = body.substr(std::min<std::size_t>(1, body.size()));
  const std::string name = take_text(rest);
  if (body.starts_with('S')) {
    const auto known = statements.find(name);
    if (known == statements.end()) {
      return failed({.sqlstate = "26000", .message = "prepared statement \"" + name + "\" does not exist"});
    }
    {
      FakeMessage message(output, 't');
      message.u16(static_cast<std::uint16_t>(known->second.described.parameters.size()));
      for (const Oid type : known->second.described.parameters) message.u32(type);
    }
    return row_description(known->second.described.columns, {});
  }
  const auto known = portals.find(name);
  if (known == portals.end()) {
    return failed({.sqlstate = "34000", .message = "portal \"" + name + "\" does not exist"});
  }
  row_description(known->second.described.columns, known->second.formats);
}

void FakeServer::State::execute(std::string_view body) {
  ++executes;
  std::string_view rest = body;
  const std::string name = take_text(rest);
  if (rest.size() != 4) return protocol_error("invalid Execute message");
  const auto known = portals.find(name);
  if (known == portals.end()) {
    return failed({.sqlstate = "34000", .message = "portal \"" + name + "\" does not exist"});
  }
  const std::uint32_t rows_max = read_u32(rest.data());
  // The portal is moved out of the map, because the end of a transaction destroys all portals in the map.
  FakePortal running = std::move(known->second);
  if (!running.result) {
    running.result = run_statement(running);
    if (running.result->is_held) {
      portals[name] = std::move(running);
      held = Held{name, rows_max};
      return;
    }
  }
  run_portal(running, rows_max);
  keep(name, std::move(running));
}

// Puts the portal back into its entry of the map, unless the entry was removed in the meantime.
void FakeServer::State::keep(const std::string& name, FakePortal portal) {
  if (const auto known = portals.find(name); known != portals.end()) known->second = std::move(portal);
}

FakeResult FakeServer::State::run_statement(const FakePortal& portal) {
  if (std::optional<FakeResult> own = own_statement(portal.sql)) return *std::move(own);
  is_changed = true;
  return database.execute(session, portal.sql, portal.arguments);
}

// Sends the rows of a portal that have not been sent yet.
void FakeServer::State::run_portal(FakePortal& portal, std::uint32_t rows_max) {
  FakeResult& result = *portal.result;
  for (const std::string& notice : std::exchange(result.notices, {})) {
    send_error({.sqlstate = "00000", .message = notice, .severity = "NOTICE"}, 'N');
  }
  if (result.error) {
    const FakeError error = *result.error;
    return failed(error);
  }
  if (is_blank_statement(portal.sql)) {
    FakeMessage(output, 'I');
    return;
  }
  if (result.copy == FakeResult::Copy::In) {
    FakeMessage message(output, 'G');
    message.byte(0);
    message.u16(0);
    copying = Copy{portal.sql, {}};
    return;
  }
  if (result.copy == FakeResult::Copy::Out) {
    if (!copy_out(result)) return;
    return complete(result.tag.empty() ? "COPY " + std::to_string(result.rows.size()) : result.tag);
  }
  if (misbehave(portal)) return;
  continue_portal(portal, rows_max);
}

// False: as send_row().
bool FakeServer::State::copy_out(const FakeResult& result) {
  const bool is_binary = !result.copy_types.empty();
  {
    FakeMessage message(output, 'H');
    message.byte(is_binary ? 1 : 0);
    message.u16(static_cast<std::uint16_t>(result.copy_types.size()));
    for (std::size_t i = 0; i < result.copy_types.size(); ++i) message.u16(1);
  }
  if (is_binary) FakeMessage(output, 'd').bytes({"PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19});
  for (const FakeRow& row : result.rows) {
    if (is_binary) {
      if (!send_row('d', row, result.copy_types, {Format::Binary})) return false;
      continue;
    }
    std::string line;
    for (const FakeValue& value : row) line.append(line.empty() ? "" : "\t").append(value.value_or("\\N"));
    FakeMessage(output, 'd').bytes(line + "\n");
  }
  if (is_binary) FakeMessage(output, 'd').u16(0xffff);
  FakeMessage(output, 'c');
  return true;
}

void FakeServer::State::continue_portal(FakePortal& portal, std::uint32_t rows_max) {
  FakeResult& result = *portal.result;
  for (std::uint32_t sent = 0; portal.next_row < result.rows.size(); ++sent) {
    if (rows_max != 0 && sent == rows_max) {
      FakeMessage(output, 's');
      return;
    }
    if (!send_row(result.rows[portal.next_row++], portal)) return;
  }
  const std::string tag = result.tag.empty() ? "SELECT " + std::to_string(result.rows.size()) : result.tag;
  complete(tag);
}

bool FakeServer::State::send_row(const FakeRow& row, const FakePortal& portal) {
  std::vector<Oid> types;
  for (const FakeColumn& column : portal.described.columns) types.push_back(column.type);
  return send_row('D', row, types, portal.formats);
}

// Returns false if a value does not have the type of its column; in that case the client gets an error.
bool FakeServer::State::send_row(char message_type, const FakeRow& row, const std::vector<Oid>& types,
                                 const std::vector<Format>& formats) {
  Buffer cells;
  const auto append_u32 = [&](std::uint32_t value) {
    value = __builtin_bswap32(value);
    cells.append({reinterpret_cast<const char*>(&value), sizeof value});
  };
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!row[i]) {
      append_u32(0xffff'ffff);
      continue;
    }
    const Oid type = i < types.size() ? types[i] : oid::text;
    Buffer value;
    if (format_at(formats, i) == Format::Text) {
      value.append(*row[i]);
    } else if (const Result<> encoded = encode_text(type, *row[i], value);
               !encoded && format_of(type) == Format::Binary) {
      failed({.sqlstate = "XX000", .message = "the test's value \"" + *row[i] + "\" is no " + name_of(type)});
      return false;
    } else if (!encoded) {
      value.append(*row[i]);
    }
    append_u32(static_cast<std::uint32_t>(value.size()));
    cells.append(value.view());
  }
  FakeMessage message(output, message_type);
  message.u16(static_cast<std::uint16_t>(row.size()));
  message.bytes(cells.view());
  return true;
}

// If the options request a faulty response to an Execute, sends it; returns true if the response is complete.
bool FakeServer::State::misbehave(const FakePortal& portal) {
  const std::size_t columns = portal.described.columns.size();
  switch (options.fault) {
    case Fault::LengthBelowFour: {
      FakeMessage message(output, 'D');
      message.set_length(3);
      return true;
    }
    case Fault::LengthOfGigabytes: {
      FakeMessage message(output, 'D');
      message.set_length(0xffff'fff0);
      return true;
    }
    case Fault::CellBeyondMessage:
    case Fault::NegativeCell: {
      FakeMessage message(output, 'D');
      message.u16(static_cast<std::uint16_t>(columns));
      for (std::size_t i = 0; i < columns; ++i) {
        message.u32(options.fault == Fault::NegativeCell ? 0xffff'fffe : 0x7fff'ffff);
      }
      return true;
    }
    case Fault::MoreColumns: {
      FakeMessage message(output, 'D');
      message.u16(static_cast<std::uint16_t>(columns + 1));
      for (std::size_t i = 0; i <= columns; ++i) message.u32(0xffff'ffff);
      return true;
    }
    case Fault::TrailingBytes: {
      FakeMessage message(output, 'D');
      message.u16(static_cast<std::uint16_t>(columns));
      for (std::size_t i = 0; i < columns; ++i) message.u32(0xffff'ffff);
      message.byte('x');
      return true;
    }
    case Fault::EndlessRows:
      endless = portal;
      refill();
      return true;
    case Fault::UnexpectedMessage:
      ready();
      return true;
    case Fault::UnknownMessage:
      FakeMessage(output, '?');
      return true;
    case Fault::BadValue: {
      FakeMessage message(output, 'D');
      message.u16(static_cast<std::uint16_t>(columns));
      for (std::size_t i = 0; i < columns; ++i) {
        message.u32(3);
        message.bytes("\xff\xff\xff");
      }
      return true;
    }
    case Fault::ClosesMidway: {
      {
        FakeMessage message(output, 'D');
        message.u16(static_cast<std::uint16_t>(columns));
        message.set_length(1000);
      }
      close();
      return true;
    }
    default:
      return false;
  }
}

void FakeServer::State::refill() {
  if (!endless || phase == FakePhase::Closed) return;
  const FakeRow row(endless->described.columns.size());
  while (output.size() < endless_output_bytes) send_row(row, *endless);
}

void FakeServer::State::close_named(std::string_view body) {
  std::string_view rest = body.substr(std::min<std::size_t>(1, body.size()));
  const std::string name = take_text(rest);
  if (body.starts_with('S')) {
    statements.erase(name);
  } else {
    portals.erase(name);
  }
  FakeMessage(output, '3');
}

void FakeServer::State::sync() {
  ++syncs;
  is_skipping = false;
  if (status == 'I') {
    if (is_changed) end_transaction(true);
    portals.clear();
    if (options.is_pooler) statements.clear();
    send_notifications();
  }
  ready();
}

void FakeServer::State::query(std::string_view body) {
  ++syncs;
  std::string_view rest = body;
  const std::string sql = take_text(rest);
  is_simple = true;
  statements.erase("");
  std::string_view left = sql;
  while (!left.empty()) {
    const std::size_t end = end_of_statement(left);
    const std::string_view one = left.substr(0, end);
    if (!is_blank_statement(one)) queries.emplace_back(one.substr(one.find_first_not_of(" \n\t\r")));
    left.remove_prefix(end);
  }
  if (queries.empty()) FakeMessage(output, 'I');
  run_queries();
}

void FakeServer::State::run_queries() {
  while (is_simple && !queries.empty()) {
    FakePortal& portal = portals[""] = FakePortal{
        .sql = std::move(queries.front()), .described = {}, .arguments = {}, .formats = {}, .result = std::nullopt};
    queries.pop_front();
    ++executes;
    if (portal.sql.ends_with(';')) portal.sql.pop_back();
    portal.described = prepare(portal.sql);
    if (portal.described.error) {
      const FakeError error = *portal.described.error;
      return failed(error);
    }
    FakePortal running = portal;  // A copy of the portal, because a commit destroys all portals.
    running.result = run_statement(running);
    if (running.result->is_held) {
      portals[""] = std::move(running);
      held = Held{"", 0};
      return;
    }
    if (!running.result->error && !running.described.columns.empty()) row_description(running.described.columns, {});
    run_portal(running, 0);
    if (copying || phase == FakePhase::Closed || endless) return;
  }
  if (!is_simple) return;
  is_simple = false;
  if (status == 'I') {
    if (is_changed) end_transaction(true);
    portals.clear();
    send_notifications();
  }
  ready();
}

void FakeServer::State::copy_done() {
  const Copy copy = *std::exchange(copying, std::nullopt);
  const FakeResult result = database.copied(session, copy.sql, copy.data);
  if (result.error) return failed(*result.error);
  complete(result.tag);
  if (is_simple) run_queries();
}

void FakeServer::State::finish_held(std::optional<FakeError> error) {
  if (!held) return;
  const Held waiting = *std::exchange(held, std::nullopt);
  FakePortal running = std::move(portals[waiting.portal]);
  running.result->is_held = false;
  if (error) running.result->error = std::move(error);
  if (is_simple && !running.result->error && !running.described.columns.empty()) {
    row_description(running.described.columns, {});
  }
  run_portal(running, waiting.rows_max);
  keep(waiting.portal, std::move(running));
  if (is_simple) run_queries();
  run();
  if (on_output) on_output();
}

void FakeServer::State::cancel() {
  if (options.cancels_ignored > 0) {
    --options.cancels_ignored;
    return;
  }
  if (held) finish_held(FakeError{.sqlstate = "57014", .message = "canceling statement due to user request"});
}

}  // namespace keel::db::postgres::testing
