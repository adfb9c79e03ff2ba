#include "keel/net/tls/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/host.h"
#include "keel/net/tls/testing/certificates.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::tls::records_test {
namespace {

using testing::Authority;
using testing::self_signed;

Authority& authority() {
  static Authority one("Test Root");
  return one;
}
const KeyPair& server_pair() {
  static const KeyPair pair = authority().issue({.names = {"server.test"}, .addresses = {"127.0.0.1"}});
  return pair;
}
ServerContext server_with(ServerOptions options) {
  if (options.certificates.empty()) options.certificates = {server_pair()};
  return ServerContext::make(options).value();
}
ClientContext client_with(ClientOptions options) {
  if (options.trust.pem.empty()) options.trust.pem = authority().pem();
  return ClientContext::make(options).value();
}

// One end, and what has become of it.
struct End {
  template <class... Arguments>
  explicit End(const Arguments&... arguments) : records(arguments...) {}

  // Takes what the other end has to say, in pieces, and forgets it.
  void take(Buffer& from, std::size_t piece) {
    const Buffer all = std::exchange(from, Buffer());
    for (std::size_t at = 0; at < all.size(); at += piece) feed(all.view().substr(at, piece));
  }
  void feed(std::string_view bytes) {
    char room[Records::plain_bytes_max];
    while (error.empty()) {
      const Result<std::size_t> got = records.read(bytes, room);
      if (!got) {
        error = got.error().message();
        code = got.error().code();
        EXPECT_TRUE(got.error().is_from_environment()) << error;
        return;
      }
      text.append(room, *got);
      if (*got == 0) break;
    }
    EXPECT_TRUE(bytes.empty() || !error.empty() || records.has_peer_finished());
  }
  void say(std::string_view bytes) {
    const Result<std::size_t> done = records.write(bytes);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(*done, bytes.size());
  }

