// This is `keel gen sql` as a separate program, because the examples need it before they can be compiled, and the whole
// program keel takes longer to build.

#include <string>
#include <vector>

#include "sql/gen_command.h"

int main(int argc, char** argv) { return keel::sql::run_gen_command(std::vector<std::string>(argv + 1, argv + argc)); }
