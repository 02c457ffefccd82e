//! Strings out of a fixed set.

/// An enum whose values the service names.
pub(crate) trait Enumeration: Default {
    /// All values, as messages list them.
    const VALUES: &'static str;

    fn from_name(name: &str) -> Option<Self>;
}

/// Defines an enum with the service's name for each variant. Messages list the values in the order of the
/// variants, unless `listed` says otherwise. The first variant is the default: it stands in for a value that
/// was reported as a violation.
macro_rules! enumeration {
    ($(#[$doc:meta])* $name:ident { $first:ident = $first_text:literal, $($variant:ident = $text:literal,)* }) => {
        enumeration! {
            $(#[$doc])*
            $name listed (concat!($first_text $(, ", ", $text)*)) {
                $first = $first_text,
                $($variant = $text,)*
            }
        }
    };
    ($(#[$doc:meta])* $name:ident listed $listed:tt { $first:ident = $first_text:literal, $($variant:ident = $text:literal,)* }) => {
        /// A string out of a fixed set.
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "variants are named by the service")]
        pub enum $name {
            #[default]
            $first,
            $($variant,)*
        }

        impl $name {
            /// The service's name for the value.
            pub fn as_str(self) -> &'static str {
                match self {
                    $name::$first => $first_text,
                    $($name::$variant => $text,)*
                }
            }
        }

        impl crate::enumeration::Enumeration for $name {
            const VALUES: &'static str = $listed;

            fn from_name(name: &str) -> Option<$name> {
                Some(match name {
                    $first_text => $name::$first,
                    $($text => $name::$variant,)*
                    _ => return None,
                })
            }
        }

        impl crate::encode::Encode for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                self.as_str().encode(out);
            }
        }
    };
}

pub(crate) use enumeration;
