//! Words and phrases that `docs/style.md` replaces by plainer ones.
//!
//! The rule reads a file as a row of words: comments, messages, names and text alike, without regard to case,
//! punctuation and line ends. So `PATIENCE` and a phrase that is broken over two lines are found, too.

/// What is not written, and what to write instead.
const BANNED: [(&str, &str); 54] = [
    ("whoever", NAME_IT),
    ("whomever", NAME_IT),
    ("whom", NAME_IT),
    ("nobody", NAME_IT),
    ("told", "name what the client, the caller or the log gets"),
    ("hear", "a callback is called"),
    ("hears", "a callback is called"),
    ("heard", "a callback is called"),
    ("lie", "are"),
    ("lies", "is"),
    ("stand", "are"),
    ("stands", "is, is stored"),
    ("stood", "was"),
    ("comes to be", "is made"),
    ("came to be", "was made"),
    ("becomes of", "the outcome of"),
    ("became of", "the outcome of"),
    ("become of", "the outcome of"),
    ("make of", "turn into"),
    ("makes of", "turns into"),
    ("so many", "name the number"),
    ("so much", "name the amount"),
    ("in vain", "without a result"),
    ("anew", "again"),
    ("afresh", "again"),
    ("meanwhile", "in the meantime, while …"),
    ("besides", "in addition to"),
    ("likewise", "also"),
    ("hence", "so, therefore"),
    ("thus", "so"),
    ("thereof", "of it"),
    ("thereby", "by that"),
    ("therein", "in it"),
    ("whence", "from where"),
    ("lest", "so that … not"),
    ("shall", "must, should"),
    ("ought", "must, should"),
    ("hinder", "prevent"),
    ("hinders", "prevents"),
    ("dear", "expensive"),
    ("reckon", "calculate"),
    ("reckons", "calculates"),
    ("reckoned", "calculated"),
    ("learnt", "learned, observed, completed"),
    ("fall apart", "split"),
    ("falls apart", "splits"),
    ("bear", "sustain"),
    ("bears", "sustains"),
    ("patience", "timeout, budget"),
    ("tired", "whose budget is spent"),
    ("fresh table", "table of L0"),
    ("retirement", "reclamation"),
    ("pace", "rate limit"),
    ("apart because", "say what is separate, and from what"),
];

const NAME_IT: &str = "name the subject: the client, the caller, the thread";

/// Phrases in which a banned word is the right one, and why.
const RIGHT_USES: [(&str, &str); 9] = [
    ("told apart", "the plain word for a distinction"),
    ("stand for", "a placeholder and its value"),
    ("stands for", "a placeholder and its value"),
    ("stand in", "a substitute"),
    ("stands in", "a substitute"),
    ("so many that", "compares: a consequence follows"),
    ("so much that", "compares: a consequence follows"),
    ("kept apart because", "separate things that were named before"),
    ("aws username nobody", "the default in a policy variable, from AWS's documentation"),
];

/// Files that are about the words themselves.
const ABOUT_WORDS: [&str; 2] = ["docs/style.md", "xtask/src/tidy/words.rs"];

/// Each banned word or phrase has a plainer one.
pub fn words_are_plain(path: &str, text: &str) -> Option<String> {
    let covered = [".rs", ".md", ".toml", ".ts", ".tsx"].iter().any(|extension| path.ends_with(extension));
    if !covered || ABOUT_WORDS.contains(&path) {
        return None;
    }
    let words = words(text);
    let (line, phrase, instead) = (0..words.len()).find_map(|at| banned_at(&words, at))?;
    Some(format!("line {line}: instead of `{phrase}`, write: {instead}"))
}

/// The words of a text, in lower case, with their lines.
fn words(text: &str) -> Vec<(usize, String)> {
    let of_line = |(index, line): (usize, &str)| -> Vec<(usize, String)> {
        let parts = line.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        parts.map(|part| (index + 1, part.to_lowercase())).collect()
    };
    text.lines().enumerate().flat_map(of_line).collect()
}

/// The banned phrase that begins at a word, unless a right use covers it.
fn banned_at(words: &[(usize, String)], at: usize) -> Option<(usize, &'static str, &'static str)> {
    let (phrase, instead) = BANNED.iter().find(|(phrase, _)| begins_with(&words[at..], phrase))?;
    let is_right = RIGHT_USES.iter().any(|(right, _)| covers(words, at, right));
    (!is_right).then_some((words[at].0, *phrase, *instead))
}

/// Whether the phrase is found at a place that includes the word at `at`.
fn covers(words: &[(usize, String)], at: usize, phrase: &str) -> bool {
    let length = phrase.split(' ').count();
    (at.saturating_sub(length - 1)..=at).any(|start| begins_with(&words[start..], phrase))
}

fn begins_with(words: &[(usize, String)], phrase: &str) -> bool {
    let mut expected = phrase.split(' ');
    let matched = expected.by_ref().zip(words).take_while(|(expected, (_, word))| expected == word).count();
    matched == phrase.split(' ').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> Option<String> {
        words_are_plain("crates/store-lsm/src/lib.rs", text)
    }

    #[test]
    fn a_banned_word_that_is_put_in_is_found_with_its_line() {
        let found = complaint("fn f() {}\n// Nobody waits for it.\n").unwrap();
        assert!(found.starts_with("line 2: instead of `nobody`"), "{found}");
    }

    #[test]
    fn names_messages_and_broken_phrases_are_looked_at() {
        assert!(complaint("const PATIENCE: u32 = 1;\n").is_some());
        assert!(complaint("bail!(\"the client is told\");\n").is_some());
        assert!(complaint("/// What it makes\n/// of the item.\n").is_some());
        assert!(words_are_plain("docs/cluster.md", "Nobody looks.\n").is_some());
        let page = "crates/studio/ui/src/table/screen.tsx";
        assert!(words_are_plain(page, "<p>What is learnt</p>\n").is_some());
    }

    #[test]
    fn right_uses_whole_words_and_the_page_about_words_pass() {
        assert_eq!(complaint("/// What `#a` stands for. Versions are told apart by number.\n"), None);
        assert_eq!(complaint("/// A namespace that supplies items.\n"), None);
        assert_eq!(words_are_plain("docs/style.md", "Nobody looks in vain.\n"), None);
    }

    #[test]
    fn every_right_use_has_a_banned_word_in_it() {
        for (right, _) in RIGHT_USES {
            let words = words(right);
            let banned = |at| BANNED.iter().any(|(phrase, _)| begins_with(&words[at..], phrase));
            assert!((0..words.len()).any(banned), "{right}");
        }
    }
}
