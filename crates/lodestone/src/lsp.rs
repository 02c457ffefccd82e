//! `lodestone lsp`: a language server for model files, on standard input and output.
//!
//! What a position means is decided by `model::editor`; here are only the protocol's messages. Texts come whole with
//! each change. Findings are published when no further message waits, so that fast typing is checked once. A proof runs
//! on a thread of its own (`proving.rs`), one at a time.

mod answer;
mod lines;
mod proving;

use std::collections::{BTreeSet, HashMap};

use clap::Args;
use crossbeam_channel::select;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{
    CodeActionRequest, CodeLensRequest, Completion, DocumentSymbolRequest, ExecuteCommand, GotoDefinition,
    HoverRequest, References, Request as _,
};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, CompletionOptions,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    ExecuteCommandOptions, OneOf, PositionEncodingKind, PublishDiagnosticsParams, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use model::Source;
use model::editor::Document;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use answer::Picture;
use lines::{Encoding, Lines};
use proving::{Proofs, Proving};

/// Check model files in an editor: findings as you type, plans and costs, completion, quick fixes.
///
/// An editor starts it and speaks the Language Server Protocol with it on standard input and output. `docs/editors.md`
/// says how to set up VS Code, Neovim, Helix, Zed and others.
#[derive(Args)]
pub struct Lsp {
    /// Where the pages of the rules are, as `https://example.com/docs/rules`. Findings then link to theirs.
    #[arg(long, value_name = "URL")]
    rule_pages: Option<String>,

    /// Accepted because many editors add it; there is no other way to talk.
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Open files at once. An editor opens a handful; more are a mistake, and are not looked at.
const DOCUMENTS_MAX: usize = 256;

impl Lsp {
    pub fn run(self) -> Result<(), String> {
        let (connection, threads) = Connection::stdio();
        let served = self.serve(&connection);
        // The threads end when the channels are closed.
        drop(connection);
        served?;
        threads.join().map_err(|error| error.to_string())
    }

