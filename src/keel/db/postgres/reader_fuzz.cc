// Whatever a server sends, in whatever pieces, the messages are the same, no view reads beyond its body, and the order
// of answers is followed or an error that stays.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "keel/base/check.h"
#include "keel/db/postgres/columns.h"
#include "keel/db/postgres/message.h"
#include "keel/db/postgres/pipeline.h"
#include "keel/db/postgres/reader.h"

namespace keel::db::postgres {
namespace {

struct Seen {
  std::vector<std::string> messages;
  bool has_failed = false;
};

Seen read_in_pieces(std::string_view bytes, std::size_t piece, bool goes_short = false) {
  Seen seen;
  Reader reader({.message_bytes_max = 1 << 20});
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string part(bytes.substr(at, piece));  // In memory of its own.
    std::string_view rest = part;
    while (true) {
      Message message{};
      if (goes_short && reader.next_whole(rest, message)) {
        seen.messages.push_back(static_cast<char>(message.type) + std::string(message.body));
        continue;
      }
      const auto next = reader.next(rest);
      if (!next) {
        KEEL_CHECK(reader.next(rest).is_err(), "an error stays");
        seen.has_failed = true;
        return seen;
      }
      if (!*next) break;
      seen.messages.push_back(static_cast<char>((*next)->type) + std::string((*next)->body));
    }
    KEEL_CHECK(rest.empty(), "all is taken, or an error");
  }
  return seen;
}

// In memory of its own, so that a sanitizer sees each byte beyond it.
void look_at(MessageType type, const std::string& body) {
  switch (type) {
    case MessageType::RowDescription:
      if (const auto columns = RowDescription::read(body)) {
        int count = 0;
        for (const ColumnDescription& column : *columns) count += column.name.size() <= body.size();
        KEEL_CHECK(count == columns->columns(), "as many as it says");
        if (auto made = Columns::of(*columns)) {
          Rows rows;
          (void)made->append(body, rows);
        }
      }
      break;
    case MessageType::DataRow:
      if (auto row = DataRow::read(body)) {
        int count = 0;
        while (row->next()) KEEL_CHECK(++count <= row->columns(), "no more than it says");
        KEEL_CHECK(count == row->columns() || row->end().is_err(), "all, or an error");
      }
      break;
    case MessageType::ParameterDescription:
      if (const auto types = ParameterDescription::read(body)) {
        for (int i = 0; i < types->count(); ++i) (void)types->type(i);
      }
      break;
    case MessageType::Authentication:
      if (const auto request = Authentication::read(body)) (void)request->offers("SCRAM-SHA-256");
      break;
    default:
      (void)CommandComplete::read(body);
      (void)ErrorResponse::read(body);
      (void)ParameterStatus::read(body);
      (void)BackendKeyData::read(body);
      (void)ReadyForQuery::read(body);
      (void)NotificationResponse::read(body);
      (void)CopyResponse::read(body);
      (void)NegotiateProtocolVersion::read(body);
  }
}

}  // namespace
}  // namespace keel::db::postgres

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::db::postgres;
  if (size < 10) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 10, size - 10);
  const Seen whole = read_in_pieces(bytes, std::max<std::size_t>(bytes.size(), 1));
  const Seen single = read_in_pieces(bytes, 1);
  const Seen some = read_in_pieces(bytes, data[0] % 13 + 2);
  const Seen shorter = read_in_pieces(bytes, data[0] % 61 + 5, true);
  KEEL_CHECK(whole.messages == single.messages && whole.messages == some.messages, "however it is cut");
  KEEL_CHECK(whole.messages == shorter.messages && whole.has_failed == shorter.has_failed, "whichever way is taken");
  KEEL_CHECK(whole.has_failed == single.has_failed && whole.has_failed == some.has_failed, "however it is cut");

  Pipeline pipeline;
  Pipeline other;  // Takes the short way where there is one.
  for (int i = 1; i < 10; ++i) {
    KEEL_CHECK(pipeline.add(static_cast<Step>(data[i] % 8)).is_ok(), "there is room");
    KEEL_CHECK(other.add(static_cast<Step>(data[i] % 8)).is_ok(), "there is room");
  }
  bool is_broken = false;
  std::uint64_t last = 0;
  for (const std::string& message : whole.messages) {
    const auto type = static_cast<MessageType>(message[0]);
    look_at(type, message.substr(1));
    const auto answer = pipeline.receive(type);
    const bool is_taken = other.receive_usual(type) || other.receive(type).is_ok();
    KEEL_CHECK(is_taken == answer.is_ok() && other.waiting() == pipeline.waiting(), "whichever way is taken");
    if (type != MessageType::NoticeResponse && is_broken) KEEL_CHECK(answer.is_err(), "an error stays");
    is_broken = is_broken || answer.is_err();
    if (!answer || answer->is_asynchronous()) continue;
    KEEL_CHECK(answer->number >= last && answer->number < pipeline.next_number(), "in their order");
    last = answer->number;
  }
  return 0;
}
