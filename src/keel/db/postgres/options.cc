#include "keel/db/postgres/options.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "keel/base/ascii.h"

namespace keel::db::postgres {
namespace {

// The keys, in the same order as in the table in options.h.
enum class Key : std::uint8_t {
  Host,
  HostAddress,
  Port,
  User,
  Password,
  PassFile,
  Database,
  ApplicationName,
  Options,
  SslMode,
  SslRootCertificate,
  SslCertificate,
  SslKey,
  ChannelBinding,
  ConnectTimeout,
  TargetSession,
  ClientEncoding,
  RequireAuth,
};
constexpr std::size_t key_count = 18;

struct KeyName {
  const char* name;
  const char* variable;
};
constexpr std::array<KeyName, key_count> key_names = {{
    {"host", "PGHOST"},
    {"hostaddr", "PGHOSTADDR"},
    {"port", "PGPORT"},
    {"user", "PGUSER"},
    {"password", "PGPASSWORD"},
    {"passfile", "PGPASSFILE"},
    {"dbname", "PGDATABASE"},
    {"application_name", "PGAPPNAME"},
    {"options", "PGOPTIONS"},
    {"sslmode", "PGSSLMODE"},
    {"sslrootcert", "PGSSLROOTCERT"},
    {"sslcert", "PGSSLCERT"},
    {"sslkey", "PGSSLKEY"},
    {"channel_binding", "PGCHANNELBINDING"},
    {"connect_timeout", "PGCONNECT_TIMEOUT"},
    {"target_session_attrs", "PGTARGETSESSIONATTRS"},
    {"client_encoding", "PGCLIENTENCODING"},
    {"require_auth", "PGREQUIREAUTH"},
}};

using Values = std::array<std::optional<std::string>, key_count>;

std::optional<std::string>& value_of(Values& values, Key key) { return values[static_cast<std::size_t>(key)]; }

Error wrong(std::string text) { return Error::text(Code::InvalidArgument, "connection to PostgreSQL: " + text); }

Error wrong_value(Key key, std::string_view value, std::string_view expected) {
  return wrong(std::string(key_names[static_cast<std::size_t>(key)].name) + "=" + std::string(value) + ": expected " +
               std::string(expected));
}

Result<> set(Values& values, std::string_view name, std::string value) {
  if (value.find('\0') != std::string::npos) return wrong("the value of " + std::string(name) + " has a zero byte");
  std::string known;
  for (std::size_t i = 0; i < key_count; ++i) {
    if (name == key_names[i].name) {
      if (values[i]) return wrong(std::string(name) + " is given twice");
      values[i] = std::move(value);
      return {};
    }
    known.append(known.empty() ? "" : ", ").append(key_names[i].name);
  }
  // A password that contains a blank or an & ends too early, and the rest of it may appear as an unknown key; therefore
  // an unknown key is not shown if there is a password.
  const bool is_plain = !value_of(values, Key::Password) &&
                        std::ranges::all_of(name, [](char c) { return ascii::is_alphanumeric(c) || c == '_'; });
  return wrong("unknown key" + (is_plain && name.size() < 40 ? " " + std::string(name) : std::string()) +
               "; the keys are " + known);
}

Result<std::string> percent_decoded(std::string_view text, const char* part) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? ascii::hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? ascii::hex_value(text[i + 2]) : -1;
    if (low < 0 || high * 16 + low == 0) {
      return wrong(std::string("the ") + part +
                   " of the URI has a % that is not followed by two hexadecimal digits other than 00 (a % " +
                   "itself is written %25)");
    }
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
}

Result<> read_uri_hosts(std::string_view text, Values& values) {
  std::string hosts;
  std::string ports;
  bool has_port = false;
  bool is_first = true;
  while (true) {
    // An IPv6 address is in brackets, and contains no comma.
    std::size_t end = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, end);
    std::string_view port;
    if (one.starts_with('[')) {
      const std::size_t bracket = one.find(']');
      if (bracket == std::string_view::npos) return wrong("the host of the URI has a [ without a ]");
      port = one.substr(bracket + 1);
      one = one.substr(1, bracket - 1);
      if (!port.empty() && !port.starts_with(':'))
        return wrong("the ] in the URI may be followed only by : and a port");
      if (!port.empty()) port.remove_prefix(1);
    } else if (const std::size_t colon = one.rfind(':'); colon != std::string_view::npos) {
      port = one.substr(colon + 1);
      one = one.substr(0, colon);
      if (one.find(':') != std::string_view::npos) {
        return wrong("an IPv6 address in a URI must be in brackets: [2001:db8::1]:5432");
      }
    }
    KEEL_TRY(const std::string host, percent_decoded(one, "host"));
    if (host.find(',') != std::string::npos) return wrong("a host of the URI has a comma");
    hosts.append(is_first ? "" : ",").append(host);
    ports.append(is_first ? "" : ",").append(port);
    has_port = has_port || !port.empty();
    is_first = false;
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  if (!hosts.empty()) KEEL_TRY_VOID(set(values, "host", std::move(hosts)));
  if (has_port) KEEL_TRY_VOID(set(values, "port", std::move(ports)));
  return {};
}

Result<> read_uri(std::string_view text, Values& values) {
  text.remove_prefix(text.find("://") + 3);
  const std::size_t query_at = std::min(text.find('?'), text.size());
  std::string_view query = query_at < text.size() ? text.substr(query_at + 1) : std::string_view();
  text = text.substr(0, query_at);
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view database = slash < text.size() ? text.substr(slash + 1) : std::string_view();
  std::string_view authority = text.substr(0, slash);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view userinfo = authority.substr(0, at);
    const std::size_t colon = std::min(userinfo.find(':'), userinfo.size());
    KEEL_TRY(std::string user, percent_decoded(userinfo.substr(0, colon), "user"));
    if (!user.empty()) KEEL_TRY_VOID(set(values, "user", std::move(user)));
    if (colon < userinfo.size()) {
      KEEL_TRY(std::string password, percent_decoded(userinfo.substr(colon + 1), "password"));
      KEEL_TRY_VOID(set(values, "password", std::move(password)));
    }
    authority.remove_prefix(at + 1);
  }
  KEEL_TRY_VOID(read_uri_hosts(authority, values));
  if (!database.empty()) {
    KEEL_TRY(std::string name, percent_decoded(database, "database"));
    KEEL_TRY_VOID(set(values, "dbname", std::move(name)));
  }
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos)
      return wrong("after the ? of the URI, expected key=value pairs separated by &");
    KEEL_TRY(const std::string name, percent_decoded(pair.substr(0, equals), "key"));
    KEEL_TRY(std::string value, percent_decoded(pair.substr(equals + 1), "value"));
    KEEL_TRY_VOID(set(values, name, std::move(value)));
  }
  return {};
}

