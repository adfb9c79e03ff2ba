#include "keel/telemetry/prometheus.h"

#include <charconv>
#include <cmath>
#include <string>

#include "keel/http/message/fields.h"
#include "keel/http/message/negotiate.h"

namespace keel::telemetry {
namespace {

using metrics::Family;
using metrics::Kind;
using metrics::Series;

const std::string offered[] = {"application/openmetrics-text", "text/plain"};

template <class T>
std::string_view number_text(T value, std::span<char, 32> space) {
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  }
  return {space.data(),
          static_cast<std::size_t>(std::to_chars(space.data(), space.data() + 32, value).ptr - space.data())};
}

// Backslash and line feed are escaped everywhere; quotes are escaped only in label values.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

// Appends name_suffix{labels,le="le"} and the space before the value.
void append_prefix(std::string& out, const Family& family, const Series& series, std::string_view suffix,
                   std::string_view le) {
  out.append(family.name).append(suffix);
  char separator = '{';
  for (std::size_t i = 0; i < family.label_names.size(); ++i) {
    out += std::exchange(separator, ',');
    out.append(family.label_names[i]).append("=\"");
    append_escaped(out, series.label_values[i], true);
    out += '"';
  }
  if (!le.empty()) {
    out += std::exchange(separator, ',');
    out.append("le=\"").append(le).append("\"");
  }
  if (separator == ',') out += '}';
  out += ' ';
}

}  // namespace

Prometheus::Format Prometheus::format_for(std::string_view accept) noexcept {
  if (http::choose_media_type(accept, offered) != 0) return Format::Text;
  // A client that accepts any type is usually a person's tool, not a scraper.
  for (std::string_view range; http::next_element(accept, range);) {
    if (http::is_of_media_range(range, offered[0])) return Format::OpenMetrics;
  }
  return Format::Text;
}

void Prometheus::prepare(std::span<const Family> families) {
  static constexpr std::string_view kinds[] = {"counter", "gauge", "histogram"};
  texts_.clear();
  ends_.clear();
  const auto end = [this] { ends_.push_back(texts_.size()); };
  for (const Family& family : families) {
    const auto head = [&](std::string_view name, bool quotes) {
      texts_.append("# HELP ").append(name).append(" ");
      append_escaped(texts_, family.help, quotes);
      texts_.append("\n# TYPE ").append(name).append(" ").append(kinds[static_cast<std::size_t>(family.kind)]);
      texts_ += '\n';
      end();
    };
    // In OpenMetrics the names of a counter's samples end in _total, and the name of its family does not.
    std::string_view bare = family.name;
    if (family.kind == Kind::Counter) bare.remove_suffix(std::string_view("_total").size());
    head(family.name, false);
    head(bare, true);
    for (const Series& series : family.series) {
      if (family.kind != Kind::Histogram) {
        append_prefix(texts_, family, series, "", "");
        end();
        continue;
      }
      for (const std::uint64_t edge : family.bounds.edges()) {
        char space[32];
        const double bound = static_cast<double>(edge) / family.bounds.units();
        append_prefix(texts_, family, series, "_bucket", number_text(bound, space));
        end();
      }
      append_prefix(texts_, family, series, "_bucket", "+Inf");
      end();
      append_prefix(texts_, family, series, "_sum", "");
      end();
      append_prefix(texts_, family, series, "_count", "");
      end();
    }
  }
}

void Prometheus::render(Buffer& out, Format format) {
  std::lock_guard lock(mutex_);
  registry_.read(reading_, [this, &out, format](std::span<const Family> families) {
    if (prepared_version_ != registry_.version()) {
      prepare(families);
      prepared_version_ = registry_.version();
    }
    std::size_t next = 0;
    const auto text = [this, &next] {
      const std::size_t begin = next == 0 ? 0 : ends_[next - 1];
      return std::string_view(texts_).substr(begin, ends_[next++] - begin);
    };
    const auto line = [&out](std::string_view prefix, auto value) {
      char space[32];
      const std::string_view number = number_text(value, space);
      char* const at = out.reserve(prefix.size() + number.size() + 1);
      std::memcpy(at, prefix.data(), prefix.size());
      std::memcpy(at + prefix.size(), number.data(), number.size());
      at[prefix.size() + number.size()] = '\n';
      out.commit(prefix.size() + number.size() + 1);
    };
    for (const Family& family : families) {
      const std::string_view head = text();
      const std::string_view open_head = text();
      out.append(format == Format::Text ? head : open_head);
      for (const Series& series : family.series) {
        if (family.kind == Kind::Histogram) {
          std::uint64_t count = 0;
          std::uint32_t bucket = 0;
          for (const std::uint64_t edge : family.bounds.edges()) {
            const std::uint32_t last = family.bounds.bucket_of(edge);
            while (bucket <= last) count += reading_.cell(series.cell + bucket++);
            line(text(), count);
          }
          while (bucket < family.bounds.buckets()) count += reading_.cell(series.cell + bucket++);
          line(text(), count);
          line(text(), static_cast<double>(reading_.cell(series.cell + bucket)) / family.bounds.units());
          line(text(), count);
        } else if (!series.has_function) {
          const std::string_view prefix = text();
          if (family.kind == Kind::Counter) {
            line(prefix, reading_.cell(series.cell));
          } else {
            line(prefix, series.value->load(std::memory_order_relaxed));
          }
        } else {
          const std::string_view prefix = text();
          if (series.functions != 0) line(prefix, series.function_value);
        }
      }
    }
  });
  if (format == Format::OpenMetrics) out.append("# EOF\n");
}

}  // namespace keel::telemetry
