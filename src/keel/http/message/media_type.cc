#include "keel/http/message/media_type.h"

#include <algorithm>

#include "keel/base/ascii.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

struct Row {
  std::string_view extension;
  std::string_view type;
};

// Sorted by extension. The types are those registered at IANA; text/javascript is from RFC 9239.
constexpr Row rows[] = {
    {"aac", "audio/aac"},
    {"avif", "image/avif"},
    {"bin", "application/octet-stream"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"htm", "text/html; charset=utf-8"},
    {"html", "text/html; charset=utf-8"},
    {"ico", "image/vnd.microsoft.icon"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"jsonld", "application/ld+json"},
    {"jxl", "image/jxl"},
    {"m4a", "audio/mp4"},
    {"map", "application/json"},
    {"md", "text/markdown; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"rss", "application/rss+xml"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain; charset=utf-8"},
    {"vtt", "text/vtt; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"weba", "audio/webm"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xml", "application/xml"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};
static_assert(std::ranges::is_sorted(rows, {}, &Row::extension));
constexpr std::size_t extension_bytes_max = 11;

}  // namespace

std::string_view media_type_of(std::string_view name) noexcept {
  constexpr std::string_view unknown = "application/octet-stream";
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  const std::size_t dot = name.rfind('.');
  // A name such as ".css" is a hidden file without an extension.
  if (dot == std::string_view::npos || dot == 0) return unknown;
  const std::string_view extension = name.substr(dot + 1);
  if (extension.size() > extension_bytes_max) return unknown;
  char lower[extension_bytes_max];
  std::ranges::transform(extension, lower, ascii::to_lower);
  const std::string_view wanted(lower, extension.size());
  const auto* const row = std::ranges::lower_bound(rows, wanted, {}, &Row::extension);
  return row != std::end(rows) && row->extension == wanted ? row->type : unknown;
}

}  // namespace keel::http
