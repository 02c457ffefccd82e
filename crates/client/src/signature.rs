//! AWS Signature Version 4, for the only kind of request that this client sends: POST, no query.
//!
//! The signature covers a hash of the canonical request. The signing key is derived from the secret, the
//! day, the Region and the service, so it is useless elsewhere.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::Credentials;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";

/// The value of `Authorization`. The path has only letters, digits, `-` and `/`. The headers must be sorted by name and
/// contain `x-amz-date`.
pub fn authorization(
    credentials: &Credentials,
    (region, service): (&str, &str),
    path: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> String {
    let time = headers.iter().find(|(name, _)| *name == "x-amz-date").map_or("", |(_, value)| value.as_str());
    let day = time.split('T').next().unwrap_or_default();
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let request = format!("POST\n{path}\n\n{lines}\n{names}\n{}", hexadecimal(&Sha256::digest(body)));

    let scope = format!("{day}/{region}/{service}/{TERMINATOR}");
    let signed = format!("{ALGORITHM}\n{time}\n{scope}\n{}", hexadecimal(&Sha256::digest(request)));
    let key = [day, region, service, TERMINATOR]
        .into_iter()
        .fold(format!("AWS4{}", credentials.secret_access_key).into_bytes(), |key, part| hmac(&key, part));
    let signature = hexadecimal(&hmac(&key, &signed));
    format!(
        "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        credentials.access_key_id
    )
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    hmac.update(text.as_bytes());
    hmac.finalize().into_bytes().to_vec()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What botocore 1.44.0 computes for the same request.
    fn check(token: Option<&str>, names: &str, signature: &str) {
        let credentials = Credentials {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
        };
        let fixed = [
            Some(("content-type", "application/x-amz-json-1.0")),
            Some(("host", "localhost:8000")),
            Some(("x-amz-date", "20261116T023342Z")),
            token.map(|token| ("x-amz-security-token", token)),
            Some(("x-amz-target", "DynamoDB_20120810.DescribeTable")),
        ];
        let headers: Vec<_> =
            fixed.into_iter().flatten().map(|(name, value)| (name, value.to_owned())).collect();
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261116/eu-west-1/dynamodb/aws4_request, \
             SignedHeaders={names}, Signature={signature}"
        );
        assert_eq!(
            authorization(
                &credentials,
                ("eu-west-1", "dynamodb"),
                "/",
                &headers,
                br#"{"TableName":"Songs"}"#
            ),
            expected
        );
    }

    #[test]
    fn requests_are_signed_as_aws_signs_them() {
        check(
            None,
            "content-type;host;x-amz-date;x-amz-target",
            "1ae77226aa7c7db9a970e8f29ca212481e0ab7c2959e654eea5e00e9d1623703",
        );
        check(
            Some("a-session"),
            "content-type;host;x-amz-date;x-amz-security-token;x-amz-target",
            "0ada0aa4ca84b9735807b226937e34508c8423e2ba078231e7ebee51d2c1d9f2",
        );
    }
}
