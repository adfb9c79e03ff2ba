#include "keel/task/live_task.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "keel/base/ascii.h"
#include "keel/base/stack.h"
#include "keel/task/context.h"
#include "keel/task/frame.h"
#include "keel/task/leaf.h"

namespace keel {
namespace {

void add_frames(const Frame* innermost, LiveTask& task) {
  const Frame* frame = innermost;
  for (; frame != nullptr && task.frame_count < LiveTask::frames_max; frame = frame->awaiting()) {
    task.frames[task.frame_count++] = frame->code();
  }
  task.is_cut = frame != nullptr;
}

// This function is not inlined, because the visit recurses, and a LiveTask is large.
[[gnu::noinline]] void tell(const Context& context, int depth, FunctionRef<void(const LiveTask&)> f) {
  LiveTask task;
  task.depth = depth;
  task.deadline = context.deadline();
  task.is_stopped = context.is_stopped();
  if (const Leaf* leaf = context.leaf()) {
    task.state = LiveTask::State::Waits;
    task.operation = &leaf->type();
    task.since = leaf->since();
    add_frames(&leaf->frame(), task);
  } else if (Frame* current = Trampoline::current(); current != nullptr && &current->context() == &context) {
    task.state = LiveTask::State::Runs;
    add_frames(current, task);
  } else {
    task.frames[task.frame_count++] = context.code();
  }
  f(task);
}

void visit(Context& context, int depth, FunctionRef<void(const LiveTask&)> f) {
  if (context.code() != nullptr) tell(context, depth++, f);
  context.each_below([&](Context& below) { visit(below, depth, f); });
}

void erase_all(std::string& text, std::string_view what) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos;) text.erase(at, what.size());
}

// Returns "keel::as_task" for "_ZN4keel7as_taskITk…": Clang gives a constrained template a mangled name of this form,
// which this library cannot demangle completely.
std::string nested_name(std::string_view mangled) {
  std::string text;
  for (std::size_t at = 3; at < mangled.size() && mangled[at] >= '1' && mangled[at] <= '9';) {
    std::size_t length = 0;
    for (; at < mangled.size() && ascii::is_digit(mangled[at]); ++at) {
      length = length * 10 + static_cast<std::size_t>(mangled[at] - '0');
    }
    length = std::min(length, mangled.size() - at);
    if (!text.empty()) text += "::";
    text += mangled.substr(at, length);
    at += length;
  }
  return text;
}

// Returns "Channel::Receive" for "keel::Channel<(anonymous namespace)::Order>::Receive", and "talk" for
// "keel::Task<int> keel::(anonymous namespace)::talk<int>(talk(…Frame*) [clone .actor]".
std::string short_name(std::string name) {
  if (name.starts_with("_ZN")) name = nested_name(name);
  erase_all(name, "(anonymous namespace)::");
  erase_all(name, "keel::");
  std::string text;
  int inside = 0;
  for (const char c : name) {
    if (c == '(' && inside == 0) break;
    inside -= c == '>';
    if (inside == 0 && c != '<' && c != '>') text += c;
    inside += c == '<';
  }
  // The return type of a template is printed before its name.
  return text.substr(text.rfind(' ') + 1);
}

}  // namespace

std::string LiveTask::chain() const {
  std::string text;
  for (int i = 0; i < frame_count; ++i) {
    Stack stack;
    stack.frames[0] = reinterpret_cast<std::uintptr_t>(frames[i]);
    stack.count = 1;
    // The callback is called once for each inlined function, and last for the function that contains them.
    std::string name;
    name_stack(stack, true, [&](int, const FrameName& frame) {
      name = short_name(std::string(frame.function));
      if (frame.file.empty()) return;
      name += " (";
      name += frame.file.substr(frame.file.rfind('/') + 1);
      name += ':' + std::to_string(frame.line) + ')';
    });
    if (i > 0) text += " < ";
    text += name;
  }
  if (is_cut) text += " < …";
  return text;
}

std::string LiveTask::waits_for() const {
  if (operation == nullptr) return {};
  int status = 0;
  char* readable = abi::__cxa_demangle(operation->name(), nullptr, nullptr, &status);
  std::string name = short_name(readable != nullptr ? readable : operation->name());
  std::free(readable);
  return name;
}

void each_live_task(Executor& executor, FunctionRef<void(const LiveTask&)> f) {
  executor.waiting().for_each([&](Link& link) { visit(static_cast<Context&>(link), 0, f); });
}

void each_live_task(Context& context, FunctionRef<void(const LiveTask&)> f) {
  context.each_below([&](Context& below) { visit(below, 0, f); });
}

std::string to_string(const LiveTask& task, Instant now) {
  std::string text(static_cast<std::size_t>(task.depth) * 2, ' ');
  text += task.chain();
  switch (task.state) {
    case LiveTask::State::Waits: {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, " for %.3fs", (now - task.since).count_seconds());
      text += ": " + task.waits_for() + seconds;
      break;
    }
    case LiveTask::State::Runs:
      text += ": runs";
      break;
    case LiveTask::State::Away:
      text += ": away";
  }
  if (task.is_stopped) text += ", stopped";
  return text;
}

}  // namespace keel
