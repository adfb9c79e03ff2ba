// fasthttp as its documentation shows it: one request handler that looks at the path, on one thread of Go code.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"runtime"

	"github.com/valyala/fasthttp"
)

type message struct {
	Message string `json:"message"`
}

func answer(request *fasthttp.RequestCtx) {
	switch string(request.Path()) {
	case "/plaintext":
		request.SetContentType("text/plain")
		request.SetBodyString("Hello, World!")
	case "/json":
		body, err := json.Marshal(message{"Hello, World!"})
		if err != nil {
			request.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		request.SetContentType("application/json")
		request.SetBody(body)
	default:
		request.NotFound()
	}
}

func main() {
	port := flag.Uint("port", 8080, "to listen on, of the loopback address")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	log.Fatal(fasthttp.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), answer))
}
