// `keel cert` by itself, for `make run`, which does not build the other commands.

#include <string>
#include <vector>

#include "cert/command.h"

int main(int argc, char** argv) { return keel::cert::run_command(std::vector<std::string>(argv + 1, argv + argc)); }
