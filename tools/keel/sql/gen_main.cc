// `keel gen sql` as a separate program, built before the examples, because the whole program keel takes longer.

#include <string>
#include <vector>

#include "sql/gen_command.h"

int main(int argc, char** argv) { return keel::sql::run_gen_command(std::vector<std::string>(argv + 1, argv + argc)); }
