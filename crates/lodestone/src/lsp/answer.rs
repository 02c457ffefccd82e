//! What the editor module says, in the protocol's words.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, CodeDescription,
    CodeLens, CodeLensParams, Command, CompletionItem, CompletionItemKind, CompletionParams,
    CompletionResponse, CompletionTextEdit, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity,
    DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, GotoDefinitionParams,
    GotoDefinitionResponse, Hover, HoverContents, HoverParams, Location, MarkupContent, MarkupKind,
    NumberOrString, ReferenceParams, SymbolKind, TextDocumentIdentifier, TextDocumentPositionParams,
    TextEdit, Uri, WorkspaceEdit,
};
use model::editor::{CompletionKind, NameKind, QuickFix, Symbol};
use model::{Level, Span, diagnostic};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Open, proving};

/// A request about a file.
pub trait About {
    fn uri(&self) -> &Uri;
}

impl About for HoverParams {
    fn uri(&self) -> &Uri {
        &self.text_document_position_params.text_document.uri
    }
}

impl About for CompletionParams {
    fn uri(&self) -> &Uri {
        &self.text_document_position.text_document.uri
    }
}

impl About for GotoDefinitionParams {
    fn uri(&self) -> &Uri {
        &self.text_document_position_params.text_document.uri
    }
}

impl About for ReferenceParams {
    fn uri(&self) -> &Uri {
        &self.text_document_position.text_document.uri
    }
}

impl About for DocumentSymbolParams {
    fn uri(&self) -> &Uri {
        &self.text_document.uri
    }
}

impl About for CodeActionParams {
    fn uri(&self) -> &Uri {
        &self.text_document.uri
    }
}

impl About for CodeLensParams {
    fn uri(&self) -> &Uri {
        &self.text_document.uri
    }
}

/// `lodestone/picture`: the picture of a file's model, which no method of the protocol has.
pub enum Picture {}

impl lsp_types::request::Request for Picture {
    type Params = PictureParams;
    type Result = Option<DrawnPicture>;
    const METHOD: &'static str = "lodestone/picture";
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureParams {
    text_document: TextDocumentIdentifier,
}

#[derive(Serialize, Deserialize)]
pub struct DrawnPicture {
    svg: String,
}

impl About for PictureParams {
    fn uri(&self) -> &Uri {
        &self.text_document.uri
    }
}

/// None while the text is no model.
pub fn picture(open: &Open, _: &PictureParams) -> Option<DrawnPicture> {
    Some(DrawnPicture { svg: model::picture::svg(open.document.model.as_ref()?) })
}

impl Open {
    fn text(&self) -> &str {
        &self.document.source.text
    }

    fn byte(&self, position: &TextDocumentPositionParams) -> usize {
        self.lines.byte(self.text(), position.position)
    }