Result<> read_pairs(std::string_view text, Values& values) {
  constexpr std::string_view blanks = " \t\n\r";
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < text.size() && blanks.find(text[at]) != std::string_view::npos) ++at;
  };
  while (true) {
    skip_blanks();
    if (at == text.size()) return {};
    const std::size_t start = at;
    while (at < text.size() && text[at] != '=' && blanks.find(text[at]) == std::string_view::npos) ++at;
    const std::string_view name = text.substr(start, at - start);
    skip_blanks();
    if (at == text.size() || text[at] != '=') {
      return wrong("at character " + std::to_string(start + 1) +
                   ": expected key=value; a value with blanks must be in 'quotes'");
    }
    ++at;
    skip_blanks();
    std::string value;
    const bool is_quoted = at < text.size() && text[at] == '\'';
    if (is_quoted) ++at;
    while (true) {
      if (at == text.size()) {
        if (is_quoted) return wrong("the value of " + std::string(name) + " has no closing quote");
        break;
      }
      const char c = text[at];
      if (is_quoted ? c == '\'' : blanks.find(c) != std::string_view::npos) break;
      if (c == '\\' && at + 1 < text.size()) ++at;
      value.push_back(text[at++]);
    }
    if (is_quoted) ++at;
    KEEL_TRY_VOID(set(values, name, std::move(value)));
  }
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

template <class T>
Result<T> one_of(Key key, const std::string& value, std::initializer_list<std::pair<std::string_view, T>> names) {
  std::string expected;
  for (const auto& [name, meaning] : names) {
    if (value == name) return meaning;
    expected.append(expected.empty() ? "" : ", ").append(name);
  }
  return wrong_value(key, value, expected);
}

Result<std::vector<ServerAddress>> read_servers(Values& values) {
  const std::string given_hosts = value_of(values, Key::Host).value_or("");
  std::vector<std::string> hosts = split(given_hosts);
  const std::optional<std::string>& given_addresses = value_of(values, Key::HostAddress);
  std::vector<std::string> addresses;
  if (given_addresses && !given_addresses->empty()) {
    addresses = split(*given_addresses);
    if (given_hosts.empty()) {
      hosts = addresses;
    } else if (addresses.size() != hosts.size()) {
      return wrong_value(Key::HostAddress, *given_addresses, "as many addresses as there are hosts");
    }
  }
  const std::string given_ports = value_of(values, Key::Port).value_or("");
  const std::vector<std::string> ports = split(given_ports);
  if (ports.size() != 1 && ports.size() != hosts.size()) {
    return wrong_value(Key::Port, given_ports, "one port, or as many ports as there are hosts");
  }
  std::vector<ServerAddress> servers;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    ServerAddress server;
    server.host = hosts[i].empty() ? "/run/postgresql" : hosts[i];
    if (!addresses.empty()) server.address = addresses[i];
    const std::string& port = ports.size() == 1 ? ports[0] : ports[i];
    if (!port.empty()) {
      unsigned number = 0;
      const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
      if (error != std::errc() || end != port.data() + port.size() || number == 0 || number > 65'535) {
        return wrong_value(Key::Port, port, "a port from 1 to 65535");
      }
      server.port = static_cast<std::uint16_t>(number);
    }
    servers.push_back(std::move(server));
  }
  return servers;
}

