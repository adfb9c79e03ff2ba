// A chat room, until SIGINT.
//
//   chat --listen=127.0.0.1:7002 --engine=auto
//   nc 127.0.0.1 7002

#include "../flags.h"
#include "chat.h"

namespace {

keel::Task<> serve(keel::Listener& listener, const Flags&) {
  chat::Room room;
  co_await chat::serve(listener, room);
}

}  // namespace

int main(int argc, char** argv) { return run_server(argc, argv, &serve); }
