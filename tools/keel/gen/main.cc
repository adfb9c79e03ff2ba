// `keel gen` alone, which is built before the examples: the program keel takes longer.

#include <string>
#include <vector>

#include "gen/command.h"

int main(int argc, char** argv) { return keel::gen::run_command(std::vector<std::string>(argv + 1, argv + argc)); }
