//! Which files are searched, and in which order.

use std::io;
use std::path::PathBuf;

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;

use crate::{Problem, Request};

/// Gives the files of a request in the order of their paths; an error for what cannot be read.
pub(crate) fn files(
    request: &Request<'_>,
) -> Result<impl Iterator<Item = Result<PathBuf, ignore::Error>>, Problem> {
    let metadata = request.path.metadata().map_err(Problem::Path)?;
    if !metadata.is_dir() && !metadata.is_file() {
        let problem = "is a FIFO, socket or device";
        return Err(Problem::Path(io::Error::other(problem)));
    }
    let mut walk = WalkBuilder::new(request.path);
    walk.sort_by_file_path(std::cmp::Ord::cmp);
    if let Some(glob) = request.include {
        let mut overrides = OverrideBuilder::new(request.path);
        overrides
            .add(glob)
            .map_err(|error| Problem::Glob(error.to_string()))?;
        let overrides = overrides
            .build()
            .map_err(|error| Problem::Glob(error.to_string()))?;
        walk.overrides(overrides);
    }
    // A link that was named itself is followed, as `rg` does.
    Ok(walk.build().filter_map(|entry| match entry {
        Ok(entry) => {
            let is_file = if entry.depth() == 0 {
                entry.path().is_file()
            } else {
                entry.file_type().is_some_and(|kind| kind.is_file())
            };
            is_file.then(|| Ok(entry.into_path()))
        }
        Err(error) => Some(Err(error)),
    }))
}
