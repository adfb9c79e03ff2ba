// Builds `keel gen` as a separate program: the examples need `keel gen` before they can be compiled, and the whole
// program keel takes longer to build.

#include <string>
#include <vector>

#include "gen/command.h"

int main(int argc, char** argv) { return keel::gen::run_command(std::vector<std::string>(argv + 1, argv + argc)); }