  Records records;
  std::string text;
  std::string error;
  Code code = Code::Internal;
};

struct Joined {
  Joined(const ClientContext& c, const ServerContext& s, std::string_view host = "server.test")
      : client(c, host), server(s) {}
  // Until nobody has anything to say.
  void join(std::size_t piece = 1 << 20) {
    client.feed({});
    while (!client.records.output().empty() || !server.records.output().empty()) {
      server.take(client.records.output(), piece);
      client.take(server.records.output(), piece);
    }
  }
  bool is_established() const { return client.records.is_established() && server.records.is_established(); }
  End client;
  End server;
};

// The system's, with another calendar.
struct Later : Host {
  Instant now() noexcept override { return Host::system().now(); }
  std::int64_t wall_ns() noexcept override { return Host::system().wall_ns() + ahead.count_ns(); }
  std::uint64_t random() noexcept override { return Host::system().random(); }
  void secret(std::span<std::byte> out) noexcept override { Host::system().secret(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char*, Function<void()>) override { return nullptr; }
  Duration ahead;
};

class Versions : public ::testing::TestWithParam<Version> {
 protected:
  ServerContext server(ServerOptions options = {}) {
    options.version_min = options.version_max = GetParam();
    return server_with(std::move(options));
  }
  ClientContext client(ClientOptions options = {}) {
    options.version_min = options.version_max = GetParam();
    return client_with(std::move(options));
  }
};
INSTANTIATE_TEST_SUITE_P(, Versions, ::testing::Values(Version::Tls12, Version::Tls13),
                         [](const auto& version) { return version.param == Version::Tls13 ? "tls13" : "tls12"; });

TEST_P(Versions, agree_and_carry_bytes_both_ways) {
  Joined ends(client({.protocols = {"h2", "http/1.1"}}), server({.protocols = {"http/1.1"}}));
  ends.join();
  ASSERT_TRUE(ends.is_established()) << ends.client.error << ends.server.error;

  ends.client.say("from the client");
  ends.server.say("from the server");
  ends.join();

  EXPECT_EQ(ends.server.text, "from the client");
  EXPECT_EQ(ends.client.text, "from the server");
  for (const Records* records : {&ends.client.records, &ends.server.records}) {
    EXPECT_EQ(records->version(), GetParam());
    EXPECT_EQ(records->protocol(), "http/1.1");
    EXPECT_NE(records->cipher().find("GCM"), std::string_view::npos) << records->cipher();
    EXPECT_FALSE(records->is_resumed());
  }
  EXPECT_EQ(ends.server.records.server_name(), "server.test");
  EXPECT_EQ(ends.client.records.peer_identity(), "server.test");
  EXPECT_EQ(ends.server.records.peer_identity(), "");
}

TEST_P(Versions, do_not_care_how_bytes_are_cut) {
  const std::string large(40'000, 'x');
  for (const std::size_t piece : {1u, 2u, 3u, 5u, 7u, 64u, 1000u}) {
    Joined ends(client(), server());
    ends.join(piece);
    ASSERT_TRUE(ends.is_established()) << piece << ends.client.error << ends.server.error;
    ends.client.say("short");
    ends.join(piece);
    ends.client.say(large);
    ends.server.say(large);
    ends.join(piece);
    ends.client.records.finish();
    ends.join(piece);
    EXPECT_TRUE(ends.server.text == "short" + large) << piece;
    EXPECT_TRUE(ends.client.text == large) << piece;
    EXPECT_TRUE(ends.server.records.has_peer_finished()) << piece;
  }
}

// A client and a server that take turns, and whose connection is cut after this many bytes of both.
TEST_P(Versions, a_handshake_that_is_cut_after_any_byte_says_so) {
  const ClientContext a_client = client({.sessions_max = 0});
  const ServerContext a_server = server();
  for (std::size_t limit = 0;; ++limit) {
    Joined ends(a_client, a_server);
    ends.client.feed({});
    std::size_t left = limit;
    for (int i = 0; i < 8; ++i) {
      End& from = i % 2 == 0 ? ends.client : ends.server;
      End& to = i % 2 == 0 ? ends.server : ends.client;
      const Buffer all = std::exchange(from.records.output(), Buffer());
      const std::size_t size = std::min(left, all.size());
      left -= size;
      to.feed(all.view().substr(0, size));
      ASSERT_EQ(to.error, "") << limit;
    }
    if (ends.is_established()) break;
    ASSERT_LT(limit, 10'000u);
    End& cut = ends.server.records.is_established() ? ends.client : ends.server;
    const Result<> ended = cut.records.ended();
    ASSERT_FALSE(ended);
    ASSERT_EQ(ended.error().message(), "the connection ended during the TLS handshake: the peer closed the connection");
    ASSERT_EQ(ended.error().code(), Code::Unavailable);
  }
}

TEST_P(Versions, the_end_is_announced_each_way_by_itself) {
  Joined ends(client(), server());
  ends.join();
  ends.client.say("a question");
  ends.client.records.finish();
  ends.join();
  EXPECT_TRUE(ends.server.records.has_peer_finished());
  EXPECT_TRUE(ends.server.records.ended());

  ends.server.say("an answer");
  ends.join();
  EXPECT_EQ(ends.client.text, "an answer");
  EXPECT_FALSE(ends.client.records.has_peer_finished());

  ends.server.records.finish();
  ends.join();
  EXPECT_TRUE(ends.client.records.has_peer_finished());
}

TEST_P(Versions, an_end_that_was_not_announced_is_an_error) {
  Joined ends(client(), server());
  ends.join();
  const Result<> ended = ends.client.records.ended();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::Unavailable);
  EXPECT_EQ(ended.error().message(),
            "the connection was truncated: the peer closed it without close_notify: the peer closed the connection");
}

TEST_P(Versions, a_record_that_was_changed_is_an_error_that_stays) {
  Joined ends(client(), server());
  ends.join();
  ends.client.say("something");
  ends.client.records.output().data()[8] ^= 1;
  ends.join();
  EXPECT_EQ(ends.server.error, "the peer violated the TLS protocol: decryption failed or bad record mac");
  EXPECT_EQ(ends.server.code, Code::Protocol);
  EXPECT_EQ(ends.server.text, "");
  EXPECT_EQ(ends.client.error, "the peer ended the connection with the alert 'bad record mac'");
  std::string_view nothing;
  EXPECT_FALSE(ends.server.records.read(nothing, {}));
  EXPECT_FALSE(ends.server.records.write("more"));
}

// RFC 8446 §4.6.3: header of a record, header of a message, request_update, content type, tag.
constexpr std::size_t key_update_bytes = 5 + 4 + 1 + 1 + 16;

TEST_P(Versions, keys_are_renewed_after_their_records) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1} << 20}) {
    Joined ends(client({.records_per_key = 3}), server());
    ends.join();
    ASSERT_TRUE(ends.is_established());
    std::string said;
    std::vector<int> renewed_at;
    for (int i = 0; i < 12; ++i) {
      said += "0123456789";
      ends.client.say("0123456789");
      // TLS 1.2: header, nonce, tag.
      const std::size_t record = GetParam() == Version::Tls13 ? 5 + 10 + 1 + 16 : 5 + 8 + 10 + 16;
      const std::size_t out = ends.client.records.output().size();
      EXPECT_TRUE(out == record || out == record + key_update_bytes) << out;
      if (out != record) renewed_at.push_back(i);
      ends.server.take(ends.client.records.output(), piece);
      // The server's own are renewed as well, since the client asks for it.
      ends.server.say("abcdefghij");
      const std::size_t back = ends.server.records.output().size();
      EXPECT_EQ(back != record, out != record) << back;
      ends.client.take(ends.server.records.output(), piece);
    }
    const std::vector<int> expected = GetParam() == Version::Tls13 ? std::vector<int>{3, 6, 9} : std::vector<int>{};
    EXPECT_EQ(renewed_at, expected);
    EXPECT_EQ(ends.server.text, said);
    EXPECT_EQ(ends.client.text.size(), said.size());
    EXPECT_EQ(ends.client.error + ends.server.error, "");
  }
}

