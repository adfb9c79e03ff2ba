// A TCP echo server that runs until SIGINT.
//
//   echo --listen=127.0.0.1:7000 --engine=auto --workers=4
//   nc 127.0.0.1 7000

#include "../flags.h"
#include "echo.h"

namespace {

keel::Task<> serve(keel::Listener& listener, const Flags&) { return echo::serve(listener); }

}  // namespace

int main(int argc, char** argv) { return run_server(argc, argv, &serve, 1024); }
