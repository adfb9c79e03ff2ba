// keel/app/program.h — the name and the version of an application.
//
//   int main(int argc, char** argv) { return app::run<Shop>({"shop", SHOP_VERSION}, argc, argv); }
//
// with SHOP_VERSION from CMake: target_compile_definitions(shop PRIVATE SHOP_VERSION="${PROJECT_VERSION}"). A name
// alone is a program without a version.

#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace keel::app {

struct Program {
  // Implicit: app::run<Shop>("shop", argc, argv).
  Program(const char* name_of_program) : name(name_of_program) {}
  Program(std::string_view name_of_program) : name(name_of_program) {}
  Program(std::string name_of_program, std::string version_of_program = {})
      : name(std::move(name_of_program)), version(std::move(version_of_program)) {}

  // "shop 1.4.2"; "shop" without a version.
  std::string title() const { return version.empty() ? name : name + ' ' + version; }

  // The name of the program in the log, in errors, and for the hand-over, where a successor must have the same name.
  std::string name;
  std::string version;  // Any text; empty: unknown.
};

}  // namespace keel::app
