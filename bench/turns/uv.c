// libuv's loop; see turns.h. It has no way to post from its own thread but the one for other threads, uv_async_send.

#include <uv.h>

#include "turns.h"

enum { turns_per_round = 1000 };

static uv_loop_t* loop;
static uv_async_t async;
static uv_poll_t quiet;
static uv_timer_t* timers;
static long count;
static long left;

static void on_quiet(uv_poll_t* handle, int status, int events) {
  (void)handle;
  (void)status;
  (void)events;
}
static void on_async(uv_async_t* handle) { (void)handle; }
static void on_timer(uv_timer_t* handle) {
  if (--left == 0) uv_stop(handle->loop);  // So that this turn does not wait for more.
}

static void idle_turns(void* with) {
  (void)with;
  for (int i = 0; i < turns_per_round; ++i) uv_run(loop, UV_RUN_NOWAIT);
}
static void posted(void* with) {
  (void)with;
  for (int i = 0; i < turns_per_round; ++i) {
    uv_async_send(&async);
    uv_run(loop, UV_RUN_NOWAIT);
  }
}
static void start_stop(void* with) {
  (void)with;
  for (long i = 0; i < count; ++i) uv_timer_start(&timers[i], on_timer, 1000 + (uint64_t)(i % 1000), 0);
  for (long i = 0; i < count; ++i) uv_timer_stop(&timers[i]);
}
static void expiry(void* with) {
  (void)with;
  left = count;
  uv_update_time(loop);
  for (long i = 0; i < count; ++i) uv_timer_start(&timers[i], on_timer, 1 + (uint64_t)(i % 8), 0);
  while (left != 0) uv_run(loop, UV_RUN_ONCE);
}

int main(int argc, char** argv) {
  const struct turns_options options = turns_read(argc, argv);
  count = options.count;
  loop = uv_default_loop();
  timers = calloc((size_t)count, sizeof *timers);
  if (timers == NULL || uv_async_init(loop, &async, on_async) != 0 ||
      uv_poll_init(loop, &quiet, turns_quiet_connection()) != 0 || uv_poll_start(&quiet, UV_READABLE, on_quiet) != 0) {
    return 2;
  }
  for (long i = 0; i < count; ++i) uv_timer_init(loop, &timers[i]);
  if (strcmp(options.what, "idle-turn") == 0) return turns_measure(idle_turns, NULL, turns_per_round);
  if (strcmp(options.what, "posted") == 0) return turns_measure(posted, NULL, turns_per_round);
  if (strcmp(options.what, "start-stop") == 0) return turns_measure(start_stop, NULL, count);
  if (strcmp(options.what, "expiry") == 0) return turns_measure(expiry, NULL, count);
  return 2;
}