    fn range(&self, span: Span) -> lsp_types::Range {
        self.lines.range(self.text(), span)
    }
}

/// `pages` is the folder of the rules' pages, to link to.
pub fn diagnostics(open: &Open, uri: &Uri, pages: Option<&str>) -> Vec<Diagnostic> {
    let counting = open.document.diagnostics.iter().filter(|one| one.allowed.is_none());
    let of_proofs = open.proofs.failures().map(|(span, message)| Diagnostic {
        range: open.range(shown(open.text(), span)),
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("lodestone prove".to_owned()),
        message,
        ..Diagnostic::default()
    });
    counting.map(|one| diagnostic(open, uri, pages, one)).chain(of_proofs).collect()
}

fn diagnostic(open: &Open, uri: &Uri, pages: Option<&str>, found: &model::Diagnostic) -> Diagnostic {
    let related = found.related.iter().map(|(span, note)| DiagnosticRelatedInformation {
        location: Location::new(uri.clone(), open.range(*span)),
        message: note.clone(),
    });
    let page = found.rule.zip(pages).and_then(|(rule, pages)| format!("{pages}/{rule}.md").parse().ok());
    Diagnostic {
        range: open.range(shown(open.text(), found.span)),
        severity: Some(match found.level {
            Level::Error => DiagnosticSeverity::ERROR,
            Level::Warning => DiagnosticSeverity::WARNING,
            Level::Info => DiagnosticSeverity::INFORMATION,
        }),
        code: found.rule.map(|rule| NumberOrString::String(rule.to_string())),
        code_description: page.map(|href| CodeDescription { href }),
        source: Some("lodestone".to_owned()),
        message: message(found),
        related_information: Some(related.collect()),
        ..Diagnostic::default()
    }
}

fn message(found: &diagnostic::Diagnostic) -> String {
    let label = Some(&found.label).filter(|label| !label.is_empty()).map(|label| format!(" ({label})"));
    let mut text = format!("{}{}", found.message, label.unwrap_or_default());
    let more = [("", &found.why), ("help: ", &found.help)];
    for (kind, line) in more.into_iter().filter_map(|(kind, line)| Some((kind, line.as_ref()?))) {
        text.push_str(&format!("\n{kind}{line}"));
    }
    text
}

/// Only the first line of a long span is underlined: it is enough to find it.
fn shown(text: &str, span: Span) -> Span {
    let first_line = text.get(span.range()).and_then(|text| text.find('\n'));
    first_line.map_or(span, |newline| Span::new(span.start, span.start + newline))
}

pub fn hover(open: &Open, params: &HoverParams) -> Option<Hover> {
    let hover = open.document.hover(open.byte(&params.text_document_position_params))?;
    let contents = MarkupContent { kind: MarkupKind::Markdown, value: hover.markdown };
    Some(Hover { contents: HoverContents::Markup(contents), range: Some(open.range(hover.span)) })
}

pub fn completions(open: &Open, params: &CompletionParams) -> Option<CompletionResponse> {
    let offered = open.document.completions(open.byte(&params.text_document_position));
    let item = |one: model::editor::Completion| CompletionItem {
        kind: Some(match one.kind {
            CompletionKind::Member => CompletionItemKind::PROPERTY,
            CompletionKind::Value => CompletionItemKind::ENUM_MEMBER,
            CompletionKind::Function => CompletionItemKind::FUNCTION,
            CompletionKind::Name(NameKind::Entity | NameKind::Table) => CompletionItemKind::CLASS,
            CompletionKind::Name(NameKind::Attribute) => CompletionItemKind::FIELD,
            CompletionKind::Name(_) => CompletionItemKind::REFERENCE,
        }),
        detail: Some(one.detail),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(open.range(one.span), one.text))),
        ..CompletionItem::new_simple(one.label, String::new())
    };
    Some(CompletionResponse::Array(offered.into_iter().map(item).collect()))
}

pub fn definition(open: &Open, params: &GotoDefinitionParams) -> Option<GotoDefinitionResponse> {
    let at = &params.text_document_position_params;
    let symbol = open.document.definition(open.byte(at))?;
    let location = Location::new(at.text_document.uri.clone(), open.range(symbol.name_span));
    Some(GotoDefinitionResponse::Scalar(location))
}

pub fn references(open: &Open, params: &ReferenceParams) -> Option<Vec<Location>> {
    let at = &params.text_document_position;
    let byte = open.byte(at);
    let declared = open.document.definition(byte)?.name_span;
    let spans = open.document.references(byte).into_iter();
    let wanted = spans.filter(|span| params.context.include_declaration || *span != declared);
    Some(wanted.map(|span| Location::new(at.text_document.uri.clone(), open.range(span))).collect())
}

pub fn symbols(open: &Open, _: &DocumentSymbolParams) -> Option<DocumentSymbolResponse> {
    let symbols = open.document.symbols();
    Some(DocumentSymbolResponse::Nested(symbols.iter().map(|one| symbol(open, one)).collect()))
}

