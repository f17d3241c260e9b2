//! Shows what is left of a text: `cargo run --release --example shrink -- FILE [TOKENS [TOOL]]`.
#![allow(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program for people"
)]

use std::error::Error;
use std::time::Instant;

use ullage::compress::{Aim, Request, compress};
use ullage::tokens::{CountTokens, Encoding, Exact, TextKind};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a file")?;
    let aim = match arguments.next().as_deref() {
        None | Some("-") => Aim::Essence,
        Some(tokens) => Aim::Tokens(tokens.parse()?),
    };
    let tool = arguments.next().unwrap_or_default();
    let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
    let counter = Exact::new(Encoding::O200kBase);
    let before = counter.count(&text, TextKind::ToolOutput);
    let request = Request { tool: &tool, aim, kind: TextKind::ToolOutput, focus: None };
    let start = Instant::now();
    let Some(short) = compress(&text, &request, &counter) else {
        println!("{before} tokens stay");
        return Ok(());
    };
    let seconds = start.elapsed().as_secs_f64();
    println!("{}", short.text);
    let after = counter.count(&short.text, TextKind::ToolOutput);
    eprintln!(
        "{}: {before} tokens to {after}, {:.1} % saved, {:.0} MB/s",
        short.kind.name(),
        100.0 - 100.0 * after as f64 / before as f64,
        text.len() as f64 / seconds / 1e6
    );
    Ok(())
}
