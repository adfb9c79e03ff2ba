"""One end of a connection with TLS in memory, by OpenSSL's own functions: it does what Python's ssl does not let anybody do.

  client = End(host=b"localhost")
  while not client.shake(sock.recv(65536) if begun else b""): ...       # `client.taken()` is what has to be sent
  wire = client.write(b"GET / HTTP/1.1\\r\\n...") + client.key_updates(20)
"""

import ctypes
import ctypes.util
import hashlib
import hmac
import struct

TLS1_2, TLS1_3 = 0x0303, 0x0304
TICKET_BYTES_MAX = 0xF000  # With what OpenSSL adds.

_ssl = ctypes.CDLL(ctypes.util.find_library("ssl") or "libssl.so.3")
_crypto = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
_P, _I, _L, _S = ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_size_t
_TicketMade = ctypes.CFUNCTYPE(_I, _P, _P)


def _declare(library, **functions):
    for name, (result, *arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


_declare(_ssl, TLS_method=(_P, ), SSL_CTX_new=(_P, _P), SSL_CTX_free=(None, _P), SSL_CTX_ctrl=(_L, _P, _I, _L, _P),
         SSL_CTX_set_cipher_list=(_I, _P, ctypes.c_char_p), SSL_CTX_use_certificate_chain_file=(_I, _P, ctypes.c_char_p),
         SSL_CTX_use_PrivateKey_file=(_I, _P, ctypes.c_char_p, _I), SSL_CTX_set_session_ticket_cb=(_I, _P, _P, _P, _P),
         SSL_new=(_P, _P), SSL_free=(None, _P), SSL_set_bio=(None, _P, _P, _P), SSL_ctrl=(_L, _P, _I, _L, ctypes.c_char_p),
         SSL_set_connect_state=(None, _P), SSL_set_accept_state=(None, _P), SSL_do_handshake=(_I, _P),
         SSL_write=(_I, _P, ctypes.c_char_p, _I), SSL_read=(_I, _P, ctypes.c_char_p, _I), SSL_key_update=(_I, _P, _I),
         SSL_new_session_ticket=(_I, _P), SSL_get_session=(_P, _P), SSL_SESSION_set1_ticket_appdata=(_I, _P, _P, _S),
         SSL_SESSION_get_master_key=(_S, _P, ctypes.c_char_p, _S), SSL_get_client_random=(_S, _P, ctypes.c_char_p, _S),
         SSL_get_server_random=(_S, _P, ctypes.c_char_p, _S), SSL_get_error=(_I, _P, _I))
_declare(_crypto, BIO_new=(_P, _P), BIO_s_mem=(_P, ), BIO_read=(_I, _P, ctypes.c_char_p, _I),
         BIO_write=(_I, _P, ctypes.c_char_p, _I), EVP_CIPHER_CTX_new=(_P, ), EVP_CIPHER_CTX_free=(None, _P),
         EVP_aes_128_gcm=(_P, ), EVP_EncryptInit_ex=(_I, _P, _P, _P, ctypes.c_char_p, ctypes.c_char_p),
         EVP_EncryptUpdate=(_I, _P, ctypes.c_char_p, _P, ctypes.c_char_p, _I), ERR_clear_error=(None, ),
         EVP_EncryptFinal_ex=(_I, _P, ctypes.c_char_p, _P), EVP_CIPHER_CTX_ctrl=(_I, _P, _I, _I, ctypes.c_char_p))


class Failed(Exception):
    """OpenSSL would not."""


def _aes_128_gcm(key, nonce, plain, added):
    """RFC 5116: what is encrypted, and its tag."""
    context, size = _crypto.EVP_CIPHER_CTX_new(), _I(0)
    out, tag = ctypes.create_string_buffer(len(plain) + 16), ctypes.create_string_buffer(16)
    _crypto.EVP_EncryptInit_ex(context, _crypto.EVP_aes_128_gcm(), None, key, nonce)
    _crypto.EVP_EncryptUpdate(context, None, ctypes.byref(size), added, len(added))
    _crypto.EVP_EncryptUpdate(context, out, ctypes.byref(size), plain, len(plain))
    _crypto.EVP_CIPHER_CTX_ctrl(context, 0x10, 16, tag) if _crypto.EVP_EncryptFinal_ex(
        context, ctypes.create_string_buffer(16), ctypes.byref(_I(0))) else None
    _crypto.EVP_CIPHER_CTX_free(context)
    return out.raw[:len(plain)] + tag.raw


class Sealer:
    """The records of a client with TLS 1.2 and ECDHE-…-AES128-GCM-SHA256 (RFC 5246 §6.3, RFC 5288 §3), of any type."""

    def __init__(self, master, client_random, server_random):
        seed = b"key expansion" + server_random + client_random
        block, part = b"", seed
        while len(block) < 40:
            part = hmac.digest(master, part, hashlib.sha256)
            block += hmac.digest(master, part + seed, hashlib.sha256)
        self.key, self.salt, self.number = block[:16], block[32:36], 1  # Finished was the first.

    def seal(self, kind, plain):
        number = struct.pack("!Q", self.number)
        self.number += 1
        added = number + struct.pack("!BHH", kind, TLS1_2, len(plain))
        sealed = number + _aes_128_gcm(self.key, self.salt + number, plain, added)
        return struct.pack("!BHH", kind, TLS1_2, len(sealed)) + sealed


class End:
    """A client, or with a `pair` in PEM a server, of the `version`."""

    def __init__(self, version=TLS1_3, host=b"localhost", pair=None, ticket_bytes=0):
        self.context = _ssl.SSL_CTX_new(_ssl.TLS_method())
        for bound in (123, 124):  # SSL_CTRL_SET_MIN_PROTO_VERSION, …MAX….
            _ssl.SSL_CTX_ctrl(self.context, bound, version, None)
        _ssl.SSL_CTX_set_cipher_list(self.context, b"ECDHE+AES128+AESGCM")
        self.version, self.sealer = version, None
        if pair and (_ssl.SSL_CTX_use_certificate_chain_file(self.context, str(pair).encode()) != 1
                     or _ssl.SSL_CTX_use_PrivateKey_file(self.context, str(pair).encode(), 1) != 1):
            raise Failed(f"{pair} cannot be used")
        if ticket_bytes:
            data = ctypes.create_string_buffer(ticket_bytes)
            self.made = _TicketMade(
                lambda ssl, _: _ssl.SSL_SESSION_set1_ticket_appdata(_ssl.SSL_get_session(ssl), data, ticket_bytes))
            _ssl.SSL_CTX_set_session_ticket_cb(self.context, self.made, None, None)
        self.ssl = _ssl.SSL_new(self.context)
        self.incoming, self.outgoing = (_crypto.BIO_new(_crypto.BIO_s_mem()) for _ in range(2))
        _ssl.SSL_set_bio(self.ssl, self.incoming, self.outgoing)
        if pair:
            _ssl.SSL_set_accept_state(self.ssl)
        else:
            _ssl.SSL_ctrl(self.ssl, 55, 0, host)  # SSL_CTRL_SET_TLSEXT_HOSTNAME.
            _ssl.SSL_set_connect_state(self.ssl)

    def close(self):
        """Frees it; call it once, or not at all."""
        _ssl.SSL_free(self.ssl)
        _ssl.SSL_CTX_free(self.context)

    def taken(self):
        """What has to be sent."""
        wire, some = b"", ctypes.create_string_buffer(65536)
        while (got := _crypto.BIO_read(self.outgoing, some, len(some))) > 0:
            wire += some.raw[:got]
        return wire

    def shake(self, came=b""):
        """Continues the handshake with what came; whether it is over."""
        if came:
            _crypto.BIO_write(self.incoming, came, len(came))
        result = _ssl.SSL_do_handshake(self.ssl)
        if result != 1 and _ssl.SSL_get_error(self.ssl, result) not in (2, 3):  # SSL_ERROR_WANT_READ, …WRITE.
            _crypto.ERR_clear_error()
            raise Failed("no handshake")
        return result == 1

    def read(self, came):
        """What the peer has written; b"" also for an end or an error."""
        if came:
            _crypto.BIO_write(self.incoming, came, len(came))
        some = ctypes.create_string_buffer(65536)
        plain = b""
        while (got := _ssl.SSL_read(self.ssl, some, len(some))) > 0:
            plain += some.raw[:got]
        _crypto.ERR_clear_error()
        return plain

    def write(self, plain):
        """The records of `plain`."""
        if self.sealer:
            return self.sealer.seal(23, plain)
        if plain and _ssl.SSL_write(self.ssl, plain, len(plain)) != len(plain):
            raise Failed("nothing can be written")
        return self.taken()

    def key_updates(self, count):
        """TLS 1.3: new keys, and the request that the peer has new ones as well, so many times."""
        for _ in range(count):
            if _ssl.SSL_key_update(self.ssl, 1) != 1 or _ssl.SSL_do_handshake(self.ssl) != 1:
                raise Failed("no update of keys")
        return self.taken()

    def renegotiations(self, count):
        """TLS 1.2, of a client: so many hellos for another handshake. All that it sends from then on is sealed here."""
        if not self.sealer:
            master, client, server = (ctypes.create_string_buffer(size) for size in (48, 32, 32))
            _ssl.SSL_SESSION_get_master_key(_ssl.SSL_get_session(self.ssl), master, 48)
            _ssl.SSL_get_client_random(self.ssl, client, 32)
            _ssl.SSL_get_server_random(self.ssl, server, 32)
            self.sealer = Sealer(master.raw, client.raw, server.raw)
        body = struct.pack("!H", TLS1_2) + bytes(32) + b"\0" + b"\0\x04\xc0\x2b\xc0\x2f" + b"\x01\0"
        hello = b"\x01" + struct.pack("!I", len(body))[1:] + body
        return b"".join(self.sealer.seal(22, hello) for _ in range(count))

    def tickets(self, count):
        """TLS 1.3, of a server: so many tickets."""
        for _ in range(count):
            if _ssl.SSL_new_session_ticket(self.ssl) != 1 or _ssl.SSL_do_handshake(self.ssl) != 1:
                raise Failed("no ticket")
        return self.taken()
