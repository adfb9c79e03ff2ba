#include "keel/base/bug.h"

namespace keel {

Bug::Bug(const std::string& sentence, std::source_location place) : std::logic_error(sentence), place_(place) {
  capture_stack(stack_);
}

void throw_bug(const char* sentence, std::source_location place) { throw Bug(sentence, place); }
void throw_bug(const std::string& sentence, std::source_location place) { throw Bug(sentence, place); }

}  // namespace keel
