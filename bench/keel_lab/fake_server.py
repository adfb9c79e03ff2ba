"""An HTTP server with a fault, for the tests: python3 fake_server.py PORT FAULT [LOG [DATABASE]].

With a database each POST is a row, and the answer 201."""

import os
import signal
import socket
import sqlite3
import sys
import threading
import time

PORT, FAULT, LOG = int(sys.argv[1]), sys.argv[2], open(sys.argv[3], "a", buffering=1) if len(sys.argv) > 3 else None
ROWS = sqlite3.connect(sys.argv[4], check_same_thread=False, isolation_level=None) if len(sys.argv) > 4 else None
if ROWS:
    ROWS.executescript("pragma journal_mode = wal; pragma synchronous = off; create table data (number integer)")
served = 0
kept = []
guard = threading.Lock()


def answer(body, status=b"200 OK"):
    return b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def number_of_request():
    global served
    with guard:
        served += 1
        return served


def serve(connection):
    text = b""
    while True:
        while b"\r\n\r\n" not in text:
            more = connection.recv(65536)
            if not more:
                return
            text += more
        head, _, text = text.partition(b"\r\n\r\n")
        path = head.split()[1].decode()
        if path == "/ready":
            connection.sendall(answer(b"ready"))
            continue
        number = number_of_request()
        late = number > 20  # After the checks that come before the load.
        if LOG and not (FAULT == "loses log lines" and number == 30):
            LOG.write(f"request {path}\n")
        if FAULT == "leaks":
            kept.append(b"x" * (16 << 10))
        if FAULT == "burns":  # Some CPU for each request.
            end = time.thread_time() + 0.0005
            while time.thread_time() < end:
                pass
        if FAULT == "crashes" and late:
            print("assertion failed: planted", flush=True)
            os.abort()
        if FAULT == "hangs" and late:
            time.sleep(60)
        if FAULT == "drops connections" and late:
            connection.close()
            return
        if ROWS and head.startswith(b"POST"):
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            while len(text) < length:
                text += connection.recv(65536)
            text = text[length:]
            with guard:
                if not (FAULT == "loses a row" and number == 5):
                    ROWS.execute("insert into data values (?)", (number,))
            connection.sendall(answer(b"", b"201 Created"))
            continue
        wrong = FAULT == "wrong body" or FAULT == "wrong body later" and late
        connection.sendall(answer(b"HELLO" if wrong else b"hello"))


def main():
    if FAULT == "takes 32 MiB":
        kept.append(b"x" * (32 << 20))
    if FAULT == "never starts":
        print("cannot bind: planted", flush=True)
        return 3
    if FAULT == "logs its end":
        signal.signal(signal.SIGTERM, lambda *_: (LOG.write("ended by request /\n"), os._exit(0)))
    if FAULT == "says nothing":
        time.sleep(60)
    with socket.create_server(("127.0.0.1", PORT)) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