Result<Duration> read_timeout(const std::string& value) {
  int seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error != std::errc() || end != value.data() + value.size() || seconds < 0 || seconds > 1'000'000) {
    return wrong_value(Key::ConnectTimeout, value, "a number of seconds from 0 to 1000000");
  }
  return Duration::seconds(seconds == 1 ? 2 : seconds);
}

Result<SslMode> read_ssl_mode(const std::string& value) {
  if (value == "allow") {
    return wrong_value(Key::SslMode, value,
                       "disable, prefer, require, verify-ca, verify-full (allow, which tries without TLS first, is not "
                       "supported: use prefer)");
  }
  return one_of<SslMode>(Key::SslMode, value,
                         {{"disable", SslMode::Disable},
                          {"prefer", SslMode::Prefer},
                          {"require", SslMode::Require},
                          {"verify-ca", SslMode::VerifyCa},
                          {"verify-full", SslMode::VerifyFull}});
}

Result<> read_require_auth(const std::string& value, ConnectOptions& options) {
  for (const std::string& method : split(value)) {
    if (method == "password") {
      options.allows_cleartext_password = true;
    } else if (method == "md5") {
      options.allows_md5_password = true;
    } else if (method != "scram-sha-256" && method != "none" && !method.empty()) {
      return wrong_value(Key::RequireAuth, method, "scram-sha-256, none, password, md5");
    }
  }
  return {};
}

// Takes the field at the front of a line in a password file, and the ':' after it; returns the field with its escapes
// resolved.
std::string take_field(std::string_view& line) {
  std::string field;
  while (!line.empty()) {
    char c = line[0];
    line.remove_prefix(1);
    if (c == ':') break;
    if (c == '\\' && !line.empty()) {
      c = line[0];
      line.remove_prefix(1);
    }
    field.push_back(c);
  }
  return field;
}

// A field that is "*", without an escape, matches everything.
bool take_fitting(std::string_view& line, std::string_view value) {
  if (line.starts_with("*:")) {
    line.remove_prefix(2);
    return true;
  }
  return take_field(line) == value;
}

}  // namespace

std::string ServerAddress::socket_path() const { return host + "/.s.PGSQL." + std::to_string(port); }

Result<ConnectOptions> ConnectOptions::parse(std::string_view text) {
  return parse(text, [](const char*) { return std::optional<std::string>(); });
}

