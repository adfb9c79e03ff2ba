// keel/app/program.h — the name and the version of an application.
//
//   int main(int argc, char** argv) { return app::run<Shop>({"shop", SHOP_VERSION}, argc, argv); }
//
// SHOP_VERSION comes from CMake: target_compile_definitions(shop PRIVATE SHOP_VERSION="${PROJECT_VERSION}"). A Program
// made from a name alone has no version.

#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace keel::app {

struct Program {
  // This constructor is implicit, for calls such as app::run<Shop>("shop", argc, argv).
  Program(const char* name_of_program) : name(name_of_program) {}
  Program(std::string_view name_of_program) : name(name_of_program) {}
  Program(std::string name_of_program, std::string version_of_program = {})
      : name(std::move(name_of_program)), version(std::move(version_of_program)) {}

  // "shop 1.4.2", or "shop" if the program has no version.
  std::string title() const { return version.empty() ? name : name + ' ' + version; }

  // The name of the program in the log, in errors and in a hand-over. A hand-over requires that the successor has the
  // same name.
  std::string name;
  std::string version;  // Any text; empty: the version is unknown.
};

}  // namespace keel::app
