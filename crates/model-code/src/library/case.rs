//! Names: words of the model as identifiers, in the case that a language has for them.

use model::Model;

/// Words that say nothing in the name of a function.
const ARTICLES: [&str; 3] = ["a", "an", "the"];
/// What the libraries call things of their own.
const TAKEN: [&str; 6] = ["table", "dynamodb", "client", "page", "calls", "main"];
/// The most words of a description that become a name.
const WORDS_MAX: usize = 6;

/// `createdAt`, `GSI1PK`, `born-on` -> `created_at`, `gsi1pk`, `born_on`.
pub fn snake(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut snake = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            if !snake.is_empty() && !snake.ends_with('_') {
                snake.push('_');
            }
            continue;
        }
        let after_small =
            at > 0 && (letters[at - 1].is_ascii_lowercase() || letters[at - 1].is_ascii_digit());
        let before_small = letters.get(at + 1).is_some_and(char::is_ascii_lowercase)
            && at > 0
            && letters[at - 1].is_ascii_uppercase();
        if letter.is_ascii_uppercase() && (after_small && !all_capitals(&letters) || before_small) {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake.trim_end_matches('_').to_owned()
}

/// `GSI1PK` is one word.
fn all_capitals(letters: &[char]) -> bool {
    !letters.iter().any(char::is_ascii_lowercase)
}

/// In snake case, and an identifier in every language; reserved words are each language's own concern.
pub fn identifier(text: &str, otherwise: &str) -> String {
    let name = snake(text);
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name,
        Some(_) => format!("{otherwise}_{name}"),
        None => otherwise.to_owned(),
    }
}

/// `created_at` -> `CreatedAt`.
pub fn pascal(snake: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    snake.split('_').map(word).collect()
}

/// `created_at` -> `createdAt`.
pub fn camel(snake: &str) -> String {
    let pascal = pascal(snake);
    let mut letters = pascal.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// The name, or the first of `name2`, `name3`, … that is free.
pub fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

/// More than one of it: `orders`, `categories`.
pub fn plural(name: &str) -> String {
    let vowel_before_y = name.len() > 1 && name[..name.len() - 1].ends_with(['a', 'e', 'i', 'o', 'u']);
    match name.strip_suffix('y') {
        Some(stem) if !vowel_before_y => format!("{stem}ies"),
        _ if name.ends_with('s') || name.ends_with('x') || name.ends_with("ch") => format!("{name}es"),
        _ => format!("{name}s"),
    }
}

/// A function's name for each pattern: its id if that is a word, or the first words of its description.
pub fn functions(model: &Model) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for pattern in &model.patterns {
        let id = &pattern.id.value;
        let described = pattern.description.as_deref().filter(|_| is_number(id)).and_then(first_words);
        let wanted = described.unwrap_or_else(|| identifier(id, "pattern"));
        let taken = |name: &str| TAKEN.contains(&name) || names.iter().any(|other| other == name);
        names.push(free(&wanted, taken));
    }
    names
}

/// `A1`, `5b`, `12`: a number and not a name.
fn is_number(id: &str) -> bool {
    id.len() <= 4 && id.chars().any(|one| one.is_ascii_digit())
}

fn first_words(description: &str) -> Option<String> {
    let sentence = description.split([',', '.', ';', ':', '(']).next()?.replace(['\'', '’'], "");
    let words: Vec<String> = sentence
        .split_whitespace()
        .map(snake)
        .filter(|word| !word.is_empty() && !ARTICLES.contains(&word.as_str()))
        .take(WORDS_MAX)
        .collect();
    let name = words.join("_");
    name.starts_with(|first: char| first.is_ascii_alphabetic()).then_some(name)
}
