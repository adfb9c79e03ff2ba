// docs/configuration.md has every key of app::Settings, as its field list says now. `make reference` writes it anew.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "keel/app/settings.h"
#include "keel/config/config.h"
#include "keel/config/reference.h"

namespace keel::app::settings_page_test {
namespace {

constexpr const char* page = KEEL_SOURCE_DIR "/docs/configuration.md";
// What stands above this line is written by hand, what stands below it is not.
constexpr std::string_view mark = "<!-- Written by `make reference`, from here to the end. -->\n";

std::string written_by_hand() {
  std::ostringstream text;
  text << std::ifstream(page).rdbuf();
  const std::string all = std::move(text).str();
  const std::size_t at = all.find(mark);
  EXPECT_NE(at, std::string::npos) << page << " has no line " << mark;
  return all.substr(0, at == std::string::npos ? all.size() : at + mark.size());
}

std::string rest_of_the_page() {
  std::ostringstream text;
  text << std::ifstream(page).rdbuf();
  return std::move(text).str().substr(written_by_hand().size());
}

TEST(SettingsPage, has_every_key_as_the_program_has_it) {
  const std::string tables = "\n" + config::reference<Settings>();
  if (std::getenv("KEEL_UPDATE_REFERENCE") != nullptr) {
    const std::string above = written_by_hand();
    std::ofstream(page) << above << tables;
  }
  EXPECT_EQ(rest_of_the_page(), tables) << "run make reference";
}

TEST(SettingsPage, says_what_each_key_is_for) {
  std::istringstream rows(config::reference<Settings>());
  int keys = 0;
  for (std::string row; std::getline(rows, row);) {
    if (!row.starts_with("| `")) continue;
    EXPECT_FALSE(row.contains("|  | yes |") || row.contains("|  | no |")) << row << " has no help sentence";
    ++keys;
  }
  EXPECT_GT(keys, 100);
}

// --help and the page come from two printers: no key is missing in one of them.
TEST(SettingsPage, has_the_keys_of_help) {
  const std::string tables = config::reference<Settings>();
  std::istringstream help(config::help<Settings>());
  int keys = 0;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  --") || !line.contains('=') || line.starts_with("  --set ")) continue;
    const std::string key = line.substr(4, line.find('=') - 4);
    // An element of a list without keys has no row; its list has one.
    if (key.ends_with(".N")) continue;
    EXPECT_TRUE(tables.contains("| `" + key + "` |")) << key;
    ++keys;
  }
  EXPECT_GT(keys, 100);
}

}  // namespace
}  // namespace keel::app::settings_page_test
