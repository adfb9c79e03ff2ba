// What a row is not read as, chosen by CASE (CMakeLists.txt has the sentences). CASE 0 compiles.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/db/row.h"

struct Line {
  int quantity;
};
struct Order {
  std::string customer;
  std::vector<Line> lines;
};
struct View {
  std::string_view customer;
};
struct MaybeView {
  int id;
  std::optional<std::string_view> customer;
};
struct Nested {
  int id;
  Line line;
};
struct Constant {
  const int id;
};
class Closed {
 public:
  explicit Closed(int id) : id_(id) {}

 private:
  int id_;
};

#if CASE == 0
std::string reads(const keel::db::Row& row) {
  return keel::db::read_as<Order>(row).customer + std::string(row.as<View>().customer);
}
#elif CASE == 1
View reads(const keel::db::Row& row) { return keel::db::read_as<View>(row); }
#elif CASE == 2
MaybeView reads(const keel::db::Row& row) { return keel::db::read_as<MaybeView>(row); }
#elif CASE == 3
Nested reads(const keel::db::Row& row) { return keel::db::read_as<Nested>(row); }
#elif CASE == 4
Constant reads(const keel::db::Row& row) { return keel::db::read_as<Constant>(row); }
#elif CASE == 5
Closed reads(const keel::db::Row& row) { return keel::db::read_as<Closed>(row); }
#elif CASE == 6
int* reads(const keel::db::Row& row) { return keel::db::read_as<int*>(row); }
#endif
