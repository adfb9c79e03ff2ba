// Tries generated readers and writers: contract_cases_… VALUES
//
// A line of VALUES is the name of a struct, where the value is valid ("valid" or "invalid"; "request" or "response" for
// one of them alone), a name for the reader of this output, and a JSON text, with tabs between them. Each is read as a
// part of a request and of a response. Prints what goes wrong, and counts; code 1 when anything does.

#include "run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace keel::cases {
namespace {

constexpr int faults_max = 200;  // That are looked at to be printed: two of a struct.

int run_all(const char* path) {
  std::map<std::string_view, const Case*> by_name;
  for (const Case* one = all; one->name != nullptr; ++one) by_name[one->name] = one;
  std::ifstream values(path, std::ios::binary);
  std::string line;
  int right = 0;
  int wrong = 0;
  int valid = 0;
  std::map<std::string_view, int> printed;
  while (std::getline(values, line)) {
    std::array<std::string_view, 3> fields;
    std::string_view rest = line;
    for (std::string_view& field : fields) {
      field = rest.substr(0, rest.find('\t'));
      rest.remove_prefix(std::min(rest.size(), field.size() + 1));
    }
    const auto found = by_name.find(fields[0]);
    if (found == by_name.end()) {
      std::printf("%s: there is no such struct\n", std::string(fields[0]).c_str());
      return 2;
    }
    Outcome outcome;
    std::string fault;
    for (const bool is_response : {false, true}) {
      const std::string_view place = is_response ? "response" : "request";
      const bool is_valid = fields[1] == "valid" || fields[1] == place;
      try {
        outcome = found->second->run(rest, is_response);
      } catch (const std::exception& bug) {
        outcome.fault = std::string("throws: ") + bug.what();
      }
      fault = outcome.fault;
      if (outcome.is_valid && !is_valid && fault.empty()) fault = "is taken, and is not valid";
      if (!outcome.is_valid && is_valid && fault.empty()) fault = "is refused, and is valid: " + outcome.why;
      if (fault.empty()) continue;
      fault = "in a " + std::string(place) + ' ' + fault;
      break;
    }
    valid += fields[1] == "invalid" ? 0 : 1;
    ++(fault.empty() ? right : wrong);
    if (fault.empty() || ++printed[found->first] > 2 || wrong > faults_max) continue;
    std::printf("%s: %s\n  %s\n  of %s\n", std::string(fields[0]).c_str(), fault.substr(0, 300).c_str(),
                std::string(rest.substr(0, 600)).c_str(), std::string(fields[2].substr(0, 2000)).c_str());
    if (!outcome.written.empty()) std::printf("  written: %s\n", outcome.written.substr(0, 600).c_str());
  }
  std::printf("%zu structs, %d values, %d of them valid: right %d, wrong %d\n", by_name.size(), right + wrong, valid,
              right, wrong);
  return wrong == 0 && right != 0 ? 0 : 1;
}

}  // namespace
}  // namespace keel::cases

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "expected: %s VALUES\n", arguments[0]);
    return 2;
  }
  return keel::cases::run_all(arguments[1]);
}
