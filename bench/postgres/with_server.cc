// Runs a program beside a PostgreSQL server of its own, which ends with it:
//
//   bench_with_postgres PROGRAM ARGUMENT...
//
// The program is this process, so that whoever counts its CPU counts nothing of the server. It finds the server by
// KEEL_DATABASE__URL and DATABASE_URL, and in it the table `users` of bench_postgres.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "postgres.h"

int main(int count, char** arguments) {
  int url[2];
  int life[2];
  if (count < 2 || pipe2(url, O_CLOEXEC) != 0 || pipe2(life, O_CLOEXEC) != 0) return 2;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    close(url[0]);
    close(life[1]);
    setsid();                // What ends the program's group does not end the server before it.
    unsetenv("LD_PRELOAD");  // What counts the program's allocations does not count the server's.
    const std::string at = keel::bench::server().url();
    if (write(url[1], at.data(), at.size()) != static_cast<ssize_t>(at.size())) return 1;
    close(url[1]);
    char none;
    while (read(life[0], &none, 1) > 0) {
    }
    return 0;  // The program has ended.
  }
  close(url[1]);
  close(life[0]);
  fcntl(life[1], F_SETFD, 0);  // Open until the program ends.
  std::string at;
  char part[256];
  for (ssize_t size = 0; (size = read(url[0], part, sizeof part)) > 0;) at.append(part, static_cast<std::size_t>(size));
  close(url[0]);
  if (at.empty()) return 1;
  setenv("KEEL_DATABASE__URL", at.c_str(), 1);
  setenv("DATABASE_URL", at.c_str(), 1);
  execvp(arguments[1], arguments + 1);
  std::perror(arguments[1]);
  return 127;
}
