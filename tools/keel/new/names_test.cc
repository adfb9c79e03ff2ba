#include "new/names.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::create::names_test {
namespace {

TEST(Names, stand_in_the_files_in_each_of_their_forms) {
  const Names names = Names::of("tea_shop2").value();

  EXPECT_EQ(names.name(), "tea_shop2");
  EXPECT_EQ(names.apply("class ServiceName; // service_name, service_name_test"),
            "class TeaShop2; // tea_shop2, tea_shop2_test");
  EXPECT_EQ(names.apply("deploy/service_name.service"), "deploy/tea_shop2.service");
  EXPECT_EQ(Names::of("shop").value().apply("ServiceName service_name"), "Shop shop");
}

TEST(Names, that_are_none_are_refused_with_one_that_would_do) {
  const auto problem = [](const std::string& name) { return Names::of(name).error().describe(); };
  const std::string rule = ": a name must consist of lowercase letters, digits and single '_', and begin with a letter";

  EXPECT_EQ(problem("Tea-Shop"), "Tea-Shop" + rule + ": tea_shop");
  EXPECT_EQ(problem("../shop"), "../shop" + rule + ": shop");
  EXPECT_EQ(problem("a__b"), "a__b" + rule + ": a_b");
  EXPECT_EQ(problem("shop_"), "shop_" + rule + ": shop");
  EXPECT_EQ(problem("2shop"), "2shop" + rule + ": shop");
  EXPECT_EQ(problem("42"), "42" + rule);
  EXPECT_EQ(problem(""), rule);
  EXPECT_EQ(problem("caf\xc3\xa9"), "caf\xc3\xa9" + rule + ": caf");
  EXPECT_EQ(Names::of(std::string(40, 'a')).value().name().size(), 40u);
  EXPECT_NE(problem(std::string(41, 'a')).find("at most 40 characters"), std::string::npos);
}

TEST(Names, of_the_language_and_of_the_build_are_refused) {
  for (const char* name :
       {"class", "xor_eq", "alignas", "co_await", "test", "install", "all", "keel", "notes", "std", "app", "seed",
        "edit_cache", "list_install_components", "package_source", "preinstall", "rebuild_cache"}) {
    EXPECT_FALSE(Names::of(name)) << name;
  }
  for (const char* name : {"classes", "shop", "a"}) EXPECT_TRUE(Names::of(name)) << name;
}

}  // namespace
}  // namespace keel::create::names_test
