#include "postgres/scratch.h"

#include <cstdlib>
#include <utility>

#include "keel/base/host.h"

namespace keel::tool {
namespace {

using db::postgres::ConnectOptions;
using db::postgres::ServerAddress;
using db::postgres::testing::RealServer;

std::string in_quotes(std::string_view value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + '\'';
}

// The URL of another database with the same server and user.
std::string url_of(const ConnectOptions& options, const std::string& database) {
  std::string hosts;
  std::string addresses;
  std::string ports;
  bool has_address = false;
  for (const ServerAddress& server : options.servers) {
    const char* const comma = &server == &options.servers.front() ? "" : ",";
    hosts += comma + server.host;
    addresses += comma + server.address;
    ports += comma + std::to_string(server.port);
    has_address = has_address || !server.address.empty();
  }
  std::string text = "host=" + in_quotes(hosts) + " port=" + in_quotes(ports) + " user=" + in_quotes(options.user) +
                     " dbname=" + in_quotes(database) + " sslmode=disable";
  if (has_address) text += " hostaddr=" + in_quotes(addresses);
  if (options.password) text += " password=" + in_quotes(*options.password);
  return text;
}

}  // namespace

bool is_postgres_url(std::string_view text) noexcept {
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

Result<std::unique_ptr<ScratchDatabase>> ScratchDatabase::make(std::string url) {
  std::unique_ptr<ScratchDatabase> made(new ScratchDatabase());
  if (const char* const named = std::getenv(variable); url.empty() && named != nullptr) url = named;
  if (url.empty()) {
    if (!RealServer::is_installed()) {
      return Error::text(Code::NotFound,
                         "no PostgreSQL is available: install Debian's package postgresql, or name a server whose user "
                         "may create databases with " +
                             std::string(variable) + "=postgres://user@host/postgres");
    }
    made->server_ = std::make_unique<RealServer>();
    url = made->server_->url();
  }
  KEEL_TRY(made->maker_, PostgresLink::open(url));
  made->name_ = "keel_scratch_" + std::to_string(Host::system().random());
  made->url_ = url_of(made->maker_->options(), made->name_);
  KEEL_TRY_VOID(made->clear());
  return made;
}

Result<> ScratchDatabase::clear() {
  KEEL_TRY_VOID(maker_->query("drop database if exists " + name_ + " with (force)"));
  KEEL_TRY_VOID(maker_->query("create database " + name_).because("creating a temporary database"));
  return {};
}

ScratchDatabase::~ScratchDatabase() {
  if (maker_ != nullptr && server_ == nullptr) {
    static_cast<void>(maker_->query("drop database if exists " + name_ + " with (force)"));
  }
}

}  // namespace keel::tool
