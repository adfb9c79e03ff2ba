// The private key of a service with TLS: whatever happens, nothing that it writes or shows has a part of it.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client.h"
#include "keel/base/host.h"
#include "keel/base/sanitizers.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"
#include "service.h"

namespace e2e::private_key_test {
namespace {

using namespace keel;

std::string bytes_of_base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char c : text) {
    const std::size_t value = digits.find(c);
    if (value == std::string_view::npos) continue;
    bits = bits << 6 | static_cast<unsigned>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

std::string lower(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

// A key in all the forms in which it could be written down by mistake, whole or in part.
class Key {
 public:
  explicit Key(const std::string& pem) {
    std::istringstream lines(pem);
    std::string body;
    std::vector<std::pair<std::size_t, std::string>> parts;  // Each with its place in the body.
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("-----")) continue;
      for (std::size_t at = 0; at + 16 <= line.size(); at += 8)
        parts.emplace_back(body.size() + at, line.substr(at, 16));
      body += line;
    }
    // RFC 5915 §3: the number is an octet string of 32 bytes. What is before it in the file is the same for each key,
    // and what follows is the public key.
    const std::string der = bytes_of_base64(body);
    const std::size_t at = der.find(std::string("\x04\x20", 2));
    if (at == std::string::npos) return;
    const std::string number = der.substr(at + 2, 32);
    for (auto& [place, part] : parts) {
      if (place * 3 / 4 >= at + 2 && place * 3 / 4 < at + 2 + number.size()) pem_.push_back(std::move(part));
    }
    static constexpr char digits[] = "0123456789abcdef";
    for (std::size_t i = 0; i + 8 <= number.size(); ++i) {
      raw_.push_back(number.substr(i, 8));
      hex_.emplace_back();
      for (const char c : raw_.back()) {
        hex_.back() += digits[static_cast<unsigned char>(c) >> 4];
        hex_.back() += digits[static_cast<unsigned char>(c) & 15];
      }
    }
  }
  bool is_known() const { return !pem_.empty() && raw_.size() == 25; }
  // The form in which the text has a part of it; "": it has none.
  std::string form_in(const std::string& text) const {
    if (has(text, pem_)) return "PEM";
    if (has(text, raw_)) return "bytes";
    return has(lower(text), hex_) ? "hexadecimal" : "";
  }
  const std::string& part() const { return pem_.at(3); }
  const std::string& bytes() const { return raw_.at(5); }
  const std::string& hexadecimal() const { return hex_.at(7); }

 private:
  static bool has(const std::string& text, const std::vector<std::string>& parts) {
    return std::ranges::any_of(parts, [&](const auto& one) { return text.find(one) != std::string::npos; });
  }
  std::vector<std::string> pem_, raw_, hex_;
};

class PrivateKeys : public ::testing::Test {
 protected:
  void SetUp() override {
    write(pair_.certificate_pem + pair_.key_pem);
    ASSERT_TRUE(key_.is_known());
  }
  void write(const std::string& text) { std::ofstream(folder_ / "shop.pem") << text; }
  std::vector<std::string> flags(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = usual_flags(folder_);
    all.insert(all.end(), {"--network.https.certificate=" + folder_ / "shop.pem", "--network.https.port=0",
                           "--common.log_level=debug", "--logging.crash_file=" + folder_ / "crash"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Address secure_address(const Service& service) {
    const std::string& text = service.output();
    const std::size_t at = text.find("https://");
    const std::size_t begin = at == std::string::npos ? text.size() : at + std::string_view("https://").size();
    return Address::parse(text.substr(begin, text.find('\n', begin) - begin)).value_or(Address());
  }
  // Shakes hands; what a request was answered.
  std::string ask(const tls::ClientContext& context, const Address& to) {
    std::string text;
    const int fd = ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    tls::Records records(context, "127.0.0.1");
    char plain[tls::Records::plain_bytes_max];
    char bytes[4096];
    std::string_view wire;
    bool has_asked = false;
    ssize_t got = ::connect(fd, to.system(), to.system_size()) == 0 ? 1 : 0;
    while (got > 0) {
      const auto read = records.read(wire, plain);
      if (!read || records.has_peer_finished()) break;
      text.append(plain, *read);
      if (*read != 0) continue;
      if (records.is_established() && !std::exchange(has_asked, true)) {
        EXPECT_TRUE(records.write("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
      }
      const Buffer out = std::exchange(records.output(), Buffer());
      EXPECT_EQ(::send(fd, out.data(), out.size(), MSG_NOSIGNAL), static_cast<ssize_t>(out.size()));
      got = ::recv(fd, bytes, sizeof bytes, 0);
      wire = {bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    }
    ::close(fd);
    return text;
  }
  void expect_nothing(const std::map<std::string, std::string>& texts) const {
    for (const auto& [name, text] : texts) EXPECT_EQ(key_.form_in(text), "") << name;
  }

  Folder folder_;
  tls::testing::Authority root_{"Test Root"};
  tls::KeyPair pair_ = root_.issue({.addresses = {"127.0.0.1"}});
  Key key_{pair_.key_pem};
};

TEST_F(PrivateKeys, are_noticed_in_each_form_in_which_a_part_is_written) {
  EXPECT_EQ(key_.form_in("{\"message\":\"bad key\",\"text\":\"" + key_.part() + "\"}"), "PEM");
  EXPECT_EQ(key_.form_in("frame 3: " + key_.bytes() + "\n"), "bytes");
  EXPECT_EQ(key_.form_in("rdi 0x" + key_.hexadecimal()), "hexadecimal");
  EXPECT_EQ(key_.form_in(pair_.certificate_pem + root_.pem() + root_.issue({}).key_pem), "");
}

TEST_F(PrivateKeys, are_in_no_log_page_or_report_of_a_service_that_crashes) {
  const tls::ClientContext client = tls::ClientContext::make({.trust = {.pem = root_.pem()}}).value();
  const tls::ClientContext stranger =
      tls::ClientContext::make({.trust = {.pem = tls::testing::Authority("Other").pem()}}).value();
  for (const std::string engine : {"uring", "epoll"}) {
    if (!has_engine(engine)) continue;
    write(pair_.certificate_pem + pair_.key_pem);
    Service service(flags({"--network.engine=" + engine}), std::vector<std::string>());
    ASSERT_TRUE(service.is_ready()) << service.errors();
    const Address at = secure_address(service);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(ask(client, at).starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(ask(stranger, at), "");
    write(pair_.certificate_pem + root_.issue({}).key_pem);  // A renewal that fails, with the old key still there.
    const auto log = [&] { return read_file(folder_ / "service.log"); };
    const std::size_t before = log().size();
    service.signal(SIGHUP);
    const auto is_noted = [&] { return log().find("could not be loaded", before) != std::string::npos; };
    for (int i = 0; i < 100 && !is_noted(); ++i) ::usleep(50'000);
    EXPECT_TRUE(is_noted()) << log();
    EXPECT_TRUE(ask(client, at).starts_with("HTTP/1.1 200 "));

    std::map<std::string, std::string> shown;
    std::istringstream list(call(service.admin(), "GET", "/").body);
    for (std::string line; std::getline(list, line);) {
      if (!line.starts_with('/')) continue;
      const std::string path = line.substr(0, line.find(' '));
      shown[path] = call(service.admin(), "GET", path).body;
      shown[path + "?format=text"] = call(service.admin(), "GET", path + "?format=text").body;
    }
    EXPECT_GE(shown.size(), 10u);
    EXPECT_NE(shown["/admin/config"].find("network.https.certificate"), std::string::npos) << shown["/admin/config"];
    service.signal(SIGSEGV);
    const std::optional<int> code = service.wait(20_s);
    EXPECT_TRUE(code && (KEEL_SANITIZED || *code == 128 + SIGSEGV));  // A sanitizer ends it with a code of its own.
    shown["standard output"] = service.output();
    shown["standard error"] = service.errors();
    shown["the log"] = log();
    shown["the report"] = read_file(folder_ / "crash");
    if (!KEEL_SANITIZED) {
      EXPECT_NE(shown["the report"].find("SIGSEGV"), std::string::npos);
    }
    expect_nothing(shown);
  }
}

TEST_F(PrivateKeys, are_not_in_a_printed_configuration) {
  for (const char* const question : {"--print-config", "--check-config"}) {
    Service service(flags({question}), std::vector<std::string>());
    EXPECT_EQ(service.wait(20_s), 0) << service.errors();
    EXPECT_NE((service.output() + service.errors()).find(std::string(question) == "--print-config" ? "shop.pem" : ""),
              std::string::npos);
    expect_nothing({{question, service.output() + service.errors()}});
  }
}

TEST_F(PrivateKeys, are_not_in_the_error_about_a_damaged_file) {
  std::string damaged = pair_.key_pem;
  damaged[damaged.find('\n') + 70] = '!';
  write(pair_.certificate_pem + damaged);
  Service service(flags(), std::vector<std::string>());
  EXPECT_FALSE(service.is_ready());
  EXPECT_TRUE(service.wait(20_s).value_or(0) != 0);
  EXPECT_NE(service.errors().find("shop.pem"), std::string::npos) << service.errors();
  expect_nothing(
      {{"standard error", service.output() + service.errors()}, {"the log", read_file(folder_ / "service.log")}});
}

// Somebody gives the key where the path of its file belongs.
TEST_F(PrivateKeys, that_are_given_in_place_of_a_path_are_not_repeated) {
  for (const char* const question : {"--print-config", "--check-config", "--network.http.port=0"}) {
    Service service(flags({question}), std::vector<std::string>{"KEEL_NETWORK__HTTPS__KEY=" + pair_.key_pem});
    EXPECT_FALSE(service.is_ready());
    EXPECT_TRUE(service.wait(20_s).value_or(0) != 0) << service.output();
    EXPECT_NE(service.errors().find("network.https.key"), std::string::npos) << service.errors();
    expect_nothing({{question, service.output() + service.errors()}, {"the log", read_file(folder_ / "service.log")}});
  }
}

}  // namespace
}  // namespace e2e::private_key_test
