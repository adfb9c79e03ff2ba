// keel/db/postgres/options.h — the address of a PostgreSQL server and the login, in the forms that libpq accepts.
//
//   KEEL_TRY(ConnectOptions options, ConnectOptions::parse("postgres://app@db1,db2:5433/shop?sslmode=verify-full"));
//   KEEL_TRY(ConnectOptions options, ConnectOptions::parse("host=/run/postgresql dbname=shop", process_environment));
//
// The text is a URI (postgres:// or postgresql://, RFC 3986, with percent-encoding) or key=value pairs (a value may be
// 'in quotes', with \' and \\). Settings that the text leaves out come from the environment (PGHOST, …) or, if the
// variable is not set, from the defaults below. The password is taken from the first of these sources that has a
// password: the text, PGPASSWORD, the password file.
//
// | key                  | variable             | default                                                        |
// |----------------------|----------------------|----------------------------------------------------------------|
// | host                 | PGHOST               | /run/postgresql. Several: host1,host2, tried in their order.   |
// |                      |                      | A host that begins with '/' is the folder of a Unix socket.    |
// | hostaddr             | PGHOSTADDR           | none: the name is looked up                                    |
// | port                 | PGPORT               | 5432. One for all hosts, or one for each                       |
// | user                 | PGUSER               | none: an error                                                 |
// | password             | PGPASSWORD           | the one in passfile                                            |
// | passfile             | PGPASSFILE           | .pgpass in HOME, a file of passwords                           |
// | dbname               | PGDATABASE           | the user's name                                                |
// | application_name     | PGAPPNAME            | empty                                                          |
// | options              | PGOPTIONS            | empty. "-c search_path=app": given to the server               |
// | sslmode              | PGSSLMODE            | prefer                                                         |
// | sslrootcert          | PGSSLROOTCERT        | the system's roots. "system": those, with verify-full          |
// | sslcert, sslkey      | PGSSLCERT, PGSSLKEY  | no certificate of the client                                   |
// | channel_binding      | PGCHANNELBINDING     | prefer                                                         |
// | connect_timeout      | PGCONNECT_TIMEOUT    | 10. In seconds; 0: no bound; 1 is taken for 2, as libpq does   |
// | target_session_attrs | PGTARGETSESSIONATTRS | any                                                            |
// | client_encoding      | PGCLIENTENCODING     | UTF8; no other value is accepted                               |
// | require_auth         | PGREQUIREAUTH        | scram-sha-256,none. These two are always allowed; "password"   |
// |                      |                      | and "md5" in the list allow those                              |
//
// Errors:    InvalidArgument; no message contains the password. The causes are: an unknown key (the message lists the
//            known keys); a value that its key does not allow (the message lists the allowed values); a key that is
//            given twice; sslmode=allow, which would try without TLS first, and is not supported; sslrootcert=system
//            with a weaker sslmode than verify-full; a number of ports that is neither one nor the number of hosts; no
//            user.
// Threads:   a value.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/db/postgres/login.h"

namespace keel::db::postgres {

// Whether and how the connection is encrypted (libpq's sslmode).
enum class SslMode : std::uint8_t {
  Disable,  // No TLS.
  // TLS if the server offers it; the server's certificate is not checked. The mode Prefer does not protect against
  // eavesdropping.
  Prefer,
  // TLS. The certificate is checked only if sslrootcert names a file, in which case it is checked as with VerifyCa;
  // libpq does the same.
  Require,
  // The certificate must have been issued by a trusted authority; the name in the certificate is not checked.
  VerifyCa,
  // The certificate must also contain the host's name; use this mode in networks that are shared with others.
  VerifyFull,
};

// Which kind of server is wanted if there are several (libpq's target_session_attrs). Unless the wanted kind is Any,
// the kind of each server is queried after the login; if a server is of another kind, the next server is tried.
enum class TargetSession : std::uint8_t { Any, ReadWrite, ReadOnly, Primary, Standby, PreferStandby };

// The host and the port of a server.
struct ServerAddress {
  // A name, an IP address, or the folder of a Unix socket. The server's certificate must contain this name.
  std::string host;
  std::string address;  // The IP address from hostaddr, if one was given in addition to the name; else empty.
  std::uint16_t port = 5432;

  bool is_unix() const noexcept { return host.starts_with('/'); }
  // "/run/postgresql/.s.PGSQL.5432".
  std::string socket_path() const;
  bool operator==(const ServerAddress&) const = default;
};

// The settings of a connection.
struct ConnectOptions {
  std::vector<ServerAddress> servers;  // At least one server; the servers are tried in this order.
  std::string user;
  std::string database;  // The name of the database; if none was given, the user's name.
  std::optional<std::string> password;
  // The path of the password file, if no password was given; empty: there is no password file.
  std::string password_file;
  std::string application_name;
  std::string options;
  SslMode ssl_mode = SslMode::Prefer;
  // The path of a file with certificates; empty: the system's certificates are trusted.
  std::string ssl_root_certificate;
  std::string ssl_certificate;
  std::string ssl_key;
  ChannelBinding channel_binding = ChannelBinding::Prefer;
  // The time limit for connecting to each server; 0: there is no limit.
  Duration connect_timeout = Duration::seconds(10);
  TargetSession target_session = TargetSession::Any;
  bool allows_cleartext_password = false;
  bool allows_md5_password = false;

  // Returns the value of an environment variable, or nullopt. Without an Environment, no variables are read.
  using Environment = FunctionRef<std::optional<std::string>(const char* name)>;
  static Result<ConnectOptions> parse(std::string_view text);
  static Result<ConnectOptions> parse(std::string_view text, Environment environment);

  // Returns the password for one of the servers: `password`, if that is set. Otherwise the password is taken from
  // `passwords`, the text of a password file: the first line that matches the server decides. A line has the form
  // host:port:database:user:password. In the password file, a field * matches everything, and \ escapes ':' and '\'. If
  // the result is empty, no password is known.
  std::optional<std::string> password_for(const ServerAddress& server, std::string_view passwords = {}) const;
  // Returns the text of password_file; empty if the file does not exist or is not a regular file. FailedPrecondition:
  // users other than the file's owner may read the file (its mode must be 0600, as libpq requires). This function
  // blocks: call it when a program starts.
  Result<std::string> read_password_file() const;

  // For logs: "app@db1:5432,db2:5433/shop", without the password.
  std::string describe() const;
};

// Reads the environment variables of the process (getenv): use it when a program starts.
struct ProcessEnvironment {
  std::optional<std::string> operator()(const char* name) const;
};
// The environment of this process.
inline constexpr ProcessEnvironment process_environment;

}  // namespace keel::db::postgres
