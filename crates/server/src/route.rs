//! Which handler answers a method and path.
//!
//! To add one: a variant of [`Handler`], a line in [`ROUTES`], and its arm in `exchange.rs`. The first
//! line that fits wins, so an exact path comes before a prefix of it.

use hyper::Method;

/// What answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handler {
    /// An operation of a service, named by `X-Amz-Target`; its input is the JSON body.
    JsonCall,
    Health,
    Metrics,
    Checkpoint,
    HandOver,
    Capacity,
    Faults,
    Heat,
    Regions,
    Requests,
}

#[derive(Debug)]
enum Path {
    Exact(&'static str),
    #[cfg_attr(not(test), expect(dead_code, reason = "no route of today has paths below it"))]
    Prefix(&'static str),
}

#[derive(Debug)]
struct Route {
    method: Method,
    path: Path,
    handler: Handler,
}

/// In the order of how often they are asked for.
const ROUTES: &[Route] = &[
    Route { method: Method::POST, path: Path::Exact("/"), handler: Handler::JsonCall },
    Route { method: Method::GET, path: Path::Exact("/"), handler: Handler::Health },
    Route { method: Method::GET, path: Path::Exact("/metrics"), handler: Handler::Metrics },
    Route { method: Method::POST, path: Path::Exact("/lodestone/checkpoint"), handler: Handler::Checkpoint },
    Route { method: Method::POST, path: Path::Exact("/lodestone/hand-over"), handler: Handler::HandOver },
    Route { method: Method::POST, path: Path::Exact("/lodestone/capacity"), handler: Handler::Capacity },
    Route { method: Method::POST, path: Path::Exact("/lodestone/faults"), handler: Handler::Faults },
    Route { method: Method::POST, path: Path::Exact("/lodestone/heat"), handler: Handler::Heat },
    Route { method: Method::POST, path: Path::Exact("/lodestone/regions"), handler: Handler::Regions },
    Route { method: Method::POST, path: Path::Exact("/lodestone/requests"), handler: Handler::Requests },
];

impl Handler {
    /// `None` if nothing is served there.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Handler> {
        find(ROUTES, method, path)
    }
}

fn find(routes: &[Route], method: &Method, path: &str) -> Option<Handler> {
    routes.iter().find(|route| route.fits(method, path)).map(|route| route.handler)
}

impl Route {
    fn fits(&self, method: &Method, path: &str) -> bool {
        let path_fits = match self.path {
            Path::Exact(exact) => path == exact,
            Path::Prefix(prefix) => path.starts_with(prefix),
        };
        path_fits && self.method == *method
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_handler_for_its_methods_alone() {
        assert_eq!(Handler::of(&Method::POST, "/"), Some(Handler::JsonCall));
        assert_eq!(Handler::of(&Method::GET, "/"), Some(Handler::Health));
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

    #[test]
    fn a_prefix_serves_every_path_below_it_but_for_those_named_before() {
        let route = |path, handler| Route { method: Method::GET, path, handler };
        let routes = [
            route(Path::Exact("/studio/health"), Handler::Health),
            route(Path::Prefix("/studio/"), Handler::Metrics),
        ];
        assert_eq!(find(&routes, &Method::GET, "/studio/health"), Some(Handler::Health));
        assert_eq!(find(&routes, &Method::GET, "/studio/"), Some(Handler::Metrics));
        assert_eq!(find(&routes, &Method::GET, "/studio/a/b.js"), Some(Handler::Metrics));
        assert_eq!(find(&routes, &Method::GET, "/studio"), None);
    }
}