// RFC 8446 §4.6.3: requests that cross are no error.
TEST_P(Versions, keys_are_renewed_by_both_at_the_same_time_in_the_middle_of_large_writes) {
  Joined ends(client({.records_per_key = 2}), server({.records_per_key = 1}));
  ends.join();
  ASSERT_TRUE(ends.is_established());
  std::string large(1'000'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 251);

  std::string_view to_server = large;
  std::string_view to_client = large;
  while (!to_server.empty() || !to_client.empty()) {
    const Result<std::size_t> one = ends.client.records.write(to_server);
    const Result<std::size_t> other = ends.server.records.write(to_client);
    ASSERT_TRUE(one && other) << ends.client.error << ends.server.error;
    to_server.remove_prefix(*one);
    to_client.remove_prefix(*other);
    Buffer from_client = std::exchange(ends.client.records.output(), Buffer());
    Buffer from_server = std::exchange(ends.server.records.output(), Buffer());
    ends.server.take(from_client, 1000);
    ends.client.take(from_server, 1000);
  }
  ends.join();

  EXPECT_EQ(ends.server.text, large);
  EXPECT_EQ(ends.client.text, large);
  EXPECT_EQ(ends.client.error + ends.server.error, "");
}

TEST_P(Versions, what_is_to_be_sent_is_bounded) {
  Joined ends(client(), server());
  ends.join();
  const std::string large(1 << 20, 'x');
  std::string_view left = large;
  int calls = 0;
  while (!left.empty()) {
    const Result<std::size_t> done = ends.client.records.write(left);
    ASSERT_TRUE(done);
    EXPECT_LE(ends.client.records.output().size(), Records::output_bytes_max + 17 * 1024);
    EXPECT_EQ(*ends.client.records.write("x"), 0u) << "it is full";
    left.remove_prefix(*done);
    ends.join();
    ++calls;
  }
  EXPECT_GE(calls, 13);
  EXPECT_TRUE(ends.server.text == large);
}

TEST_P(Versions, sessions_are_resumed) {
  const ClientContext a_client = client();
  const ServerContext a_server = server();
  for (int i = 0; i < 3; ++i) {
    Joined ends(a_client, a_server);
    ends.join();
    ASSERT_TRUE(ends.is_established());
    EXPECT_EQ(ends.client.records.is_resumed(), i != 0) << i;
    EXPECT_EQ(ends.server.records.is_resumed(), i != 0) << i;
    EXPECT_EQ(ends.client.records.peer_identity(), "server.test");
  }
  Joined other(a_client, a_server, "127.0.0.1");
  other.join();
  EXPECT_TRUE(other.is_established());
  EXPECT_FALSE(other.client.records.is_resumed()) << "a session is with the host that it was made with";
}

