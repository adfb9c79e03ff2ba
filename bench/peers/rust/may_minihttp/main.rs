//! may_minihttp as its own examples use it: a stackful coroutine for each connection, one worker thread.

#[path = "../options.rs"]
mod options;

use bytes::BufMut;
use may_minihttp::{HttpServer, HttpService, Request, Response};
use serde::Serialize;
use std::io;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[derive(Clone)]
struct Answers;

impl HttpService for Answers {
    fn call(&mut self, request: Request, response: &mut Response) -> io::Result<()> {
        match request.path() {
            "/plaintext" => {
                response.header("Content-Type: text/plain").body("Hello, World!");
            }
            "/json" => {
                response.header("Content-Type: application/json");
                serde_json::to_writer(response.body_mut().writer(), &Message { message: "Hello, World!" })?;
            }
            _ => {
                response.status_code(404, "Not Found");
            }
        }
        Ok(())
    }
}

fn main() -> io::Result<()> {
    may::config().set_workers(1);
    let server = HttpServer(Answers).start(("127.0.0.1", options::port()))?;
    server.join().map_err(|_| io::Error::other("the server's coroutine panicked"))
}
