// Go's net/http as its documentation shows it: a ServeMux and handler functions, on one thread of Go code.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime"
)

type message struct {
	Message string `json:"message"`
}

func plaintext(answer http.ResponseWriter, _ *http.Request) {
	answer.Header().Set("Content-Type", "text/plain")
	io.WriteString(answer, "Hello, World!")
}

func asJSON(answer http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(message{"Hello, World!"})
	if err != nil {
		http.Error(answer, err.Error(), http.StatusInternalServerError)
		return
	}
	answer.Header().Set("Content-Type", "application/json")
	answer.Write(body)
}

func main() {
	port := flag.Uint("port", 8080, "to listen on, of the loopback address")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	routes := http.NewServeMux()
	routes.HandleFunc("/plaintext", plaintext)
	routes.HandleFunc("/json", asJSON)
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), routes))
}
