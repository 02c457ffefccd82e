//! Why a request is refused: the reasons that DynamoDB gives since 2025.

/// Whether a request reads or writes. Both have their own throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It uses read units.
    Read,
    /// It uses write units.
    Write,
}

impl Access {
    /// Both, in the order of [`Access::position`].
    pub const BOTH: [Access; 2] = [Access::Read, Access::Write];

    /// The place of its figure in a pair.
    pub fn position(self) -> usize {
        match self {
            Access::Read => 0,
            Access::Write => 1,
        }
    }

    /// The word that names of reasons and metrics carry.
    pub fn as_str(self) -> &'static str {
        match self {
            Access::Read => "Read",
            Access::Write => "Write",
        }
    }
}

/// Which limit a request met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The provisioned units, and the units saved up, are used.
    ProvisionedThroughputExceeded,
    /// A partition gets more than it sustains, or an on-demand table more than it has grown to.
    KeyRangeThroughputExceeded,
    /// The maximum that an on-demand table sets itself is used.
    MaxOnDemandThroughputExceeded,
    /// An on-demand table uses more than the account's quota for one table.
    AccountLimitExceeded,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 4] = [
        Cause::ProvisionedThroughputExceeded,
        Cause::KeyRangeThroughputExceeded,
        Cause::MaxOnDemandThroughputExceeded,
        Cause::AccountLimitExceeded,
    ];

    /// The end of the reason's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
            Cause::KeyRangeThroughputExceeded => "KeyRangeThroughputExceeded",
            Cause::MaxOnDemandThroughputExceeded => "MaxOnDemandThroughputExceeded",
            Cause::AccountLimitExceeded => "AccountLimitExceeded",
        }
    }
}

/// A table, or one of its global indexes. Local indexes use their table's throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The table itself.
    Table,
    /// A global index, by the number that the caller gave it.
    Index(u64),
}

/// One refusal: what refuses, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reason {
    /// The table or index that refuses.
    pub place: Place,
    /// What the request wanted to do there.
    pub access: Access,
    /// The limit that it met.
    pub cause: Cause,
}

impl Reason {
    /// The name in `ThrottlingReasons`, such as `TableWriteKeyRangeThroughputExceeded`.
    pub fn name(&self) -> String {
        let place = match self.place {
            Place::Table => "Table",
            Place::Index(_) => "Index",
        };
        format!("{place}{}{}", self.access.as_str(), self.cause.as_str())
    }
}

/// Whether a request is admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is served and charged.
    Admitted,
    /// It is served, but AWS would have refused it. It is not charged, as nothing is charged there.
    WouldThrottle(Vec<Reason>),
    /// It is refused, and nothing of it is charged.
    Throttled(Vec<Reason>),
}

impl Decision {
    /// Whether the request is served.
    pub fn is_served(&self) -> bool {
        !matches!(self, Decision::Throttled(_))
    }

    /// The limits that the request met, enforced or not.
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Decision::Admitted => &[],
            Decision::WouldThrottle(reasons) | Decision::Throttled(reasons) => reasons,
        }
    }
}

/// Which limits a server counts, and which it enforces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Enforcement {
    /// All requests are served, and what AWS would refuse is counted.
    #[default]
    Shadow,
    /// What a table sets itself is enforced: provisioned units and on-demand maxima. Nothing else counts.
    Declared,
    /// All limits that AWS has are enforced.
    Aws,
    /// Nothing is counted or enforced.
    Off,
}

impl Enforcement {
    /// All of them, in the order of the help text.
    pub const ALL: [Enforcement; 4] =
        [Enforcement::Shadow, Enforcement::Declared, Enforcement::Aws, Enforcement::Off];

    /// As it is written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Enforcement::Shadow => "shadow",
            Enforcement::Declared => "declared",
            Enforcement::Aws => "aws",
            Enforcement::Off => "off",
        }
    }

    /// Whether partitions, on-demand growth and quotas count.
    pub fn models_aws(self) -> bool {
        matches!(self, Enforcement::Shadow | Enforcement::Aws)
    }
}
