// A chat room that runs until SIGINT: chat --listen=127.0.0.1:7002 --engine=auto, then nc 127.0.0.1 7002

#include "../flags.h"
#include "chat.h"

static keel::Task<> serve(keel::Listener& listener, const Flags&) {
  chat::Room room;
  co_await chat::serve(listener, room);
}

int main(int argc, char** argv) { return run_server(argc, argv, &serve); }