#[expect(deprecated, reason = "the protocol's type still has the member `deprecated`")]
fn symbol(open: &Open, one: &Symbol) -> DocumentSymbol {
    let (kind, detail) = match one.kind {
        NameKind::Table => (SymbolKind::STRUCT, "table"),
        NameKind::Index => (SymbolKind::INTERFACE, "index"),
        NameKind::Entity => (SymbolKind::CLASS, "entity"),
        NameKind::Attribute => (SymbolKind::FIELD, "attribute"),
        NameKind::Pattern => (SymbolKind::METHOD, "pattern"),
        NameKind::Sample => (SymbolKind::OBJECT, "sample"),
        NameKind::Curve => (SymbolKind::ARRAY, "curve"),
    };
    DocumentSymbol {
        name: one.name.clone(),
        detail: Some(detail.to_owned()),
        kind,
        tags: None,
        deprecated: None,
        range: open.range(one.span.to(one.name_span)),
        selection_range: open.range(one.name_span),
        children: Some(one.children.iter().map(|one| symbol(open, one)).collect()),
    }
}

/// The quick fixes of the findings that the editor's selection touches.
pub fn actions(open: &Open, params: &CodeActionParams) -> Option<CodeActionResponse> {
    let uri = &params.text_document.uri;
    let start = open.lines.byte(open.text(), params.range.start);
    let end = open.lines.byte(open.text(), params.range.end);
    let touched = open.document.diagnostics.iter().filter(|one| {
        let span = shown(open.text(), one.span);
        one.allowed.is_none() && span.start <= end && start <= span.end
    });
    let actions = touched.flat_map(|found| {
        let shown = diagnostic(open, uri, None, found);
        let fixes = open.document.quick_fixes(found);
        fixes.into_iter().map(move |fix| action(open, uri, shown.clone(), fix))
    });
    Some(actions.map(CodeActionOrCommand::CodeAction).collect())
}

fn action(open: &Open, uri: &Uri, cured: Diagnostic, fix: QuickFix) -> CodeAction {
    let edits = fix.edits.into_iter().map(|edit| TextEdit::new(open.range(edit.span), edit.text));
    #[expect(clippy::mutable_key_type, reason = "the protocol's type is a map by URI")]
    let changes = [(uri.clone(), edits.collect())].into_iter().collect();
    CodeAction {
        title: fix.title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![cured]),
        edit: Some(WorkspaceEdit::new(changes)),
        is_preferred: fix.cures.then_some(true),
        ..CodeAction::default()
    }
}

/// The price of the file; above each pattern its request and price, and a command that proves it.
pub fn lenses(open: &Open, params: &CodeLensParams) -> Option<Vec<CodeLens>> {
    let uri = params.text_document.uri.as_str();
    let lenses = open.document.lenses().into_iter().flat_map(|one| {
        let range = open.range(one.span);
        let title = match &one.pattern {
            None => "prove all patterns".to_owned(),
            Some(pattern) => open.proofs.verdict(pattern).unwrap_or("prove this pattern").to_owned(),
        };
        let of_pattern = one.pattern.map(|pattern| json!(pattern));
        let arguments = [json!(uri)].into_iter().chain(of_pattern).collect();
        // A command without a name is a text alone.
        let commands = [
            Command { title: one.text, ..Command::default() },
            Command { title, command: proving::COMMAND.to_owned(), arguments: Some(arguments) },
        ];
        commands.map(|command| CodeLens { range, command: Some(command), data: None })
    });
    Some(lenses.collect())
}

/// The same for an editor that shows the model's picture.
pub fn lenses_and_picture(open: &Open, params: &CodeLensParams) -> Option<Vec<CodeLens>> {
    let mut lenses = lenses(open, params)?;
    if let Some(first) = lenses.first() {
        let command = Command {
            title: "show the picture".to_owned(),
            command: "lodestone.showPicture".to_owned(),
            arguments: Some(vec![json!(params.text_document.uri.as_str())]),
        };
        lenses.insert(1, CodeLens { range: first.range, command: Some(command), data: None });
    }
    Some(lenses)
}
