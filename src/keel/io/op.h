// keel/io/op.h — operations: the requests to an engine, and their results.
//
// An operation is intrusive and completion-shaped: it lives in its owner (a connection, an awaiting coroutine's frame),
// is handed to Engine::submit, and its `done` is called on the same worker when it completes. Nothing is allocated per
// operation. An operation must stay at the same address from submit() until its last done().
//
// A result >= 0 is a count of bytes or a descriptor; a result < 0 is a negative errno (-ECANCELED after cancel()).
//
// Receive and Accept are multishot: done() is called for every arrival until a call with `more == false`, after which
// the operation is idle and may be submitted again or destroyed.

#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "keel/base/list.h"
#include "keel/io/address.h"

namespace keel::io {

// The kind of an operation.
enum class Kind : std::uint8_t {
  Accept,
  Receive,
  Send,
  Connect,
  SendFile,
  Ready,
  ReceiveDatagrams,
  SendDatagrams,
  // Operations on files, see FileOp:
  Open,
  ReadAt,
  WriteAt,
  Sync,
  Status,
  Truncate,
  Rename,
  Remove,
};
// Whether operations of this kind work on files.
constexpr bool is_of_file(Kind kind) noexcept { return kind >= Kind::Open; }

// Room in an operation for the state that its engine keeps about it. Only the engine reads the room.
template <std::size_t bytes, std::size_t alignment = 8>
class EngineRoom {
 public:
  template <class T>
  T& make() noexcept {
    static_assert(sizeof(T) <= bytes && alignof(T) <= alignment,
                  "an EngineRoom must be large enough and sufficiently aligned for the state of the engine");
    return *::new (static_cast<void*>(bytes_)) T{};
  }
  template <class T>
  T& as() noexcept {
    return *std::launder(reinterpret_cast<T*>(bytes_));
  }
  template <class T>
  const T& as() const noexcept {
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }

 private:
  alignas(alignment) std::byte bytes_[bytes];
};

struct Op : Link {  // The engine uses the link for its ready, starved and cancelling lists.
  using Done = void (*)(Op&) noexcept;

  Op(Kind k, Done d) noexcept : done(d), kind(k) {}

  bool is_idle() const noexcept { return !pending; }

  Done done;
  int fd = -1;              // In: the socket.
  std::int32_t result = 0;  // Out: the result.
  const Kind kind;
  bool more : 1 = false;        // Out: true if this multishot operation stays submitted.
  bool pending : 1 = false;     // For the engine: true from submit() until done() is called for the last time.
  bool cancelling : 1 = false;  // For the engine: the operation is being cancelled.
  bool armed : 1 = false;       // For the engine: the kernel has the operation.
  bool paused : 1 = false;      // Receive: see Engine::pause.
  bool unhurried : 1 = false;   // See Send.
};

// Receives bytes as they arrive. done() with result > 0: `result` bytes at `data`, valid during the call unless kept by
// Engine::hold(). result == 0: the peer finished writing (final). result < 0: an error (final).
struct Receive : Op {
  explicit Receive(Done d) noexcept : Receive(Kind::Receive, d) {}
  EngineRoom<14, 2> room;    // Placed in the padding after Op's last field, which saves two bytes.
  char* data = nullptr;      // Out: the received bytes.
  std::uint32_t buffer = 0;  // Out: the engine's number of the buffer.
  static constexpr std::uint32_t none = 0xffffffff;

