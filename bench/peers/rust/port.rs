/// The port of `--port=N`, the only option; anything else ends the process with a sentence.
pub fn port() -> u16 {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().and_then(|one| one.strip_prefix("--port=")?.parse().ok());
    match (port, arguments.next()) {
        (Some(port), None) => port,
        _ => {
            eprintln!("usage: {} --port=N", std::env::args().next().unwrap_or_default());
            std::process::exit(2);
        }
    }
}
