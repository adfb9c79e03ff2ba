// A program with only the command `keel cert`: `make run` needs this program, and does not build the other commands.

#include <string>
#include <vector>

#include "cert/command.h"

int main(int argc, char** argv) { return keel::cert::run_command(std::vector<std::string>(argv + 1, argv + argc)); }
