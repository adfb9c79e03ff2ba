#include "keel/config/reference.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/time.h"
#include "keel/config/secret.h"

namespace keel::config::reference_test {
namespace {

enum class Colour { Red, Blue };
constexpr auto colour_names = names<Colour>({{"red", Colour::Red}, {"blue", Colour::Blue}});

struct Shelf {
  std::string name;
  unsigned width = 80;
  void fields(Schema& v) {
    field(v, "name", name, "what stands there");
    field(v, "width", width, "in centimetres", {20, 200});
  }
};
struct Supplier {
  Duration timeout = 2_s;
  void fields(Schema& v) { field(v, "timeout", timeout, "for a call", {1_ms, 1_min}); }
};
struct Store {
  ByteSize cache = ByteSize::mib(64);
  std::vector<Shelf> shelves;
  std::vector<int> doors = {1, 2};
  Secret password;
  std::map<std::string, Supplier> suppliers;
  void fields(Schema& v) {
    field(v, "cache_mb", cache, "pages that are kept");
    field(v, "shelves", shelves, "where things are").reloadable();
    field(v, "doors", doors, "numbers of the doors");
    field(v, "password", password, "of the till");
    field(v, "suppliers", suppliers, "who is asked for more");
  }
};
struct Shop {
  Colour colour = Colour::Blue;
  Store store;
  void fields(Schema& v) {
    field(v, "colour", colour, "of the door; <b>, a|b, [x](y), *z* and `q` are no markup", colour_names).reloadable();
    field(v, "store", store, "what is for sale");
  }
};

TEST(Reference, has_a_table_for_each_section_and_a_row_for_each_key) {
  EXPECT_EQ(
      reference<Shop>(),
      "| key | value | default | meaning | reloadable |\n"
      "|---|---|---|---|---|\n"
      "| `colour` | one of red, blue | `blue` | of the door; \\<b\\>, a\\|b, \\[x\\](y), \\*z\\* and \\`q\\` are no "
      "markup | yes |\n"
      "\n"
      "## store\n"
      "\n"
      "What is for sale.\n"
      "\n"
      "| key | value | default | meaning | reloadable |\n"
      "|---|---|---|---|---|\n"
      "| `store.cache_mb` | a number of MiB of at least 0 | `64` | pages that are kept | no |\n"
      "| `store.shelves` | a list; each element has the keys of `store.shelves.N` | `[]` | where things are | yes |\n"
      "| `store.doors` | a list; each element is an integer from -2147483648 to 2147483647 | `[1, 2]` | numbers of "
      "the doors | no |\n"
      "| `store.password` | text |  | of the till | no |\n"
      "| `store.password_file` | text |  | file that contains the secret, in place of the secret itself | no |\n"
      "\n"
      "## store.shelves.N\n"
      "\n"
      "| key | value | default | meaning | reloadable |\n"
      "|---|---|---|---|---|\n"
      "| `store.shelves.N.name` | text | `\"\"` | what stands there | yes |\n"
      "| `store.shelves.N.width` | an integer from 20 to 200 | `80` | in centimetres | yes |\n"
      "\n"
      "## store.suppliers.NAME\n"
      "\n"
      "Who is asked for more.\n"
      "\n"
      "| key | value | default | meaning | reloadable |\n"
      "|---|---|---|---|---|\n"
      "| `store.suppliers.NAME.timeout` | a duration with its unit, such as 200ms or 30s, from 1ms to 1min | `2s` | "
      "for a call | no |\n");
}

struct Plain {
  unsigned shelves = 3;
  std::optional<Colour> colour;
  std::string bar = "a|b";
};

TEST(Reference, of_a_plain_struct_has_its_fields) {
  EXPECT_EQ(reference<Plain>(),
            "| key | value | default | meaning | reloadable |\n"
            "|---|---|---|---|---|\n"
            "| `shelves` | an integer from 0 to 4294967295 | `3` |  | no |\n"
            "| `colour` | one of Red, Blue, none | `none` |  | no |\n"
            "| `bar` | text | `\"a\\|b\"` |  | no |\n");
}

TEST(Reference, shows_no_secret) {
  struct Vault {
    Secret key = Secret("open sesame");
    void fields(Schema& v) { field(v, "key", key, "of the vault"); }
  };
  EXPECT_FALSE(reference<Vault>().contains("sesame"));
}

TEST(Reference, of_a_struct_without_keys_is_empty) {
  struct Nothing {
    void fields(Schema&) {}
  };
  EXPECT_EQ(reference<Nothing>(), "");
}

}  // namespace
}  // namespace keel::config::reference_test
