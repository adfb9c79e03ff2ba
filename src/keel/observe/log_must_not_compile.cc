// What is not logged, chosen by CASE (CMakeLists.txt has the sentences). CASE 0 compiles.

#include <string>
#include <vector>

#include "keel/observe/log.h"

struct Secret {
  std::string text;
  Secret() = default;
  explicit Secret(const char* from) : text(from) {}
  std::string_view reveal() const { return text; }
};
struct Order {
  int id;
  std::string customer;
};
struct WithList {
  int id;
  std::vector<int> lines;
};
struct WithStruct {
  int id;
  Order order;
};
struct WithSecret {
  std::string user;
  Secret password;
};
struct WithTaken {
  std::string message;
};

#if CASE == 0
void logs(const keel::log::Logger& log, const Order& order) { log.info("created", order); }
#elif CASE == 1
void logs(const keel::log::Logger& log, const WithList& order) { log.info("created", order); }
#elif CASE == 2
void logs(const keel::log::Logger& log, const WithStruct& order) { log.info("created", order); }
#elif CASE == 3
void logs(const keel::log::Logger& log, const WithSecret& store) { log.info("connected", store); }
#elif CASE == 4
void logs(const keel::log::Logger& log, const WithTaken& note) { log.info("noted", note); }
#elif CASE == 5
void logs(const keel::log::Logger& log, int id) { log.info("created", id); }
#elif CASE == 6
void logs(const keel::log::Logger& log, const Secret& password) { log.info("connected", password); }
#endif
