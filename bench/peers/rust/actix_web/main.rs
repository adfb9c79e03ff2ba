//! actix-web as its own examples use it: routes by macro, one worker. Signals end the process at once.

#[path = "../options.rs"]
mod options;

use actix_web::{get, web, App, HttpResponse, HttpServer, Responder};
use serde::Serialize;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[get("/plaintext")]
async fn plaintext() -> impl Responder {
    HttpResponse::Ok().content_type("text/plain").body("Hello, World!")
}

#[get("/json")]
async fn json() -> impl Responder {
    web::Json(Message { message: "Hello, World!" })
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    HttpServer::new(|| App::new().service(plaintext).service(json))
        .workers(1)
        .backlog(4096)
        .disable_signals()
        .bind(("127.0.0.1", options::port()))?
        .run()
        .await
}
