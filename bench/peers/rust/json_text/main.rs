//! A struct that is 206 bytes of JSON, written and read by sonic-rs or serde_json. Prints nanoseconds of CPU for one, as
//! the programs of bench/turns do; what bench/json_text/keel.cc does is the same.

#[path = "../options.rs"]
mod options;

use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::{Duration, Instant};

const TEXT: &str = concat!(
    r#"{"id":1234567,"name":"Ada Lovelace","email":"ada@example.org","age":36,"active":true,"score":97.25,"#,
    r#""address":{"city":"London","country":"United Kingdom"},"tags":["mathematics","engines","poetry, and more"]}"#
);
const SHUFFLED: &str = concat!(
    r#"{"tags":["mathematics","engines","poetry, and more"],"score":97.25,"name":"Ada Lovelace","active":true,"#,
    r#""address":{"country":"United Kingdom","city":"London"},"id":1234567,"email":"ada@example.org","age":36}"#
);

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Address<'a> {
    city: &'a str,
    country: &'a str,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct User<'a> {
    id: i64,
    name: &'a str,
    email: &'a str,
    age: i64,
    active: bool,
    score: f64,
    #[serde(borrow)]
    address: Address<'a>,
    tags: [&'a str; 3],
}

const USER: User = User {
    id: 1234567,
    name: "Ada Lovelace",
    email: "ada@example.org",
    age: 36,
    active: true,
    score: 97.25,
    address: Address { city: "London", country: "United Kingdom" },
    tags: ["mathematics", "engines", "poetry, and more"],
};

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}
extern "C" {
    fn clock_gettime(clock: i32, at: *mut Timespec) -> i32;
}
const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;

fn cpu() -> f64 {
    let mut at = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: clock_gettime writes one timespec.
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut at) };
    at.seconds as f64 + at.nanoseconds as f64 * 1e-9
}

/// As turns_measure().
fn measure(mut once: impl FnMut()) {
    let mut round = || (0..1000).for_each(|_| once());
    let warm = Instant::now() + Duration::from_millis(100);
    while Instant::now() < warm {
        round();
    }
    let begin = cpu();
    let end = Instant::now() + Duration::from_millis(400);
    let mut rounds = 0.0;
    while Instant::now() < end {
        round();
        rounds += 1.0;
    }
    let used = cpu() - begin;
    println!("{{\"ns\": {:.3}, \"whole_cpu\": {:.6}}}", used * 1e9 / (rounds * 1000.0), cpu());
}

fn write(write_one: impl Fn(&mut Vec<u8>, &User)) {
    let mut text = Vec::new();
    write_one(&mut text, &USER);
    assert_eq!(text, TEXT.as_bytes());
    measure(|| {
        text.clear();
        write_one(&mut text, black_box(&USER));
        black_box(text.as_ptr());
    });
}

fn read<'a>(text: &'a str, read_one: impl Fn(&'a str) -> User<'a>) {
    assert_eq!(read_one(text), USER);
    measure(|| {
        black_box(read_one(black_box(text)));
    });
}

fn main() {
    let (library, what) = options::library_and_what();
    match (library.as_str(), what.as_str()) {
        ("sonic-rs", "write") => write(|to, user| sonic_rs::to_writer(to, user).unwrap()),
        ("sonic-rs", "read") => read(TEXT, |text| sonic_rs::from_str(text).unwrap()),
        ("sonic-rs", "read-shuffled") => read(SHUFFLED, |text| sonic_rs::from_str(text).unwrap()),
        ("serde-json", "write") => write(|to, user| serde_json::to_writer(to, user).unwrap()),
        ("serde-json", "read") => read(TEXT, |text| serde_json::from_str(text).unwrap()),
        ("serde-json", "read-shuffled") => read(SHUFFLED, |text| serde_json::from_str(text).unwrap()),
        _ => std::process::exit(2),
    }
}
