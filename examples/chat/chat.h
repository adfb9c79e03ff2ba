// A chat room: sends every line from a member to all members, in the same order. A member that does not read its lines
// is disconnected.

#pragma once

#include <list>
#include <memory>
#include <string>

#include "keel/net/listener.h"
#include "keel/task/channel.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace chat {

using namespace keel;
using Line = std::shared_ptr<const std::string>;
constexpr std::size_t line_bytes_max = 1024;
constexpr std::size_t lines_behind_max = 64;
constexpr Duration patience = 10_s;  // The time limit for sending one line to a member.

struct Room {
  void say(std::string text) {
    const Line line = std::make_shared<const std::string>(std::move(text));
    for (Channel<Line>& member : members) {
      if (!member.try_send(Line(line))) member.close();  // The channel is full because the member reads too slowly.
    }
  }
  std::list<Channel<Line>> members;  // For each member, the lines that have not been sent to it yet.
};

inline Task<> listen_to(Stream& peer, Room& room, Channel<Line>& lines) {
  while (true) {
    const Chunk line = co_await peer.read_until("\n", line_bytes_max);
    if (line.empty()) co_return lines.close();  // The member has left: tell() still sends the lines in its channel.
    room.say(std::string(line));
  }
}

inline Task<> tell(Stream& peer, Channel<Line>& lines) {
  while (auto line = co_await lines.receive()) co_await with_timeout(patience, peer.write(**line));
  co_await fail(Code::Cancelled, "left, or left behind");
}

inline Task<> talk(Stream peer, Room& room) {
  const auto lines = room.members.emplace(room.members.end(), lines_behind_max);
  const auto ended = co_await attempt(all(listen_to(peer, room, *lines), tell(peer, *lines)));
  room.members.erase(lines);
}

inline Task<> serve(Listener& listener, Room& room) {
  Scope members;
  while (true) members.spawn(talk(co_await listener.accept(), room), OnError::Ignore);
}

}  // namespace chat
