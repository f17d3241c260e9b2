//! Guesses what a command or tool does from the words in it.

/// Programs and subcommands that check something.
const TESTS: [&str; 22] = [
    "test",
    "tests",
    "pytest",
    "unittest",
    "jest",
    "vitest",
    "mocha",
    "rspec",
    "phpunit",
    "ctest",
    "tox",
    "nox",
    "lint",
    "eslint",
    "ruff",
    "mypy",
    "tsc",
    "clippy",
    "check",
    "vet",
    "build",
    "golangci-lint",
];

/// Verbs of commands and tools that change something.
const EFFECTS: [&str; 43] = [
    "add", "apply", "assign", "book", "cancel", "checkout", "chmod", "chown", "clone", "close", "commit", "cp",
    "create", "delete", "deploy", "drop", "insert", "install", "kill", "merge", "mkdir", "modify", "move", "mv",
    "patch", "pay", "post", "publish", "push", "put", "rebase", "remove", "rename", "reset", "restart", "revert", "rm",
    "send", "stash", "tag", "transfer", "update", "upgrade",
];

/// The number of words of a command that are checked: the program and its subcommands.
const WORDS: usize = 4;

/// True for a command that runs tests, a linter or a build.
pub fn is_test(command: &str) -> bool {
    any_word(command, &TESTS)
}

/// True if a command, or a tool with these words in its name, changes something.
pub fn takes_effect(command: &str) -> bool {
    any_word(command, &EFFECTS)
}

/// True if one of the first words of any command in a line is in `words`.
fn any_word(command: &str, words: &[&str]) -> bool {
    let commands = command.split(['\n', ';', '|', '&']);
    let mut first = commands.flat_map(|command| command.split_whitespace().take(WORDS));
    first.any(|word| {
        // `test:ci` and `run-tests` run tests.
        let word = word.to_ascii_lowercase();
        words.contains(&&*word) || word.split([':', '/', '-']).any(|part| words.contains(&part))
    })
}
