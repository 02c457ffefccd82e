//! Lines of text as a request with a signature: the first is the address, the others are headers. Nothing that is made
//! up is ever verified, and nothing panics.

#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use iam::file::AccessFile;
use iam::signature::Signature;
use iam::{Authority, Directory};
use libfuzzer_sys::fuzz_target;

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| {
    let file = r#"{"accounts": {"111122223333": {"users": {"alice": {"keys": [{"id": "AKIDEXAMPLE", "secret": "s3cret"}]}}}}}"#;
    let file = AccessFile::parse(file).expect("the file is in order");
    let directory = Directory::new(&file, &|_| Err("no files".to_owned()), None);
    Authority::new(directory.expect("the keys are in order"))
});

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let mut request = http::Request::builder().method("POST").uri(lines.next().unwrap_or("/"));
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        request = request.header(name, value);
    }
    let Ok(request) = request.body(()) else { return };
    let head = request.into_parts().0;
    if let Ok(signature) = Signature::read(&head) {
        let _ = signature.scope("dynamodb", None);
    }
    // Noon of 16 November 2026, the day of the seeds.
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_830_400);
    if let Ok(claim) = AUTHORITY.claim(&head, "dynamodb", now) {
        assert!(claim.verify(b"{}", false).is_err());
    }
});
