//! axum with rows of SQLite by rusqlite: one connection behind a mutex, statements kept, each insert its own transaction,
//! on disk before the answer. The handlers call SQLite on the runtime's only thread, which costs less than another one.

#[path = "../options.rs"]
mod options;

use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{header, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use axum::{routing::get, routing::post, Json, Router};
use rusqlite::{Connection, Error, Row};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

const SCHEMA: &str = "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -65536;
    create table if not exists users (id integer primary key, name text not null, email text not null unique,
    age integer, created_at text not null) strict";

type Database = Arc<Mutex<Connection>>;

#[derive(Deserialize)]
struct NewUser {
    name: String,
    email: String,
    age: Option<i64>,
}

#[derive(Serialize)]
struct User {
    id: i64,
    name: String,
    email: String,
    age: Option<i64>,
    created_at: String,
}

fn user(row: &Row) -> rusqlite::Result<User> {
    Ok(User { id: row.get(0)?, name: row.get(1)?, email: row.get(2)?, age: row.get(3)?, created_at: row.get(4)? })
}

fn refused(error: Error) -> StatusCode {
    match error.sqlite_error_code() {
        _ if error == Error::QueryReturnedNoRows => StatusCode::NOT_FOUND,
        Some(rusqlite::ErrorCode::ConstraintViolation) => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

async fn read(State(database): State<Database>, Path(id): Path<i64>) -> Result<Json<User>, StatusCode> {
    let connection = database.lock().unwrap();
    let mut select = connection
        .prepare_cached("select id, name, email, age, created_at from users where id = ?")
        .map_err(refused)?;
    select.query_row([id], user).map(Json).map_err(refused)
}

async fn create(State(database): State<Database>, Json(given): Json<NewUser>) -> Result<Response, StatusCode> {
    let connection = database.lock().unwrap();
    let mut insert = connection
        .prepare_cached(
            "insert into users (name, email, age, created_at) values (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
             returning id, name, email, age, created_at",
        )
        .map_err(refused)?;
    let made = insert.query_row((given.name, given.email, given.age), user).map_err(refused)?;
    Ok((StatusCode::CREATED, [(header::LOCATION, format!("/api/users/{}", made.id))], Json(made)).into_response())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let (port, file) = options::port_and_database();
    let connection = Connection::open(file).and_then(|one| one.execute_batch(SCHEMA).map(|_| one));
    let database = Arc::new(Mutex::new(connection.map_err(std::io::Error::other)?));
    let routes = Router::new()
        .route("/api/users/{id}", get(read))
        .route("/api/users", post(create))
        .with_state(database);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, routes).await
}