TEST_P(Versions, sessions_grow_old_by_the_calendar_of_the_host) {
  const ClientContext a_client = client();
  const ServerContext a_server = server();
  Later host;
  Host* const before = Host::set_current(&host);
  bool is_resumed[4];
  int i = 0;
  for (const Duration ahead : {1_h, 2_h, 2_h + 59_min, 6_h}) {
    host.ahead = ahead;
    Joined ends(a_client, a_server);
    ends.join();
    EXPECT_TRUE(ends.is_established());
    is_resumed[i++] = ends.server.records.is_resumed();
  }
  Host::set_current(before);
  EXPECT_FALSE(is_resumed[0]);
  EXPECT_TRUE(is_resumed[1]);
  EXPECT_TRUE(is_resumed[2]);
  EXPECT_FALSE(is_resumed[3]) << "after two hours";
}

TEST_P(Versions, without_tickets_nothing_is_resumed) {
  const ClientContext a_client = client();
  const ServerContext a_server = server({.tickets = false});
  for (int i = 0; i < 2; ++i) {
    Joined ends(a_client, a_server);
    ends.join();
    ASSERT_TRUE(ends.is_established());
    EXPECT_FALSE(ends.client.records.is_resumed());
  }
}

TEST_P(Versions, a_client_proves_who_it_is) {
  const KeyPair shop =
      authority().issue({.common_name = "shop", .names = {"shop.test"}, .uris = {"spiffe://test/shop"}});
  const ServerContext a_server =
      server({.client_certificates = ClientCertificates::Required, .clients = {.pem = authority().pem()}});
  const ClientContext a_client = client({.certificate = shop});
  for (int i = 0; i < 2; ++i) {
    Joined ends(a_client, a_server);
    ends.join();
    ASSERT_TRUE(ends.is_established()) << ends.server.error;
    EXPECT_EQ(ends.server.records.peer_identity(), "spiffe://test/shop");
    EXPECT_EQ(ends.server.records.is_resumed(), i != 0);
  }
}

TEST_P(Versions, a_client_without_a_certificate_is_rejected_where_one_is_required) {
  Joined ends(client(),
              server({.client_certificates = ClientCertificates::Required, .clients = {.pem = authority().pem()}}));
  ends.join();
  EXPECT_EQ(ends.server.error, "the client has no certificate");
  EXPECT_EQ(ends.server.code, Code::Unauthenticated);
  EXPECT_EQ(ends.client.code, GetParam() == Version::Tls13 ? Code::Unauthenticated : Code::Protocol);

  Joined optional(client(),
                  server({.client_certificates = ClientCertificates::Optional, .clients = {.pem = authority().pem()}}));
  optional.join();
  EXPECT_TRUE(optional.is_established());
  EXPECT_EQ(optional.server.records.peer_identity(), "");
}

TEST_P(Versions, a_clients_certificate_of_another_issuer_is_rejected) {
  Authority other("Other Root");
  for (const ClientCertificates wanted : {ClientCertificates::Required, ClientCertificates::Optional}) {
    Joined ends(client({.certificate = other.issue({.common_name = "mallory"})}),
                server({.client_certificates = wanted, .clients = {.pem = authority().pem()}}));
    ends.join();
    EXPECT_EQ(ends.server.error, "the client's certificate has an unknown issuer, 'CN = Other Root'");
    EXPECT_EQ(ends.client.error,
              "the peer does not accept this side's certificate, or requires one: the alert 'unknown CA'");
    EXPECT_EQ(ends.client.code, Code::Unauthenticated);
  }
}

