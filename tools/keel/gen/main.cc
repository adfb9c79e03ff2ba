// `keel gen` as a separate program, built before the examples, because the whole program keel takes longer.

#include <string>
#include <vector>

#include "gen/command.h"

int main(int argc, char** argv) { return keel::gen::run_command(std::vector<std::string>(argv + 1, argv + argc)); }
