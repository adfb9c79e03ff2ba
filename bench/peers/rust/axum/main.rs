//! axum as its own examples use it: a router and extractors' types, on tokio's current-thread runtime.

#[path = "../options.rs"]
mod options;

use axum::serve::ListenerExt;
use axum::{routing::get, Json, Router};
use serde::Serialize;
use tokio::net::TcpListener;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

async fn plaintext() -> &'static str {
    "Hello, World!"
}

async fn json() -> Json<Message> {
    Json(Message { message: "Hello, World!" })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", options::port())).await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().route("/plaintext", get(plaintext)).route("/json", get(json))).await
}
