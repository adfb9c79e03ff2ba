// A port forwarder that runs until SIGINT.
//
//   forwarder --listen=127.0.0.1:7001 --to=127.0.0.1:7000 --engine=auto

#include "../flags.h"
#include "forwarder.h"

namespace {

keel::Task<> serve(keel::Listener& listener, const Flags& flags) { return forwarder::serve(listener, flags.to); }

}  // namespace

int main(int argc, char** argv) { return run_server(argc, argv, &serve); }
