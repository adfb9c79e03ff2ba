//! axum with rows of PostgreSQL by tokio-postgres, over a pool of deadpool whose connections keep their statements.
//! DATABASE_URL says where the server is. /users/{id} is a row as JSON; POST /visits one that is committed before the
//! answer.

#[path = "../options.rs"]
mod options;

use axum::extract::{Path, State};
use axum::http::{header, StatusCode};
use axum::response::IntoResponse;
use axum::serve::ListenerExt;
use axum::{routing::get, routing::post, Json, Router};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_postgres::NoTls;

#[derive(Serialize)]
struct User {
    id: i64,
    name: String,
    email: String,
}

#[derive(Deserialize)]
struct Visit {
    page: String,
    at: i64,
}

fn refused(error: impl std::fmt::Display) -> StatusCode {
    eprintln!("{error}");
    StatusCode::INTERNAL_SERVER_ERROR
}

async fn plaintext() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain")], "Hello, World!")
}

async fn read(State(pool): State<Pool>, Path(id): Path<i64>) -> Result<Json<User>, StatusCode> {
    let client = pool.get().await.map_err(refused)?;
    let select = client.prepare_cached("select id, name, email from users where id = $1").await.map_err(refused)?;
    let row = client.query_opt(&select, &[&id]).await.map_err(refused)?.ok_or(StatusCode::NOT_FOUND)?;
    Ok(Json(User { id: row.get(0), name: row.get(1), email: row.get(2) }))
}

async fn visit(State(pool): State<Pool>, Json(given): Json<Visit>) -> Result<StatusCode, StatusCode> {
    let client = pool.get().await.map_err(refused)?;
    let insert = client.prepare_cached("insert into visits (page, at) values ($1, $2)").await.map_err(refused)?;
    client.execute(&insert, &[&given.page, &given.at]).await.map_err(refused)?;
    Ok(StatusCode::CREATED)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let (port, connections) = options::port_and_connections();
    let url = std::env::var("DATABASE_URL").map_err(std::io::Error::other)?;
    let to = url.parse::<tokio_postgres::Config>().map_err(std::io::Error::other)?;
    let manager = Manager::from_config(to, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    let pool = Pool::builder(manager).max_size(connections).build().map_err(std::io::Error::other)?;
    let routes = Router::new()
        .route("/plaintext", get(plaintext))
        .route("/users/{id}", get(read))
        .route("/visits", post(visit))
        .with_state(pool);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, routes).await
}
