//! Finds the script that a command line names.

use super::table::BUILT_IN;
use crate::lua::modules;
use crate::lua::run::LoadedScript;
use contend_console::secrets::hidden;
use std::io::Read as _;

/// Longest script that is read: anything longer was named by mistake.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// The result of looking up a name.
#[derive(Debug)]
pub enum Found {
    Script(LoadedScript),
    /// A test that sysbench has built in, and that is about something else than databases.
    BuiltIn(&'static str),
    /// Words for a fatal message.
    Missing(String),
}

/// Searches like sysbench: a built-in test, a file, a module.
pub fn find(name: Option<&str>) -> Found {
    let Some(name) = name.filter(|name| *name != "-") else {
        return from_stdin();
    };
    if let Some((built_in, _)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Found::BuiltIn(built_in);
    }
    let script = |chunk_name, source, bundled| {
        Found::Script(LoadedScript {
            name: Some(name.to_owned()),
            chunk_name,
            source,
            bundled,
        })
    };
    match read(name) {
        Ok(source) => return script(format!("@{name}"), source, false),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Found::Missing(format!("Cannot read '{}': {error}", hidden(name)));
        }
        Err(_) => {}
    }
    if let Some((chunk_name, source)) = modules::bundled_by_path(name) {
        return script(chunk_name, source, true);
    }
    if let Some((chunk_name, source, bundled)) = modules::find_script(name) {
        return script(chunk_name, source, bundled);
    }
    Found::Missing(format!(
        "Cannot find benchmark '{}': no such built-in test, file or module",
        hidden(name)
    ))
}

fn read(path: &str) -> std::io::Result<Vec<u8>> {
    let mut source = Vec::new();
    std::fs::File::open(path)?
        .take(SOURCE_BYTES_MAX)
        .read_to_end(&mut source)?;
    Ok(source)
}

fn from_stdin() -> Found {
    let mut source = Vec::new();
    match std::io::stdin()
        .take(SOURCE_BYTES_MAX)
        .read_to_end(&mut source)
    {
        Ok(_) => Found::Script(LoadedScript {
            name: None,
            chunk_name: "=stdin".to_owned(),
            source,
            bundled: false,
        }),
        Err(error) => Found::Missing(format!(
            "Cannot read the script from standard input: {error}"
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn names_stand_for_built_in_tests_files_and_modules() {
        assert!(matches!(find(Some("cpu")), Found::BuiltIn("cpu")));
        let Found::Script(script) = find(Some("oltp_read_write")) else {
            panic!("not found");
        };
        assert!(script.bundled);
        let Found::Missing(words) = find(Some("no/such.lua")) else {
            panic!("found");
        };
        let wanted = "Cannot find benchmark 'no/such.lua': no such built-in test, file or module";
        assert_eq!(words, wanted);
    }

    #[test]
    fn a_file_goes_before_a_module() {
        let folder = std::env::temp_dir().join(format!("contend-script-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("mine.lua");
        std::fs::write(&path, "function event() end").unwrap();
        let name = path.to_str().unwrap();
        let Found::Script(script) = find(Some(name)) else {
            panic!("not found");
        };
        assert_eq!(script.chunk_name, format!("@{name}"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
