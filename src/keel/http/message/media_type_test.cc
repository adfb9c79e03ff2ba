#include "keel/http/message/media_type.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::http::media_type_test {
namespace {

TEST(MediaType, is_that_of_the_extension) {
  EXPECT_EQ(media_type_of("index.html"), "text/html; charset=utf-8");
  EXPECT_EQ(media_type_of("a.b/c.d/x.min.js"), "text/javascript; charset=utf-8");
  EXPECT_EQ(media_type_of("PHOTO.JPG"), "image/jpeg");
  EXPECT_EQ(media_type_of("site.webmanifest"), "application/manifest+json") << "the longest";
  EXPECT_EQ(media_type_of("x.aac"), "audio/aac") << "the first";
  EXPECT_EQ(media_type_of("x.zst"), "application/zstd") << "the last";
}

TEST(MediaType, is_octets_when_the_name_promises_nothing) {
  for (const char* name : {"", "Makefile", "x.", "x.unknown", ".css", "a/.html", "a.html/b", "x.htmlx", "x.ht", "x.a",
                           "x.zzz", "x.averyverylongextension"}) {
    EXPECT_EQ(media_type_of(name), "application/octet-stream") << name;
  }
}

}  // namespace
}  // namespace keel::http::media_type_test