TEST_P(Versions, a_server_chooses_the_certificate_by_the_name_that_is_asked_for) {
  const ServerContext a_server =
      server({.certificates = {server_pair(), authority().issue({.names = {"*.shop.test"}}),
                               authority().issue({.names = {"mail.test"}, .key = testing::KeyKind::Rsa2048})}});
  for (const std::string host : {"server.test", "a.shop.test", "mail.test"}) {
    Joined ends(client(), a_server, host);
    ends.join();
    EXPECT_TRUE(ends.is_established()) << host << ends.client.error;
  }
  Joined none(client(), a_server, "other.test");
  none.join();
  EXPECT_EQ(none.client.error, "the certificate of 'other.test' is for another host: server.test, 127.0.0.1");
}

// --- peers that are not believed -----------------------------------------------------------------------------------

struct Refused {
  const char* what;
  KeyPair pair;
  std::string host;
  Trust trust;
  std::string error;  // A part of the resource.
};

TEST(Records, say_why_a_server_is_not_believed) {
  Authority root("Another Root");
  Authority below("Issuing", root);
  Authority unrelated("Unrelated");
  const KeyPair good = root.issue({.names = {"server.test"}});
  const KeyPair chained = below.issue({.names = {"server.test"}});
  const KeyPair alone = self_signed({.common_name = "server.test", .names = {"server.test"}});
  const KeyPair issuing = {.certificate_pem = below.pem()};
  KeyPair half = chained;
  half.certificate_pem.resize(half.certificate_pem.find("-----BEGIN", 20));
  const std::string unknown = "the certificate of 'server.test' has an unknown issuer, ";
  const Trust trust{.pem = root.pem()};
  const std::vector<Refused> table = {
      {"good", good, "server.test", trust, ""},
      {"good, by an address", root.issue({.addresses = {"127.0.0.1", "::1"}}), "127.0.0.1", trust, ""},
      {"good, with a dot", good, "server.test.", trust, ""},
      {"good, by an issuer below", chained, "server.test", trust, ""},
      {"good, trusted itself", alone, "server.test", {.pem = alone.certificate_pem}, ""},
      {"wrong host", good, "example.test", trust, "the certificate of 'example.test' is for another host: server.test"},
      {"wrong address", good, "127.0.0.2", trust, "the certificate of '127.0.0.2' is for another host: server.test"},
      {"other addresses", root.issue({.addresses = {"127.0.0.1", "2001:db8::1"}}), "127.0.0.2", trust,
       "the certificate of '127.0.0.2' is for another host: 127.0.0.1, 2001:db8::1"},
      {"part of a wildcard", root.issue({.names = {"f*.test"}}), "foo.test", trust, "is for another host: f*.test"},
      {"a wildcard of two labels", root.issue({.names = {"*.test"}}), "a.b.test", trust, "is for another host: *.test"},
      {"many names", root.issue({.names = {"a.t", "b.t", "c.t", "d.t", "e.t", "f.t"}}), "g.t", trust,
       "is for another host: a.t, b.t, c.t, d.t, e.t, …"},
      {"self-signed", alone, "server.test", trust, "the certificate of 'server.test' is self-signed and not trusted"},
      {"unknown issuer", unrelated.issue({.names = {"server.test"}}), "server.test", trust,
       unknown + "'CN = Unrelated'"},
      {"no chain", half, "server.test", trust, unknown + "'CN = Issuing'"},
      {"revoked",
       good,
       "server.test",
       {.pem = root.pem(), .revoked_pem = root.revoke({good})},
       "the certificate of 'server.test' is revoked"},
      {"not revoked", good, "server.test", {.pem = root.pem(), .revoked_pem = root.revoke({chained})}, ""},
      {"no list",
       chained,
       "server.test",
       {.pem = root.pem(), .revoked_pem = root.revoke({})},
       "cannot be checked: there is no list of revoked certificates from its issuer"},
      {"a revoked issuer",
       chained,
       "server.test",
       {.pem = root.pem(), .revoked_pem = root.revoke({issuing}) + below.revoke({})},
       "an issuer of the certificate of 'server.test' is revoked"},
      {"an issuer whose own issuer has no list",
       chained,
       "server.test",
       {.pem = root.pem(), .revoked_pem = below.revoke({})},
       ""},
      {"an old list of an issuer's issuer",
       chained,
       "server.test",
       {.pem = root.pem(), .revoked_pem = root.revoke({}, -1_s) + below.revoke({})},
       "an issuer of the certificate of 'server.test' cannot be checked: the list of revoked certificates has expired"},
      {"an old list",
       good,
       "server.test",
       {.pem = root.pem(), .revoked_pem = root.revoke({}, -1_s)},
       "the list of revoked certificates has expired"},
  };
  for (const Refused& row : table) {
    Joined ends(client_with({.trust = row.trust}), server_with({.certificates = {row.pair}}), row.host);
    ends.join();
    EXPECT_EQ(ends.is_established(), row.error.empty()) << row.what << ": " << ends.client.error << ends.server.error;
    EXPECT_NE(ends.client.error.find(row.error), std::string::npos) << row.what << ": " << ends.client.error;
    if (row.error.empty()) continue;
    EXPECT_EQ(ends.client.code, Code::Unauthenticated) << row.what;
    EXPECT_TRUE(ends.server.error.starts_with(
                    "the peer does not accept this side's certificate, or requires one: the alert '") ||
                ends.server.error.starts_with("the peer ended the handshake with the alert '"))
        << row.what << ": " << ends.server.error;
  }
}