 protected:
  Receive(Kind k, Done d) noexcept : Op(k, d) {}
};

// Receives datagrams as they arrive at a socket made by Engine::open_datagram. done() with `more`: one datagram of
// `result` bytes, which may be 0; it is kept with hold() like other bytes. If `more` is not set, receiving has ended; a
// result < 0 says why (-ECONNREFUSED: no socket received an earlier datagram). The socket can be used as before, and
// the operation may be submitted again. After pause(), datagrams that the engine has already read (at most
// datagrams_read_max) are still delivered; after cancel(), such datagrams are lost.
struct ReceiveDatagrams : Receive {
  explicit ReceiveDatagrams(Done d) noexcept : Receive(Kind::ReceiveDatagrams, d) {}
  // In: the maximum size of a datagram, as in DatagramOptions; longer datagrams are truncated.
  std::uint32_t bytes_max = 0;
  bool join = false;  // In: DatagramOptions::join.
  Address from;       // Out: the sender; empty for a Unix socket without a name.
  bool cut = false;   // Out: the datagram was longer than bytes_max.
  // Out: if not 0, the bytes are several datagrams of this size; the last one may be shorter.
  std::uint32_t segment_bytes = 0;
  EngineRoom<56> message_room;
};
// The maximum number of datagrams that one read reports.
inline constexpr int datagrams_read_max = 16;

// One datagram for SendDatagrams.
struct OutgoingDatagram {
  std::string_view bytes = {};
  Address to = {};  // Empty: the address that the socket is connected to.
  // If not 0, the bytes are sent as datagrams of this size; the last one may be shorter. The kernel divides the bytes
  // if it can (UDP_SEGMENT, udp(7)).
  std::uint32_t segment_bytes = 0;
};

// A received datagram, as sockets pass it to programs (net/datagram.h).
struct Datagram {
  // The view is valid until the next receive on the socket, or until the socket is closed. May be empty.
  std::string_view bytes;
  Address from;      // Empty for a Unix socket without a path.
  bool cut = false;  // The datagram was longer than DatagramOptions::bytes_max.
};

// Sends datagrams, in order, as many at a time as the kernel accepts. result: the number sent; a negative errno only
// if the first one failed. The operation waits while the socket's buffer is full, with one exception: if an unconnected
// Unix socket sends to a receiver whose buffer is full, the result is -EAGAIN. At most 1 MiB, or 256 short datagrams,
// are sent in one iteration.
struct SendDatagrams : Op {
  explicit SendDatagrams(Done d) noexcept : Op(Kind::SendDatagrams, d) {}
  const OutgoingDatagram* datagrams = nullptr;  // In: the datagrams, which must live until done().
  std::uint32_t count = 0;                      // In.
  // In: whether the socket is a Unix socket, for which the kernel ignores segmentation without an error.
  bool is_unix = false;
  bool by_hand = false;    // Set by the engine: the kernel cannot segment on this route.
  std::uint32_t sent = 0;  // For the engine: the number of datagrams that were sent completely.
  // For the engine: the number of sent bytes of the next datagram, if this datagram is segmented.
  std::size_t offset = 0;
  EngineRoom<80> room;
};

// Accepts new connections. done() with result >= 0: the descriptor of a new connection; the function `done` has to see
// to it that the descriptor is closed. result < 0: final; -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS mean "submit again later"
// (by a timer, not immediately).
struct Accept : Op {
  explicit Accept(Done d) noexcept : Op(Kind::Accept, d) {}
  // In: other workers accept from the same socket; the workers take turns, and each arrival wakes one of them.
  bool shared = false;
  // In: whether to accept one by one; the engine reads this member before each wait. If true, no connection is taken
  // from the kernel before done() has been called for the previous connection, so that cancel() inside done() leaves
  // the other connections in the kernel's queue. If false, io_uring accepts all queued connections together, before the
  // first done(); the other engines never do that.
  bool one_by_one = false;
};

// Sends all bytes of `parts`, in order, or fails. Only one send may be pending on a stream. result: the total on
// success (INT32_MAX when it is more); after an error it is unknown how much the peer has received. At most 1 MiB of a
// large send is sent in one iteration. An owner that has nothing to do after the completion may set `unhurried` before
// each submit(): done() may then be delayed until another operation completes, a timer fires or a wake-up arrives,
// which saves io_uring a system call that would only report this completion. `unhurried` has no effect on engines other
// than io_uring, or if the peer does not take the bytes immediately.
struct Send : Op {
  explicit Send(Done d) noexcept : Op(Kind::Send, d) {}
  std::uint32_t part_count = 0;  // In: at most 64.
  // In: the parts, which must live until done(); the engine advances base and length as bytes are sent.
  iovec* parts = nullptr;
  std::uint64_t sent = 0;  // For the engine: the number of bytes that were sent.
  std::int32_t total() const noexcept { return sent > INT32_MAX ? INT32_MAX : static_cast<std::int32_t>(sent); }
};

// A Send with room for a single part.
struct SendPart : Send {
  using Send::Send;
  void set(const char* data, std::size_t size) noexcept {
    part = {const_cast<char*>(data), size};
    parts = &part;
    part_count = 1;
  }
  iovec part = {};
};

// Sends a part of a plain file, which the kernel takes from its page cache: sendfile(2). Submit it in place of a Send,
// on a non-blocking socket. result: the total (INT32_MAX when it is more), less than `size` if the file ends earlier;
// -EINVAL or -ESPIPE if `file` is not a plain file; after an error it is unknown how much the peer has received. While
// pages that are not in memory are read, the worker blocks; in one iteration, at most 256 KiB are read.
struct SendFile : Op {
  explicit SendFile(Done d) noexcept : Op(Kind::SendFile, d) {}
  int file = -1;             // In: the file, which must stay open for reading until done().
  std::uint64_t offset = 0;  // In: the offset of the part; advanced by the engine.
  std::uint64_t size = 0;    // In: bytes.
  std::uint64_t sent = 0;    // Out: bytes that were sent.
  std::int32_t total() const noexcept { return sent > INT32_MAX ? INT32_MAX : static_cast<std::int32_t>(sent); }
};

// Connects a socket made by Engine::open_stream. If the queue of a Unix listener is full, the engine tries again each
// millisecond.
struct Connect : Op {
  explicit Connect(Done d) noexcept : Op(Kind::Connect, d) {}
  Address address;  // In.
};

// Waits once, as poll(2) does for one descriptor, until a descriptor that Keel does not own (a client library's socket,
// a pipe) can be read or written. result: the events that occurred, and POLLERR, POLLHUP or POLLNVAL as from poll(2).
// Only one Ready at a time may wait on a descriptor. The descriptor must stay open until done(), and no other operation
// of the engine may use it. -EOPNOTSUPP in the simulation, which has no foreign descriptors.
struct Ready : Op {
  explicit Ready(Done d) noexcept : Op(Kind::Ready, d) {}
  short events = 0;  // In: POLLIN, POLLOUT or both.
};

// Operations on files. Any number of operations may be pending on one descriptor; they take place in any order. A
// relative path is looked up from the working directory. Paths and buffers must live until done(). uring passes these
// operations to the kernel; epoll, and uring on a kernel that lacks the operation, execute them on a few threads of the
// engine. cancel() ends an operation that has not begun; an operation that has begun is completed and reports its own
// result.
struct FileOp : Op {
  using Op::Op;
  EngineRoom<3, 1> room;
};

// result: a descriptor, to be closed with Engine::close. Opening does not wait for the other end of a pipe; if a pipe
// is opened only for writing and has no reader, the result is -ENXIO.
struct Open : FileOp {
  explicit Open(Done d) noexcept : FileOp(Kind::Open, d) {}
  const char* path = nullptr;        // In.
  int flags = 0;                     // In: the flags of open(2); O_CLOEXEC is added.
  std::uint32_t permissions = 0644;  // In: permissions of a created file, before the process's umask is applied.
  // In: `path` is looked up from the folder `fd` and must not lead out of it, by "..", a link or a leading slash;
  // otherwise the result is -EXDEV (openat2(2), RESOLVE_BENEATH). The file is opened only for reading. If O_NOFOLLOW is
  // in `flags`, no part of `path` may be a link: -ELOOP.
  bool beneath = false;
  EngineRoom<24> how_room;
};

// result: the number of bytes read, at most 1 GiB; 0 at the end of the file.
struct ReadAt : FileOp {
  explicit ReadAt(Done d) noexcept : FileOp(Kind::ReadAt, d) {}
  char* data = nullptr;      // In.
  std::size_t size = 0;      // In.
  std::uint64_t offset = 0;  // In.
};

// Writes all bytes of `parts`, or fails; after an error it is unknown how many bytes were written. result: the total on
// success (INT32_MAX when it is more).
struct WriteAt : FileOp {
  explicit WriteAt(Done d) noexcept : FileOp(Kind::WriteAt, d) {}
  void set(const char* data, std::size_t size) noexcept {
    single = {const_cast<char*>(data), size};
    parts = &single;
    part_count = 1;
  }
  iovec* parts = nullptr;        // In: the engine advances base and length as bytes are written.
  std::uint32_t part_count = 0;  // In: at most 64.
  iovec single = {};             // Room for the usual case, a single part.
  std::uint64_t offset = 0;      // In: the offset at which to write; advanced by the engine.
  std::uint64_t written = 0;     // For the engine: the number of bytes that were written.
};

// When this operation completes, all bytes that were written to the file before this operation are on the disk. The
// operation is fdatasync(2), or fsync(2) with `all`. A file's name belongs to its folder, which has to be opened with
// O_DIRECTORY and synced separately.
struct Sync : FileOp {
  explicit Sync(Done d) noexcept : FileOp(Kind::Sync, d) {}
  bool all = false;  // In.
};

// Gets facts about a file: its kind, size, time and permissions.
struct Status : FileOp {
  explicit Status(Done d) noexcept : FileOp(Kind::Status, d) {}
  const char* path = nullptr;    // In. Null: the operation gets the facts about the file `fd`.
  std::uint64_t size = 0;        // Out: bytes.
  std::int64_t modified_ns = 0;  // Out: in ns since 1970; 0 in the simulation.
  std::uint32_t mode = 0;        // Out: kind and permissions, as in st_mode.
  EngineRoom<256> result_room;
};

// Sets the size of the file `fd`: truncates it, or extends it with zeros.
struct Truncate : FileOp {
  explicit Truncate(Done d) noexcept : FileOp(Kind::Truncate, d) {}
  std::uint64_t size = 0;  // In.
};

// Renames `from` to `to`; a file that already has the name `to` is replaced.
struct Rename : FileOp {
  explicit Rename(Done d) noexcept : FileOp(Kind::Rename, d) {}
  const char* from = nullptr;  // In.
  const char* to = nullptr;    // In.
};

// Removes a file's name; the file itself remains while it is open.
struct Remove : FileOp {
  explicit Remove(Done d) noexcept : FileOp(Kind::Remove, d) {}
  const char* path = nullptr;  // In.
};

// Bytes that are kept after done() returns. The bytes are at `data`; this address may differ from their address during
// done(). Give the bytes back with Engine::release as soon as possible, because there are few buffers.
struct Held {
  char* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t buffer = Receive::none;  // For the engine: its number of the buffer.
};

}  // namespace keel::io
