// keel/net.h — everything that a network program needs, in one header.
//
//   #include "keel/net.h"
//
//   Task<> serve(Address at) {
//     Listener listener = co_await Listener::bind(at);
//     Scope connections;
//     while (true) connections.spawn(talk(co_await listener.accept()), OnError::Ignore);
//   }
//   int main() { return run(serve(*Address::parse("127.0.0.1:7000"))) ? 0 : 1; }
//
// This header does not include the following headers; include them where you need them: keel/net/resolver.h with
// keel/exec/thread_pool.h; keel/net/transport.h for state machines without tasks; keel/net/blocking/ for programs
// without a loop; keel/io/testing/simulation.h for tests; keel/task/completion.h and resume_on.h for work on other
// threads. CMake: keel::net. docs/net.md shows how to use the headers together.

#pragma once

#include "keel/io/file.h"         // files, without blocking the loop
#include "keel/net/datagram.h"    // UDP, and Unix sockets for datagrams
#include "keel/net/listener.h"    // waits for peers to connect
#include "keel/net/outbox.h"      // a bounded queue in front of a slow peer
#include "keel/net/run.h"         // a program on one worker or several
#include "keel/net/stream.h"      // TCP and Unix sockets
#include "keel/task/channel.h"    // passes values between tasks
#include "keel/task/event.h"      // a task waits until another task sets the event
#include "keel/task/gate.h"       // rejects new entrants, and completes when the last entrant has left
#include "keel/task/generator.h"  // a task that yields values one after the other
#include "keel/task/group.h"      // waits for all of several tasks, or for any of them
#include "keel/task/mutex.h"      // mutual exclusion across waits
#include "keel/task/scope.h"      // tasks that run concurrently with their owner, and end before it
#include "keel/task/semaphore.h"  // limits how many tasks enter at a time
#include "keel/task/timing.h"     // sleep_for, with_timeout
#include "keel/task/until.h"      // waits that also end when an event is set