TEST(Records, compare_certificates_with_the_calendar_of_the_host) {
  const ServerContext server =
      server_with({.certificates = {authority().issue({.names = {"server.test"}, .valid_until = 48_h})}});
  const ClientContext client = client_with({.sessions_max = 0});
  Later host;
  Host* const before = Host::set_current(&host);
  std::string errors[3];
  int i = 0;
  for (const Duration ahead : {Duration(), 49_h, -2_h}) {
    host.ahead = ahead;
    Joined ends(client, server);
    ends.join();
    errors[i++] = ends.client.error;
  }
  Host::set_current(before);

  EXPECT_EQ(errors[0], "");
  EXPECT_TRUE(errors[1].starts_with("the certificate of 'server.test' expired on 20")) << errors[1];
  EXPECT_NE(errors[2].find(" is not valid before 20"), std::string::npos) << errors[2];
}

// --- peers with which nothing is in common -------------------------------------------------------------------------

TEST(Records, say_that_no_version_is_in_common) {
  Joined ends(client_with({.version_max = Version::Tls12}), server_with({.version_min = Version::Tls13}));
  ends.join();
  EXPECT_EQ(ends.server.error, "there is no common TLS version");
  EXPECT_EQ(ends.client.error, "there is no common TLS version: the peer sent the alert 'protocol version'");
  EXPECT_EQ(ends.client.code, Code::Protocol);
}

TEST(Records, say_that_no_application_protocol_is_in_common) {
  Joined ends(client_with({.protocols = {"h2"}}), server_with({.protocols = {"http/1.1"}}));
  ends.join();
  EXPECT_EQ(ends.server.error, "there is no common application protocol (ALPN)");
  EXPECT_EQ(ends.client.error,
            "there is no common application protocol (ALPN): the peer sent the alert 'no application protocol'");
}

TEST(Records, say_what_an_alert_means) {
  End client(client_with({}), "server.test");
  client.feed({});
  client.feed({"\x15\x03\x03\x00\x02\x02\x28", 7});
  EXPECT_EQ(client.error,
            "there is no common value for the cipher or another required parameter: the peer sent the alert 'handshake "
            "failure'");
  EXPECT_EQ(client.code, Code::Protocol);
}

TEST(Records, say_that_a_peer_does_not_speak_tls) {
  End server(server_with({}));
  server.feed("GET / HTTP/1.1\r\nHost: server.test\r\n\r\n");
  EXPECT_EQ(server.error, "the peer speaks HTTP without TLS");

  End client(client_with({}), "server.test");
  client.feed({});
  client.feed("220 mail.test ESMTP\r\n");
  EXPECT_EQ(client.error, "the peer does not speak TLS, or there is no common TLS version");
}

TEST(Records, a_goodbye_in_the_handshake_cuts_it) {
  End client(client_with({}), "server.test");
  client.feed({});
  client.feed({"\x15\x03\x03\x00\x02\x01\x00", 7});
  EXPECT_EQ(client.error, "the peer ended the TLS handshake with close_notify");
  EXPECT_EQ(client.code, Code::Unavailable);
}