Result<ConnectOptions> ConnectOptions::parse(std::string_view text, Environment environment) {
  Values values;
  if (text.find('\0') != std::string_view::npos) return wrong("the text contains a zero byte");
  if (text.starts_with("postgres://") || text.starts_with("postgresql://")) {
    KEEL_TRY_VOID(read_uri(text, values));
  } else if (text.find("://") < text.find('=')) {
    return wrong("expected postgres://user@host:port/database, or key=value pairs");
  } else {
    KEEL_TRY_VOID(read_pairs(text, values));
  }
  for (std::size_t i = 0; i < key_count; ++i) {
    if (values[i]) continue;
    values[i] = environment(key_names[i].variable);
    if (values[i] && values[i]->empty() && i != static_cast<std::size_t>(Key::Password)) values[i].reset();
  }

  ConnectOptions options;
  KEEL_TRY(options.servers, read_servers(values));
  const auto text_of = [&](Key key) { return std::exchange(value_of(values, key), std::nullopt).value_or(""); };
  options.user = text_of(Key::User);
  if (options.user.empty()) return wrong("the user is missing: write user=NAME or postgres://user@host, or set PGUSER");
  options.database = text_of(Key::Database);
  if (options.database.empty()) options.database = options.user;
  options.password = std::exchange(value_of(values, Key::Password), std::nullopt);
  if (options.password && options.password->empty()) options.password.reset();
  options.password_file = text_of(Key::PassFile);
  if (options.password_file.empty()) {
    const std::optional<std::string> home = environment("HOME");
    if (home && !home->empty()) options.password_file = *home + "/.pgpass";
  }
  options.application_name = text_of(Key::ApplicationName);
  options.options = text_of(Key::Options);
  options.ssl_root_certificate = text_of(Key::SslRootCertificate);
  const bool is_system = options.ssl_root_certificate == "system";
  if (is_system) {
    options.ssl_root_certificate.clear();
    options.ssl_mode = SslMode::VerifyFull;
  }
  if (const auto& value = value_of(values, Key::SslMode)) {
    KEEL_TRY(options.ssl_mode, read_ssl_mode(*value));
    // The system's authorities issue certificates to anyone, so only the name in a certificate shows whose the
    // certificate is.
    if (is_system && options.ssl_mode != SslMode::VerifyFull) {
      return wrong_value(Key::SslMode, *value, "verify-full, which sslrootcert=system requires");
    }
  }
  options.ssl_certificate = text_of(Key::SslCertificate);
  options.ssl_key = text_of(Key::SslKey);
  if (options.ssl_certificate.empty() != options.ssl_key.empty()) {
    return wrong("sslcert and sslkey, the client's certificate and its key, must be set together");
  }
  if (const auto& value = value_of(values, Key::ChannelBinding)) {
    KEEL_TRY(options.channel_binding, one_of<ChannelBinding>(Key::ChannelBinding, *value,
                                                             {{"disable", ChannelBinding::Disable},
                                                              {"prefer", ChannelBinding::Prefer},
                                                              {"require", ChannelBinding::Require}}));
  }
  if (const auto& value = value_of(values, Key::ConnectTimeout)) {
    KEEL_TRY(options.connect_timeout, read_timeout(*value));
  }
  if (const auto& value = value_of(values, Key::TargetSession)) {
    KEEL_TRY(options.target_session, one_of<TargetSession>(Key::TargetSession, *value,
                                                           {{"any", TargetSession::Any},
                                                            {"read-write", TargetSession::ReadWrite},
                                                            {"read-only", TargetSession::ReadOnly},
                                                            {"primary", TargetSession::Primary},
                                                            {"standby", TargetSession::Standby},
                                                            {"prefer-standby", TargetSession::PreferStandby}}));
  }
  if (const auto& value = value_of(values, Key::ClientEncoding);
      value && *value != "UTF8" && *value != "utf8" && *value != "utf-8" && *value != "UTF-8") {
    return wrong_value(Key::ClientEncoding, *value, "UTF8: no other encoding is supported");
  }
  if (const auto& value = value_of(values, Key::RequireAuth)) KEEL_TRY_VOID(read_require_auth(*value, options));
  return options;
}

std::optional<std::string> ConnectOptions::password_for(const ServerAddress& server, std::string_view passwords) const {
  if (password) return password;
  const std::string port = std::to_string(server.port);
  // As in libpq, "localhost" in the password file stands for a socket in the default folder.
  const std::string_view host = server.host == "/run/postgresql" || server.host == "/var/run/postgresql"
                                    ? std::string_view("localhost")
                                    : std::string_view(server.host);
  while (!passwords.empty()) {
    const std::size_t end = std::min(passwords.find('\n'), passwords.size());
    std::string_view line = passwords.substr(0, end);
    passwords.remove_prefix(std::min(end + 1, passwords.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    if (!take_fitting(line, host) || !take_fitting(line, port) || !take_fitting(line, database) ||
        !take_fitting(line, user)) {
      continue;
    }
    return take_field(line);
  }
  return std::nullopt;
}

Result<std::string> ConnectOptions::read_password_file() const {
  if (password_file.empty()) return std::string();
  const int fd = ::open(password_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::string();
    return Error::from_errno("open", errno).because(password_file);
  }
  struct Closed {
    int fd;
    ~Closed() { ::close(fd); }
  } const closed{fd};
  struct stat status;
  if (::fstat(fd, &status) != 0) return Error::from_errno("fstat", errno).because(password_file);
  if (!S_ISREG(status.st_mode)) return std::string();
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Error::text(Code::FailedPrecondition,
                       password_file + ": users other than the owner can read the passwords in this file: chmod 0600 " +
                           password_file)
        .from_environment();
  }
  std::string text;
  char block[4096];
  while (text.size() < 1024 * 1024) {
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("read", errno).because(password_file);
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
  return Error::text(Code::ResourceExhausted, password_file + ": the password file is larger than 1 MiB")
      .from_environment();
}

std::string ConnectOptions::describe() const {
  std::string text = user + "@";
  for (const ServerAddress& server : servers) {
    if (&server != &servers.front()) text.push_back(',');
    const bool is_6 = server.host.find(':') != std::string::npos;
    text.append(is_6 ? "[" : "").append(server.host).append(is_6 ? "]" : "");
    text.append(":").append(std::to_string(server.port));
  }
  return text + "/" + database;
}

std::optional<std::string> ProcessEnvironment::operator()(const char* name) const {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace keel::db::postgres
