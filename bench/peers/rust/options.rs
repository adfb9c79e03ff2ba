/// The port of `--port=N`, the only option; anything else ends the process with a sentence.
#[allow(dead_code)] // Of these functions, a peer needs one.
pub fn port() -> u16 {
    let [port] = values(["--port="]);
    port.parse().unwrap_or_else(|_| refuse(&["--port="]))
}

/// The port of `--port=N` and the file of `--database=FILE`, in this order.
#[allow(dead_code)]
pub fn port_and_database() -> (u16, String) {
    let names = ["--port=", "--database="];
    let [port, database] = values(names);
    (port.parse().unwrap_or_else(|_| refuse(&names)), database)
}

/// The port of `--port=N` and the number of `--connections=N`, in this order.
#[allow(dead_code)]
pub fn port_and_connections() -> (u16, usize) {
    let names = ["--port=", "--connections="];
    let [port, connections] = values(names);
    let numbers = port.parse().ok().zip(connections.parse().ok());
    numbers.unwrap_or_else(|| refuse(&names))
}

/// The library of `--library=NAME` and what it does, `--what=NAME`, in this order.
#[allow(dead_code)]
pub fn library_and_what() -> (String, String) {
    let [library, what] = values(["--library=", "--what="]);
    (library, what)
}

fn values<const N: usize>(names: [&str; N]) -> [String; N] {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if given.len() != N {
        refuse(&names);
    }
    let mut at = 0;
    names.map(|name| {
        let value = given[at].strip_prefix(name).unwrap_or_else(|| refuse(&names));
        at += 1;
        value.to_owned()
    })
}

fn refuse(names: &[&str]) -> ! {
    eprintln!("usage: {} {}", std::env::args().next().unwrap_or_default(), names.join("... ") + "...");
    std::process::exit(2);
}
