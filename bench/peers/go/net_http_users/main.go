// Go's net/http with rows of SQLite by database/sql: one connection, statements prepared once, each insert its own
// transaction, on disk before the answer. One thread of Go code.
package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"runtime"
	"strconv"

	"github.com/mattn/go-sqlite3"
)

const schema = `create table if not exists users (id integer primary key, name text not null,
	email text not null unique, age integer, created_at text not null) strict`

type user struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
	Age       *int64 `json:"age"`
	CreatedAt string `json:"created_at"`
}

type users struct {
	read, create *sql.Stmt
}

func answer(to http.ResponseWriter, status int, row *sql.Row) {
	var one user
	err := row.Scan(&one.ID, &one.Name, &one.Email, &one.Age, &one.CreatedAt)
	var refused sqlite3.Error
	switch {
	case errors.Is(err, sql.ErrNoRows):
		http.Error(to, "no such user", http.StatusNotFound)
		return
	case errors.As(err, &refused) && refused.Code == sqlite3.ErrConstraint:
		http.Error(to, "the email is taken", http.StatusConflict)
		return
	case err != nil:
		http.Error(to, err.Error(), http.StatusInternalServerError)
		return
	}
	body, err := json.Marshal(one)
	if err != nil {
		http.Error(to, err.Error(), http.StatusInternalServerError)
		return
	}
	to.Header().Set("Content-Type", "application/json")
	if status == http.StatusCreated {
		to.Header().Set("Location", "/api/users/"+strconv.FormatInt(one.ID, 10))
	}
	to.WriteHeader(status)
	to.Write(body)
}

func (all users) get(to http.ResponseWriter, request *http.Request) {
	id, err := strconv.ParseInt(request.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(to, "the id is no number", http.StatusBadRequest)
		return
	}
	answer(to, http.StatusOK, all.read.QueryRow(id))
}

func (all users) post(to http.ResponseWriter, request *http.Request) {
	var given user
	if err := json.NewDecoder(request.Body).Decode(&given); err != nil {
		http.Error(to, err.Error(), http.StatusBadRequest)
		return
	}
	answer(to, http.StatusCreated, all.create.QueryRow(given.Name, given.Email, given.Age))
}

func main() {
	port := flag.Uint("port", 8080, "to listen on, of the loopback address")
	file := flag.String("database", "users.db", "the file")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	database, err := sql.Open("sqlite3", "file:"+*file+"?_journal_mode=WAL&_synchronous=FULL&_cache_size=-65536")
	if err != nil {
		log.Fatal(err)
	}
	database.SetMaxOpenConns(1)
	if _, err = database.Exec(schema); err != nil {
		log.Fatal(err)
	}
	prepared := func(text string) *sql.Stmt {
		made, err := database.Prepare(text)
		if err != nil {
			log.Fatal(err)
		}
		return made
	}
	all := users{
		read: prepared("select id, name, email, age, created_at from users where id = ?"),
		create: prepared(`insert into users (name, email, age, created_at)
			values (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now')) returning id, name, email, age, created_at`),
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /api/users/{id}", all.get)
	routes.HandleFunc("POST /api/users", all.post)
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), routes))
}
