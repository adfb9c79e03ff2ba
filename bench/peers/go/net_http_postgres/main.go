// Go's net/http with rows of PostgreSQL by pgx and its pool, whose connections keep their statements. DATABASE_URL says
// where the server is. /users/{id} is a row as JSON; POST /visits one that is committed before the answer. One thread
// of Go code.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type user struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

type visit struct {
	Page string `json:"page"`
	At   int64  `json:"at"`
}

type rows struct {
	pool *pgxpool.Pool
}

func plaintext(to http.ResponseWriter, _ *http.Request) {
	to.Header().Set("Content-Type", "text/plain")
	to.Write([]byte("Hello, World!"))
}

func (all rows) get(to http.ResponseWriter, request *http.Request) {
	id, err := strconv.ParseInt(request.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(to, "the id is no number", http.StatusBadRequest)
		return
	}
	var one user
	err = all.pool.QueryRow(request.Context(), "select id, name, email from users where id = $1", id).
		Scan(&one.ID, &one.Name, &one.Email)
	if errors.Is(err, pgx.ErrNoRows) {
		http.Error(to, "no such user", http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(to, err.Error(), http.StatusInternalServerError)
		return
	}
	body, err := json.Marshal(one)
	if err != nil {
		http.Error(to, err.Error(), http.StatusInternalServerError)
		return
	}
	to.Header().Set("Content-Type", "application/json")
	to.Write(body)
}

func (all rows) post(to http.ResponseWriter, request *http.Request) {
	var given visit
	if err := json.NewDecoder(request.Body).Decode(&given); err != nil {
		http.Error(to, err.Error(), http.StatusBadRequest)
		return
	}
	_, err := all.pool.Exec(request.Context(), "insert into visits (page, at) values ($1, $2)", given.Page, given.At)
	if err != nil {
		http.Error(to, err.Error(), http.StatusInternalServerError)
		return
	}
	to.WriteHeader(http.StatusCreated)
}

func main() {
	port := flag.Uint("port", 8080, "to listen on, of the loopback address")
	connections := flag.Int("connections", 2, "of the pool")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	options, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	options.MaxConns = int32(*connections)
	pool, err := pgxpool.NewWithConfig(context.Background(), options)
	if err != nil {
		log.Fatal(err)
	}
	all := rows{pool}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /plaintext", plaintext)
	routes.HandleFunc("GET /users/{id}", all.get)
	routes.HandleFunc("POST /visits", all.post)
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), routes))
}