    fn serve(self, connection: &Connection) -> Result<(), String> {
        let (id, parameters) = connection.initialize_start().map_err(|error| error.to_string())?;
        let editor = Editor::read(&parameters);
        let server = json!({ "name": "lodestone", "version": env!("CARGO_PKG_VERSION") });
        let answer = json!({ "capabilities": capabilities(editor.encoding), "serverInfo": server });
        connection.initialize_finish(id, answer).map_err(|error| error.to_string())?;
        let pages = self.rule_pages.map(|pages| pages.trim_end_matches('/').to_owned());
        let (documents, changed) = (HashMap::new(), BTreeSet::new());
        Session { connection, editor, pages, documents, changed, proving: Proving::default() }.run()
    }
}

/// Only this of all that an editor says of itself is needed, so the rest is not read.
struct Editor {
    encoding: Encoding,
    /// Asks for lenses again when it is sent `workspace/codeLens/refresh`.
    refreshes_lenses: bool,
    /// Has the command `lodestone.showPicture`.
    shows_pictures: bool,
}

impl Editor {
    fn read(parameters: &Value) -> Editor {
        let is_set = |pointer: &str| parameters.pointer(pointer).and_then(Value::as_bool) == Some(true);
        Editor {
            encoding: encoding(parameters),
            refreshes_lenses: is_set("/capabilities/workspace/codeLens/refreshSupport"),
            shows_pictures: is_set("/initializationOptions/showsPictures"),
        }
    }
}

fn encoding(parameters: &Value) -> Encoding {
    let offered = parameters.pointer("/capabilities/general/positionEncodings").and_then(Value::as_array);
    match offered
        .is_some_and(|offered| offered.iter().any(|kind| kind == PositionEncodingKind::UTF8.as_str()))
    {
        true => Encoding::Utf8,
        false => Encoding::Utf16,
    }
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let triggers = [" ", ":", "{", "[", "(", ",", "\"", "."];
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(true.into()),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(triggers.map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![proving::COMMAND.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// A file that the editor has open.
struct Open {
    document: Document,
    lines: Lines,
    version: i32,
    /// What was proven of this text.
    proofs: Proofs,
}

impl Open {
    fn new(uri: &Uri, version: i32, text: String, encoding: Encoding) -> Open {
        let lines = Lines::new(&text, encoding);
        let document = Document::new(Source::new(uri.as_str(), text));
        Open { document, lines, version, proofs: Proofs::default() }
    }
}

struct Session<'c> {
    connection: &'c Connection,
    editor: Editor,
    /// Where the pages of the rules are.
    pages: Option<String>,
    documents: HashMap<String, Open>,
    /// Texts that wait to be looked at.
    changed: BTreeSet<String>,
    proving: Proving,
}

impl Session<'_> {
    fn run(mut self) -> Result<(), String> {
        loop {
            let message = select! {
                recv(self.connection.receiver) -> message => message,
                recv(self.proving.done) -> proved => {
                    self.proved(proved.map_err(|error| error.to_string())?)?;
                    continue;
                }
            };
            match message {
                Ok(Message::Request(request)) => {
                    if self.connection.handle_shutdown(&request).map_err(|error| error.to_string())? {
                        return Ok(());
                    }
                    self.answer(request)?;
                }
                Ok(Message::Notification(notification)) => self.note(notification)?,
                Ok(Message::Response(_)) => {}
                Err(_) => return Ok(()),
            }
            if self.connection.receiver.is_empty() {
                self.publish()?;
            }
        }
    }

    fn send(&self, message: Message) -> Result<(), String> {
        self.connection.sender.send(message).map_err(|_| "the editor is gone".to_owned())
    }

    fn note(&mut self, notification: Notification) -> Result<(), String> {
        let Notification { method, params } = notification;
        match method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Some(DidOpenTextDocumentParams { text_document: opened }) = read(params) {
                    self.change(&opened.uri, opened.version, opened.text);
                }
            }
            DidChangeTextDocument::METHOD => {
                if let Some(DidChangeTextDocumentParams { text_document, content_changes }) = read(params)
                    && let Some(last) = content_changes.into_iter().last()
                {
                    self.change(&text_document.uri, text_document.version, last.text);
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Some(DidCloseTextDocumentParams { text_document }) = read(params) {
                    self.documents.remove(text_document.uri.as_str());
                    self.changed.remove(text_document.uri.as_str());
                    self.notify::<PublishDiagnostics>(PublishDiagnosticsParams::new(
                        text_document.uri,
                        Vec::new(),
                        None,
                    ))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn change(&mut self, uri: &Uri, version: i32, text: String) {
        let name = uri.as_str().to_owned();
        if self.documents.len() < DOCUMENTS_MAX || self.documents.contains_key(&name) {
            self.documents.insert(name.clone(), Open::new(uri, version, text, self.editor.encoding));
            self.changed.insert(name);
        }
    }

    /// The findings of all texts that have changed.
    fn publish(&mut self) -> Result<(), String> {
        for name in std::mem::take(&mut self.changed) {
            let (Some(open), Ok(uri)) = (self.documents.get(&name), name.parse::<Uri>()) else { continue };
            let found = answer::diagnostics(open, &uri, self.pages.as_deref());
            self.notify::<PublishDiagnostics>(PublishDiagnosticsParams::new(uri, found, Some(open.version)))?;
        }
        Ok(())
    }

    fn notify<N>(&self, parameters: N::Params) -> Result<(), String>
    where
        N: lsp_types::notification::Notification<Params: Serialize>,
    {
        self.send(Notification::new(N::METHOD.to_owned(), parameters).into())
    }

    fn answer(&mut self, request: Request) -> Result<(), String> {
        let Request { id, method, params } = request;
        let answer = match method.as_str() {
            HoverRequest::METHOD => self.about::<HoverRequest>(id, params, answer::hover),
            Completion::METHOD => self.about::<Completion>(id, params, answer::completions),
            GotoDefinition::METHOD => self.about::<GotoDefinition>(id, params, answer::definition),
            References::METHOD => self.about::<References>(id, params, answer::references),
            DocumentSymbolRequest::METHOD => self.about::<DocumentSymbolRequest>(id, params, answer::symbols),
            CodeActionRequest::METHOD => self.about::<CodeActionRequest>(id, params, answer::actions),
            CodeLensRequest::METHOD if self.editor.shows_pictures => {
                self.about::<CodeLensRequest>(id, params, answer::lenses_and_picture)
            }
            CodeLensRequest::METHOD => self.about::<CodeLensRequest>(id, params, answer::lenses),
            Picture::METHOD => self.about::<Picture>(id, params, answer::picture),
            // Its answer comes when the proof is done.
            ExecuteCommand::METHOD => match self.prove(id.clone(), params) {
                Ok(()) => return Ok(()),
                Err(problem) => Response::new_err(id, ErrorCode::RequestFailed as i32, problem),
            },
            _ => Response::new_err(id, ErrorCode::MethodNotFound as i32, format!("{method} is not served")),
        };
        self.send(answer.into())
    }

    /// A request about an open file. Nothing is known about others.
    fn about<R>(&self, id: RequestId, params: Value, answer: fn(&Open, &R::Params) -> R::Result) -> Response
    where
        R: lsp_types::request::Request<Params: DeserializeOwned + answer::About, Result: Serialize>,
    {
        let params: R::Params = match serde_json::from_value(params) {
            Ok(params) => params,
            Err(error) => return Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
        };
        match self.documents.get(answer::About::uri(&params).as_str()) {
            Some(open) => Response::new_ok(id, answer(open, &params)),
            None => Response::new_ok(id, Value::Null),
        }
    }
}

/// A notification that can't be read is ignored: notifications have no answer that could hold an error.
fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}
