// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include <string>

#include "keel/base/arena.h"
#include "keel/base/circular_buffer.h"
#include "keel/base/object_pool.h"

struct alignas(64) Line {
  char bytes[64];
};

void use(keel::Arena& arena) {
#if CASE == 0
  arena.array<int>(2);
  keel::ObjectPool<std::string> strings;
  strings.release(strings.make("text"));
  keel::CircularBuffer<std::string> last(4);
  last.push_overwriting("text");
#elif CASE == 1
  arena.array<std::string>(2);
#elif CASE == 2
  arena.array<Line>(2);
#elif CASE == 3
  keel::ObjectPool<Line> lines;
  lines.release(lines.make());
#elif CASE == 4
  keel::CircularBuffer<Line> lines(4);
#endif
}