TEST(Records, a_clients_renegotiation_and_early_data_are_off) {
  const ClientContext client = client_with({});
  const ServerContext server = server_with({});
  for (int i = 0; i < 2; ++i) {
    Joined ends(client, server);
    ends.client.feed({});
    // RFC 8446 §4.2.10: the extension early_data, 42, of no bytes.
    EXPECT_EQ(ends.client.records.output().view().find(std::string_view("\x00\x2a\x00\x00", 4)),
              std::string_view::npos);
    ends.join();
    EXPECT_EQ(ends.client.records.is_resumed(), i != 0);
  }
}

// What does not begin with the head of a record is an error when a head is there; of a record the rest is waited for.
TEST(Records, of_a_server_begin_with_the_whole_first_record) {
  const ClientContext context = client_with({});
  for (const std::size_t record_bytes : {std::size_t{1}, std::size_t{5}, std::size_t{100}, std::size_t{16'384}}) {
    End client(context, std::string("server.test"));
    client.feed({});
    const std::string hello(client.records.output().view().substr(5));
    client.records.output().clear();
    std::string wire;
    for (std::size_t at = 0; at < hello.size(); at += record_bytes) {
      const std::string part = hello.substr(at, record_bytes);
      wire +=
          std::string("\x16\x03\x01", 3) + static_cast<char>(part.size() >> 8) + static_cast<char>(part.size()) + part;
    }
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{7}, wire.size()}) {
      End server(server_with({}));
      for (std::size_t at = 0; at < wire.size(); at += piece) {
        EXPECT_EQ(server.records.output().size(), 0u) << at;
        server.feed(std::string_view(wire).substr(at, piece));
      }
      EXPECT_EQ(server.error, "");
      EXPECT_GT(server.records.output().size(), 500u) << "its flight, " << record_bytes << " in pieces of " << piece;
    }
  }
  for (const std::string_view wrong : {std::string_view("G"), std::string_view("\x80\x2e\x01\x00\x02", 5),
                                       std::string_view("\x16\x03\x01\xff\xff", 5)}) {
    End server(server_with({}));
    server.feed(wrong);
    server.feed(std::string(16, '\0'));
    EXPECT_NE(server.error, "") << wrong;
  }
}

// A program that logs a failed handshake may ask for what it does not know yet.
TEST(Records, of_a_server_know_nothing_before_they_have_begun) {
  const End server(server_with({}));
  EXPECT_FALSE(server.records.has_begun());
  EXPECT_FALSE(server.records.is_resumed());
  EXPECT_EQ(server.records.version(), Version::Tls12);
  EXPECT_EQ(server.records.cipher(), "");
  EXPECT_EQ(server.records.protocol(), "");
  EXPECT_EQ(server.records.server_name(), "");
  EXPECT_EQ(server.records.peer_identity(), "");
  EXPECT_EQ(server.records.server_end_point(), "");
}

TEST(Records, hosts_that_are_none_are_an_error) {
  End client(client_with({}), std::string("a\0b", 3));
  std::string_view nothing;
  const Result<std::size_t> begun = client.records.read(nothing, {});
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code(), Code::InvalidArgument);
}

TEST(Records, keep_their_context) {
  auto context = std::make_unique<ServerContext>(server_with({}));
  Joined ends(client_with({}), *context);
  EXPECT_EQ(context->use_count(), 2);
  context.reset();
  ends.join();
  EXPECT_TRUE(ends.is_established());
}

TEST(Records, hold_what_the_fuzzer_wants) {
  std::string input = "\x03\x07\x01\x02 what is sealed";
  for (int mode = 0; mode < 32; ++mode) {
    for (const int piece : {0, 1, 7}) {
      input[0] = static_cast<char>(mode);
      input[1] = static_cast<char>(piece);
      for (int at = 0; at < 60; at += 5) {
        input[3] = static_cast<char>(at);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
      }
    }
  }
}

}  // namespace
}  // namespace keel::tls::records_test
