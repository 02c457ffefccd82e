//! The errors' names. An error's full name is `namespace#Name`; most namespaces are the service's.

use crate::encode::Encode;
use crate::{Service, streams};

/// Where an error's name comes from.
#[derive(Clone, Copy)]
enum Namespace {
    /// The check of constraints, which all services share.
    Validation,
    /// The front of all services: parsing, signatures, dispatch.
    Front,
    /// The service itself.
    Service,
    /// DynamoDB Streams, for the two errors that it does not share with DynamoDB.
    Streams,
}

/// Defines the kinds, each with its name and where the name comes from.
macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident = $namespace:ident $name:literal,)*) => {
        /// Which error it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorKind {
            $(
                #[doc = concat!("`", $name, "`")]
                $(#[$doc])*
                $kind,
            )*
        }

        impl ErrorKind {
            const ALL: &[ErrorKind] = &[$(ErrorKind::$kind,)*];

            /// The name without its namespace: `ValidationException`.
            pub fn name(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => $name,)*
                }
            }

            fn namespace(self) -> Namespace {
                match self {
                    $(ErrorKind::$kind => Namespace::$namespace,)*
                }
            }
        }
    };
}

error_kinds! {
    Validation = Validation "ValidationException",
    Serialization = Front "SerializationException",
    UnknownOperation = Front "UnknownOperationException",
    MissingAuthenticationToken = Front "MissingAuthenticationTokenException",
    IncompleteSignature = Front "IncompleteSignatureException",
    InvalidSignature = Front "InvalidSignatureException",
    UnrecognizedClient = Front "UnrecognizedClientException",
    ExpiredToken = Front "ExpiredTokenException",
    AccessDenied = Front "AccessDeniedException",
    ConditionalCheckFailed = Service "ConditionalCheckFailedException",
    /// from a PartiQL statement that asked for the item. Its message has another member name.
    ConditionalCheckFailedOfStatement = Service "ConditionalCheckFailedException",
    DuplicateItem = Service "DuplicateItemException",
    ResourceNotFound = Service "ResourceNotFoundException",
    ResourceInUse = Service "ResourceInUseException",
    TableNotFound = Service "TableNotFoundException",
    GlobalTableNotFound = Service "GlobalTableNotFoundException",
    GlobalTableAlreadyExists = Service "GlobalTableAlreadyExistsException",
    ReplicaNotFound = Service "ReplicaNotFoundException",
    ReplicaAlreadyExists = Service "ReplicaAlreadyExistsException",
    IndexNotFound = Service "IndexNotFoundException",
    TableAlreadyExists = Service "TableAlreadyExistsException",
    TableInUse = Service "TableInUseException",
    ContinuousBackupsUnavailable = Service "ContinuousBackupsUnavailableException",
    BackupNotFound = Service "BackupNotFoundException",
    BackupInUse = Service "BackupInUseException",
    PointInTimeRecoveryUnavailable = Service "PointInTimeRecoveryUnavailableException",
    InvalidRestoreTime = Service "InvalidRestoreTimeException",
    InvalidExportTime = Service "InvalidExportTimeException",
    ExportConflict = Service "ExportConflictException",
    ExportNotFound = Service "ExportNotFoundException",
    ImportConflict = Service "ImportConflictException",
    ImportNotFound = Service "ImportNotFoundException",
    PolicyNotFound = Service "PolicyNotFoundException",
    LimitExceeded = Service "LimitExceededException",
    ItemCollectionSizeLimitExceeded = Service "ItemCollectionSizeLimitExceededException",
    TransactionCanceled = Service "TransactionCanceledException",
    TransactionConflict = Service "TransactionConflictException",
    TransactionInProgress = Service "TransactionInProgressException",
    IdempotentParameterMismatch = Service "IdempotentParameterMismatchException",
    ReplicatedWriteConflict = Service "ReplicatedWriteConflictException",
    ProvisionedThroughputExceeded = Service "ProvisionedThroughputExceededException",
    RequestLimitExceeded = Service "RequestLimitExceeded",
    Throttling = Service "ThrottlingException",
    InternalServerError = Service "InternalServerError",
    ServiceUnavailable = Service "ServiceUnavailable",
    ExpiredIterator = Streams "ExpiredIteratorException",
    TrimmedDataAccess = Streams "TrimmedDataAccessException",
    RequestEntityTooLarge = Front "RequestEntityTooLargeException",
    /// from CloudWatch, as the next ones.
    InvalidParameterValue = Service "InvalidParameterValueException",
    InvalidParameterCombination = Service "InvalidParameterCombinationException",
    MissingRequiredParameter = Service "MissingRequiredParameterException",
    InvalidFormatFault = Service "InvalidFormatFault",
    InvalidNextToken = Service "InvalidNextToken",
    LimitExceededFault = Service "LimitExceededFault",
    InternalServiceFault = Service "InternalServiceFault",
    /// for alarms; other resources of CloudWatch have the name with `Exception`.
    ResourceNotFoundOfCloudWatch = Service "ResourceNotFound",
    /// from Application Auto Scaling, as the next ones.
    ObjectNotFound = Service "ObjectNotFoundException",
    InvalidNextTokenException = Service "InvalidNextTokenException",
    InternalServiceException = Service "InternalServiceException",
    TooManyTags = Service "TooManyTagsException",
    /// from DAX.
    ClusterNotFound = Service "ClusterNotFoundFault",
}

impl ErrorKind {
    /// The kind with this name, which may have a namespace: what a client reads from `__type`.
    pub fn from_type_name(name: &str) -> Option<ErrorKind> {
        let bare = name.rsplit('#').next().unwrap_or(name);
        ErrorKind::ALL.iter().copied().find(|kind| kind.name() == bare)
    }

    /// The body's `__type`: `com.amazon.coral.validate#ValidationException`.
    pub(super) fn type_name(self, service: Service) -> TypeName {
        let namespace = match self.namespace() {
            Namespace::Validation => Some("com.amazon.coral.validate"),
            Namespace::Front => Some("com.amazon.coral.service"),
            Namespace::Service => service.error_namespace(),
            Namespace::Streams => Some(streams::NAMESPACE),
        };
        TypeName { namespace, name: self.name() }
    }

    /// The name of the body's member that holds the message.
    pub(super) fn message_member(self, service: Service) -> &'static str {
        match self {
            ErrorKind::Serialization
            | ErrorKind::AccessDenied
            | ErrorKind::ConditionalCheckFailedOfStatement
            | ErrorKind::TransactionCanceled
            | ErrorKind::TransactionInProgress
            | ErrorKind::IdempotentParameterMismatch => "Message",
            _ if service == Service::ApplicationAutoScaling => "Message",
            _ => "message",
        }
    }
}

/// An error's full name.
pub(super) struct TypeName {
    namespace: Option<&'static str>,
    name: &'static str,
}

impl Encode for TypeName {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        if let Some(namespace) = self.namespace {
            out.extend_from_slice(namespace.as_bytes());
            out.push(b'#');
        }
        out.extend_from_slice(self.name.as_bytes());
        out.push(b'"');
    }
}
