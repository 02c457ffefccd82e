//! `lodestone.prove`: patterns of an open file are proven on a thread of its own, while the editor goes on.
//!
//! One proof runs at a time. Its results belong to the version of the text that was proven, and go with it.

use std::collections::BTreeMap;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};
use lsp_server::{RequestId, Response};
use lsp_types::notification::ShowMessage;
use lsp_types::request::{CodeLensRefresh, Request as _};
use lsp_types::{ExecuteCommandParams, MessageType, ShowMessageParams};
use model::Span;
use proof::{Certificate, Verdict};
use serde_json::Value;

use super::{Session, read};

/// What the command is called; its arguments are the file and, unless it is about all, a pattern.
pub const COMMAND: &str = "lodestone.prove";

/// The results for one text.
#[derive(Default)]
pub struct Proofs {
    /// The verdict of each pattern that was proven, and what was found.
    patterns: BTreeMap<String, (&'static str, Span, Vec<String>)>,
    /// What is wrong with the data of the whole model.
    data: Vec<String>,
}

impl Proofs {
    fn keep(&mut self, certificate: &Certificate) {
        self.data = certificate.findings.iter().map(|finding| finding.fault.to_string()).collect();
        for pattern in &certificate.patterns {
            let verdict = match pattern.verdict {
                Verdict::Proven => "✓ proven",
                Verdict::NotProven => "✗ not proven",
                Verdict::Elsewhere => "served elsewhere",
            };
            let found = pattern.findings.iter().map(|finding| finding.fault.to_string()).collect();
            self.patterns.insert(pattern.pattern.clone(), (verdict, pattern.span, found));
        }
    }

    pub fn verdict(&self, pattern: &str) -> Option<&'static str> {
        self.patterns.get(pattern).map(|(verdict, ..)| *verdict)
    }

    /// What was found, and where it is shown: with the pattern, or at the beginning of the file.
    pub fn failures(&self) -> impl Iterator<Item = (Span, String)> + '_ {
        let of_data = self.data.iter().map(|text| (Span::new(0, 0), text.clone()));
        let of_patterns = self
            .patterns
            .values()
            .flat_map(|(_, span, found)| found.iter().map(|text| (*span, format!("not proven: {text}"))));
        of_data.chain(of_patterns)
    }
}

/// A proof that is done.
pub struct Proved {
    request: RequestId,
    file: String,
    version: i32,
    certificate: Certificate,
}

/// The proof that runs, if one does.
pub struct Proving {
    sender: Sender<Proved>,
    pub done: Receiver<Proved>,
    thread: Option<JoinHandle<()>>,
}

impl Default for Proving {
    fn default() -> Proving {
        let (sender, done) = bounded(1);
        Proving { sender, done, thread: None }
    }
}

impl Session<'_> {
    /// Starts a proof. The error says why there is none.
    pub fn prove(&mut self, request: RequestId, params: Value) -> Result<(), String> {
        let params: ExecuteCommandParams = read(params).ok_or("the command can't be read")?;
        if params.command != COMMAND {
            return Err(format!("there is no command {}; there is {COMMAND}", params.command));
        }
        let mut arguments = params.arguments.iter().map(|argument| argument.as_str().map(str::to_owned));
        let file = arguments.next().flatten().ok_or(format!("{COMMAND} takes the URI of an open file"))?;
        let only = arguments.next().flatten();
        let open = self.documents.get(&file).ok_or(format!("{file} is not open"))?;
        let model = open.document.model.clone().ok_or("this is no model yet: its findings say why")?;
        if let Some(unknown) = only.as_ref().filter(|only| model.pattern_named(only).is_none()) {
            return Err(format!("there is no pattern {unknown}"));
        }
        if self.proving.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Err("a proof is running; ask again when it is done".to_owned());
        }
        let (version, sender) = (open.version, self.proving.sender.clone());
        self.proving.thread = Some(thread::spawn(move || {
            let is_wanted = |pattern: &str| only.as_ref().is_none_or(|only| only == pattern);
            let certificate = proof::prove_some(&model, is_wanted);
            // The receiver is gone only if the server ends.
            let _ = sender.send(Proved { request, file, version, certificate });
        }));
        Ok(())
    }

    /// Answers, and shows the result unless the text has changed since.
    pub fn proved(&mut self, proved: Proved) -> Result<(), String> {
        let Proved { request, file, version, certificate } = proved;
        let Some(open) = self.documents.get_mut(&file).filter(|open| open.version == version) else {
            let problem = "the text has changed since; prove it again";
            return self.send(Response::new_err(request, CONTENT_MODIFIED, problem.to_owned()).into());
        };
        open.proofs.keep(&certificate);
        let answer = certificate.json(&open.document.source);
        self.changed.insert(file);
        self.publish()?;
        self.send(Response::new_ok(request, answer).into())?;
        let typ = if certificate.is_proven() { MessageType::INFO } else { MessageType::WARNING };
        let message = certificate.summary().trim_end().to_owned();
        self.notify::<ShowMessage>(ShowMessageParams { typ, message })?;
        if self.editor.refreshes_lenses {
            let id = format!("lenses after {version}").into();
            let refresh = lsp_server::Request::new(id, CodeLensRefresh::METHOD.to_owned(), ());
            self.send(refresh.into())?;
        }
        Ok(())
    }
}

const CONTENT_MODIFIED: i32 = lsp_server::ErrorCode::ContentModified as i32;
