#include "dev/notify_socket.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "keel/app/notify.h"
#include "keel/db/testing/folder.h"

namespace keel::dev::notify_socket_test {
namespace {

TEST(NotifySocket, hears_what_a_service_says_and_which_process_it_is) {
  db::testing::Folder folder;
  NotifySocket socket = NotifySocket::make(folder / "notify").value();
  EXPECT_TRUE(socket.receive().empty());

  ::setenv("NOTIFY_SOCKET", socket.path().c_str(), 1);
  app::Notify service = app::Notify::from_environment().value();
  ::unsetenv("NOTIFY_SOCKET");
  ASSERT_TRUE(service.status("starting"));
  ASSERT_TRUE(service.ready("serving on 127.0.0.1:8080"));

  const auto messages = socket.receive();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_FALSE(messages[0].has("READY=1"));
  EXPECT_TRUE(messages[1].has("READY=1"));
  EXPECT_TRUE(messages[1].has("STATUS=serving on 127.0.0.1:8080"));
  EXPECT_EQ(messages[1].process, ::getpid());
}

TEST(NotifySocket, ends_with_its_path) {
  db::testing::Folder folder;
  {
    const NotifySocket socket = NotifySocket::make(folder / "notify").value();
  }
  EXPECT_NE(::access((folder / "notify").c_str(), F_OK), 0);
}

TEST(NotifySocket, says_that_a_path_is_too_long) {
  const auto socket = NotifySocket::make("/tmp/" + std::string(200, 'a'));
  ASSERT_FALSE(socket);
  EXPECT_NE(socket.error().describe().find("TMPDIR"), std::string::npos);
}

}  // namespace
}  // namespace keel::dev::notify_socket_test
