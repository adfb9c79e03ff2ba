// Go's end of tests/tls/exchange.py: go run exchange.go serve|ask ADDRESS FILE RECORDS BYTES
//
// FILE is the pair to serve with, or the roots to trust. It sends RECORDS while it receives BYTES, as exchange.cc does.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"strconv"
)

const period = 65521
const recordBytesMax = 16 * 1024

func digits() []byte {
	made := make([]byte, period, period+recordBytesMax)
	state := uint32(27)
	for i := range made {
		state = (state*1103515245 + 12345) & 0x7FFFFFFF
		made[i] = '0' + byte((state>>16)%10)
	}
	return append(made, made[:recordBytesMax]...)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(isServer bool, address, file string) *tls.Conn {
	if isServer {
		pair, err := tls.LoadX509KeyPair(file, file)
		check(err)
		listener, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{pair}})
		check(err)
		fmt.Println("listening")
		peer, err := listener.Accept()
		check(err)
		return peer.(*tls.Conn)
	}
	pem, err := os.ReadFile(file)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	peer, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: "localhost"})
	check(err)
	return peer
}

func main() {
	records, err := strconv.Atoi(os.Args[4])
	check(err)
	expected, err := strconv.Atoi(os.Args[5])
	check(err)
	peer := open(os.Args[1] == "serve", os.Args[2], os.Args[3])
	sequence := digits()
	sent := make(chan error)
	go func() {
		state, at := uint32(1), 0
		for i := 0; i < records; i++ {
			state = state*1664525 + 1013904223
			size := 1 + int(state>>16)%1200
			if i%1000 == 999 {
				size = recordBytesMax
			}
			if _, err := peer.Write(sequence[at%period : at%period+size]); err != nil {
				sent <- err
				return
			}
			at += size
		}
		sent <- nil
	}()
	room, received := make([]byte, recordBytesMax), 0
	for received < expected {
		count, err := peer.Read(room)
		if !bytes.Equal(room[:count], sequence[received%period:received%period+count]) {
			check(fmt.Errorf("other bytes than the peer has sent"))
		}
		received += count
		if received < expected {
			check(err)
		}
	}
	check(<-sent)
	fmt.Println("received", received)
	check(peer.CloseWrite())
	if _, err := peer.Read(room); err != io.EOF {
		check(fmt.Errorf("after all there is no end: %v", err))
	}
	check(peer.Close())
}
