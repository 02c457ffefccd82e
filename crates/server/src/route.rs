//! Which handler answers a method and path.
//!
//! To add one: a variant of [`Handler`], a line in [`ROUTES`], and its arm in `exchange.rs`.

use crate::administration::Task;
use hyper::Method;

/// What answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handler {
    /// An operation of a service, named by `X-Amz-Target`; its input is the JSON body.
    JsonCall,
    Health,
    Metrics,
    Administration(Task),
    /// Test runners, if the server has a guard.
    Guard,
}

#[derive(Debug)]
struct Route {
    method: Method,
    path: &'static str,
    handler: Handler,
}

const fn post(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::POST, path, handler }
}

const fn get(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::GET, path, handler }
}

/// In the order of how often they are asked for.
const ROUTES: &[Route] = &[
    post("/", Handler::JsonCall),
    get("/", Handler::Health),
    Route { method: Method::HEAD, path: "/", handler: Handler::Health },
    get("/metrics", Handler::Metrics),
    post("/lodestone/checkpoint", Handler::Administration(Task::Checkpoint)),
    post("/lodestone/hand-over", Handler::Administration(Task::HandOver)),
    post("/lodestone/capacity", Handler::Administration(Task::Capacity)),
    post("/lodestone/guard", Handler::Guard),
    post("/lodestone/faults", Handler::Administration(Task::Faults)),
    post("/lodestone/heat", Handler::Administration(Task::Heat)),
    post("/lodestone/regions", Handler::Administration(Task::Regions)),
    post("/lodestone/requests", Handler::Administration(Task::Requests)),
];

impl Handler {
    /// `None` if nothing is served there.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Handler> {
        let route = ROUTES.iter().find(|route| route.path == path && route.method == *method);
        route.map(|route| route.handler)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_handler_for_its_methods_alone() {
        assert_eq!(Handler::of(&Method::POST, "/"), Some(Handler::JsonCall));
        assert_eq!(Handler::of(&Method::GET, "/"), Some(Handler::Health));
        assert_eq!(Handler::of(&Method::HEAD, "/"), Some(Handler::Health));
        assert_eq!(Handler::of(&Method::GET, "/metrics"), Some(Handler::Metrics));
        for (method, path) in [
            (Method::PUT, "/"),
            (Method::POST, "/metrics"),
            (Method::GET, "/metrics/"),
            (Method::GET, "/lodestone/checkpoint"),
            (Method::GET, "//"),
            (Method::GET, ""),
        ] {
            assert_eq!(Handler::of(&method, path), None, "{method} {path}");
        }
    }
}
