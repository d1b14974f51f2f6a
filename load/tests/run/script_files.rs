//! Which files the script of a plan loads beside its own.

use crate::fake::FakeServer;
use crate::program::{Folder, PROGRAM, done, fed, of_events, plan, run, run_as};
use crate::scripts::{Kind, of, script};
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn a_plan_s_scripts_take_no_module_that_the_environment_names() {
    let folder = Folder::new("lua-path");
    let server = FakeServer::start(&folder.0, Kind);
    let elsewhere = folder.0.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let strange = "error('a stranger')";
    for name in ["oltp_common.lua", "helper.lua"] {
        std::fs::write(elsewhere.join(name), strange).unwrap();
    }
    let mut plan = of_events(plan(&server.socket, "auto"), 4);
    plan["workload"] = json!({"kind": "lua", "script": "oltp_point_select", "rows": 10});
    let with_path = || {
        let mut program = Command::new(PROGRAM);
        program.current_dir(&elsewhere);
        program.env("LUA_PATH", elsewhere.join("?.lua"));
        program
    };
    assert_eq!(done(&run_as(&mut with_path(), &plan))["events"], 4);
    let text = "require('oltp_common') local help = require('helper') \
                function thread_init() end function event() help() end";
    std::fs::write(folder.0.join("helper.lua"), "return function() end").unwrap();
    let mut own = of_events(of(&folder, text, &server.socket), 4);
    assert_eq!(done(&run_as(&mut with_path(), &own))["events"], 4);
    std::fs::remove_file(folder.0.join("helper.lua")).unwrap();
    own["load"]["connections"] = json!(1);
    let output = fed(with_path().args(["run", "-"]), &own.to_string());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("module 'helper' not found"), "{said}");
    assert!(said.contains("LUA_PATH is not read"), "{said}");
}

#[test]
fn every_file_that_a_script_loads_is_named() {
    let folder = Folder::new("lua-files");
    let server = FakeServer::start(&folder.0, Kind);
    std::fs::create_dir(folder.0.join("more")).unwrap();
    let names = ["helper.lua", "more/again.lua", "more/late.lua"];
    for name in names {
        std::fs::write(folder.0.join(name), "return {}").unwrap();
    }
    let [helper, again, late] = names.map(|name| folder.0.join(name));
    let text = "package.path = package.path .. ';./more/?.lua'\n\
                require('helper') require('again') dofile('more/../helper.lua')\n\
                function thread_init() require('helper') LATE end function event() end";
    let with = |late: &str| of(&folder, &text.replace("LATE", late), &server.socket);
    let output = script(&with(""), &[]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["files"], json!([helper, again]));
    assert_eq!(done(&run(&of_events(with(""), 4)))["files"], Value::Null);
    for call in [
        "require('late')",
        "dofile('more/late.lua')",
        "loadfile('more/late.lua')",
    ] {
        let done = done(&run(&of_events(with(call), 4)));
        assert_eq!(done["files"], json!([late]), "{call}");
    }
}
